"""Parts with many texts of cells, most of which have no markup: these are not parsed as elements.

    <si><t>plain</t></si><si><t>plain</t></si><si><r>...</r></si>
    <?plain?><si><r>...</r></si>                                        what is parsed

A part without comments, CDATA and processing instructions is divided into stretches of cells that
are certainly plain text, numbers or formulas, and the rest. In the rest, a processing instruction
stands for each stretch. All other parts are parsed as a whole.
"""

import html
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from xml.parsers import expat

from yakusu.data.files.office.archive import Archive
from yakusu.data.files.xmltree import Element, XmlFile, encoding_of
from yakusu.data.lines.private_use import MARKS
from yakusu.data.lines.words import has_letter
from yakusu.documents.inline import Run
from yakusu.documents.office.ooxml.cells import SHEET_NAMESPACES, VALUE, CellDialect
from yakusu.documents.office.ooxml.parts import OoxmlPart
from yakusu.documents.office.parts import DocumentTexts, Paragraph, PartSource, Scope, read_part
from yakusu.errors import DataError

_STRETCH = b"<?plain?>"
_TEXT = rb"[^<>&\x00-\x1f]*+(?:&(?:amp|lt|gt|quot|apos);[^<>&\x00-\x1f]*+)*+"
_T = rb'<t(?: xml:space="preserve")?>(' + _TEXT + rb")</t>"
_FORMULA = rb"<f(?:\s[^<>]*+)?(?:(?<=/)>|>[^<>]*+</f>)"
_CELL = (
    rb"<c(?:\s[^<>]*+)?><is>(?P<t>" + _T + rb")</is></c>\s*+"
    rb"|(?:"  # empty cells, numbers, results of formulas, ends of rows
    rb"""(?:<c(?![^<>]*\st=["']str)(?:\s[^<>]*+)?(?:(?<=/)>|>(?:""" + _FORMULA + rb")?+"
    rb"<v>[^<>&\x00-\x1f]*+</v></c>)|"
    rb"<c(?:\s[^<>]*+)?(?:(?<=/)>|>" + _FORMULA + rb"<v>" + _TEXT + rb"</v></c>)|"
    rb"</row>\s*+<row(?:\s[^<>]*+)?(?<!/)>)\s*+"
    rb")++"
)
_VALUE = rb"|<c(?:\s[^<>]*+)?><v>(?P<v>" + _TEXT + rb")</v></c>\s*+"
_PLAIN = {  # by the elements with texts
    "si": re.compile(rb"<si>(?P<t>" + _T + rb")</si>\s*+"),
    "is": re.compile(_CELL),
    "c": re.compile(_CELL + _VALUE),
}
_ROOT = re.compile(rb"(?:<\?xml[^<>]*\?>)?\s*<(?:sst|worksheet)(\s[^<>]*)>")
_DEFAULT = re.compile(rb"""\sxmlns=["']([^"']*)["']""")
_SPECIAL = re.compile(rf"_x[0-9A-Fa-f]{{4}}_|{MARKS}")  # in texts that must be parsed
_NONE = 2**64 - 1


class _PlainCells:
    """The places of the cells of a part that need not be parsed.

    Args:
        content: The part, in UTF-8.
        wanted: The elements with texts, as in `CellDialect`.

    Attributes:
        starts: Where the texts begin: their elements `t`, or the values of their cells.
        ends: Where they end.
        stretches: Where stretches of cells begin and end, and the number of texts up to there.
    """

    def __init__(self, content: bytes, wanted: str) -> None:
        self.starts, self.ends = array("Q"), array("Q")
        self.stretches: list[tuple[int, int, int]] = []
        start = end = 0
        for found in _PLAIN[wanted].finditer(content):
            group = found.lastgroup
            if group and _is_special(found[group]):
                continue
            if found.start() != end:
                self._add(start, end)
                start = found.start()
            end = found.end()
            if group:
                self.starts.append(found.start(group))
                self.ends.append(found.end(group))
        self._add(start, end)

    def _add(self, start: int, end: int) -> None:
        if end:
            self.stretches.append((start, end, len(self.starts)))

    def text(self, i: int, content: bytes) -> str:
        """What a reader sees of text `i`, with white space at its ends."""
        raw = content[self.starts[i] : self.ends[i]]
        if raw.startswith(b"<"):
            raw = raw[raw.index(b">") + 1 : raw.rindex(b"<")]
        return html.unescape(raw.decode()) if b"&" in raw else raw.decode()

    def rest(self, content: bytes) -> bytes:
        """The part in which an instruction stands for each stretch."""
        rest, at = bytearray(), 0
        for start, end, _ in self.stretches:
            rest += content[at:start] + _STRETCH
            at = end
        return bytes(rest + content[at:])


def _is_special(raw: bytes) -> bool:
    """Whether a text contains escapes, or characters that are marks."""
    if raw.isascii():
        return b"_x" in raw
    return bool(_SPECIAL.search(raw.decode()))


class _Rest(OoxmlPart):
    """The part in which instructions stand for stretches.

    Args:
        archive: The archive.
        name: The name of the part.
        dialect: Its format.
        texts: Texts of previous parts, to which those of this part are added.
        scope: Texts of other parts, to which those of this part are added.
        plain: The stretches.
        before: Called with the number of stretches before each text, to add their texts.
    """

    def __init__(
        self,
        archive: PartSource,
        name: str,
        dialect: CellDialect,
        texts: DocumentTexts,
        *,
        scope: Scope,
        plain: _PlainCells,
        before: Callable[[int], None],
    ) -> None:
        self._before, self._n_before, self._at = before, 0, 0

        class Rest:
            def read(self, name: str) -> bytes:
                return plain.rest(archive.read(name))

        super().__init__(Rest(), name, dialect, texts, scope=scope)

    def _paragraphs(self, element: Element, xml: XmlFile) -> Iterator[Paragraph]:
        if element.start > self._at:  # else the part is being rendered
            self._n_before += xml.content.count(_STRETCH, self._at, element.start)
            self._at = element.start
            self._before(self._n_before)
        return super()._paragraphs(element, xml)


class CellPart:
    """The texts of a part with cells; see `OoxmlPart`.

    Args:
        archive: The archive.
        name: The name of the part.
        dialect: Its format.
        texts: Texts of previous parts, to which those of this part are added.
        scope: Texts of other parts, to which those of this part are added.

    Raises:
        DataError: The part is not valid XML, or exceeds a limit.
    """

    def __init__(
        self,
        archive: Archive,
        name: str,
        dialect: CellDialect,
        texts: DocumentTexts,
        *,
        scope: Scope,
    ) -> None:
        self._archive, self._name, self._dialect, self._texts = archive, name, dialect, texts.items
        self._indexes = array("Q")  # of plain texts; _NONE: not translated
        content = read_part(archive, name).content
        self._plain: _PlainCells | None = None
        self._part: OoxmlPart
        if not _is_simple(archive.read(name)):
            self._part = OoxmlPart(archive, name, dialect, texts, scope=scope)
            return
        self._plain = plain = _PlainCells(content, dialect.wanted)

        def add(n_stretches: int) -> None:
            n_texts = plain.stretches[n_stretches - 1][2] if n_stretches else 0
            for i in range(len(self._indexes), n_texts):
                text = plain.text(i, content)
                is_used = has_letter(text) and not dialect.stays(text)
                self._indexes.append(texts.index(text.strip(), scope) if is_used else _NONE)

        try:
            self._part = _Rest(archive, name, dialect, texts, scope=scope, plain=plain, before=add)
        except DataError:
            # The lines in the message would be those of the rest.
            OoxmlPart(archive, name, dialect, DocumentTexts(), scope={})
            raise
        add(len(plain.stretches))

    @property
    def indexes(self) -> frozenset[int]:
        """The indexes of its texts."""
        return (self._part.indexes | frozenset(self._indexes)) - {_NONE}

    def render(self, translations: Sequence[str]) -> bytes | bytearray | None:
        """Return the part with these translations of `texts`, None if none is different."""
        rest = self._part.render(translations)
        plain = self._plain
        is_changed = any(
            translations[index] != self._texts[index] for index in self._indexes if index != _NONE
        )
        if plain is None or not (rest or is_changed):
            return rest
        content = self._archive.read(self._name)
        between = iter(bytes(rest or plain.rest(content)).split(_STRETCH))
        written = bytearray(next(between))
        n_before = 0
        for start, end, n_texts in plain.stretches:
            at = start
            for i in range(n_before, n_texts):
                index = self._indexes[i]
                if index != _NONE and translations[index] != self._texts[index]:
                    written += content[at : plain.starts[i]]
                    written += self._written(i, translations[index], content)
                    at = plain.ends[i]
            n_before = n_texts
            written += content[at:end] + next(between)
        return written

    def _written(self, i: int, translation: str, content: bytes) -> bytes:
        """The element `t` of a plain text, or its value, with another text."""
        assert self._plain is not None
        text = self._plain.text(i, content)
        before, _, after = text.partition(text.strip())
        is_value = content[self._plain.starts[i]] != ord("<")
        run = Run(VALUE) if is_value else Run(())
        return self._dialect.encode(f"{before}{translation}{after}", run).encode()


def _is_simple(content: bytes) -> bool:
    """Whether each "<" of a part begins a tag, and names without a prefix are of cells.

    Raises:
        DataError: The encoding of the part is unknown.
    """
    root = _ROOT.match(content) if encoding_of(content)[1].lower() == "utf-8" else None
    named = _DEFAULT.search(root[1]) if root else None
    return (
        named is not None
        and named[1].decode("latin-1") in SHEET_NAMESPACES
        and b"<!" not in content
        and content.count(b"<?") <= content.startswith(b"<?xml")
        and content.count(b"xmlns=") == 1
        and _is_well_formed(content)
    )


def _is_well_formed(content: bytes) -> bool:
    try:
        expat.ParserCreate("utf-8", " ").Parse(content, True)
    except expat.ExpatError:
        return False
    return True
