"""Strings files of Apple: keys with values, in the old style of property lists or as XML.

    /* Title */ "title" = "Good \\"day\\"";   unquoted.key = value;   "the key is the value";

https://developer.apple.com/library/archive/documentation/Cocoa/Conceptual/LoadingResources/Strings/Strings.html
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from yakusu.documents.document import DocumentOptions
from yakusu.documents.messages.apps import property_lists
from yakusu.documents.messages.apps.escapes import CodeEscapes, joined_surrogates
from yakusu.documents.messages.units import (
    Edit,
    MarkedString,
    MessageUnit,
    UnitDocument,
    UnitString,
    spliced,
    text_item,
)
from yakusu.documents.splice import decode_source
from yakusu.errors import DataError

_TOKEN = re.compile(
    r"""(?P<space>\s++|//[^\n\r\u2028\u2029]*+|/\*(?:[^*]++|\*(?!/))*+\*/)
    | (?P<string>"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+')
    | (?P<word>(?!/\*)[A-Za-z0-9_$/:.-]++) | (?P<sign>[={};])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?:(?:U|u(?=[0-9a-fA-F]{4}))([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))", re.DOTALL
)
_DECODED = {
    **{"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"},
    "\n": "\n",
}
_WRITTEN = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\r": r"\r", "\t": r"\t", "\v": r"\v"}
_UNCLOSED = {'"': "a string", "'": "a string", "/*": "a comment"}


class _Token(NamedTuple):
    """A token, without the spaces and comments before it."""

    kind: str
    start: int
    end: int


class StringsFile:
    """A strings file in the old style.

    Args:
        data: The file: UTF-8, or UTF-16 with a byte order mark.

    Raises:
        DataError: The file is not in its encoding.
    """

    def __init__(self, data: bytes) -> None:
        self._source = decode_source(data)
        self._text = self._source.text
        self._counted = (0, 1)  # a position, and the line there

    def parse(self, use: Callable[[MessageUnit], None]) -> None:
        """Call a function with each entry; see `UnitFile`.

        Raises:
            DataError: The file is not valid; the message gives the line and column.
        """
        tokens = self._tokens()
        token = next(tokens)
        braces = self._is_sign(token, "{")
        token = next(tokens) if braces else token
        while token.kind and not (braces and self._is_sign(token, "}")):
            if token.kind == "sign":
                raise self._error(token, "a key was expected")
            key = value = token
            token = next(tokens)
            if self._is_sign(token, "="):
                value = next(tokens)
                if value.kind not in ("string", "word"):
                    raise self._error(value, "a string was expected after =")
                token = next(tokens)
            if not self._is_sign(token, ";"):
                raise self._error(token, "a semicolon was expected")
            use(MessageUnit(self._decoded(key), [self._string(key, value).checked()]))
            token = next(tokens)
        if braces and (not token.kind or next(tokens).kind):
            raise self._error(token, "nothing but one } was expected at the end")

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file with parts replaced."""
        return spliced(self._text, edits).encode(self._source.encoding)

    def _tokens(self) -> Iterator[_Token]:
        """The tokens, and then tokens without a kind."""
        at, end = len(self._text) - len(self._text.removeprefix("\ufeff")), len(self._text)
        while at < end:
            found = _TOKEN.match(self._text, at)
            if not found:
                unclosed = _UNCLOSED.get(self._text[at], _UNCLOSED.get(self._text[at : at + 2]))
                token = _Token("", at, at)
                raise self._error(
                    token, f"{unclosed} without an end begins" if unclosed else "this is unexpected"
                )
            at = found.end()
            if found.lastgroup != "space":
                yield _Token(found.lastgroup or "", found.start(), at)
        while True:
            yield _Token("", end, end)

    def _is_sign(self, token: _Token, sign: str) -> bool:
        return token.kind == "sign" and self._text[token.start] == sign

    def _line(self, position: int) -> int:
        counted, line = self._counted
        if position < counted:
            counted, line = 0, 1
        self._counted = position, line + self._text.count("\n", counted, position)
        return self._counted[1]

    def _error(self, token: _Token, what: str) -> DataError:
        column = token.start - (self._text.rfind("\n", 0, token.start) + 1) + 1
        return DataError(
            f"line {self._line(token.start)}, column {column} is not valid in a strings file "
            f'({what}): write "key" = "value"; with a backslash before quotes in a string'
        )

    def _decoded(self, token: _Token) -> str:
        """The string of a token."""
        source = self._text[token.start : token.end]
        if token.kind == "word":
            return source

        def character(found: re.Match[str]) -> str:
            if found[1]:
                return chr(int(found[1], 16))
            return chr(int(found[2], 8)) if found[2] else _DECODED.get(found[3], found[3])

        return joined_surrogates(_ESCAPE.sub(character, source[1:-1]))

    def _string(self, key: _Token, value: _Token) -> UnitString:
        """The string of an entry; an entry without a value has its key as value."""
        source = self._text[value.start : value.end]
        decoded = self._decoded(value)
        escapes = [*_ESCAPE.finditer(source)]
        codes = CodeEscapes(
            (found[1] for found in escapes if found[1]), before="\\U", is_ascii=source.isascii()
        )
        quote = source[0] if value.kind == "string" else '"'
        raw_breaks = "\n" in source

        def character(each: str) -> str:
            if each in (quote, "\\"):
                return "\\" + each
            if each == "\n":
                return each if raw_breaks else r"\n"
            if each in _WRITTEN:
                return _WRITTEN[each]
            return codes.of(each) if codes.has(each) else each

        marked = MarkedString([text_item(decoded)])
        before = " = " if key is value else ""

        def write(string: str) -> str | None:
            new = marked.written(string, lambda text, _: "".join(map(character, text)))
            return None if new is None else f"{before}{quote}{new}{quote}"

        start = value.end if key is value else value.start
        string = UnitString(start, value.end, self._line(value.start), marked, write)
        if any(found[2] and int(found[2], 8) > 0x7F for found in escapes):
            problem = "has octal escapes of NextStep: write the characters themselves"
            return replace(string, problem=string.reason(problem))
        return string


def read(data: bytes, options: DocumentOptions) -> UnitDocument:
    """Read a strings file.

    Args:
        data: The file: UTF-8, or UTF-16 with a byte order mark; or a property list in XML.
        options: Not used.

    Raises:
        DataError: The data is not a strings file.
    """
    if property_lists.is_xml(data):
        return property_lists.read_strings(data)
    return UnitDocument(StringsFile(data))
