"""What many files of messages have in common: units of one or more strings, which are spliced.

    "files" = {one: %d file, other: %d files}   ->   a unit with two strings and their categories

A format finds the units of its file, says how a string is written, and how the categories that the
target language has and a plural lacks are added. A file is read again when it is rendered, so that
only its texts are kept.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from yakusu.data.lines.private_use import (
    MARKS,
    MAX_MARKS,
    has_marks_of,
    is_closing,
    is_mark,
    is_opening,
    number_of,
)
from yakusu.documents.inline import Piece, PieceKind, marked, matched
from yakusu.documents.messages.icu import Message
from yakusu.documents.messages.identifiers import has_words, is_language
from yakusu.documents.messages.positional import reordered

Edit = tuple[int, int, str]  # start, end, new content
Item = tuple[Piece, str]  # a piece of a string, and its source
# Writes a text of a string, given what is before it.
WritePart = Callable[[str, str], str]
_SHOWN = 60  # characters of a string in a message


def text_item(text: str) -> Item:
    """Text."""
    return Piece(PieceKind.TEXT, text=text), ""


def code_item(source: str) -> Item:
    """What is kept, and is a part of the sentence."""
    return Piece(PieceKind.EMPTY), source


class MarkedString:
    """A string with markup, as texts with marks.

    Args:
        items: Its pieces, each with its source.

    Attributes:
        string: The string with marks.
        message: Its texts.
    """

    __slots__ = ("_codes", "_pairs", "message", "string")

    def __init__(self, items: Iterable[Item]) -> None:
        every = [*_without_marks(items)]
        pieces = matched([piece for piece, _ in every])
        shown, marks = marked(pieces)
        sources = iter(
            source
            for piece, (_, source) in zip(pieces, every, strict=True)
            if piece.kind is not PieceKind.TEXT
        )
        self._codes = {
            mark: "" if piece.hollow and is_closing(mark) else next(sources)
            for mark, piece in marks.items()
        }
        self._pairs = {mark for mark, piece in marks.items() if piece.pair is not None}
        self.string = "".join(shown)
        too_many = f"it has more than {MAX_MARKS - 1:,} pieces of markup"
        self.message = Message(self.string, problem=too_many if pieces and not shown else "")

    @property
    def is_language(self) -> bool:
        """Whether the string is for readers."""
        return is_language(re.sub(MARKS, "", self.string))

    def written(self, string: str, write: WritePart) -> str | None:
        """The source of a string with the same marks; None: its markup does not nest.

        Args:
            string: The string.
            write: Writes a text of it.
        """
        if not (has_marks_of(self.string, string) and self._nests(string)):
            return None
        parts = list[str]()
        before = ""
        for part in filter(None, re.split(f"({MARKS})", string)):
            parts.append(self._codes[part] if part in self._codes else write(part, before))
            before = parts[-1] or before
        return "".join(parts)

    def _nests(self, string: str) -> bool:
        waiting = list[int | None]()
        for mark in re.findall(MARKS, string):
            if mark in self._pairs:
                number = number_of(mark)
                if is_opening(mark):
                    waiting.append(number)
                elif not waiting or waiting.pop() != number:
                    return False
        return True


def _without_marks(items: Iterable[Item]) -> Iterator[Item]:
    """Make markup of characters that happen to be marks."""
    for piece, source in items:
        if piece.kind is not PieceKind.TEXT:
            yield piece, source
            continue
        for part in filter(None, re.split(f"({MARKS})", piece.text)):
            yield code_item(part) if is_mark(part[0]) else text_item(part)


@dataclass(frozen=True, slots=True)
class UnitString:
    """A string and its place in the file.

    Attributes:
        start: Position of the first character or byte that is replaced.
        end: Position after the last one.
        line: Its line.
        marked: The string.
        write: The source of another string with its marks; None: it is not valid.
        category: Its plural category; "": none.
        problem: Why it stays as it is; "": it has texts.
    """

    start: int
    end: int
    line: int
    marked: MarkedString
    write: Callable[[str], str | None]
    category: str = ""
    problem: str = ""

    @property
    def texts(self) -> Sequence[str]:
        """Its texts."""
        return () if self.problem else self.marked.message.texts

    def checked(self) -> "UnitString":
        """The string with the reason why it stays, or without texts if it has no words."""
        if self.problem:
            return self
        if problem := self.marked.message.problem:
            return replace(self, problem=self.reason(f"cannot be translated: {problem}"))
        if self.marked.is_language:
            return self
        if has_words(self.marked.string):
            return replace(self, problem=self.reason("looks like an identifier, not like text"))
        return replace(self, marked=MarkedString(()))  # has no texts

    def rendered(self, translations: Sequence[str]) -> tuple[str | None, str]:
        """The source of its translation, or None if it does not change; and why it stays, or ""."""
        source = self.marked.string
        string = self.marked.message.render(translations)
        if string == source:
            return None, ""
        new = None if string is None else self.write(string)
        if string is None or new is None:
            return None, self.reason(
                "has a translation that is blank, or whose numbers or markup differ"
            )
        if others := reordered(source, string):
            order = ", ".join(others)
            return None, self.reason(
                f"has a translation with placeholders in another order: {order}"
            )
        return new, ""

    def reason(self, why: str) -> str:
        """A sentence about the string."""
        shown = " ".join(re.sub(MARKS, "", self.marked.string).split())
        return f"line {self.line}: {shown[:_SHOWN]!r} {why}"


@dataclass(frozen=True, slots=True)
class MessageUnit:
    """The strings of one key.

    Attributes:
        key: The key.
        strings: The strings.
        added: Returns the change that adds the missing plural categories, given the source of the
            form `other`, or None if it does not change; None: nothing is missing.
    """

    key: str
    strings: Sequence[UnitString]
    added: Callable[[str | None], Edit] | None = None

    def edits(self, translations: Iterator[str], reasons: list[str]) -> Sequence[Edit]:
        """Return the changes, and add the reasons of strings that stay.

        A plural stays if one of its forms does.
        """
        edits, other, stays = list[Edit](), None, False
        for string in (each for each in self.strings if each.texts):
            new, reason = string.rendered([next(translations) for _ in string.texts])
            if reason:
                stays |= bool(string.category)
                reasons.append(f"{reason}: the plural stays" if string.category else reason)
            elif new is not None:
                other = new if string.category == "other" else other
                edits.append((string.start, string.end, new))
        if stays:
            return ()
        return [*edits, self.added(other)] if self.added and edits else edits


class UnitFile(Protocol):
    """A file of units."""

    def parse(self, use: Callable[[MessageUnit], None]) -> None:
        """Call a function with each unit, in the order of the file."""

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file with parts replaced."""


class UnitDocument:
    """A file of units whose strings can be translated.

    Attributes:
        texts: The texts of all strings.
        keys: The key of each text.
        categories: The plural category of each text; "": none.
        skipped: Strings that stay as they are, each with the reason; complete after `render`.
    """

    lines: Sequence[int] = ()
    reports_blank = True

    def __init__(self, file: UnitFile, skipped: Sequence[str] = ()) -> None:
        self._file = file
        self._left = [*skipped]
        self.texts: list[str] = []
        self.keys: list[str] = []
        self.categories: list[str] = []
        file.parse(self._read)
        self.skipped: Sequence[str] = self._left

    def _read(self, unit: MessageUnit) -> None:
        for string in unit.strings:
            self._left += filter(None, [string.problem])
            self.texts += string.texts
            self.keys += [unit.key] * len(string.texts)
            self.categories += [string.category] * len(string.texts)

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""
        skipped, edits = [*self._left], list[Edit]()
        texts = iter(translations)
        self._file.parse(lambda unit: edits.extend(unit.edits(texts, skipped)))
        self.skipped = skipped
        return self._file.edited(edits)


def spliced(source: str, edits: Sequence[Edit]) -> str:
    """A source with parts replaced, which are in order."""
    written, at = list[str](), 0
    for start, end, new in edits:
        written += [source[at:start], new]
        at = end
    return "".join([*written, source[at:]])
