"""Faults of parallel texts: lines that are missing, added, moved, exchanged, repeated, shuffled."""

import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from yakusu.data.bitext.evidence import PairEvidence
from yakusu.data.bitext.offsets import MOST, UNRELATED, Stretch, best_offsets, runs, segments

FaultKind = Literal[
    "shifted", "unrelated", "exchanged", "repeated", "source repeated", "target repeated"
]
LEAST_LINES = 200  # fewer say too little
_SIDES = 4.0  # largest weight of the languages of a line
_CHANGE_SIDES = 30.0
_FEW_UNRELATED, _FEW_SHIFTED = 25, 12  # fewer lines are not reported
_FIRST = 200  # lines that show which language is which
_REPEATED = 100  # lines that may be repeated together
_LAGS = 3  # distances of repetitions that are examined


@dataclass(frozen=True)
class Misaligned:
    """Consecutive lines with the same fault.

    Attributes:
        kind: "shifted": line i of the source translates line i + offset of the target; offset 0
            ends other offsets. "unrelated": it translates none nearby. "exchanged": source and
            target are exchanged, relative to the first line. "repeated": both lines are those of
            line i + offset. "source repeated", "target repeated": only one of them is.
        start: The first line, from 0.
        stop: The line after the last one.
        offset: See `kind`; 0 for the others.
    """

    kind: FaultKind
    start: int
    stop: int
    offset: int = 0


def misaligned(
    src: Sequence[str], tgt: Sequence[str], windows: Sequence[int] = (), *, quick: bool = False
) -> list[Misaligned]:
    """Find the lines that do not translate each other.

    Args:
        src: Lines of the source.
        tgt: As many lines of the target; "" for those after the end of the shorter text.
        windows: Where consecutive lines begin, if these are windows of longer texts.
        quick: Take a tenth of the time, and examine small offsets only.

    Returns:
        The faults in the order of their lines; none if fewer than `LEAST_LINES` lines have words
        on both sides.
    """
    if len(src) < LEAST_LINES:
        return []
    evidence = PairEvidence(src, tgt)
    if np.count_nonzero(~evidence.src.is_empty & ~evidence.tgt.is_empty) < LEAST_LINES:
        return []
    exchanged = [each for each in _exchanged(evidence) if each.offset]
    if exchanged:
        src, tgt = [*src], [*tgt]
        for each in exchanged:
            own = slice(each.start, each.stop)
            src[own], tgt[own] = tgt[own], src[own]
        evidence = PairEvidence(src, tgt)
    found = [Misaligned("exchanged", each.start, each.stop) for each in exchanged]
    found += _shifted(_joined(segments(evidence, windows, quick=quick)))
    return sorted(found, key=lambda each: (each.start, each.kind))


def _exchanged(evidence: PairEvidence) -> list[Stretch]:
    """Segments whose two sides are in the languages of the first line, or exchanged (offset 1).

    The frequencies of words in the first lines show which language is which, then those of all.
    """
    texts = evidence.src, evidence.tgt
    n = len(evidence.src)
    path = np.zeros(n, np.int64)
    known = np.arange(n) < _FIRST
    for _ in range(3):
        ratio = np.log(_mixed(evidence, ~path.astype(bool) & known, path.astype(bool) & known))
        ratio -= np.log(_mixed(evidence, path.astype(bool) & known, ~path.astype(bool) & known))
        ratio[0] = 0  # lines without words
        one, other = (
            np.add.reduceat(ratio[text.ids], text.starts[:-1]) / text.counts for text in texts
        )
        score = np.clip(one - other, -_SIDES, _SIDES) + 0.5  # exchanged only if evident
        both = np.stack([score, -score], axis=1).astype(np.float32)
        path = best_offsets(both, np.full(n, _CHANGE_SIDES))
        known = np.ones(n, np.bool_)
    return list(runs(path, np.arange(2)))


def _mixed(
    evidence: PairEvidence, of_src: NDArray[np.bool_], of_tgt: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Relative frequencies of words in some lines of the source and others of the target."""
    counts = sum(
        np.bincount(text.ids[np.repeat(lines, text.counts)], minlength=evidence.n_words)
        for text, lines in ((evidence.src, of_src), (evidence.tgt, of_tgt))
    )
    return np.asarray((counts + 0.5) / (np.sum(counts) + 0.5 * evidence.n_words))


def _joined(found: Sequence[Stretch]) -> Iterator[Stretch]:
    """Join a few unrelated lines with the segment of another offset that follows."""
    start, before = 0, 0
    for one, following in pairwise([*found, None]):
        assert one is not None
        few = one.offset == UNRELATED and one.stop - start <= MOST
        if few and following and following.offset != before:
            continue
        yield Stretch(start, one.stop, one.offset)
        start, before = one.stop, one.offset


def _shifted(found: Iterable[Stretch]) -> Iterator[Misaligned]:
    before = 0
    for each in found:
        is_unrelated = each.offset == UNRELATED
        if each.stop - each.start < (_FEW_UNRELATED if is_unrelated else _FEW_SHIFTED):
            continue
        if is_unrelated:
            yield Misaligned("unrelated", each.start, each.stop)
            continue
        if each.offset != before or each.offset:
            yield Misaligned("shifted", each.start, each.stop, each.offset)
        before = each.offset


class Repetitions:
    """Finds long runs of lines that were there before, at the same distance.

    It holds four bytes for each line.
    """

    def __init__(self) -> None:
        self._keys = array("I")

    def add(self, *texts: str) -> None:
        """Take the next line."""
        self._keys.append(zlib.crc32("\n".join(texts).encode("utf-8", "surrogatepass")))

    def found(self, kind: FaultKind = "repeated") -> list[Misaligned]:
        """The runs: at least 100 lines, and a twentieth of the text."""
        keys = np.array(self._keys, np.uint32)
        least = max(_REPEATED, len(keys) // 20)
        order = np.argsort(keys, kind="stable")
        same = keys[order][1:] == keys[order][:-1]
        lags, counts = np.unique((order[1:] - order[:-1])[same], return_counts=True)
        far = lags >= _REPEATED
        lags, counts, runs_ = lags[far], counts[far], []
        for at in np.argsort(-counts, kind="stable")[:_LAGS]:
            lag = int(lags[at])
            if counts[at] >= least / 2:
                start, stop = _densest(keys[lag:] == keys[:-lag])
                if stop - start >= least:
                    runs_.append(Misaligned(kind, start + lag, stop + lag, -lag))
        return sorted(runs_, key=lambda each: each.start)


def _densest(equal: NDArray[np.bool_]) -> tuple[int, int]:
    """The run with the largest number of equal lines less twice that of others."""
    total = np.concatenate([[0], np.cumsum(np.where(equal, 1, -2))])
    gain = total - np.minimum.accumulate(total)
    stop = int(gain.argmax())
    start = stop - int(total[: stop + 1][::-1].argmin())
    return start, stop
