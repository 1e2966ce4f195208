"""PO and POT files of gettext: messages without a translation are texts.

A template's header gets the plural forms of the target language, and so do its messages.

A message that is translated here is marked fuzzy, unless a memory has exactly its texts. Every
other line is kept as it is.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from yakusu.data.files.po import Entry
from yakusu.documents.document import DocumentOptions, Known
from yakusu.documents.languages import check_language
from yakusu.documents.messages.icu import TextString, render_all
from yakusu.documents.messages.icu_plurals import with_plural_forms
from yakusu.documents.messages.identifiers import is_key
from yakusu.documents.messages.plural_forms import text_string
from yakusu.documents.messages.po_file import PoFile
from yakusu.documents.messages.positional import reordered

_PERCENT = re.compile(
    r"%(?:\d++\$)?(?:\([^()]*\)|<\w+>)?[-+ #0']*+(?:\*|\d++)?(?:\.(?:\*|\d*+))?"
    r"(?:hh|h|ll|l|L|q|j|z|t)?[a-zA-Z@]|%%|%<\w+>|%"
)
_BRACES = re.compile(r"\{\{|\}\}|\{(?:[^{}]|\{[^{}]*\})*\}|[{}]")
NUMBERED = re.compile(r"%L?\d+%?|%L?n|%")
# Those whose argument depends on their position, such as %s and {}, not %1$s, %(name)s or {0}.
_POSITIONAL = re.compile(r"%(?!\d+\$|[(<{%])|\{(?=[!:}])")
# Flags, the placeholders of such messages, and whether the position of one may be its argument.
_PLACEHOLDERS = (
    (
        re.compile(
            r"(c|objc|php|python|perl|lua|javascript|java-printf|ruby|awk|object-pascal)-format"
        ),
        _PERCENT,
        True,
    ),
    (re.compile(r"(python-brace|perl-brace|csharp|java|c\+\+|rust)-format"), _BRACES, True),
    (re.compile(r"(qt|qt-plural|kde|kde-kuit|boost)-format"), NUMBERED, False),
)

_UNKNOWN = Known()


@dataclass
class _Unit:
    """A message to translate.

    Attributes:
        entry: Its entry.
        sources: msgid and msgid_plural, if they are needed.
        n_forms: Number of forms that the translated entry has.
        keys: The source of each form to write.
    """

    entry: Entry
    sources: Mapping[str, TextString]
    n_forms: int
    keys: Mapping[int, str]


class PoDocument:
    """A PO file whose messages can be translated.

    Attributes:
        texts: The texts of all messages to translate.
        keys: The msgctxt of each text.
        skipped: Messages that stay untranslated, each with the reason; complete after `render`.
    """

    lines: Sequence[int] = ()
    reports_blank = True

    def __init__(self, data: bytes, options: DocumentOptions) -> None:
        self._file = PoFile(data, options.languages[1])
        self._options = options
        units = [_unit(entry, self._file, options.retranslate) for entry in self._file.entries]
        found = [unit for unit in units if unit]
        self._keys = [unit for unit in found if _problem(unit)]
        self._units = [unit for unit in found if not _problem(unit)]
        self._known: Mapping[int, Known] = {}
        self.keys: Sequence[str] = [
            unit.entry.strings["msgctxt"].value if "msgctxt" in unit.entry.strings else ""
            for unit in self._units
            for message in unit.sources.values()
            for _ in message.texts
        ]
        self._messages = [message for unit in self._units for message in unit.sources.values()]
        if self._units:
            file = self._file
            check_language("target", file.language, options.languages[1], file.header_line)
        self.skipped: Sequence[str] = [_left(unit, _problem(unit)) for unit in self._keys]
        self.texts: Sequence[str] = [text for message in self._messages for text in message.texts]

    def tell(self, known: Mapping[int, Known]) -> None:
        """See `StatesOrigin.tell`."""
        self._known = known

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""
        rendered, first = iter(render_all(self._messages, translations)), 0
        skipped = [_left(unit, _problem(unit)) for unit in self._keys]
        edits: dict[int, tuple[int, list[bytes]]] = {}  # first line: (line after the last, lines)
        for unit in self._units:
            strings = {key: next(rendered) for key in unit.sources}
            texts = range(first, first := first + sum(len(m.texts) for m in unit.sources.values()))
            known = [self._known.get(number, _UNKNOWN) for number in texts]
            kept = "; ".join(dict.fromkeys(each.kept for each in known if each.kept))
            if reason := kept or _refusal(unit, strings):
                skipped.append(_left(unit, reason))
                continue
            language = self._options.languages[1] or self._file.language
            completed = {key: with_plural_forms(s or "", language) for key, s in strings.items()}
            values = {form: completed[key][0] for form, key in unit.keys.items()}
            try:
                is_sure = all(each.match == 100 for each in known)
                is_sure &= not any(check for _, check in completed.values())
                edits |= self._edits(unit, values, is_sure=is_sure)
            except UnicodeEncodeError as error:
                reason = f"{self._file.encoding}, the charset of the header, has no"
                skipped.append(_left(unit, f"{reason} {error.object[error.start]!r}"))
        self.skipped = skipped
        if edits and self._file.new_plurals:
            number, line = self._file.new_plurals
            edits[number] = (number + 1, [line])
        return self._file.bom + b"".join(_edited(self._file.lines, edits))

    def _edits(
        self, unit: _Unit, values: Mapping[int, str], *, is_sure: bool
    ) -> dict[int, tuple[int, list[bytes]]]:
        """The lines that change; an entry that is not sure is marked fuzzy."""
        entry, file = unit.entry, self._file
        old = {form: item.value for form, item in entry.forms.items()}
        if all(old.get(form) == value for form, value in values.items()):
            return {}
        plural = "msgid_plural" in entry.strings
        last = max(entry.forms, key=lambda form: entry.forms[form].end)
        end = b"\r\n" if file.lines[entry.strings["msgid"].start].endswith(b"\r\n") else b"\n"
        edits = {} if is_sure else self._flag(entry, end)
        for form, item in entry.forms.items():
            new = file.lines[item.start : item.end]
            if form in values:
                new = self._lines(
                    entry, f"msgstr[{form}]" if plural else "msgstr", values[form], end
                )
            elif form >= unit.n_forms and not item.value:
                new = []
            if form == last:
                for extra in range(unit.n_forms):
                    if extra not in entry.forms:
                        new = [_ended(line, end) for line in new]
                        new += self._lines(entry, f"msgstr[{extra}]", values[extra], end)
                if not file.lines[item.end - 1].endswith(b"\n") and new:
                    new[-1] = new[-1].rstrip(b"\r\n")
            edits[item.start] = (item.end, new)
        return edits

    def _lines(self, entry: Entry, keyword: str, value: str, end: bytes) -> list[bytes]:
        lines = self._file.write(keyword, value, wraps="no-wrap" not in entry.flags)
        return [self._file.encoded(line) + end for line in lines]

    def _flag(self, entry: Entry, end: bytes) -> dict[int, tuple[int, list[bytes]]]:
        """The change that marks an entry as fuzzy."""
        if "fuzzy" in entry.flags:
            return {}
        if not entry.flag_lines:
            return {entry.comments_end: (entry.comments_end, [b"#, fuzzy" + end])}
        number = entry.flag_lines[0]
        line = re.sub(rb"#,[ \t]*(?=([^\s])?)", _with_fuzzy, self._file.lines[number], count=1)
        return {number: (number + 1, [line])}


def read(data: bytes, options: DocumentOptions) -> PoDocument:
    """Read a PO or POT file.

    Args:
        data: The file, in the charset that its header states.
        options: `retranslate`: messages with a translation are texts, too. `languages`: a file in
            another language is refused.

    Raises:
        DataError: The data is not a PO file, not in the charset of its header, or its header states
            another language.
    """
    return PoDocument(data, options)


def _unit(entry: Entry, file: PoFile, retranslate: bool) -> _Unit | None:
    """The message of an entry, or None if there is nothing to translate."""
    translated = all(item.value for item in entry.forms.values())
    if not entry.strings["msgid"].value or (translated and not retranslate):
        return None  # the header, or nothing to do
    n_forms, singular = 1, 0
    if "msgid_plural" in entry.strings:
        n_forms, singular = file.n_forms or len(entry.forms), file.singular
    keys = {}
    for form in range(n_forms):
        present = form in entry.forms and entry.forms[form].value
        if retranslate or not present:
            one = "msgid_plural" not in entry.strings or (n_forms > 1 and form == singular)
            keys[form] = "msgid" if one else "msgid_plural"
    strings = {key: entry.strings[key].value for key in sorted(set(keys.values()))}
    sources = {key: text_string(string, spaced=True) for key, string in strings.items()}
    if not any(message.texts or message.problem for message in sources.values()):
        return None
    return _Unit(entry, sources, n_forms, keys)


def _problem(unit: _Unit) -> str:
    """Why a message has no text, or "": it exceeds a limit, or is a key, such as action.save."""
    if problem := next((each.problem for each in unit.sources.values() if each.problem), ""):
        return problem
    value = unit.entry.strings["msgid"].value
    has_keys = all(is_key(unit.entry.strings[key].value) for key in unit.sources)
    return f"{value!r} looks like an identifier, not like text" if has_keys else ""


def _left(unit: _Unit, reason: str) -> str:
    """Why a message stays as it is, with its line."""
    return f"line {unit.entry.strings['msgid'].start + 1}: {reason}"


def _refusal(unit: _Unit, strings: Mapping[str, str | None]) -> str:
    """Why a message cannot be translated, or ""."""
    for key, string in strings.items():
        source = unit.entry.strings[key].value
        if string is None:
            return f"the translation of {source!r} is blank, or its numbers or markup differ"
        for flags, pattern, has_order in () if unit.sources[key].is_icu else _PLACEHOLDERS:
            if any(flags.fullmatch(flag) for flag in unit.entry.flags):
                before, after = (Counter(_found(pattern, text)) for text in (source, string))
                if before != after:
                    names = ", ".join(((before - after) or (after - before)).elements())
                    return f"the translation of {source!r} has other placeholders ({names})"
                ordered = _positional(pattern, string)
                if has_order and ordered != _positional(pattern, source):
                    names = ", ".join(ordered)
                    return (
                        f"the translation of {source!r} has placeholders in another order ({names})"
                    )
        if others := reordered(source, string):
            names = ", ".join(others)
            return f"the translation of {source!r} has placeholders in another order ({names})"
    return ""


def _positional(pattern: re.Pattern[str], text: str) -> list[str]:
    return [each for each in _found(pattern, text) if _POSITIONAL.match(each)]


def _found(pattern: re.Pattern[str], text: str) -> list[str]:
    return [found[0] for found in pattern.finditer(text)]


def _with_fuzzy(found: re.Match[bytes]) -> bytes:
    separator = b", " if found[1] else b""
    return b"#, fuzzy" + separator


def _ended(line: bytes, end: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + end


def _edited(
    lines: Sequence[bytes], edits: Mapping[int, tuple[int, list[bytes]]]
) -> Iterator[bytes]:
    """The lines of the file with those that changed."""
    at = 0
    for start, (end, new) in sorted(edits.items()):
        yield from lines[at:start]
        yield from new
        at = end
    yield from lines[at:]
