"""`mine` finds the translations in two texts, whatever their order."""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import yakusu
from tests.bitexts import bitext
from yakusu.data.bitext.margin import margin_pairs
from yakusu.errors import DataError, RunError
from yakusu.pipeline.aligning.mine import Mined

SRC, TGT = bitext(1500)
_Files = tuple[Path, Path]


def _written(folder: Path, name: str, src: Sequence[str], tgt: Sequence[str]) -> _Files:
    for code, lines in (("en", src), ("de", tgt)):
        text = "".join(f"{line}\n" for line in lines)
        (folder / f"{name}.{code}").write_text(text, encoding="utf-8")
    return folder / f"{name}.en", folder / f"{name}.de"


@pytest.fixture
def known(tmp_path: Path) -> _Files:
    """Translations to learn from: too few to learn much."""
    return _written(tmp_path, "known", SRC[600:750], TGT[600:750])


def _mine(text: _Files, out: Path, known: _Files, min_score: float | None = None) -> Mined:
    src, tgt = known
    return yakusu.mine(*text, out, src=src, tgt=tgt, min_score=min_score)


def _shuffled(lines: Sequence[str]) -> list[str]:
    return random.Random(1).sample([*lines], len(lines))


def test_most_translations_are_found_and_few_others(tmp_path: Path) -> None:
    known = _written(tmp_path, "known", SRC[600:], TGT[600:])
    text = _written(tmp_path, "text", _shuffled(SRC[:400]), _shuffled(TGT[200:600]))
    out = tmp_path / "pairs.tsv"
    found = _mine(text, out, known)
    rows = [line.split("\t") for line in out.read_text(encoding="utf-8").splitlines()]
    pairs = {(one, other) for one, other, _ in rows}
    right = {*zip(SRC[:600], TGT[:600], strict=True)}
    scores = [float(score) for *_, score in rows]
    assert scores == sorted(scores, reverse=True)
    assert found.n_pairs == len(rows)
    assert len(pairs & right) > 0.9 * len(pairs)
    assert len(pairs & right) > 0.85 * 200
    content = out.read_bytes()
    _mine(text, out, known)
    assert out.read_bytes() == content


def test_a_repeated_sentence_counts_once(tmp_path: Path, known: _Files) -> None:
    text = _written(tmp_path, "text", [*SRC[:50], *SRC[:9]], [*TGT[:50], TGT[3]])
    assert _mine(text, tmp_path / "p.tsv", known).n_sentences == (
        len(set(SRC[:50])),
        len(set(TGT[:50])),
    )


def test_texts_without_pairs_are_refused(tmp_path: Path, known: _Files) -> None:
    text, out = _written(tmp_path, "text", SRC[:50], TGT[100:150]), tmp_path / "pairs.tsv"
    with pytest.raises(DataError, match=r"no pair of .* reaches the minimum score: check"):
        _mine(text, out, known, min_score=9)
    assert not out.exists()


def test_too_few_translations_are_refused(tmp_path: Path) -> None:
    text = _written(tmp_path, "text", SRC[:50], TGT[:50])
    with pytest.raises(DataError, match="there are 50 known translations, and at least 100"):
        _mine(text, tmp_path / "p.tsv", text)


def test_few_different_words_need_a_small_vocabulary(tmp_path: Path) -> None:
    words = ("dog", "cat", "man", "boat"), ("Hund", "Kater", "Mann", "Kahn")
    src, tgt = ([f"{a} {b} {c}" for a in side for b in side for c in side] * 30 for side in words)
    known, text = _written(tmp_path, "known", src, tgt), _written(tmp_path, "text", src, tgt)
    assert _mine(text, tmp_path / "p.tsv", known).n_pairs >= 20  # the order of words does not count


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_the_minimum_score_is_finite(tmp_path: Path, known: _Files, score: float) -> None:
    with pytest.raises(DataError, match=r"the minimum score (nan|inf) is not finite: choose"):
        _mine(known, tmp_path / "p.tsv", known, score)


def test_a_text_is_no_translation_of_itself(tmp_path: Path, known: _Files) -> None:
    one, other = _written(tmp_path, "text", SRC[:100], TGT[:100])
    with pytest.raises(DataError, match=r"most lines of .*known\.en and .*known\.en are the same"):
        yakusu.mine(one, other, tmp_path / "p.tsv", src=known[0], tgt=known[0])


def test_the_output_must_be_another_file_that_ends_in_tsv(tmp_path: Path, known: _Files) -> None:
    text = _written(tmp_path, "text", SRC[:50], TGT[:50])
    with pytest.raises(RunError, match=r"does not end in \.tsv"):
        _mine(text, tmp_path / "pairs.txt", known)


def test_a_score_is_a_cosine_times_its_margin() -> None:
    one = np.array([[1, 0], [0, 1]], np.float32)
    other = np.array([[0.6, 0.8], [0.8, 0.6], [0, 0]], np.float32)
    (first, second) = margin_pairs(one, other, k=2)
    assert (first[:2], second[:2]) == ((0, 1), (1, 0))
    assert first[2] == pytest.approx(0.8 * 0.8 / 0.7)


def test_scores_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(1).standard_normal((90, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    whole = margin_pairs(vectors[:40], vectors[40:])
    monkeypatch.setattr("yakusu.data.bitext.margin._ROWS", 7)
    monkeypatch.setattr("yakusu.data.bitext.margin._COLUMNS", 11)
    parts = margin_pairs(vectors[:40], vectors[40:])
    assert [pair[:2] for pair in parts] == [pair[:2] for pair in whole]
    assert len({i for i, *_ in whole}) == len(whole) == len({j for _, j, _ in whole})
