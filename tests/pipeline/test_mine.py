"""`mine` finds the translations in two texts, whatever their order."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import yakusu
from tests.bitexts import bitext
from yakusu.data.bitext.lexical import lexical_vectors
from yakusu.data.bitext.margin import margin_pairs
from yakusu.errors import DataError, RunError
from yakusu.pipeline.aligning import mine as module
from yakusu.pipeline.aligning.texts import SentenceText

SRC, TGT = bitext(300)


@pytest.fixture
def perfect(monkeypatch: pytest.MonkeyPatch) -> None:
    """Translations are the references."""
    known = dict(zip(SRC, TGT, strict=True))

    def translations(one: SentenceText, *_: object) -> list[str]:
        return [known[text] for text in one.texts]

    monkeypatch.setattr(module, "translations_of", translations)


def _written(folder: Path, src: Sequence[str], tgt: Sequence[str]) -> tuple[Path, Path, Path]:
    for name, lines in (("a.en", src), ("b.de", tgt)):
        text = "".join(f"{line}\n" for line in lines)
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "a.en", folder / "b.de", folder / "pairs.tsv"


def _shuffled(lines: Sequence[str]) -> list[str]:
    return random.Random(1).sample([*lines], len(lines))


@pytest.mark.usefixtures("perfect")
def test_the_translations_are_found_and_the_others_are_not(tmp_path: Path) -> None:
    src, tgt, out = _written(tmp_path, _shuffled(SRC[:200]), _shuffled(TGT[100:]))
    found = yakusu.mine(src, tgt, out, model="unused", min_margin=1.5)
    rows = [line.split("\t") for line in out.read_text(encoding="utf-8").splitlines()]
    assert {(one, other) for one, other, _ in rows} == {
        *zip(SRC[100:200], TGT[100:200], strict=True)
    }
    margins = [float(margin) for *_, margin in rows]
    assert margins == sorted(margins, reverse=True)
    assert found.n_pairs == len(rows)
    assert found.n_sentences == (200, 200)


@pytest.mark.usefixtures("perfect")
def test_a_repeated_sentence_counts_once(tmp_path: Path) -> None:
    src, tgt, out = _written(tmp_path, [*SRC, *SRC[:50]], [*TGT, *TGT[:9]])
    assert yakusu.mine(src, tgt, out, model="unused").n_sentences == (300, 300)


@pytest.mark.usefixtures("perfect")
def test_texts_without_pairs_are_refused(tmp_path: Path) -> None:
    src, tgt, out = _written(tmp_path, SRC[:100], ["一二三", "四五六"])
    with pytest.raises(DataError, match="no sentence of .*a.en has a translation in .*b.de: check"):
        yakusu.mine(src, tgt, out, model="unused")
    assert not out.exists()


def test_the_output_must_be_another_file_that_ends_in_tsv(tmp_path: Path) -> None:
    src, tgt, out = _written(tmp_path, SRC, TGT)
    with pytest.raises(RunError, match=r"does not end in \.tsv"):
        yakusu.mine(src, tgt, out.with_suffix(".txt"), model="unused")


def test_a_margin_is_a_cosine_divided_by_the_mean_of_its_neighbours() -> None:
    one = np.array([[1, 0], [0, 1]], np.float32)
    other = np.array([[0.6, 0.8], [0.8, 0.6], [0, 0]], np.float32)
    found = margin_pairs(one, other, k=2)
    assert found == [(0, 1, pytest.approx(0.8 / 0.7)), (1, 0, pytest.approx(0.8 / 0.7))]


def test_margins_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(1).standard_normal((90, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    whole = margin_pairs(vectors[:40], vectors[40:])
    monkeypatch.setattr("yakusu.data.bitext.margin._ROWS", 7)
    monkeypatch.setattr("yakusu.data.bitext.margin._COLUMNS", 11)
    parts = margin_pairs(vectors[:40], vectors[40:])
    assert [pair[:2] for pair in parts] == [pair[:2] for pair in whole]
    assert len({i for i, *_ in whole}) == len(whole) == len({j for _, j, _ in whole})


def test_sentences_with_the_same_words_have_the_same_direction() -> None:
    vectors = lexical_vectors(["Der alte Hund.", "der ALTE Hund!", "Eine Brücke.", "..."])
    assert vectors[0] @ vectors[1] == pytest.approx(1, abs=1e-6)
    assert abs(vectors[0] @ vectors[2]) < 0.2
    assert not vectors[3].any()
