"""Counts of `check`: filled line by line, in memory that does not grow with the corpus."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TypeVar

import regex

from yakusu.data.files.shortened import shorten
from yakusu.data.files.text import Pair
from yakusu.data.lines.words import UNSPACED
from yakusu.pipeline.check.report import CharacterCount, Example, Finding

Number = TypeVar("Number", int, float)
EXAMPLES = 3  # of each finding
_FREQUENT, _RARE = 30, 10  # characters that are listed
_QUANTILES = {"min": 0.0, "1%": 0.01, "25%": 0.25, "50%": 0.5, "75%": 0.75, "99%": 0.99, "max": 1.0}
_EDGES = (0, 5, 10, 20, 40, 80, 160)  # of the histogram of lengths
_UNSPACED = regex.compile(f"[{UNSPACED}]")
_WORD = 6  # characters; longer words of such a script are sentences without spaces
_TOO_FEW = 50  # pairs, for a correlation


class FindingCounts:
    """Counts findings by name and keeps the first examples of each."""

    def __init__(self, names: Iterable[str]) -> None:
        self._counts = dict.fromkeys(names, 0)
        self._examples: dict[str, list[Example]] = {name: [] for name in self._counts}

    def add(self, name: str, line: int, pair: Pair, around: tuple[int, int] = (0, 0)) -> None:
        """Count a pair; an example shows the part of each side around a position."""
        self._counts[name] += 1
        if len(self._examples[name]) < EXAMPLES:
            src, tgt = map(shorten, pair, around)
            self._examples[name].append(Example(line=line, src=src, tgt=tgt))

    def findings(self) -> tuple[Finding, ...]:
        """All findings, in the order of the names."""
        return tuple(
            Finding(name=name, n=n, examples=tuple(self._examples[name]))
            for name, n in self._counts.items()
        )


class SideCounts:
    """Lengths and characters of one side.

    Args:
        unit: "words" or "characters", in which lengths are counted.
    """

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self._lengths: Counter[int] = Counter()
        self._characters: Counter[str] = Counter()
        self._first: dict[str, int] = {}  # character -> line

    def add(self, line: int, text: str) -> int:
        """Count a line and return its length."""
        length = length_in(self.unit, text)
        self._lengths[length] += 1
        new = set(text).difference(self._first)
        self._first.update(dict.fromkeys(new, line))
        self._characters.update(text)
        return length

    @property
    def n_units(self) -> int:
        """Number of words or characters of all lines."""
        return sum(length * n for length, n in self._lengths.items())

    @property
    def n_characters(self) -> int:
        """Number of different characters, without spaces."""
        return len(self._first.keys() - {" "})

    def quantiles(self) -> dict[str, int]:
        """Quantiles of the lengths of lines that are not empty."""
        return quantiles(Counter({key: n for key, n in self._lengths.items() if key}))

    def histogram(self) -> dict[str, int]:
        """Number of lines by their length."""
        bins = {"0": self._lengths[0]}
        for low, high in pairwise(_EDGES):
            bins[f"{low + 1}-{high}"] = self._count(low + 1, high)
        bins[f">{_EDGES[-1]}"] = self._count(_EDGES[-1] + 1, max(self._lengths, default=0))
        return bins

    def _count(self, low: int, high: int) -> int:
        return sum(n for length, n in self._lengths.items() if low <= length <= high)

    def frequent(self) -> tuple[CharacterCount, ...]:
        """The most frequent characters, without spaces."""
        return tuple(self._describe(self._by_frequency()[:_FREQUENT]))

    def rare(self) -> tuple[CharacterCount, ...]:
        """The rarest characters, the rarest first."""
        return tuple(self._describe(self._by_frequency()[_FREQUENT:][::-1][:_RARE]))

    def _by_frequency(self) -> list[str]:
        found = self._first.keys() - {" "}
        return sorted(found, key=lambda character: (-self._characters[character], character))

    def _describe(self, characters: Iterable[str]) -> Iterator[CharacterCount]:
        for each in characters:
            yield CharacterCount(character=each, n=self._characters[each], line=self._first[each])


class RatioCounts:
    """Ratios of the lengths of both sides, and their correlation."""

    def __init__(self) -> None:
        self._ratios: Counter[float] = Counter()
        self._n = 0
        self._sums = [0.0] * 5  # of x, y, xx, yy, xy; x and y are logarithms of lengths

    def add(self, n_src: int, n_tgt: int) -> None:
        """Count a pair; one with an empty side has no ratio."""
        if not n_src or not n_tgt:
            return
        self._ratios[round(n_tgt / n_src, 2)] += 1
        self._n += 1
        x, y = math.log(n_src), math.log(n_tgt)
        for i, value in enumerate((x, y, x * x, y * y, x * y)):
            self._sums[i] += value

    def quantiles(self) -> dict[str, float]:
        """Quantiles of target length / source length."""
        return quantiles(self._ratios)

    def correlation(self) -> float | None:
        """Correlation of the logarithms of the lengths; None: too few pairs, or equal lengths."""
        x, y, xx, yy, xy = (value / max(self._n, 1) for value in self._sums)
        variance = (xx - x * x) * (yy - y * y)
        if self._n < _TOO_FEW or variance < 1e-6:
            return None
        return round((xy - x * y) / math.sqrt(variance), 3)


def quantiles(counts: "Counter[Number]") -> dict[str, Number]:
    """Return the quantiles of counted values; none if there are no values."""
    values = sorted(counts)
    if not values:
        return {}
    total, seen, at = counts.total(), 0, 0
    found = {}
    for name, share in _QUANTILES.items():
        while seen + counts[values[at]] <= share * (total - 1):
            seen += counts[values[at]]
            at += 1
        found[name] = values[at]
    return found


def length_in(unit: str, text: str) -> int:
    """Return the length of a line in words or in characters that are not white space."""
    words = text.split()
    return len(words) if unit == "words" else sum(map(len, words))


def unit_of(lines: Iterable[str]) -> str:
    """Return the unit of a text: "characters" if its script writes words without spaces."""
    text = " ".join(lines)
    words = text.split()
    n_characters = sum(map(len, words))
    if 2 * len(_UNSPACED.findall(text)) > n_characters > _WORD * len(words):
        return "characters"
    return "words"
