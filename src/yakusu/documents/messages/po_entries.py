"""Entries of a PO file, with the lines that each part occupies.

The grammar is gettext's. Lines are kept as bytes, so that those not replaced are written unchanged.
"""

import codecs
import gettext
import re
import unicodedata
from dataclasses import dataclass, field, replace

from yakusu.data.files.text import extends_ascii
from yakusu.errors import DataError

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"\s*')
_KEYWORD = re.compile(
    r"(msgctxt|msgid_plural|msgid|msgstr|domain)\b\s*(?:\[\s*(\d{1,4})\s*\])?\s*(.*)"
)
_CHARSET = re.compile(rb"Content-Type:[^\\]{0,200}?charset=([A-Za-z0-9_.:-]{1,100})")
_LANGUAGE = re.compile(r"^Language:[ \t]*(.*?)[ \t]*$", re.M)
_NPLURALS = re.compile(
    r"^Plural-Forms:.*?nplurals\s*=\s*(\d{1,4})\s*;\s*plural\s*=\s*([^;\n]+)", re.M
)
_ESCAPE = re.compile(r"((?:\\[0-7]{1,3}|\\x[0-9a-fA-F]{1,2})+)|\\(.)", re.DOTALL)
_ESCAPES = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_WIDE = "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60"
_WORD = re.compile(f"[{_WIDE}]\\s*|[^\\s{_WIDE}]+\\s*|\\s+")
_MAX_FORMS = 10  # of a plural; no language has more than 6
_WIDTH = 79  # columns of a line, as in gettext


@dataclass
class Field:
    """A string of an entry: its lines are `start` to `end`, without `end`."""

    value: str
    start: int
    end: int


@dataclass
class Entry:
    """An entry that is not obsolete.

    Attributes:
        comments_end: The line of "#|" or the first keyword, where "#," is inserted.
        flag_lines: Lines with flags.
        flags: All flags.
        strings: msgctxt, msgid and msgid_plural.
        forms: The msgstr of each form; a message without plural has form 0.
    """

    comments_end: int
    flag_lines: list[int] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    strings: dict[str, Field] = field(default_factory=dict)
    forms: dict[int, Field] = field(default_factory=dict)


class PoFile:
    """The lines and entries of a PO file.

    Attributes:
        lines: The lines with their ends; a byte order mark is part of the first.
        encoding: The charset of the header; UTF-8 if there is none.
        entries: The entries, without obsolete ones.
        n_forms: Number of plural forms that the header states, or None.
        singular: The form of the number 1.
        language: The target language that the header states, or "".
        header_line: The line of the header.
        wraps: Whether long strings are wrapped.

    Raises:
        DataError: The data is not a PO file.
    """

    def __init__(self, data: bytes) -> None:
        self.lines = re.findall(rb"[^\n]*\n|[^\n]+", data)
        self.encoding = _encoding(data)
        self.entries: list[Entry] = []
        self._entry = Entry(0)
        self._field: Field | None = None
        self._wrapped, self._long = False, False
        for number, line in enumerate(self.lines):
            self._read_line(number, self._decode(number, line).strip())
        self._finish(len(self.lines))
        self.wraps = self._wrapped or not self._long
        header = self._header()
        self.n_forms, self.singular = _plural_forms(header.value if header else "")
        found = _LANGUAGE.search(header.value) if header else None
        self.language = found[1] if found else ""
        self.header_line = header.start + 1 if header else 1

    def _decode(self, number: int, line: bytes) -> str:
        if number == 0:
            line = line.removeprefix(codecs.BOM_UTF8)
        try:
            return line.decode(self.encoding)
        except UnicodeError as error:
            raise DataError(
                f"line {number + 1} is not {self.encoding}, the charset of the header: convert the "
                "file or correct the charset"
            ) from error

    def _read_line(self, number: int, line: str) -> None:
        if line.startswith("#"):
            self._read_comment(number, line)
        elif line.startswith('"'):
            self._read_strings(number, line)
        elif keyword := _KEYWORD.fullmatch(line):
            self._read_keyword(number, keyword[1], keyword[2])
            self._read_strings(number, keyword[3])
        elif line:
            raise DataError(f"line {number + 1} is not valid in a PO file: correct {line[:40]!r}")

    def _read_comment(self, number: int, line: str) -> None:
        if self._entry.forms or line.startswith("#~"):
            self._finish(number)
        if line.startswith("#,"):
            self._entry.flag_lines.append(number)
            self._entry.flags |= {flag.strip() for flag in line[2:].split(",")}

    def _read_keyword(self, number: int, keyword: str, form: str | None) -> None:
        if keyword == "domain" or (self._entry.forms and keyword in ("msgctxt", "msgid")):
            self._finish(number)
        entry = self._entry
        previous = {"msgid_plural": "msgid", "msgstr": "msgid"}.get(keyword)
        index = int(form or 0)
        if (
            keyword in entry.strings
            or (keyword == "msgstr" and index in entry.forms)
            or (previous and previous not in entry.strings)
            or (keyword != "msgstr" and form is not None)
        ):
            raise DataError(f"line {number + 1}: {keyword} is not expected here: correct the entry")
        self._field = Field("", number, number + 1)
        if keyword == "msgstr":
            entry.forms[index] = self._field
        elif keyword != "domain":
            if not entry.strings:
                entry.comments_end = self._first_previous(number)
            entry.strings[keyword] = self._field

    def _first_previous(self, number: int) -> int:
        """The first of the "#|" lines above a keyword, or its own line."""
        while number > 0 and self.lines[number - 1].lstrip().startswith(b"#|"):
            number -= 1
        return number

    def _read_strings(self, number: int, text: str) -> None:
        if self._field is None:
            raise DataError(f"line {number + 1}: a string without msgid or msgstr: correct it")
        at = 0
        while string := _STRING.match(text, at):
            self._note_style(string[1])
            self._field.value += string[1]
            at = string.end()
        if at < len(text):
            raise DataError(
                f'line {number + 1}: the string must be enclosed in ", with \\" inside it: '
                f"correct {text[:40]!r}"
            )
        self._field.end = number + 1

    def _note_style(self, chunk: str) -> None:
        assert self._field is not None
        before = self._field.value
        self._wrapped |= bool(before) and not before.endswith("\\n")
        self._long |= _columns(chunk) > _WIDTH and " " in chunk.strip()

    def _finish(self, number: int) -> None:
        """End the entry; `number` is the line after it."""
        entry = self._entry
        if entry.forms:
            decoded = {key: self._unescaped(item) for key, item in entry.strings.items()}
            forms = {index: self._unescaped(item) for index, item in entry.forms.items()}
            self.entries.append(replace(entry, strings=decoded, forms=forms))
        elif entry.strings:
            line = next(iter(entry.strings.values())).start + 1
            raise DataError(f"line {line}: the entry has no msgstr: add it")
        self._entry = Entry(number)
        self._field = None

    def _unescaped(self, item: Field) -> Field:
        def character(found: re.Match[str]) -> str:
            if found[1]:  # bytes in the encoding of the file
                codes = re.findall(r"\\(?:x([0-9a-fA-F]+)|([0-7]+))", found[1])
                octets = bytes(int(x, 16) if x else int(o, 8) & 255 for x, o in codes)
                return octets.decode(self.encoding, errors="replace")
            return _ESCAPES.get(found[2], found[2])

        return replace(item, value=_ESCAPE.sub(character, item.value))

    def _header(self) -> Field | None:
        """The translation of the empty message."""
        for entry in self.entries:
            if entry.strings["msgid"].value == "" and "msgctxt" not in entry.strings:
                return entry.forms.get(0)
        return None

    def write(self, keyword: str, value: str) -> list[str]:
        """A keyword and its string, as lines without their ends."""
        parts = re.findall(r"[^\n]*\n|[^\n]+", value)
        line = f'{keyword} "{_escaped(value)}"'
        if len(parts) < 2 and not (self.wraps and _columns(line) > _WIDTH):
            return [line]
        chunks = [chunk for part in parts for chunk in (_wrap(part) if self.wraps else [part])]
        return [f'{keyword} ""', *(f'"{_escaped(chunk)}"' for chunk in chunks)]


def _encoding(data: bytes) -> str:
    """The charset of the header."""
    header = b"".join(re.split(rb"\nmsgid\b", data, maxsplit=2)[:2])
    found = _CHARSET.search(header)
    name = found[1].decode("ascii") if found else "CHARSET"
    if name == "CHARSET":  # a template
        return "UTF-8"
    if not extends_ascii(name):
        raise DataError(f"the charset {name} of the header is unknown: convert the file to UTF-8")
    return name


def _plural_forms(header: str) -> tuple[int | None, int]:
    """The number of forms that a header states, and the form of the number 1."""
    found = _NPLURALS.search(header)
    n_forms = int(found[1]) if found else 0
    if found and 0 < n_forms <= _MAX_FORMS:
        return n_forms, _form_of_one(found[2], n_forms)
    return None, 0


def _form_of_one(expression: str, n_forms: int) -> int:
    """The form that an expression of Plural-Forms gives for the number 1."""
    try:
        form: int = gettext.c2py(expression)(1)
    except (ValueError, ArithmeticError, RecursionError):
        return 0
    return form if 0 <= form < n_forms else 0


def _escaped(text: str) -> str:
    names = {character: name for name, character in _ESCAPES.items()} | {'"': '"', "\\": "\\"}
    return re.sub('[\a\b\f\n\r\t\v"\\\\]', lambda found: "\\" + names[found[0]], text)


def _columns(text: str) -> int:
    """Columns on a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)


def _wrap(text: str) -> list[str]:
    """Break a string after white space or between ideographs."""
    chunks = [""]
    room = _WIDTH - 2  # quotation marks
    for word in _WORD.findall(text):
        size = _columns(_escaped(word))
        if chunks[-1] and size > room:
            chunks.append("")
            room = _WIDTH - 2
        chunks[-1] += word
        room -= size
    return chunks
