"""Paragraphs of formatted text as text with marks, and back.

A format splits a paragraph into items: text with its run (its formatting), pieces of the source
that stay, and pairs that enclose items. `build` makes one text of them:

    Press [bold: Start][tab] now   ->   Press OPEN(0) Start CLOSE(0) EMPTY(1) now

The most common formatting between the ends of a pair, or of the paragraph, has no marks. Adjacent
pieces share one mark. What precedes the first word or follows the last one is not part of the text.
"""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from yakusu.data.lines.private_use import (
    MARKS,
    MAX_MARKS,
    closing,
    empty,
    is_closing,
    is_mark,
    is_opening,
    line_break,
    number_of,
    opening,
)
from yakusu.data.lines.words import has_letter
from yakusu.documents.office.items import (
    LINE_BREAK,
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


@dataclass(frozen=True)
class _Mark:
    """The markup of one number: items, and for a pair the run of the text in it."""

    before: tuple[Item, ...] = ()
    after: tuple[Item, ...] = ()
    run: Run | None = None


class Formatted:
    """A paragraph with a text to translate.

    Attributes:
        text: Its text, with marks.
    """

    def __init__(self, items: Sequence[Item], base: Run) -> None:
        lead, core, tail = trimmed(items)
        self._lead, self._tail = lead, tail
        runs = bases(core, base)
        marker = _Marker(runs)
        for item in core:
            marker.add(item)
        marker.end()
        self._base = runs[None]
        self._marks = marker.marks
        self.text = "".join(marker.text)

    def compose(self, translation: str) -> list[Written]:
        """Return the items of the paragraph with another text, which has the marks of its text."""
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


class _Marker:
    """Makes one text with marks of items."""

    def __init__(self, runs: Mapping[Pair | None, Run]) -> None:
        self.text: list[str] = []
        self.marks: list[_Mark] = []
        self._runs = runs  # by pair, those without marks
        self._scope: list[Pair | None] = [None]
        self._numbers: dict[Pair, int] = {}
        self._formatting: tuple[Hashable, int] | None = None  # that has marks, and their number
        self._spaces = ""  # after the last word of that formatting; they stay out of its pair
        self._pieces: list[Item] = []  # that get the next empty mark

    def add(self, item: Item) -> None:
        """Append an item."""
        if isinstance(item, Raw | Group):
            self._pieces.append(item)
            return
        key = item.run.key if isinstance(item, Text) else None
        if self._formatting is not None and (key is None or key != self._formatting[0]):
            self.end()
        self.text.append(self._spaces)
        self._spaces = ""
        if self._pieces:
            breaks = any(isinstance(i, Raw) and i.role == LINE_BREAK for i in self._pieces)
            number = self._number(_Mark(before=tuple(self._pieces)))
            self.text.append(line_break(number) if breaks else empty(number))
            self._pieces = []
        if isinstance(item, Text):
            self._add_text(item)
        elif isinstance(item, Open):
            mark = _Mark(item.pair.before, item.pair.after, self._runs[item.pair])
            self._scope.append(item.pair)
            self._numbers[item.pair] = self._number(mark)
            self.text.append(opening(self._numbers[item.pair]))
        else:
            self._scope.pop()
            self.text.append(closing(self._numbers[item.pair]))

    def end(self) -> None:
        """End the formatting that has marks."""
        if self._formatting is not None:
            self.text.append(closing(self._formatting[1]))
            self._formatting = None

    def _add_text(self, item: Text) -> None:
        if item.run.key == self._runs[self._scope[-1]].key:
            self.text.append(item.text)
            return
        word = item.text.strip()
        if not word and self._formatting is None:
            if len(item.text) == 1:
                self.text.append(item.text)
            else:  # a space to fill in, for example underlined
                self._pieces.append(Group((item,)))
            return
        before, _, self._spaces = item.text.partition(word) if word else ("", "", item.text)
        self.text.append(before)
        if self._formatting is None:
            self._formatting = item.run.key, self._number(_Mark(run=item.run))
            self.text.append(opening(self._formatting[1]))
        self.text.append(word)

    def _number(self, mark: _Mark) -> int:
        self.marks.append(mark)
        return len(self.marks) - 1


def build(items: Sequence[Item]) -> Formatted | None:
    """Return the paragraph of these items, or None if it has no text to translate.

    Pairs must be properly nested. A paragraph with more markup than
    `data.lines.private_use` has numbers is not translated.
    """
    texts = [item for item in items if isinstance(item, Text)]
    changes = sum(one.run.key != two.run.key for one, two in pairwise(texts))
    if len(items) - len(texts) + changes >= MAX_MARKS:  # the numbers might not suffice
        return None
    if not any(has_letter(item.text) for item in texts):
        return None
    return Formatted(without_empty_pairs(with_ranges(list(without_marks(items)))), texts[0].run)
