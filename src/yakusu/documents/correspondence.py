"""Which texts of one document correspond to which of another one, if texts were added or removed.

    weight(alignment) = exp(sum of the log-odds of its pairs + g * number of texts without a pair)
    P(i, j)           = weight of all alignments with the pair (i, j) / weight of all alignments

An alignment keeps the order of both documents. Pairs with P of at least 0.99 are certain. P comes
from sums over all alignments near the diagonal, forward and backward.

The log-odds of a text and its translation depend on their lengths, markup, numbers, last characters
and common words such as names; those of two versions of a translation on their similarity.
"""

import re
import unicodedata
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from yakusu.data.lines.private_use import MARKS, is_break, is_closing, is_opening
from yakusu.memory.words import encoded

_CERTAIN = 0.99
_GAP = -4.0  # g
_UNCHANGED = 6.0  # weight of the alignment without gaps, in addition
_LOWEST, _HIGHEST = -5.0, 6.0  # log-odds: a text and its translation may differ in all features
_REACH = 100  # texts by which an alignment may be off the diagonal
_MARK = re.compile(MARKS)
_WORD = re.compile(r"\w{3,}")
_RARE = 3  # texts in which a common word may occur
_Floats = npt.NDArray[np.float64]
_Odds = Callable[[int, int, int], _Floats]  # of a text and texts from one to before another


def translated_pairs(sources: Sequence[str], targets: Sequence[str]) -> list[tuple[int, int]]:
    """The places of texts that certainly correspond: a text and its translation."""
    if not (sources and targets):
        return []
    one, other = _Features(sources), _Features(targets)
    ratio = np.log(np.exp(other.lengths).sum() / np.exp(one.lengths).sum())
    spread = float(one.lengths.var() + other.lengths.var())
    places = defaultdict[str, list[int]](list)
    for j, text in enumerate(targets):
        for word in {*_WORD.findall(text)}:
            places[word].append(j)

    def odds(i: int, first: int, end: int) -> _Floats:
        lengths = other.lengths[first:end]
        narrow = 0.06 + 1 / np.exp(np.minimum(lengths, one.lengths[i]))
        wide = np.maximum(narrow, spread)
        off = (lengths - one.lengths[i] - ratio) ** 2
        found = off / wide / 2 - off / narrow / 2 + np.log(wide / narrow) / 2
        for name, equal, unequal in (("marks", 3, -3), ("numbers", 4, -3), ("ends", 0.5, -1)):
            own, others = getattr(one, name)[i], getattr(other, name)[first:end]
            found += np.where(others == own, equal * (own != 0), unequal)
        for word in {*_WORD.findall(sources[i])}:
            if len(places.get(word, ())) in range(1, _RARE + 1):
                for j in places[word]:
                    if first <= j < end:
                        found[j - first] += 2
        return np.asarray(np.clip(found, _LOWEST, _HIGHEST), np.float64)

    return _certain_pairs(len(sources), len(targets), odds)


def edited_pairs(texts: Sequence[str], edited: Sequence[str]) -> list[tuple[int, int]]:
    """The places of texts that certainly correspond: a text, and what an editor made of it."""
    codes = [encoded(_MARK.sub(" ", text)) for text in texts]
    others = [encoded(_MARK.sub(" ", text)) for text in edited]

    def odds(i: int, first: int, end: int) -> _Floats:
        scorer = Levenshtein.normalized_similarity
        found = process.cdist([codes[i]], others[first:end], scorer=scorer)[0]
        return np.clip(14 * np.asarray(found, np.float64) - 5, -2, 9)

    return _certain_pairs(len(texts), len(edited), odds)


class _Features:
    """What a text and its translation have in common; 0: nothing of that kind."""

    def __init__(self, texts: Sequence[str]) -> None:
        plain = [_MARK.sub("", text).strip() for text in texts]
        self.lengths: _Floats = np.log([len(text) + 1 for text in plain])
        self.marks = np.array(
            [_number("".join(sorted(map(_kind, _MARK.findall(t))))) for t in texts]
        )
        self.numbers = np.array([_number(_digits(text)) for text in plain])
        self.ends = np.array([_number(_end(text)) for text in plain])


def _number(text: str) -> int:
    """The same integer for equal texts; 0 for an empty one."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) + 1 if text else 0


def _kind(mark: str) -> str:
    return "<" if is_opening(mark) else ">" if is_closing(mark) else "n" if is_break(mark) else "-"


def _digits(text: str) -> str:
    """The numbers of a text in a form that does not depend on separators or order."""
    digits = Counter(unicodedata.normalize("NFKC", c) for c in text if c.isdecimal())
    return "".join(sorted(digits.elements()))


def _end(text: str) -> str:
    last = unicodedata.normalize("NFKC", text[-1:]).replace("。", ".")
    return last if last in ".?!:…" else "a"


def _certain_pairs(n: int, m: int, odds: _Odds) -> list[tuple[int, int]]:
    """The pairs (i, j) of n and m texts with a probability of at least `_CERTAIN`.

    Row i of an array is about the first i texts, and column d about the first i + d + `low` texts
    of the other document.
    """
    low, high = min(0, m - n) - _REACH, max(0, m - n) + _REACH
    width = high - low + 1
    table = np.full((n, width), -np.inf)
    for i in range(n):
        first, end = max(0, i + low), min(m, i + high + 1)
        if first < end:
            table[i, first - i - low : end - i - low] = odds(i, first, end)
    steps = _GAP * np.arange(width)
    columns = np.arange(width) + low

    def gaps(row: _Floats, i: int, *, forward: bool) -> _Floats:
        """Add alignments in which texts of the other document have no pair."""
        row = np.where((columns + i >= 0) & (columns + i <= m), row, -np.inf)
        ordered = row if forward else row[::-1]
        summed = np.logaddexp.accumulate(ordered - steps) + steps
        summed = summed if forward else summed[::-1]
        return np.where((columns + i >= 0) & (columns + i <= m), summed, -np.inf)

    ahead, back = np.full((n + 1, width), -np.inf), np.full((n + 1, width), -np.inf)
    ahead[0, -low], back[n, m - n - low] = 0, 0
    ahead[0], back[n] = gaps(ahead[0], 0, forward=True), gaps(back[n], n, forward=False)
    for i in range(1, n + 1):
        skipped = np.append(ahead[i - 1, 1:], -np.inf) + _GAP
        row = np.logaddexp(ahead[i - 1] + table[i - 1], skipped)
        ahead[i] = gaps(row, i, forward=True)
    for i in range(n - 1, -1, -1):
        skipped = np.append(-np.inf, back[i + 1, :-1]) + _GAP
        row = np.logaddexp(back[i + 1] + table[i], skipped)
        back[i] = gaps(row, i, forward=False)
    chances, total = ahead[:-1] + table + back[1:], ahead[n, m - n - low]
    if n == m:  # the alignment of each text with the one in its place is more probable
        unchanged = table[:, -low].sum() + _UNCHANGED
        chances[:, -low] = np.logaddexp(chances[:, -low], unchanged)
        total = np.logaddexp(total, unchanged)
    found = np.argwhere(chances - total >= np.log(_CERTAIN))
    return [(int(i), int(i + d + low)) for i, d in found]
