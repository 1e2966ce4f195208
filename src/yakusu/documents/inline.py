"""Paragraphs of formatted text as text with marks, and back.

A format splits a paragraph into items: text with its run (its formatting), pieces of the source
that stay, and pairs that enclose items. `build` makes one text of them:

    Press [bold: Start][tab] now   ->   Press OPEN(0) Start CLOSE(0) EMPTY(1) now

The most common formatting between the ends of a pair, or of the paragraph, has no marks. Adjacent
pieces share one mark. What precedes the first word or follows the last one is no part of the text.
"""

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from yakusu.data.markup import (
    MARKS,
    MAX_MARKS,
    closing,
    empty,
    is_closing,
    is_mark,
    is_opening,
    number_of,
    opening,
)
from yakusu.documents.items import (
    Group,
    Item,
    Open,
    Pair,
    Raw,
    Run,
    Text,
    Written,
    bases,
    flat,
    trimmed,
    with_ranges,
    without_empty_pairs,
    without_marks,
)
from yakusu.errors import DataError


@dataclass(frozen=True)
class _Mark:
    """The markup of one number: items, and for a pair the run of the text in it."""

    before: tuple[Item, ...] = ()
    after: tuple[Item, ...] = ()
    run: Run | None = None


class Inline:
    """A paragraph with a text to translate.

    Attributes:
        text: Its text, with marks.
    """

    def __init__(self, items: Sequence[Item], base: Run) -> None:
        lead, core, tail = trimmed(items)
        self._lead, self._tail = lead, tail
        self._base = base
        self._marks: list[_Mark] = []
        self.text = "".join(self._marked(core))

    def compose(self, translation: str) -> list[Written]:
        """Return the items of the paragraph with another text.

        Raises:
            DataError: The translation does not have the marks of the text.
        """
        check_marks(self.text, translation)
        written: list[Item] = [*self._lead]
        inside = [(_Mark(run=self._base), -1)]  # open pairs with their numbers
        closed = set()
        for part in re.split(f"({MARKS})", translation):
            if not part:
                continue
            if not is_mark(part[0]):
                written.append(Text(part, inside[-1][0].run or self._base))
                continue
            number = number_of(part)
            mark = self._marks[number]
            if is_closing(part):
                closed.add(number)
                while inside[-1][1] in closed:  # a pair ends after all pairs in it
                    written += inside.pop()[0].after
                continue
            written += mark.before
            if is_opening(part):
                inside.append((mark, number))
        return list(flat([*written, *self._tail]))

    def _marked(self, core: Sequence[Item]) -> Iterator[str]:
        """The text and marks of the items of a paragraph."""
        runs = bases(core, self._base)
        self._base = runs[None]
        scope: list[Pair | None] = [None]
        numbers: dict[Pair, int] = {}
        current: tuple[Hashable, int] | None = None  # formatting that has marks, and its number
        pieces: list[Item] = []
        for item in core:
            if isinstance(item, Raw | Group):
                pieces.append(item)
                continue
            key = item.run.key if isinstance(item, Text) else None
            if current is not None and (not isinstance(item, Text) or key != current[0]):
                yield closing(current[1])
                current = None
            if pieces:
                yield empty(self._numbered(_Mark(before=tuple(pieces))))
                pieces = []
            if isinstance(item, Text):
                if current is None and key != runs[scope[-1]].key:
                    current = key, self._numbered(_Mark(run=item.run))
                    yield opening(current[1])
                yield item.text
            elif isinstance(item, Open):
                pair = item.pair
                numbers[pair] = self._numbered(_Mark(pair.before, pair.after, runs[pair]))
                scope.append(pair)
                yield opening(numbers[pair])
            else:
                scope.pop()
                yield closing(numbers[item.pair])
        if current is not None:
            yield closing(current[1])

    def _numbered(self, mark: _Mark) -> int:
        self._marks.append(mark)
        return len(self._marks) - 1


def build(items: Sequence[Item]) -> Inline | None:
    """Return the paragraph of these items, or None if it has no text to translate.

    Pairs must be properly nested. A paragraph with more markup than `data.markup` has numbers is
    not translated.
    """
    texts = [item for item in items if isinstance(item, Text)]
    changes = sum(one.run.key != two.run.key for one, two in pairwise(texts))
    if len(items) - len(texts) + changes >= MAX_MARKS:  # the numbers might not suffice
        return None
    if not any(has_letter(item.text) for item in texts):
        return None
    return Inline(without_empty_pairs(with_ranges(list(without_marks(items)))), texts[0].run)


def check_marks(text: str, translation: str) -> None:
    """Check that a translation has the marks of a text.

    Raises:
        DataError: A mark is missing, occurs twice or ends before it begins.
    """
    marks = re.findall(MARKS, translation)
    seen: set[int] = set()
    for mark in marks:
        if is_closing(mark) and number_of(mark) not in seen:
            raise DataError(f"a translation closes markup before it opens it: {translation!r}")
        seen.add(number_of(mark))
    if sorted(marks) != sorted(re.findall(MARKS, text)):
        raise DataError(
            f"a translation has other markup than its text: {translation!r} for {text!r}"
        )


def has_letter(text: str) -> bool:
    """Whether there is something to translate in a text."""
    return any(map(str.isalpha, text))
