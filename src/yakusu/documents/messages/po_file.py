"""The lines of a PO file, kept as bytes, so that those not replaced are written unchanged."""

import codecs
import gettext
import re
from collections.abc import Sequence

from yakusu.data.files.encodings import extends_ascii
from yakusu.data.files.po import ESCAPES, Entry, PoReader, charset_of, language_of_header
from yakusu.data.numbers.cldr import cldr_locale
from yakusu.documents.messages.po_wrap import columns, wrapped
from yakusu.errors import DataError

_NPLURALS = re.compile(
    r"^Plural-Forms:.*?nplurals\s*=\s*(\d{1,4})\s*;\s*plural\s*=\s*([^;\n]+)", re.M
)
TEMPLATE = "nplurals=INTEGER; plural=EXPRESSION;"  # what xgettext writes
_MAX_FORMS = 10  # of a plural; no language has more than 6
_WIDTH = 79  # columns of a line, as in gettext


class PoFile:
    """The lines and entries of a PO file.

    Attributes:
        bom: The byte order mark, or nothing.
        lines: The lines after it, with their ends.
        encoding: The charset of the header; UTF-8 if there is none.
        entries: The entries, without obsolete ones.
        n_forms: Number of plural forms that the header states, or None.
        singular: The form of the number 1.
        language: The target language that the header states, or "".
        header_line: The line of the header.
        new_plurals: Number and content of the line of a template's header that then states the
            plural forms of the target language; None: it states them.
        wraps: Whether long strings are wrapped.

    Args:
        data: The file.
        language: Code of the target language, "" if unknown.

    Raises:
        DataError: The data is not a PO file.
    """

    def __init__(self, data: bytes, language: str = "") -> None:
        self.bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        self.lines = re.findall(rb"[^\n]*\n|[^\n]+", data.removeprefix(self.bom))
        self.encoding = _encoding(data)
        lines = (self._decode(number, line) for number, line in enumerate(self.lines))
        self.entries = list(PoReader(self.encoding).entries(lines))
        self.wraps = _wraps(self.entries)
        header = next((entry.forms.get(0) for entry in self.entries if entry.is_header), None)
        text = header.value if header else ""
        self.n_forms, self.singular = plural_forms(text)
        self.new_plurals: tuple[int, bytes] | None = None
        stated = stated_plurals(language)
        if header and self.n_forms is None and TEMPLATE in text and stated:
            self._state_plurals(range(header.start, header.end), stated)
        self.language = language_of_header(text)
        self.header_line = header.start + 1 if header else 1

    def _state_plurals(self, lines: range, stated: str) -> None:
        """State the plural forms of a language in one of the lines of the header."""
        for number in lines:
            if TEMPLATE.encode() in self.lines[number]:
                self.n_forms, self.singular = plural_forms(f"Plural-Forms: {stated}")
                new = self.lines[number].replace(TEMPLATE.encode(), stated.encode())
                self.new_plurals = number, new

    def _decode(self, number: int, line: bytes) -> str:
        try:
            return line.decode(self.encoding)
        except UnicodeError as error:
            raise DataError(
                f"line {number + 1} is not {self.encoding}, the charset of the header: convert the "
                "file or correct the charset"
            ) from error

    def encoded(self, line: str) -> bytes:
        """A line in the charset of the file.

        Raises:
            UnicodeEncodeError: It has a character that the charset lacks.
        """
        return line.encode(self.encoding)

    def write(self, keyword: str, value: str, *, wraps: bool = True) -> list[str]:
        """A keyword and its string, as lines without their ends.

        Args:
            keyword: The keyword.
            value: The string.
            wraps: Whether the entry may be wrapped: it has no flag no-wrap.
        """
        wraps = wraps and self.wraps
        parts = [escaped_string(part) for part in re.findall(r"[^\n]*\n|[^\n]+", value)]
        line = f'{keyword} "{escaped_string(value)}"'
        if len(parts) < 2 and not (wraps and columns(line) > _WIDTH):
            return [line]
        lines = [line for part in parts for line in (wrapped(part) if wraps else [part])]
        return [f'{keyword} ""', *(f'"{each}"' for each in lines)]


def _encoding(data: bytes) -> str:
    """The charset of the header."""
    name = charset_of(data)
    if not extends_ascii(name):
        raise DataError(f"the charset {name} of the header is unknown: convert the file to UTF-8")
    return name


def _wraps(entries: Sequence[Entry]) -> bool:
    """Whether long strings are wrapped: one is, or there are none."""
    has_long = False
    for entry in (each for each in entries if "no-wrap" not in each.flags):
        for item in (*entry.strings.values(), *entry.forms.values()):
            end = ""  # of the string so far
            for chunk in item.chunks:
                if end and end != "\\n":
                    return True
                has_long |= columns(chunk) > _WIDTH and len(wrapped(chunk)) > 1
                end = (end + chunk)[-2:]
    return not has_long


def stated_plurals(language: str) -> str:
    """What a header says about the plural forms of a language; "": they are unknown."""
    from babel.messages.plurals import get_plural

    if not (locale := cldr_locale(language)):
        return ""
    forms = get_plural(locale)
    return f"nplurals={forms.num_plurals}; plural={forms.plural_expr};"


def plural_forms(header: str) -> tuple[int | None, int]:
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


def escaped_string(text: str) -> str:
    """A string as it is written between quotation marks."""
    names = {character: name for name, character in ESCAPES.items()} | {'"': '"', "\\": "\\"}
    return re.sub('[\a\b\f\n\r\t\v"\\\\]', lambda found: "\\" + names[found[0]], text)
