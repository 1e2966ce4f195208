"""Misaligned lines of a corpus, each with the command that repairs them."""

import shlex
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import islice, zip_longest
from typing import NamedTuple

from yakusu.config import Config
from yakusu.data.bitext.faults import FaultKind, Misaligned, Repetitions, misaligned
from yakusu.data.corpus import Corpus, numbered_pairs
from yakusu.data.files.long_lines import LongLines
from yakusu.data.files.text import InvalidLines, Pair, read_lines
from yakusu.data.identification import EvenSample
from yakusu.errors import DataError, UnequalTextsError

_BLOCK, _SMALL_BLOCK = 250, 125  # consecutive lines of a sample
_BLOCKS, _FEW_BLOCKS = 100, 2  # of a sample at least; at most twice as many
_LOCATED = 4  # faults of a sample whose first line is searched between its blocks
_LISTED = 3  # faults in an error message


class Fault(Config):
    """Consecutive lines that are misaligned or repeated. Line numbers count from 1."""

    kind: FaultKind
    line: int
    last_line: int
    offset: int  # line N of the source matches line N + offset; repeated: it is line N + offset
    text: str  # what is wrong, and the fix

    def __str__(self) -> str:
        return self.text


def find_faults(corpus: Corpus) -> tuple[Fault, ...]:
    """Find where the two sides of a corpus stop being translations of each other.

    All lines of a corpus of up to 25,000 pairs are compared, and at least 25,000 lines in blocks of
    a larger one, which is read again to find the first line of a fault.

    Args:
        corpus: The corpus; its two files may have different numbers of lines.

    Raises:
        DataError: The corpus cannot be read.
    """
    if corpus.trees:
        return ()
    if corpus.parts:
        return tuple(fault for part in corpus.parts for fault in find_faults(part))
    repetitions = _SideRepetitions()
    sample = _Sample.read(corpus, _BLOCKS, _BLOCK, repetitions)
    found = [*map(repetitions.explain, _located(corpus, sample)), *repetitions.of_pairs.found()]
    return _described(corpus, sample, sorted(found, key=lambda each: each.start))


def require_aligned(corpus: Corpus) -> None:
    """Check a small sample of a corpus, before it is used for training.

    A corpus of which no line has a translation is accepted: its words may be too rare to tell.

    Raises:
        DataError: Some lines are misaligned, or the corpus cannot be read.
    """
    for part in corpus.parts:
        require_aligned(part)
    if corpus.trees or corpus.parts:
        return
    sample = _Sample.read(corpus, _FEW_BLOCKS, _SMALL_BLOCK)
    found = _located(corpus, sample, quick=True)
    if not found or (found[0].kind == "unrelated" and found[0].stop - found[0].start == sample.n):
        return
    raise DataError(
        f"{_listed(_described(corpus, sample, found))}; list all faults with "
        f"'{_check_command(corpus)}', or add --allow-misaligned to learn the wrong pairs as well"
    )


@contextmanager
def explained_unequal(corpus: Corpus) -> Iterator[None]:
    """Name the lines that may be missing, if two files have different numbers of lines.

    Raises:
        DataError: They have.
    """
    try:
        yield
    except UnequalTextsError as error:
        found = [each for each in find_faults(corpus) if each.kind != "repeated"]
        fix = f"{error}, or {_repair(corpus)}"
        if found:
            fix = f"{str(error).partition(': ')[0]}: {_listed(found)}"
        raise DataError(fix) from error


def _listed(faults: Sequence[Fault]) -> str:
    n = len(faults) - _LISTED
    more = f"; and {n:,} more place{'s' * (n > 1)}" if n > 0 else ""
    return "; ".join(map(str, faults[:_LISTED])) + more


class _SideRepetitions:
    """Finds long runs of pairs, and of the lines of one side, that were there before.

    Attributes:
        of_pairs: Those of pairs.
    """

    def __init__(self) -> None:
        self.of_pairs, self._of_src, self._of_tgt = Repetitions(), Repetitions(), Repetitions()

    def add(self, pair: Pair) -> None:
        """Take the next pair."""
        self.of_pairs.add(*pair)
        self._of_src.add(pair[0])
        self._of_tgt.add(pair[1])

    @cached_property
    def _of_one_side(self) -> list[Misaligned]:
        return [*self._of_src.found("source repeated"), *self._of_tgt.found("target repeated")]

    def explain(self, fault: Misaligned) -> Misaligned:
        """Return a fault, or the repetition on one side that explains unrelated lines."""
        if fault.kind != "unrelated":
            return fault
        for run in self._of_one_side:
            n_both = min(run.stop, fault.stop) - max(run.start, fault.start)
            if 2 * n_both > max(run.stop - run.start, fault.stop - fault.start):
                return run
        return fault


class _Sample(NamedTuple):
    """Blocks of consecutive lines of a corpus.

    Attributes:
        pairs: The pairs of all blocks.
        starts: Where each run of consecutive lines begins in `pairs`.
        lines: The first line of each run, from 0.
        n: Number of lines of the corpus.
        first: The number of its first line: 2 after a header.
        block: Number of lines of a block.
    """

    pairs: list[Pair]
    starts: list[int]
    lines: list[int]
    n: int
    first: int
    block: int

    @classmethod
    def read(
        cls,
        corpus: Corpus,
        n_blocks: int,
        size: int,
        repetitions: "_SideRepetitions | None" = None,
    ) -> "_Sample":
        """Read evenly spaced blocks of a corpus, and its last lines."""
        blocks: EvenSample[tuple[int, list[Pair]]] = EvenSample(n_blocks)
        block: list[Pair] = []
        last: deque[Pair] = deque(maxlen=size)
        n, first = 0, 1
        for number, pair in _numbered(corpus):
            first = number if not n else first
            if len(block) == size:
                blocks.add((n - size, block))
                block = []
            block.append(pair)
            last.append(pair)
            n += 1
            if repetitions:
                repetitions.add(pair)
        pairs, starts, lines, end = list[Pair](), list[int](), list[int](), 0
        for start, held in [*blocks, (n - len(last), list(last))]:
            new = held[max(0, end - start) :]
            if start > end or not lines:
                starts.append(len(pairs))
                lines.append(start)
            pairs += new
            end = start + len(held)
        return cls(pairs, starts, lines, n, first, size)

    def line(self, at: int) -> int:
        """The line, from 0, of a position in `pairs`; the end of a run is that of the next."""
        run = max(i for i, start in enumerate(self.starts) if start <= at)
        return self.lines[run] + at - self.starts[run]


def _numbered(corpus: Corpus) -> Iterator[tuple[int, Pair]]:
    """The pairs of a corpus with the numbers of their lines; "" after the end of a shorter file."""
    if not (corpus.src and corpus.tgt):
        return numbered_pairs(corpus)
    src, tgt = (
        read_lines(path, errors=InvalidLines(corpus.errors, encoding=encoding), long=LongLines())
        for path, encoding in zip((corpus.src, corpus.tgt), corpus.encodings, strict=True)
    )
    return enumerate(zip_longest(src, tgt, fillvalue=""), start=1)


def _located(corpus: Corpus, sample: _Sample, *, quick: bool = False) -> list[Misaligned]:
    """The faults of a sample; those that begin between two blocks are searched there."""
    sides = [src for src, _ in sample.pairs], [tgt for _, tgt in sample.pairs]
    found = list[Misaligned]()
    for each in misaligned(*sides, sample.starts[1:], quick=quick):
        start, stop = sample.line(each.start), sample.line(each.stop - 1) + 1
        between = [
            i for i, at in enumerate(sample.starts) if i and abs(at - each.start) < sample.block
        ]
        if between and len(found) < _LOCATED:
            each, start = _located_between(corpus, sample, between[0], each, start)
        found.append(replace(each, start=start, stop=max(stop, start + 1)))
    return found


def _located_between(
    corpus: Corpus, sample: _Sample, run: int, fault: Misaligned, start: int
) -> tuple[Misaligned, int]:
    """A fault that begins between two runs of lines of a sample, and its first line."""
    end_of_run = sample.starts[run + 1] if run + 1 < len(sample.starts) else len(sample.pairs)
    low = max(sample.lines[run - 1], sample.line(sample.starts[run] - 1) - sample.block)
    high = sample.lines[run] + min(sample.block, end_of_run - sample.starts[run])
    pairs = [pair for _, pair in islice(_numbered(corpus), low, high)]
    found = misaligned([src for src, _ in pairs], [tgt for _, tgt in pairs])
    found = [each for each in found if each.start]
    same = [each for each in found if (each.kind, each.offset) == (fault.kind, fault.offset)]
    best = next(iter(same or found), None)
    return (best, low + best.start) if best else (fault, start)


def _check_command(corpus: Corpus) -> str:
    files = (corpus.src, corpus.tgt) if corpus.src else ("--pairs", corpus.pairs)
    return f"yakusu check {shlex.join(files)}"


def _repair(corpus: Corpus) -> str:
    """What to do to pair the sentences of a corpus again."""
    if corpus.src:
        files, save = shlex.join([corpus.src, corpus.tgt]), ""
    else:
        files, save = "SRC TGT", "save each side as its own file and "
    return (
        f"{save}pair the sentences again with 'yakusu align {files} --out PAIRS.tsv' ("
        "'yakusu mine' if their order differs), and use --pairs PAIRS.tsv from then on"
    )


def _described(corpus: Corpus, sample: _Sample, found: Sequence[Misaligned]) -> tuple[Fault, ...]:
    """The faults with their line numbers, in words."""
    faults = []
    for each in found:
        line, last = each.start + sample.first, each.stop - 1 + sample.first
        faults.append(
            Fault(
                kind=each.kind,
                line=line,
                last_line=last,
                offset=each.offset,
                text=_sentence(corpus, each, line, last, to_end=each.stop >= sample.n - 1),
            )
        )
    return tuple(faults)


def _sentence(corpus: Corpus, fault: Misaligned, line: int, last: int, *, to_end: bool) -> str:
    names = (corpus.src, corpus.tgt) if corpus.src else ("the source", "the target")
    src, tgt = names if names[0] != names[1] else ("the source", "the target")
    where = f"from line {line:,} on" if to_end else f"in lines {line:,} to {last:,}"
    where = f"{corpus.pairs}, {where}" if corpus.pairs else where
    k = fault.offset
    if fault.kind == "shifted" and not k:
        return f"{where}, line N of {src} matches line N of {tgt} again"
    if fault.kind == "shifted":
        (lacks, other), n = ((src, tgt) if k > 0 else (tgt, src)), abs(k)
        return (
            f"{where}, line N of {src} matches line N {'+' if k > 0 else '-'} {n} of {tgt}, "
            f"because {lacks} lacks {n} line{'s' * (n > 1)} near line {line:,}, or {other} has {n} "
            f"too many: correct the files, or {_repair(corpus)}"
        )
    if fault.kind == "exchanged":
        return f"{where}, source and target are swapped: swap these lines of {src} and {tgt}"
    if fault.kind == "repeated":
        return (
            f"{where}, {src} and {tgt} repeat their lines from line {line + k:,} on: remove these "
            "lines"
        )
    if fault.kind in ("source repeated", "target repeated"):
        copy, other = (src, tgt) if fault.kind == "source repeated" else (tgt, src)
        return (
            f"{where}, {copy} repeats its lines from line {line + k:,} on, but {other} does not: "
            f"restore these lines of {copy} from the original text"
        )
    return (
        f"{where}, {src} and {tgt} are not translations of each other: restore the order of the "
        f"lines from the original texts, or {_repair(corpus)}"
    )
