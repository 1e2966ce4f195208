"""The pairs of a corpus that a model finds least probable."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.phrases import phrases
from yakusu.data.corpus import Corpus
from yakusu.pipeline.check import improbable
from yakusu.pipeline.check.improbable import (
    COPY,
    LONGER,
    MISALIGNED,
    TRUNCATED,
    UNSURE,
    improbable_pairs,
)
from yakusu.translator import Translator

MODEL = Path(__file__).parents[1] / "fixtures" / "format-1" / "transformer"


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    pairs = list(dict.fromkeys(phrases("de").train))[:60]
    src, tgt = ([pair[side] for pair in pairs] for side in (0, 1))
    tgt[9] = src[9]
    tgt[19] = ""
    tgt[29] = "eins " * 3000
    for path, lines in (("a.en", src), ("a.de", tgt)):
        (tmp_path / path).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return Corpus(src=str(tmp_path / "a.en"), tgt=str(tmp_path / "a.de"))


def test_the_worst_pairs_come_first_and_are_those_of_the_lowest_probability(corpus: Corpus) -> None:
    found = improbable_pairs(MODEL, corpus, n=100)
    assert (found.n_pairs, found.n_left_out, len(found.pairs)) == (58, 2, 58)
    log_probs = [pair.log_prob for pair in found.pairs]
    assert log_probs == sorted(log_probs)
    assert improbable_pairs(MODEL, corpus, n=5).pairs[0] == found.pairs[0]
    translator = Translator.load(MODEL)
    first = found.pairs[0]
    (scored,) = translator.score([first.src], [first.tgt])
    mean, end = scored.log_prob / scored.n_tokens, scored.token_log_probs[-1]
    assert first.log_prob == pytest.approx(min(mean, end / 2))


def test_a_copy_is_named_with_its_line(corpus: Corpus) -> None:
    (copy,) = (pair for pair in improbable_pairs(MODEL, corpus, n=100).pairs if pair.line == 10)
    assert copy.reason == COPY


# ---- reasons -------------------------------------------------------------------------------------


def reasons(
    monkeypatch: pytest.MonkeyPatch,
    lengths: list[tuple[int, int]],
    others: float,
    *,
    loss: float = 2.0,
) -> Iterator[str]:
    """The reasons for pairs of these numbers of tokens, whose targets have a mean of -2.

    Args:
        lengths: Of the pairs that are listed; the corpus has 100 more of equal lengths.
        others: The mean of each target after the source of another pair.
        loss: Of each pair; more than 2: eos decides.
    """
    monkeypatch.setattr(improbable, "_scores", lambda _, pairs: [(others, -1.0)] * len(pairs))
    monkeypatch.setattr(improbable, "can_identify", lambda: False)
    known = improbable._Lengths()
    worst = []
    for line, (n_source, n_target) in enumerate(lengths, start=1):
        ids = [2] * n_source, [2] * n_target
        worst.append(
            improbable._Scored(loss, -line, (f"source {line}", f"ziel {line}x"), ids, -2.0)
        )
        known.add(ids)
    for k in range(100):
        known.add(([2] * 10, [2] * (9 + k % 3)))
    found = improbable._Reasons(Translator.load(MODEL), worst, known)
    return map(found.of, range(len(worst)))


def test_a_pair_that_is_as_probable_after_another_source_is_misaligned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert [*reasons(monkeypatch, [(10, 10), (10, 2)], -2.0)] == [MISALIGNED, MISALIGNED]


def test_other_pairs_are_too_short_or_too_long_or_unlikely(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [*reasons(monkeypatch, [(10, 10), (10, 2), (10, 50)], -5.0)]
    assert found == [UNSURE, TRUNCATED, LONGER]
    ends = [*reasons(monkeypatch, [(10, 9), (10, 11)], -5.0, loss=2.5)]
    assert ends == [TRUNCATED, UNSURE]


def test_a_target_repeats_a_source_if_it_has_most_of_its_words_from_it() -> None:
    assert improbable._repeats("Hello there!", "hello there")
    assert improbable._repeats("the New York Times wrote", "New York Times schrieb")
    assert not improbable._repeats("Anna sees Paris today", "Anna sieht heute Paris")
    assert not improbable._repeats("Tea", "Tee")
