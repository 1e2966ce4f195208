"""What the filters of a recipe do to each pair, and which pairs repeat others."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import takewhile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from yakusu.arrays import Flags, Longs
from yakusu.data.corpus import Corpus, read_pairs
from yakusu.data.duplicates import DuplicateFinder
from yakusu.data.files.shortened import shorten
from yakusu.data.files.text import Pair
from yakusu.data.filters import NO_FILTERS, FilterConfig, length_filter, text_filter
from yakusu.data.identification import CorpusLanguages
from yakusu.data.noise import words_only
from yakusu.pipeline.check.counts import EXAMPLES
from yakusu.pipeline.check.report import Example, Finding

_KEYS = {  # name of a filter -> key of `FilterConfig`, in the order in which they are applied
    "long line": "",
    "empty": "",
    "identical": "drop_identical",
    "nearly identical": "drop_nearly_identical",
    "few letters": "min_letters",
    "placeholders": "drop_different_placeholders",
    "numbers": "drop_different_numbers",
    "language": "check_language",
    "duplicate": "drop_duplicates",
    "too long": "max_tokens",
    "ratio": "max_ratio",
}
_HELD = 1_000  # candidates for examples
_CODES = {name: code for code, name in enumerate(_KEYS, start=1)}  # 0: kept
_TEXT_PASSED = (0, _CODES["too long"], _CODES["ratio"])
# Tried for filters that are off. Languages take long to identify: see `Side.foreign`.
_TRIED = {
    "identical": True,
    "nearly identical": True,
    "few letters": 0.3,
    "placeholders": True,
    "numbers": True,
}
_GROUPED = ("pair", "words", "source", "target")  # what is compared to find repetitions


@dataclass(frozen=True)
class Decided:
    """Result of `Decisions.finish`."""

    n_pairs: int
    n_kept: int
    filters: tuple[Finding, ...]  # those that are on
    optional_filters: tuple[Finding, ...]  # those that are off
    repeated: tuple[Finding, ...]


@dataclass(frozen=True)
class _Found:
    """A finding whose examples have no text yet."""

    name: str
    n: int
    key: str = ""
    lines: Mapping[int, str] = field(default_factory=dict)  # line of an example -> note

    def with_text(self, texts: Mapping[int, Pair]) -> Finding:
        examples = (
            Example(line=line, src=shorten(texts[line][0]), tgt=shorten(texts[line][1]), note=note)
            for line, note in self.lines.items()
        )
        return Finding(name=self.name, n=self.n, key=self.key, examples=tuple(examples))


class Decisions:
    """The filter that rejects each pair, and the pairs that repeat others.

    Args:
        filters: The filters of the recipe.
        languages: Languages of both sides, if these are to be identified.
        codes: Their codes; "" if unknown.
        folder: An empty folder for temporary files.
        stack: Closes these files.
    """

    def __init__(
        self,
        filters: FilterConfig,
        languages: CorpusLanguages | None,
        codes: tuple[str, str],
        folder: Path,
        stack: ExitStack,
    ) -> None:
        self._filters, self._languages, self._codes = filters, languages, codes
        self._off = {name: value for name, value in _TRIED.items() if not self._is_on(name)}
        self._tried = [
            NO_FILTERS.model_copy(update={_KEYS[name]: value}) for name, value in self._off.items()
        ]
        # One byte per pair each: the code of the filter that rejects it; a bit per tried filter.
        self._rejected_by, self._tries = bytearray(), bytearray()
        self._finders: dict[str, DuplicateFinder] = {}
        for name in _GROUPED:
            (folder / name).mkdir()
            self._finders[name] = stack.enter_context(DuplicateFinder(folder / name))

    def _is_on(self, name: str) -> bool:
        return not _KEYS[name] or bool(getattr(self._filters, _KEYS[name]))

    def add(self, pair: Pair, n_tokens: tuple[int, int]) -> None:
        """Decide on the next pair, whose sides have these numbers of tokens."""
        rejected_by, tries = self._text_filter(pair, self._filters), 0
        if rejected_by is None:
            grouped = (pair, tuple(map(words_only, pair)), pair[:1], pair[1:])
            for finder, lines in zip(self._finders.values(), grouped, strict=True):
                finder.add(lines)
            for bit, config in enumerate(self._tried):
                tries |= (self._text_filter(pair, config) is not None) << bit
            rejected_by = length_filter(*n_tokens, self._filters)
        self._rejected_by.append(_CODES[rejected_by] if rejected_by else 0)
        self._tries.append(tries)

    def _text_filter(self, pair: Pair, config: FilterConfig) -> str | None:
        return text_filter(pair, config, self._languages, self._codes)

    def finish(self, corpus: Corpus, first: int) -> Decided:
        """Find the repetitions and read the examples of all findings from the corpus.

        Args:
            corpus: The corpus of which all pairs were added.
            first: Line of its first pair.
        """
        codes = np.frombuffer(self._rejected_by, dtype=np.uint8)
        compared = np.flatnonzero(np.isin(codes, _TEXT_PASSED)) + first  # lines in the finders
        is_duplicate = self._finders["pair"].find()
        if self._filters.drop_duplicates:
            codes[compared[is_duplicate] - first] = _CODES["duplicate"]
        groups = [
            _repeats("equal pairs", self._finders["pair"], compared),
            self._near_duplicates(compared, is_duplicate),
        ]
        groups += [self._several(side, compared, is_duplicate) for side in ("source", "target")]
        duplicates, *repeated = groups
        filters = list(self._rejections(codes, duplicates, first))
        optional = list(self._trials(codes == 0, first))
        found = (*filters, *optional, *groups)
        texts = _texts(corpus, (line for each in found for line in each.lines), first)
        return Decided(
            n_pairs=len(codes),
            n_kept=int((codes == 0).sum()),
            filters=tuple(each.with_text(texts) for each in filters),
            optional_filters=tuple(each.with_text(texts) for each in optional),
            repeated=tuple(
                each.with_text(texts)
                for each in (repeated if self._filters.drop_duplicates else groups)
            ),
        )

    def _rejections(
        self, codes: npt.NDArray[np.uint8], duplicates: _Found, first: int
    ) -> Iterator[_Found]:
        for name, key in _KEYS.items():
            if not self._is_on(name):
                continue
            setting = f"filters.{key} = {_toml(getattr(self._filters, key))}" if key else ""
            found = _first_lines(name, codes == _CODES[name], setting, first)
            if name == "long line" and not found.n:
                continue  # as in nearly all corpora
            yield replace(found, lines=duplicates.lines) if name == "duplicate" else found

    def _trials(self, kept: Flags, first: int) -> Iterator[_Found]:
        tries = np.frombuffer(self._tries, dtype=np.uint8)
        for bit, (name, value) in enumerate(self._off.items()):
            setting = f"filters.{_KEYS[name]} = {_toml(value)}"
            tried = (tries >> bit & 1).astype(np.bool_)
            yield _first_lines(name, kept & tried, setting, first)

    def _near_duplicates(self, compared: Longs, is_duplicate: Flags) -> _Found:
        """Pairs that differ from an earlier one only in case and punctuation."""
        name = "pairs equal except for case and punctuation"
        return _repeats(name, self._finders["words"], compared, is_duplicate)

    def _several(self, side: str, compared: Longs, is_duplicate: Flags) -> _Found:
        """Sentences of a side that have several different translations."""
        other = {"source": "target", "target": "source"}[side]
        sizes: dict[int, int] = {}  # first line -> number of different translations
        n = 0
        for group in self._finders[side].groups():
            different = group[~is_duplicate[group]]
            if len(different) > 1:
                n += len(different)
                sizes[int(compared[different[0]])] = len(different)
                if len(sizes) > _HELD:
                    sizes = _largest(sizes)
        lines = {line: f"one of {size:,} {other}s" for line, size in _largest(sizes).items()}
        return _Found(f"one {side} with several {other}s", n, lines=lines)


def _repeats(
    name: str, finder: DuplicateFinder, compared: Longs, ignored: Flags | None = None
) -> _Found:
    """Find the items that occurred before, except the ignored ones."""
    n = 0
    first: dict[int, int] = {}  # line of an item -> line where it occurred first
    for group in finder.groups():
        later = group[1:] if ignored is None else group[1:][~ignored[group[1:]]]
        n += len(later)
        first |= {int(compared[i]): int(compared[group[0]]) for i in later[:EXAMPLES]}
        if len(first) > _HELD:
            first = {line: first[line] for line in nsmallest(EXAMPLES, first)}
    lines = {line: f"as line {first[line]:,}" for line in nsmallest(EXAMPLES, first)}
    return _Found(name, n, lines=lines)


def _largest(sizes: Mapping[int, int]) -> dict[int, int]:
    lines = nsmallest(EXAMPLES, sizes, key=lambda line: (-sizes[line], line))
    return {line: sizes[line] for line in lines}


def _first_lines(name: str, mask: Flags, key: str, first: int) -> _Found:
    lines = np.flatnonzero(mask) + first
    return _Found(name, len(lines), key, {int(line): "" for line in lines[:EXAMPLES]})


def _texts(corpus: Corpus, lines: Iterable[int], first: int) -> dict[int, Pair]:
    """Read the pairs at these lines."""
    wanted = set(lines)
    numbered = enumerate(read_pairs(corpus), start=first)
    needed = takewhile(lambda each: each[0] <= max(wanted, default=0), numbered)
    return {line: pair for line, pair in needed if line in wanted}


def _toml(value: bool | float) -> str:
    return str(value).lower()
