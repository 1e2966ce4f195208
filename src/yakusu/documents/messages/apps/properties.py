"""Java properties files: keys with values.

    # Menu
    menu.open = Open {0}, don''t close it. \\
                Gr\\u00fcn

A file without characters beyond ASCII in its values is written with escapes, such as \\u00fc, which
every version of Java reads. Of others, UTF-8 files stay UTF-8, and the rest is ISO-8859-1, where
only characters that it lacks are escaped. Apostrophes are doubled where MessageFormat reads values.

https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/util/Properties.html
https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/text/MessageFormat.html
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from yakusu.documents.document import DocumentOptions
from yakusu.documents.messages.apps.escapes import CodeEscapes, joined_surrogates
from yakusu.documents.messages.icu import Message
from yakusu.documents.messages.units import (
    Edit,
    Item,
    MarkedString,
    MessageUnit,
    UnitDocument,
    UnitString,
    code_item,
    spliced,
    text_item,
)
from yakusu.documents.splice import DecodedFile, decode_source
from yakusu.errors import DataError

_CONTINUED = r"\\(?:\r\n|[\r\n])[ \t\f]*+"
_PART = re.compile(
    rf"""(?P<space>\ufeff|[ \t\f\r\n]++|[#!][^\r\n]*+)
    | (?P<key>(?:{_CONTINUED}|\\(?:.|\Z)|[^\\ \t\f\r\n=:])*+)
      (?:{_CONTINUED}|[ \t\f])*+ (?:[=:](?:{_CONTINUED}|[ \t\f])*+)?+
      (?P<value>(?:\\(?:\r\n|.|\Z)|[^\\\r\n])*+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(rf"{_CONTINUED}|\\(?:u([0-9a-fA-F]{{4}})|(u)|(.?))", re.DOTALL)
_BREAK = re.compile(r"\\n\\(?:\r\n|[\r\n])[ \t\f]*+")
_DECODED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_WRITTEN = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\f": r"\f", "\\": r"\\"}
_PUNCTUATION = ":=#!'\""  # is escaped in some files, but need not be
_ARGUMENT = re.compile(r"\{\s*\d+\s*[,}]")
_APOSTROPHES = re.compile(  # one between letters, as in don't, is no quotation mark
    r"(?P<doubled>'')|(?P<quoted>(?:(?<!\w)'|'(?!\w))[^'{}]*+[{}][^']*+')|(?P<lone>')"
)
_CONTROL = re.compile("[\0-\x08\x0e-\x1f]")
_CHOICE = re.compile(r"\{\s*\d+\s*,\s*choice\s*,")
_SETTING = re.compile("true|false", re.IGNORECASE)


class PropertiesFile:
    """A properties file.

    Args:
        data: The file.

    Raises:
        DataError: The file is not in its encoding, or is not text.
    """

    def __init__(self, data: bytes) -> None:
        self._source = _decoded_file(data)
        self._text = self._source.text
        values = [found["value"] for found in self._entries()]
        self._is_ascii = all(map(str.isascii, values))
        escapes = [found for value in values for found in _ESCAPE.finditer(value)]
        codes = (found[1] for found in escapes if found[1])
        self._codes = CodeEscapes(codes, is_ascii=self._is_ascii)
        bare = set(_PUNCTUATION) & {*"".join(_ESCAPE.sub("", value) for value in values)}
        self._punctuation = {found[3] for found in escapes if found[3] in set(_PUNCTUATION)} - bare
        # Whether values with arguments, and those without, have doubled apostrophes
        counts = {True: Counter[str](), False: Counter[str]()}
        for value in (value for value in values if "'" in value):
            has_argument = _ARGUMENT.search(value) is not None
            counts[has_argument].update(m.lastgroup or "" for m in _APOSTROPHES.finditer(value))
        self._doubled = {
            True: counts[True]["doubled"] >= counts[True]["lone"],
            False: counts[False]["doubled"] > counts[False]["lone"],
        }

    def parse(self, use: Callable[[MessageUnit], None]) -> None:
        """Call a function with each entry; see `UnitFile`.

        Raises:
            DataError: An escape is not valid.
        """
        at, line = 0, 1
        for found in self._entries():
            start = found.start("value")
            line += len(re.findall(r"\r\n|\r|\n", self._text[at:start]))
            at = start
            key = self._decoded(found["key"], found.start("key"))
            use(MessageUnit(key, [self._string(found["value"], start, line)]))

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file with parts replaced."""
        return spliced(self._text, edits).encode(self._source.encoding)

    def _entries(self) -> Iterator[re.Match[str]]:
        at = 0
        while at < len(self._text):
            found = _PART.match(self._text, at)
            assert found and found.end() > at
            at = found.end()
            if found["space"] is None:
                yield found

    def _decoded(self, source: str, start: int) -> str:
        def character(found: re.Match[str]) -> str:
            if found[2]:
                at = start + found.start()
                before = self._text[:at]
                line = len(re.findall(r"\r\n|\r|\n", before)) + 1
                column = at - max(before.rfind("\n"), before.rfind("\r"))
                raise DataError(
                    f"line {line}, column {column}: \\u needs four hexadecimal digits after it: "
                    "correct it, or write two backslashes for one"
                )
            return (
                chr(int(found[1], 16)) if found[1] else _DECODED.get(found[3] or "", found[3] or "")
            )

        return joined_surrogates(_ESCAPE.sub(character, source))

    def _string(self, source: str, start: int, line: int) -> UnitString:
        """The string of a value."""
        value = self._decoded(source, start)
        items, doubled = self._items(value)
        found = _BREAK.search(source)
        line_break = found[0] if found and found.end() < len(source) else ""
        marked = MarkedString(items)

        def text(part: str, before: str) -> str:
            part = part.replace("'", "''") if doubled else part
            return self._escaped(part, before, line_break)

        def write(string: str) -> str | None:
            new = marked.written(string, text)
            # A line that is continued must not be the last one.
            if new and line_break and new.endswith(line_break):
                new = new.removesuffix(line_break) + r"\n"
            return new

        string = UnitString(start, start + len(source), line, marked, write)
        if _CHOICE.search(value):
            reason = "has a choice, whose branches are not translated: make a plural of it"
            return replace(string, problem=string.reason(reason))
        if _SETTING.fullmatch(value.strip()):
            return replace(string, problem=string.reason("looks like a setting, not like text"))
        return string.checked()

    def _items(self, value: str) -> tuple[list[Item], bool]:
        """The pieces of a value, and whether apostrophes in it are doubled."""
        kinds = {found.lastgroup for found in _APOSTROPHES.finditer(value)}
        has_argument = _ARGUMENT.search(value) is not None
        if Message(value).is_icu or "lone" in kinds:
            return [text_item(value)], False
        if not kinds & {"doubled", "quoted"}:
            return [text_item(value)], self._doubled[has_argument]
        items, at = list[Item](), 0
        for found in _APOSTROPHES.finditer(value):
            is_quoted = found.lastgroup == "quoted"
            source = self._escaped(found[0], "'")
            items += [
                text_item(value[at : found.start()]),
                code_item(source) if is_quoted else text_item("'"),
            ]
            at = found.end()
        return [*items, text_item(value[at:])], True

    def _escaped(self, text: str, before: str, line_break: str = "") -> str:
        """Text as it is written, given what is before it in the value."""
        written = list[str]()
        skipped = "" if before else " =:"  # what would not belong to the value
        for each in text:
            if each == "\n" and line_break:
                new = line_break
            elif each in self._punctuation or each in skipped:
                new = "\\" + each
            elif each in _WRITTEN:
                new = _WRITTEN[each]
            else:
                new = self._codes.of(each) if self._needs_code(each) else each
            written.append(new)
            skipped = " " if new == line_break else ""
        return "".join(written)

    def _needs_code(self, character: str) -> bool:
        if self._codes.has(character) or (self._is_ascii and not character.isascii()):
            return True
        return self._source.encoding == "iso-8859-1" and character > "\xff"


def read(data: bytes, options: DocumentOptions) -> UnitDocument:
    """Read a properties file.

    Args:
        data: The file, in UTF-8 or ISO-8859-1.
        options: Not used.

    Raises:
        DataError: The file is not text in its encoding, or an escape is not valid.
    """
    return UnitDocument(PropertiesFile(data))


def _decoded_file(data: bytes) -> DecodedFile:
    """The characters of a file, which is ISO-8859-1 if most of it is not UTF-8.

    Raises:
        DataError: It is not text.
    """
    encoding = "utf-8"
    try:
        data.decode()
    except UnicodeDecodeError:
        text = data.decode(errors="replace")
        n_wrong = text.count("\ufffd")
        if len(text) - sum(map(str.isascii, text)) < 2 * n_wrong:
            encoding = "iso-8859-1"
    source = decode_source(data, encoding)
    if found := _CONTROL.search(source.text):
        line = source.text.count("\n", 0, found.start()) + 1
        raise DataError(
            f"line {line} has the control character {ord(found[0]):#04x}: write it as "
            f"\\u{ord(found[0]):04x}, or check the format of the file"
        )
    return source
