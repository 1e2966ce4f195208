"""Each filter drops what its threshold says; duplicates are those a set would find."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yakusu.data.corpus import Corpus
from yakusu.data.duplicates import DuplicateFinder
from yakusu.data.filters import (
    FilterConfig,
    FilterReport,
    Selection,
    filter_corpus,
    length_filter,
    text_filter,
)
from yakusu.data.text import Pair
from yakusu.errors import DataError
from yakusu.progress import Silent

PAIRS = [(f"source {i}", f"target {i}") for i in range(7)]


def corpus(folder: Path, pairs: list[Pair]) -> Corpus:
    files = {"src": folder / "a.en", "tgt": folder / "a.de"}
    for i, path in enumerate(files.values()):
        path.write_text("".join(pair[i] + "\n" for pair in pairs), encoding="utf-8")
    return Corpus(src=str(files["src"]), tgt=str(files["tgt"]))


@pytest.mark.parametrize(
    ("pair", "rejected_by"),
    [
        (("a", "b"), None),
        (("", "b"), "empty"),
        (("a", ""), "empty"),
        (("", ""), "empty"),
        (("a", "a"), "identical"),
        (("a", "A"), None),
    ],
)
def test_text_filters_reject_empty_and_identical_pairs(pair: Pair, rejected_by: str | None) -> None:
    assert text_filter(pair, FilterConfig()) == rejected_by


def test_identical_pairs_can_be_kept() -> None:
    assert text_filter(("a", "a"), FilterConfig(drop_identical=False)) is None


@pytest.mark.parametrize(
    ("n_src", "n_tgt", "rejected_by"),
    [
        (10, 10, None),
        (11, 5, "too long"),
        (5, 11, "too long"),
        (11, 1, "too long"),  # the first filter that rejects counts
        (9, 3, None),  # exactly at the ratio
        (10, 3, "ratio"),
        (3, 10, "ratio"),
        (0, 3, "empty"),
        (3, 0, "empty"),
    ],
)
def test_length_filters_reject_long_and_unbalanced_pairs(
    n_src: int, n_tgt: int, rejected_by: str | None
) -> None:
    config = FilterConfig(max_tokens=10, max_ratio=3)
    assert length_filter(n_src, n_tgt, config) == rejected_by


def test_report_counts_read_dropped_and_kept_pairs() -> None:
    report = FilterReport()
    report.read = 10
    report.dropped.update(["ratio", "empty", "ratio"])
    assert report.kept == 7
    assert report.as_dict() == {
        "read": 10,
        "empty": 1,
        "identical": 0,
        "duplicate": 0,
        "too long": 0,
        "ratio": 2,
        "kept": 7,
    }


STREAMS = st.lists(st.tuples(st.text("ab ", max_size=3), st.text("ab ", max_size=3)), max_size=200)


@settings(max_examples=40, deadline=None)
@given(STREAMS)
def test_duplicates_equal_those_found_with_a_set(pairs: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder, DuplicateFinder(Path(folder)) as duplicates:
        seen: set[tuple[str, str]] = set()
        expected = []
        for pair in pairs:
            duplicates.add(pair)
            expected.append(pair in seen)
            seen.add(pair)
        assert duplicates.find().tolist() == expected


def test_distant_duplicates_are_found_and_the_first_is_kept(tmp_path: Path) -> None:
    with DuplicateFinder(tmp_path) as duplicates:
        for i in [*range(20_000), 7, 19_999, 7]:
            duplicates.add((str(i), "x"))
        assert duplicates.find().nonzero()[0].tolist() == [20_000, 20_001, 20_002]


def test_pairs_split_at_another_place_are_not_duplicates(tmp_path: Path) -> None:
    with DuplicateFinder(tmp_path) as duplicates:
        for pair in [("ab", "c"), ("a", "bc"), ("abc", ""), ("c", "ab")]:
            duplicates.add(pair)
        assert not duplicates.find().any()


def test_disabled_filters_keep_duplicate_and_identical_pairs(tmp_path: Path) -> None:
    text = corpus(tmp_path, [("a", "a"), ("a", "a"), ("b", "c"), ("b", "c"), ("b", "")])
    filters, report = FilterConfig(drop_duplicates=False, drop_identical=False), FilterReport()
    assert filter_corpus(text, filters, report, Silent()).mask.tolist() == [True] * 4 + [False]
    assert (report.read, report.kept) == (5, 4)


def test_selection_reads_selected_pairs_in_order(tmp_path: Path) -> None:
    text = corpus(tmp_path, PAIRS[:5])
    selection = Selection(text, np.array([True, False, False, True, True]))
    assert len(selection) == 3
    assert list(selection.pairs()) == [(1, PAIRS[0]), (4, PAIRS[3]), (5, PAIRS[4])]


@pytest.mark.parametrize("n", [3, 7])
def test_corpus_changed_between_two_readings_is_reported(n: int, tmp_path: Path) -> None:
    text = corpus(tmp_path, PAIRS[:5])
    selection = filter_corpus(text, FilterConfig(), FilterReport(), Silent())
    corpus(tmp_path, PAIRS[:n])
    with pytest.raises(DataError) as error:
        list(selection.pairs())
    assert str(error.value) == (
        f"{text.src} and {text.tgt} changed while being read: run 'yakusu prepare' again"
    )
