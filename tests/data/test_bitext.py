"""Faults of parallel texts, and beads of sentences, in invented languages."""

import random
from itertools import pairwise
from statistics import median

import pytest

from tests.bitexts import bitext
from yakusu.data.bitext.beads import align_sentences
from yakusu.data.bitext.faults import Misaligned, Repetitions, misaligned

N = 450
SRC, TGT = bitext(N)


def found(src: list[str], tgt: list[str]) -> list[tuple[str, int, int]]:
    n = min(len(src), len(tgt))
    return [(each.kind, each.start, each.offset) for each in misaligned(src[:n], tgt[:n])]


def test_a_good_text_has_no_faults() -> None:
    assert misaligned(SRC, TGT) == []
    assert misaligned(SRC, TGT, quick=True) == []


@pytest.mark.parametrize("n", [1, 3])
def test_missing_lines_shift_the_rest(n: int) -> None:
    for src, tgt, offset in (
        (SRC, TGT[:250] + TGT[250 + n :], -n),
        (SRC[:250] + SRC[250 + n :], TGT, n),
    ):
        ((kind, start, k),) = found(src, tgt)
        assert (kind, k) == ("shifted", offset)
        assert abs(start - 250) <= 2


def test_a_moved_block_ends_where_the_lines_agree_again() -> None:
    moved = TGT[:200] + TGT[220:400] + TGT[200:220] + TGT[400:]
    (one, start, first), *_, (last, stop, again) = found(SRC, moved)
    assert (one, first, last, again) == ("shifted", -20, "shifted", 0)
    assert abs(start - 200) <= 20
    assert abs(stop - 400) <= 20


def test_shuffled_lines_are_unrelated() -> None:
    rest = TGT[250:]
    random.Random(1).shuffle(rest)
    ((kind, start, _),) = found(SRC, TGT[:250] + rest)
    assert kind == "unrelated"
    assert abs(start - 250) <= 5


def test_exchanged_lines_are_found_with_their_first_line() -> None:
    assert found(SRC[:225] + TGT[225:], TGT[:225] + SRC[225:]) == [("exchanged", 225, 0)]


def test_lines_between_windows_are_not_compared() -> None:
    src, tgt = SRC[:200] + SRC[250:], TGT[:200] + TGT[251:]
    ((kind, start, k),) = [
        (each.kind, each.start, each.offset)
        for each in misaligned(src[: len(tgt)], tgt, [200], quick=True)
    ]
    assert (kind, start, k) == ("shifted", 200, -1)


def test_a_short_text_and_empty_lines_say_nothing() -> None:
    assert misaligned(SRC[:100], TGT[100:200]) == []
    assert misaligned([""] * 300, [""] * 300) == []
    for n, rest in ((5, ""), (20, "-"), (150, " ")):  # of the shorter text
        assert misaligned(SRC, [*TGT[:n], *[rest] * (N - n)]) == []
        assert misaligned([*SRC[:n], *[rest] * (N - n)], TGT) == []


def test_a_repeated_half_is_found_but_not_repeated_sentences() -> None:
    twice, often = Repetitions(), Repetitions()
    for i in range(N):
        twice.add(SRC[i % 225], TGT[i % 225])
        often.add(SRC[i % 7 if i % 2 else i], "")
    assert twice.found() == [Misaligned("repeated", 225, 450, -225)]
    assert often.found() == []
    near = ["a"] * 200 + ["b", "c"] * 100 + ["d", "e", "f"] * 67  # are repeated nearby more often
    both = Repetitions()
    for text in 2 * [*SRC[:160], *near]:
        both.add(text)
    assert [(each.start, each.offset) for each in both.found()] == [(761, -761)]


def test_every_kind_of_bead_is_found() -> None:
    src = [*SRC[:100], f"{SRC[100]} {SRC[101]}", *SRC[102:150], *SRC[151:300]]
    tgt = [*TGT[:50], f"{TGT[50]} {TGT[51]}", *TGT[52:220], *TGT[221:300]]
    beads = align_sentences(src, tgt)
    ends = [0, *(bead.src[1] for bead in beads)]
    assert [bead.src for bead in beads if bead.sizes[0]] == [
        (start, stop) for start, stop in pairwise(ends) if start < stop
    ]
    others = {bead.sizes: (bead.src[0], bead.tgt[0]) for bead in beads if bead.sizes != (1, 1)}
    assert others == {(2, 1): (50, 50), (1, 2): (100, 99), (0, 1): (149, 149), (1, 0): (218, 219)}
    assert median(bead.score for bead in beads if all(bead.sizes)) > 0.3


def test_beads_end_at_anchors_and_at_the_ends_of_texts() -> None:
    beads = align_sentences(SRC[:20], TGT[:20], [(10, 5)])
    assert any(bead.src[1] == 10 and bead.tgt[1] == 5 for bead in beads)
    assert align_sentences([], ["a", "b"])[-1].tgt == (1, 2)
    assert [bead.src for bead in align_sentences(["a"], [])] == [(0, 1)]


def test_a_chapter_that_only_one_text_has_is_left_out() -> None:
    other = bitext(90, seed=2)[1]
    beads = align_sentences(SRC[:160], [*TGT[:80], *other, *TGT[80:160]])
    right = {(i, i + 90 * (i >= 80)) for i in range(160)}
    assert len(right & {(bead.src[0], bead.tgt[0]) for bead in beads}) >= 150
    beads = align_sentences(SRC[:1], TGT * 2)  # a text that is not divided
    assert sum(bead.sizes[1] for bead in beads) == 2 * N


def test_words_are_better_evidence_than_lengths() -> None:
    rng = random.Random(3)
    src = [line for line in SRC[:200] if rng.random() > 0.1]
    tgt = [line for line in TGT[:200] if rng.random() > 0.1]

    def right(*, words: bool) -> int:
        return sum(
            SRC.index(src[bead.src[0]]) == TGT.index(tgt[bead.tgt[0]])
            for bead in align_sentences(src, tgt, words=words)
            if bead.sizes == (1, 1)
        )

    both = sum(TGT[SRC.index(line)] in tgt for line in src)
    assert right(words=True) >= 0.97 * both > right(words=False)


def test_a_translation_shows_beads_in_a_text_too_short_to_learn_from() -> None:
    src = [line.replace("a", "e", 1) for line in (*TGT[:4], *TGT[5:12])]
    beads = align_sentences(src, [*TGT[:8], *TGT[9:12]], translated=True)
    assert [bead.sizes for bead in beads if bead.sizes != (1, 1)] == [(0, 1), (1, 0)]
