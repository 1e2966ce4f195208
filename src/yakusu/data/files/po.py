"""PO: the messages of a program and their translations, in the grammar of gettext."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from yakusu.data.files.compressed import open_binary, plain_name
from yakusu.data.files.encodings import extends_ascii
from yakusu.data.files.long_lines import LongLine, byte_lines, long_line_error
from yakusu.data.files.text import Pair, PairFile, decode_lines, one_line
from yakusu.data.files.units import FileUnit, utc_time
from yakusu.data.languages import closeness
from yakusu.errors import DataError

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"\s*')
_KEYWORD = re.compile(
    r"(msgctxt|msgid_plural|msgid|msgstr|domain)\b\s*(?:\[\s*(\d{1,4})\s*\])?\s*(.*)"
)
_OBSOLETE = re.compile(r"#~\s*msgid\b")
_CHARSET = re.compile(rb"Content-Type:[^\\]{0,200}?charset=([A-Za-z0-9_.:-]{1,100})")
_LANGUAGE = re.compile(r"^Language:(.*)$", re.M)
_CODE = re.compile(r"([a-z]{2,3}(?:[-_][\w-]*\w)?)(?:@\w+)?", re.I)  # sr@latin -> sr
_ESCAPE = re.compile(r"((?:\\[0-7]{1,3}|\\x[0-9a-fA-F]{1,2})+)|\\(.)", re.DOTALL)
ESCAPES = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))  # character after "\": meaning
_HEAD = 2**16  # bytes that hold the header
_INVALID = re.compile("[\udc80-\udcff]")  # bytes that are not UTF-8


@dataclass
class Field:
    """A string of an entry: its lines are `start` to `end`, without `end`.

    Attributes:
        value: The string.
        chunks: The parts between quotation marks, with their escape sequences.
    """

    start: int
    end: int
    value: str = ""
    chunks: list[str] = field(default_factory=list)


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

    @property
    def is_header(self) -> bool:
        """Whether the message is the empty one, whose translation describes the file."""
        return self.strings["msgid"].value == "" and "msgctxt" not in self.strings


class PoReader:
    """Reads the entries of a PO file from its lines.

    Args:
        encoding: The charset of the file, in which escape sequences stand for bytes.
        name: Name of the file, with which error messages begin; "": they begin with the line.

    Attributes:
        n_obsolete: Number of obsolete messages so far.
    """

    def __init__(self, encoding: str, name: str = "") -> None:
        self.n_obsolete = 0
        self._where = f"{name}, " if name else ""
        self._encoding = encoding
        self._entry = Entry(0)
        self._field: Field | None = None
        self._finished: Entry | None = None
        self._previous = 0  # the first of the "#|" lines above the current line, or this line

    def entries(self, lines: Iterable[str]) -> Iterator[Entry]:
        """Yield each entry when its last line has been read.

        Raises:
            DataError: A line is not valid in a PO file; the message gives its number.
        """
        number = -1
        for number, line in enumerate(lines):
            self._read_line(number, line.strip())
            if not line.lstrip().startswith("#|"):
                self._previous = number + 1
            if self._finished:
                yield self._finished
                self._finished = None
        self._finish(number + 1)
        if self._finished:
            yield self._finished

    def _read_line(self, number: int, line: str) -> None:
        if line.startswith("#"):
            self._read_comment(number, line)
        elif line.startswith('"'):
            self._read_strings(number, line)
        elif keyword := _KEYWORD.fullmatch(line):
            self._read_keyword(number, keyword[1], keyword[2])
            self._read_strings(number, keyword[3])
        elif line:
            raise self._error(number, f" is not valid in a PO file: correct {line[:40]!r}")

    def _read_comment(self, number: int, line: str) -> None:
        if self._entry.forms or line.startswith("#~"):
            self._finish(number)
        if line.startswith("#,"):
            self._entry.flag_lines.append(number)
            self._entry.flags |= {flag.strip() for flag in line[2:].split(",")}
        elif _OBSOLETE.match(line):
            self.n_obsolete += 1

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
            raise self._error(number, f": {keyword} is not expected here: correct the entry")
        self._field = Field(number, number + 1)
        if keyword == "msgstr":
            entry.forms[index] = self._field
        elif keyword != "domain":
            if not entry.strings:
                entry.comments_end = self._previous
            entry.strings[keyword] = self._field

    def _read_strings(self, number: int, text: str) -> None:
        if self._field is None:
            raise self._error(number, ": a string without msgid or msgstr: correct it")
        at = 0
        while string := _STRING.match(text, at):
            self._field.chunks.append(string[1])
            at = string.end()
        if at < len(text):
            reason = f'the string must be enclosed in ", with \\" inside it: correct {text[:40]!r}'
            raise self._error(number, f": {reason}")
        self._field.end = number + 1

    def _finish(self, number: int) -> None:
        """End the entry; `number` is the line after it."""
        entry = self._entry
        if entry.forms:
            for item in (*entry.strings.values(), *entry.forms.values()):
                item.value = _ESCAPE.sub(self._character, "".join(item.chunks))
            self._finished = entry
        elif entry.strings:
            first = next(iter(entry.strings.values())).start
            raise self._error(first, ": the entry has no msgstr: add it")
        self._entry = Entry(number)
        self._field = None

    def _error(self, number: int, problem: str) -> DataError:
        return DataError(f"{self._where}line {number + 1}{problem}")

    def _character(self, found: re.Match[str]) -> str:
        if found[1]:  # bytes in the encoding of the file
            codes = re.findall(r"\\(?:x([0-9a-fA-F]+)|([0-7]+))", found[1])
            octets = bytes(int(x, 16) if x else int(o, 8) & 255 for x, o in codes)
            return octets.decode(self._encoding, errors="replace")
        return ESCAPES.get(found[2], found[2])


def charset_of(head: bytes) -> str:
    """Return the charset that the header of a PO file names; UTF-8 by default.

    Args:
        head: The file, or the first part of it.
    """
    header = b"".join(re.split(rb"\nmsgid\b", head, maxsplit=2)[:2])
    found = _CHARSET.search(header)
    name = found[1].decode("ascii") if found else "CHARSET"
    return "UTF-8" if name == "CHARSET" else name  # of a template


def language_of_header(header: str) -> str:
    """Return the language of the translations that the header of a PO file names, or ""."""
    found = _LANGUAGE.search(header)
    return found[1].strip(" \t") if found else ""


def read_po(file: PairFile) -> Iterator[Pair]:
    """Read the messages with their translations; fuzzy, obsolete and empty ones are left out.

    A message with plural forms gives two pairs: singular and first form, plural and last form.

    Raises:
        DataError: The file is malformed, or is in another language than the columns say.
    """
    for _, source, target in _translated(file, _Head()):
        yield one_line(source), one_line(target)


def po_units(file: PairFile) -> Iterator[FileUnit]:
    """Read the same messages as `read_po` with their contexts; the header says when, and who.

    Raises:
        DataError: The file is malformed, or is in another language than the columns say.
    """
    head = _Head()
    name = Path(plain_name(file.path)).name
    for entry, source, target in _translated(file, head):
        context = entry.strings.get("msgctxt")
        about = {
            "file": name,
            "key": context.value if context else "",
            "time": utc_time(head.fields.get("PO-Revision-Date", "")),
            "who": head.fields.get("Last-Translator", ""),
        }
        yield FileUnit([source], [target], about)


@dataclass
class _Head:
    """What the header of a file says; it is complete when the first message is read."""

    fields: dict[str, str] = field(default_factory=dict)

    def read(self, header: str) -> None:
        for line in header.split("\n"):
            name, _, value = line.partition(":")
            self.fields.setdefault(name.strip(), value.strip())


def _translated(file: PairFile, head: _Head) -> Iterator[tuple[Entry, str, str]]:
    """Yield the source and the target of each translated message, and its entry."""
    charset = _charset(file.path)
    reader = PoReader(charset, file.path)
    reverse = _is_reversed(file, "")
    left_out = Counter[str]()
    for entry in reader.entries(_lines(file, charset)):
        if entry.is_header:
            header = entry.forms[0].value if 0 in entry.forms else ""
            head.read(header)
            code = _CODE.fullmatch(language_of_header(header))
            reverse = _is_reversed(file, code[1] if code else "")
            continue
        fuzzy = "fuzzy" in entry.flags
        pairs = [] if fuzzy else [pair for pair in _pairs(entry) if all(map(str.strip, pair))]
        if not pairs:
            left_out["fuzzy" if fuzzy else "untranslated"] += 1
        for source, target in pairs:
            if _INVALID.search(source + target):
                continue  # counted by `file.errors`
            yield (entry, target, source) if reverse else (entry, source, target)
    left_out += Counter(obsolete=reader.n_obsolete)
    if left_out:
        counts = ", ".join(f"{n:,} {kind}" for kind, n in sorted(left_out.items()))
        file.remark(f"{file.path}: messages left out: {counts}")


def _pairs(entry: Entry) -> list[Pair]:
    msgid = entry.strings["msgid"].value
    forms = [item.value for _, item in sorted(entry.forms.items())]
    if "msgid_plural" not in entry.strings:
        return [(msgid, forms[0])]
    return [(msgid, forms[0]), (entry.strings["msgid_plural"].value, forms[-1])]


def _is_reversed(file: PairFile, language: str) -> bool:
    """Whether the columns make translations the source; `language` is that of the file."""
    src, tgt = file.columns
    if isinstance(src, int) and isinstance(tgt, int):
        if sorted((src, tgt)) != [1, 2]:
            raise DataError(
                f"{file.path} has no columns {src} and {tgt}: msgid is column 1, msgstr column 2"
            )
        return src == 2
    if not language or closeness(str(tgt), language) is not None:
        return False
    if closeness(str(src), language) is not None:
        return True
    fix = file.choose([language]) if file.choose else "name it in --columns"
    raise DataError(f"{file.path} has translations into {language}, not into {tgt}: {fix}")


def _charset(path: str) -> str:
    with open_binary(Path(path)) as stream:
        charset = charset_of(stream.peek(_HEAD)[:_HEAD])
    if not extends_ascii(charset):
        raise DataError(
            f"{path}: its header names the charset {charset}, which is unknown or not for "
            "PO files: convert the file to UTF-8 and correct Content-Type in the header"
        )
    return "UTF-8" if charset.upper() in ("UTF8", "ASCII", "US-ASCII") else charset


def _lines(file: PairFile, charset: str) -> Iterator[str]:
    """Read the lines of a file in a charset."""
    with open_binary(Path(file.path)) as stream:
        lines = byte_lines(stream.read1)
        if charset.upper() == "UTF-8":
            yield from decode_lines(lines, file.path, errors=file.errors)
            return
        try:
            for number, line in enumerate(lines, start=1):
                if isinstance(line, LongLine):
                    raise long_line_error(file.path, number)
                yield line.decode(charset)
        except UnicodeError as error:
            raise DataError(
                f"{file.path} is not in {charset}, which its header names: correct "
                "Content-Type in the header"
            ) from error
