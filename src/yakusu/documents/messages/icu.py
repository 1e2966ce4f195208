"""Messages of software: a string as the texts to translate, and a string made of translations.

    "{n, plural, one {# file} other {# files in {place}}} left"
    -> EMPTY(0) left | EMPTY(0) file | EMPTY(0) files in EMPTY(1)

A string with a plural, selectordinal or select argument of ICU MessageFormat has one text for each
branch, and one for the text around the argument; the syntax is kept, and so is a choice argument
with its text. Any other string, including one that is not valid ICU syntax, is one text.

Syntax: https://unicode-org.github.io/icu/userguide/format_parse/messages/
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Protocol, TypeAlias

from yakusu.data.lines.private_use import (
    MARKS,
    has_marks_of,
    is_closing,
    is_mark,
    is_opening,
    number_of,
)
from yakusu.data.lines.spans import breaks
from yakusu.data.lines.words import has_letter
from yakusu.documents.document import plain_text
from yakusu.documents.inline import Piece, PieceKind, marked, matched

_COMPLEX = re.compile(r"(?i)\{\s*[^\s{},'#|]+\s*,\s*(?:plural|selectordinal|select|choice)\s*,")
_ARGUMENT = re.compile(r"\{\s*[^\s{},'#|]+\s*(?:(\})|,\s*(\w+)\s*([,}]))")
_OFFSET = re.compile(r"\s*offset\s*:\s*-?\d+\s*", re.IGNORECASE)
_SELECTOR = re.compile(r"\s*(?:=-?[\d.]+|[^\s{}=,'#|]+)\s*\{")
_END = re.compile(r"\s*\}")
_PLURAL = re.compile(r"(?i)\{\s*[^\s{},'#|]+\s*,\s*(plural|selectordinal)\s*,")
_NOT_NAME = re.compile(r"[\s{}=,'#|]")
_QUOTED = re.compile(r"'[{}#](?:[^']|'')*'(?!')")
_STYLE = re.compile(r"(?:[^{}']|''|'[{}](?:[^']|'')*'|'(?![{}']))*")
_MAX_DEPTH = 20  # nested arguments
_MAX_BRANCHES = 1000
_MAX_SIZE = 100_000  # characters of a message with branches

# Characters that a model does not keep: marks, surrogates and control characters of the string.
_FRAGILE = f"{MARKS}|[\ud800-\udfff\0-\x08\x0b-\x1f\x7f]"


class _MalformedError(Exception):
    """The string is not an ICU message."""


class _LimitError(Exception):
    """The message exceeds a limit, which the error says."""


# A piece of a message, and what it consists of in the syntax; an argument has branches.
_Item: TypeAlias = "tuple[Piece, Sequence[str | _Level]]"


class TextString(Protocol):
    """A string with texts, as `Message` describes them."""

    texts: Sequence[str]
    is_icu: bool
    problem: str

    def render(self, translations: Sequence[str]) -> str | None:
        """Return the string with these translations, or None if they are not valid."""


@dataclass
class _Quoting:
    """How literal text of a message is written."""

    doubled: bool  # every apostrophe, as in "it''s"
    tags: bool  # "'<" starts a quotation, as in FormatJS
    plural: bool = False  # "#" is the number

    @property
    def pattern(self) -> str:
        """An expression for what is quoted, in a group, and for apostrophes."""
        special = "{}#" if self.plural else "{}"
        before = special + "'" + ("" if self.tags else "<")
        apostrophe = "'" if self.doubled else f"'(?=[{before}]|$)"
        return f"([{special}][{special}']*)|{apostrophe}"

    def quote(self, text: str) -> str:
        """Literal text in the syntax of the message."""
        return re.compile(self.pattern).sub(
            lambda m: "'" + m[1].replace("'", "''") + "'" if m[1] else "''", text
        )


@dataclass
class _Level:
    """A message or a branch: literal text, codes and arguments."""

    items: list[_Item]
    quoting: _Quoting | None  # None: not a message of ICU

    def __post_init__(self) -> None:
        pieces = [piece for piece, _ in self.items]
        self.n_pairs = 0
        self.shown = [piece.text for piece in pieces]
        if any(piece.kind is not PieceKind.TEXT for piece in pieces):
            pieces = matched(_once(pieces))
            self.n_pairs = sum(piece.kind is PieceKind.START for piece in pieces)
            self.shown, _ = marked(pieces)
        body = "".join(self.shown)
        self.text = body.strip()
        left = len(body) - len(body.lstrip())
        self.around = body[:left], body[left + len(self.text) :]
        self.translatable = has_letter(self.text)

    def texts(self) -> Iterator[str]:
        """The text of the level, and then the texts of its branches."""
        if self.translatable:
            yield self.text
        for level in self.branches():
            yield from level.texts()

    def branches(self) -> Iterator["_Level"]:
        """The branches of the arguments, not those inside another branch."""
        for _, parts in self.items:
            yield from (part for part in parts if isinstance(part, _Level))

    def render(self, translations: Iterator[str]) -> str:
        """Write the level; `translations` are those of `texts`."""
        text = next(translations) if self.translatable else self.text
        written = [
            "".join(part if isinstance(part, str) else part.render(translations) for part in parts)
            for _, parts in self.items
        ]
        if text == self.text:
            return "".join(written)
        codes = {
            mark: code
            for mark, code, (piece, _) in zip(self.shown, written, self.items, strict=True)
            if piece.kind is not PieceKind.TEXT
        }
        parts = re.split(f"({MARKS})", self.around[0] + text + self.around[1])
        quote = self.quoting.quote if self.quoting else str
        return "".join(codes[part] if part in codes else quote(part) for part in parts)

    def skeleton(self) -> bytes:
        """A hash of everything but text and quotations, in any order."""
        codes = (
            "".join(part for part in parts if isinstance(part, str))
            for piece, parts in self.items
            if piece.kind is not PieceKind.TEXT
        )
        described = [
            sorted(code for code in codes if not code.startswith("'")),
            sorted(level.skeleton() for level in self.branches()),
        ]
        return blake2b(repr(described).encode()).digest()


def _once(pieces: list[Piece]) -> list[Piece]:
    """Make starts and ends empty that occur several times."""
    counts = Counter((piece.kind, piece.name) for piece in pieces if piece.name)
    if max(counts.values(), default=1) == 1:
        return pieces
    return [
        piece._replace(kind=PieceKind.EMPTY) if counts[piece.kind, piece.name] > 1 else piece
        for piece in pieces
    ]


def _literal(text: str, raw: str | None = None) -> _Item:
    return Piece(PieceKind.TEXT, text=text), [text if raw is None else raw]


def _code(raw: str) -> _Item:
    """What is kept; marks of the string may be a pair."""
    if is_mark(raw[0]) and (is_opening(raw) or is_closing(raw)):
        kind = PieceKind.START if is_opening(raw) else PieceKind.END
        return Piece(kind, name=str(number_of(raw))), [raw]
    return Piece(PieceKind.EMPTY, breaks=breaks(raw)), [raw]


class _Parser:
    """Recursive descent through an ICU message."""

    def __init__(self, string: str, code: str) -> None:
        self.string = string
        self.at = 0
        self.code = re.compile(code)
        self.special = re.compile(f"{code}|[{{}}#']")
        self.quoting = _Quoting(doubled="''" in string, tags="'<" in string)
        self.n_branches = 0

    def level(self, depth: int, plural: bool) -> _Level:
        """Parse up to the end of the string, or of the branch."""
        items: list[_Item] = []
        end = len(self.string)
        while self.at < end and not (self.string[self.at] == "}" and depth > 0):
            items.append(self._item(depth, plural))
        if depth > 0 and self.at == end:
            raise _MalformedError
        return _Level(items, replace(self.quoting, plural=plural))

    def _item(self, depth: int, plural: bool) -> _Item:
        character = self.string[self.at]
        if code := self.code.match(self.string, self.at):
            return _code(self._take(code.end()))
        if character == "{":
            return self._argument(depth, plural)
        if character == "}":
            raise _MalformedError
        if character == "#" and plural:
            return _code(self._take(self.at + 1))
        if character != "'":
            return self._literal()
        if self.string.startswith("''", self.at):
            return _literal("'", self._take(self.at + 2))
        opens = "{}#" if plural else "{}"
        if self.string[self.at + 1 : self.at + 2] not in list(opens):
            return self._literal()
        if not (quoted := _QUOTED.match(self.string, self.at)):
            raise _MalformedError
        return _code(self._take(quoted.end()))

    def _literal(self) -> _Item:
        following = self.special.search(self.string, self.at + 1)
        return _literal(self._take(following.start() if following else len(self.string)))

    def _take(self, end: int) -> str:
        start, self.at = self.at, end
        return self.string[start:end]

    def _argument(self, depth: int, plural: bool) -> _Item:
        start = self.at
        head = _ARGUMENT.match(self.string, start)
        if not head:
            raise _MalformedError
        self.at = head.end()
        kind = (head[2] or "").lower()
        if kind in ("plural", "selectordinal", "select") and head[3] == ",":
            return self._branches(start, depth, plural or kind != "select")
        if head[3] == ",":
            self._skip_style()
        return _code(self.string[start : self.at])

    def _skip_style(self) -> None:
        """Go to the end of an argument such as {n, number, percent}."""
        depth = 1
        while depth:
            style = _STYLE.match(self.string, self.at)
            brace = self._take(style.end() + 1)[-1:] if style else ""
            if brace not in ("{", "}"):
                raise _MalformedError
            depth += 1 if brace == "{" else -1

    def _branches(self, start: int, depth: int, plural: bool) -> _Item:
        if depth > _MAX_DEPTH:
            raise _LimitError(f"has arguments nested more than {_MAX_DEPTH} levels deep")
        if offset := _OFFSET.match(self.string, self.at):
            self.at = offset.end()
        parts: list[str | _Level] = []
        while selector := _SELECTOR.match(self.string, self.at):
            self.at = selector.end()
            self.n_branches += 1
            if self.n_branches > _MAX_BRANCHES:
                raise _LimitError(f"has more than {_MAX_BRANCHES:,} branches")
            parts.append(self.string[start : self.at])
            parts.append(self.level(depth + 1, plural))
            start = self.at
            self.at += 1
        end = _END.match(self.string, self.at)
        if not parts or not end:
            raise _MalformedError
        self.at = end.end()
        return Piece(PieceKind.EMPTY), [*parts, self.string[start : self.at]]


def _plain(string: str, code: str) -> _Level:
    """A string without ICU syntax."""
    items: list[_Item] = []
    start = 0
    for found in re.compile(code).finditer(string):
        items += [_literal(string[start : found.start()]), _code(found[0])]
        start = found.end()
    return _Level([*items, _literal(string[start:])], None)


def _n_pairs(level: _Level) -> int:
    """The number of pairs of marks in a level and its branches."""
    return level.n_pairs + sum(map(_n_pairs, level.branches()))


class Message:
    """The texts of a string, and the string with other texts.

    Only the string is kept, which is parsed again when it is rendered.

    Args:
        string: The string, decoded. It may contain marks; a pair of them becomes a pair of the
            texts, and any other one is kept like a placeholder.
        code: Regular expression of what is kept as it is, such as a placeholder; None: nothing.
        problem: Why the string has no texts, if that is known.

    Attributes:
        texts: The texts, each without surrounding white space, with its own numbers of marks.
        is_icu: Whether the string has branches; `render` then makes sure that its syntax stays.
        n_pairs: The number of pairs of marks in the string.
        problem: Why the string stays as it is, because it exceeds a limit; or "".
    """

    __slots__ = ("_code", "_string", "is_icu", "n_pairs", "problem", "texts")

    def __init__(self, string: str, code: str | None = None, *, problem: str = "") -> None:
        self._string = string
        self._code = code
        self.problem = problem
        try:
            level = _parsed("" if problem else string, code)
        except _LimitError as error:
            self.problem = f"the message {error}"
            level = _parsed("", code)
        self.texts: Sequence[str] = tuple(level.texts())
        self.is_icu = level.quoting is not None
        self.n_pairs = _n_pairs(level)

    def render(self, translations: Sequence[str]) -> str | None:
        """Return the string with these translations, one for each text.

        None: a translation is blank, or its marks or the syntax would not be those of the text.
        """
        if not self.texts:
            return self._string
        for text, translation in zip(self.texts, translations, strict=True):
            if not plain_text(translation) or not has_marks_of(text, translation):
                return None
        level = _parsed(self._string, self._code)
        string = level.render(iter(translations))
        if not self.is_icu:
            return string
        try:
            written = _parsed(string, self._code)
        except _LimitError:
            return None
        return string if written.skeleton() == level.skeleton() else None


def _parsed(string: str, code: str | None) -> _Level:
    """A message of ICU if the string is one with branches, and otherwise a plain string."""
    code = f"{code}|{_FRAGILE}" if code else _FRAGILE
    if not _COMPLEX.search(string):
        return _plain(string, code)
    if len(string) > _MAX_SIZE:
        raise _LimitError(f"has more than {_MAX_SIZE:,} characters")
    plain, parser = _plain(string, code), _Parser(string, code)
    try:
        message = parser.level(depth=0, plural=False)
    except _MalformedError:
        return plain
    # A pair of marks must not begin in one branch and end in another.
    return message if _n_pairs(message) == _n_pairs(plain) else plain


def with_forms(string: str, forms: Mapping[str, Sequence[str]]) -> tuple[str, list[str]]:
    """Add the forms that the plurals of a message lack, as copies of their form `other`.

    Args:
        string: The message.
        forms: The categories of the language for "plural" and "selectordinal".

    Returns:
        The message, and the categories that were added.
    """
    try:
        level = _parsed(string, None)
    except _LimitError:
        return string, []
    added = list[str]()
    return (_with_forms(level, forms, added) if level.quoting else string), added


def _with_forms(level: _Level, forms: Mapping[str, Sequence[str]], added: list[str]) -> str:
    """The source of a level with the forms that are missing; `added` gets them."""
    written = list[str]()
    for _, parts in level.items:
        sources = [
            part if isinstance(part, str) else _with_forms(part, forms, added) for part in parts
        ]
        if len(parts) > 1 and (plural := _PLURAL.match(sources[0])):
            _add_forms(sources, forms[plural[1].lower()], added)
        written += sources
    return "".join(written)


def _add_forms(sources: list[str], categories: Sequence[str], added: list[str]) -> None:
    """Add forms to the sources of a plural, which are selectors and branches in turn."""
    heads = [source[:-1].rstrip() for source in sources[:-1:2]]
    names = [_NOT_NAME.split(head)[-1] for head in heads]
    present = {name: number for number, name in enumerate(names)}
    missing = [each for each in categories if each not in present]
    if "other" not in present or not missing:
        return
    number = present["other"]
    before = heads[number].removesuffix("other")
    space = before[len(before.rstrip()) :] if number else " "
    end = sources[2 * number][len(heads[number]) :] + sources[2 * number + 1] + "}"
    new = "".join(space + each + end for each in missing)
    sources[-1] = sources[-1].replace("}", "}" + new, 1)
    added += missing


def render_all(messages: Sequence[TextString], translations: Sequence[str]) -> list[str | None]:
    """Render messages.

    Args:
        messages: The messages.
        translations: The translations of the texts of all messages, in their order.
    """
    rendered = []
    start = 0
    for message in messages:
        end = start + len(message.texts)
        rendered.append(message.render(translations[start:end]))
        start = end
    assert start == len(translations)
    return rendered
