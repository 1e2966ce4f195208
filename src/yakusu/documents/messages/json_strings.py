"""JSON files of messages: values in natural language are texts, everything else is kept.

`layouts` says which values hold messages, `identifiers` which of these are in natural language.
"""

import codecs
import json
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from yakusu.data.languages import same_language
from yakusu.data.lines.words import has_letter
from yakusu.documents.document import DocumentOptions
from yakusu.documents.languages import check_single_language
from yakusu.documents.messages.icu import render_all
from yakusu.documents.messages.icu_plurals import with_plural_forms
from yakusu.documents.messages.identifiers import is_language
from yakusu.documents.messages.layouts import JsonPath, layout_of
from yakusu.documents.messages.positional import reordered
from yakusu.documents.messages.units import Edit, spliced
from yakusu.errors import AS_UTF8, DataError

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_WRITTEN = re.compile(r"\\u[0-9a-f]{4}|\\.|.", re.DOTALL)
_PLAIN = re.compile("[A-Za-z0-9 ]")  # escaped in some files, but never needed
_LOCALE = ("@@locale",)
_DEEPEST = 100  # levels of arrays and objects
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(slots=True)
class JsonValue:
    """A value of JSON: its keys, its place in the file, and where the key before it begins."""

    path: JsonPath
    key_start: int
    start: int
    end: int


@dataclass(frozen=True)
class _String:
    """A string value: its place in the file, and its keys."""

    start: int
    end: int
    path: JsonPath
    value: str


class JsonDocument:
    """A JSON file whose strings can be replaced.

    Attributes:
        texts: The texts of all messages.
        skipped: Messages that were left as they were, each with the reason; complete after
            `render`.
        checks: Messages with plural forms that were added; complete after `render`.
    """

    lines: Sequence[int] = ()
    reports_blank = True

    def __init__(self, data: bytes, languages: tuple[str, str] = ("", "")) -> None:
        self._languages = languages
        self._locale: _String | None = None  # what an ARB file states
        self._bom, self._encoding, self._content = decoded_json(data)
        root = parsed_json(self._content)
        if isinstance(root, dict) and all(isinstance(value, dict) for value in root.values()):
            check_single_language([*root], languages[0])
        self._line_ends = [found.start() for found in re.finditer("\n", self._content)]
        layout = layout_of(root)
        self._style = JsonStyle(self._content)
        self._strings: list[_String] = []
        self._left: list[str] = []
        for string in _strings(self._content):
            if string.path == _LOCALE:
                self._locale = string
            role = layout.role(string.path)
            if role == "note" or not has_letter(string.value):
                continue
            if not is_language(string.value, string.path):
                if role == "text":
                    reason = "looks like an identifier, not like text"
                    self._left.append(self._reason(string, reason))
            elif role == "text":
                self._strings.append(string)
            else:
                reason = f"has a key that is not known in {layout.name}"
                self._left.append(self._reason(string, reason))
        self._messages = [layout.message(string.value) for string in self._strings]
        for string, message in zip(self._strings, self._messages, strict=True):
            if message.problem:
                self._left.append(self._reason(string, f"cannot be translated: {message.problem}"))
        self.skipped: Sequence[str] = self._left
        self.checks: Sequence[str] = ()
        self.texts: Sequence[str] = [text for message in self._messages for text in message.texts]

    def _line(self, string: _String) -> int:
        return bisect(self._line_ends, string.start) + 1

    def _reason(self, string: _String, reason: str) -> str:
        return f"line {self._line(string)}: {json.dumps(string.value, ensure_ascii=False)} {reason}"

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""
        skipped = list(self._left)
        edits, checks = [*self._renamed()], list[str]()
        rendered = render_all(self._messages, translations)
        for string, value in zip(self._strings, rendered, strict=True):
            if value is None:
                reason = "has a translation that is blank, or whose numbers or markup differ"
                skipped.append(self._reason(string, reason))
            elif others := reordered(string.value, value):
                reason = (
                    f"has a translation with placeholders in another order: {', '.join(others)}"
                )
                skipped.append(self._reason(string, reason))
            elif value != string.value:
                new, check = with_plural_forms(value, self._languages[1])
                edits.append((string.start, string.end, self._style.write(new)))
                checks += [f"line {self._line(string)}: {check}"] if check else []
        self.skipped, self.checks = skipped, checks
        return self._bom + spliced(self._content, sorted(edits)).encode(self._encoding)

    def _renamed(self) -> Iterator[Edit]:
        """The change that makes the language of an ARB file the target language."""
        source, target = self._languages
        locale = self._locale
        if not (locale and source and target):
            return
        stated = locale.value.replace("_", "-")
        if same_language(source, stated) and not same_language(target, stated):
            separator = "-" if "-" in locale.value else "_"
            new = self._style.write(target.replace("-", separator))
            yield locale.start, locale.end, new


def read(data: bytes, options: DocumentOptions) -> JsonDocument:
    """Read a JSON file.

    Args:
        data: UTF-8, UTF-16 or UTF-32, with or without a byte order mark.
        options: `languages`: the locale of an ARB file becomes the target language, and ICU plurals
            get the forms of the target language.

    Raises:
        DataError: The data is not valid JSON, or it has texts in several languages.
    """
    return JsonDocument(data, options.languages)


def decoded_json(data: bytes) -> tuple[bytes, str, str]:
    """Return the byte order mark, the encoding and the content of a file.

    Raises:
        DataError: It is not in its encoding.
    """
    marked = ((bom, name) for bom, name in _BOMS if data.startswith(bom))
    bom, encoding = next(marked, (b"", json.detect_encoding(data)))
    try:
        return bom, encoding, data[len(bom) :].decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, len(bom) + error.start) + 1
        raise DataError(
            f"line {line}: byte 0x{error.object[error.start]:02x} is not {encoding.upper()}: "
            + AS_UTF8
        ) from error


class JsonNumber(str):
    """A number as it is written."""

    __slots__ = ()


def parsed_json(content: str) -> Any:
    """Parse a file.

    Raises:
        DataError: It is not valid JSON.
    """
    try:
        return json.loads(content, parse_int=JsonNumber, parse_float=JsonNumber)
    except json.JSONDecodeError as error:
        raise DataError(
            f"line {error.lineno}, column {error.colno} is not valid JSON "
            f"({error.msg[:1].lower()}{error.msg[1:]}): correct the file"
        ) from error
    except RecursionError as error:
        raise _too_deep() from error


def _too_deep() -> DataError:
    return DataError(f"the JSON has more than {_DEEPEST} levels: flatten it")


def json_values(content: str) -> Iterator[JsonValue]:
    """The values of valid JSON, in the order of the file.

    An object or array is yielded where it begins; its end is known when all values are.

    Raises:
        DataError: It is nested too deeply.
    """
    path: list[str | int] = []
    opened: list[JsonValue] = []
    key_start, key_follows = 0, False
    for token in _TOKEN.finditer(content):
        if len(path) > _DEEPEST:
            raise _too_deep()
        sign = token[0][0]
        if sign in "{[":
            opened.append(JsonValue(tuple(path), key_start, *token.span()))
            yield opened[-1]
            path.append("" if sign == "{" else 0)
            key_follows = sign == "{"
        elif sign in "}]":
            path.pop()
            opened.pop().end = token.end()
            key_follows = False
        elif sign == ",":
            here = path[-1]
            key_follows = isinstance(here, str)
            path[-1] = here if isinstance(here, str) else here + 1
        elif sign == '"' and key_follows:
            path[-1], key_start, key_follows = json.loads(token[0]), token.start(), False
        elif sign != ":":
            yield JsonValue(tuple(path), key_start, *token.span())


def _strings(content: str) -> Iterator[_String]:
    """The string values of valid JSON, in the order of the file.

    Raises:
        DataError: It is nested too deeply.
    """
    for each in json_values(content):
        if content[each.start] == '"':
            value = json.loads(content[each.start : each.end])
            yield _String(each.start, each.end, each.path, value)


# --- How strings are written ---------------------------------------------------------------


class JsonStyle:
    """Which characters a file escapes.

    Args:
        content: The file.
    """

    def __init__(self, content: str) -> None:
        escapes = [found.groups() for found in _ESCAPE.finditer(content)]
        codes = [int(code, 16) for code, _ in escapes if code]
        self.escaped = {chr(code) for code in codes if not _PLAIN.match(chr(code))}
        if any(character == "/" for _, character in escapes):
            self.escaped.add("/")
        self.ascii = content.isascii() and any(code >= 0xA0 for code in codes)
        hexadecimal = "".join(code for code, _ in escapes if code)
        self.upper = hexadecimal.upper() == hexadecimal and hexadecimal.lower() != hexadecimal

    def write(self, value: str) -> str:
        """A string as a literal of the file."""
        literal: str = json.dumps(value, ensure_ascii=False)[1:-1]
        return f'"{_WRITTEN.sub(self._character, literal)}"'

    def _character(self, found: re.Match[str]) -> str:
        text = found[0]
        if text[0] == "\\":
            return text
        if text == "/" and text in self.escaped:
            return "\\/"
        surrogate = "\ud800" <= text <= "\udfff"
        if not (surrogate or text in self.escaped or (self.ascii and not text.isascii())):
            return text
        escaped: str = json.dumps(text)[1:-1]
        if escaped == text:
            escaped = f"\\u{ord(text):04x}"
        return escaped.upper().replace("\\U", "\\u") if self.upper else escaped
