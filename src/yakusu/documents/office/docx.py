"""Word documents (.docx, .docm, .dotx, .dotm): body, headers, footers, notes, comments, charts.

A change of formatting within a paragraph is a pair of marks; page breaks, pictures, references to
notes, fields and deleted text are empty marks, and line breaks and tabs are marks that end a
sentence. The text of a link, of a content control and of inserted text is enclosed in a pair.
Information that word processors recalculate (spelling errors, rendered page breaks), soft hyphens
and phonetic guides are removed from translated paragraphs.
"""

import re
from dataclasses import replace
from itertools import takewhile

from yakusu.data.files.office.archive import Archive
from yakusu.data.files.xmltree import Element, XmlFile, escaped
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.inline import Inline, Piece, PieceKind, Run
from yakusu.documents.office.ooxml.graphics import GraphicDocument
from yakusu.documents.office.ooxml.package import Package, PackageKind
from yakusu.documents.office.ooxml.runs import LINE_SPACES, is_copy, run_of
from yakusu.errors import DataError

_WORD = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
}
_PARTS = tuple(  # the content types of parts, in reading order
    re.compile(rf"(wordprocessingml|ms-word)\.{end}$", re.IGNORECASE)
    for end in (
        r"(document|template)\.(main|macroEnabled(Template)?\.main)\+xml",
        r"header\+xml",
        r"footer\+xml",
        r"footnotes\+xml",
        r"endnotes\+xml",
        r"comments\+xml",
    )
)
_KIND = PackageKind("a Word document", ".docx", _PARTS[0])
_PARAGRAPH_PROPERTIES = re.compile(rb"\A<([\w.-]{1,20}:)?pPr(?:[\s/][^<>]*)?>")
_RUN_PROPERTIES = re.compile(rb"<([\w.-]{1,20}:)?rPr(?:[\s/][^<>]*)?>")
_FOLLOWING = {  # what follows a property of direction
    "bidi": re.compile(
        rb"<(?:[\w.-]{1,20}:)?"
        rb"(?:adjustRightInd|snapToGrid|spacing|ind|contextualSpacing|mirrorIndents|jc|"
        rb"suppressOverlap|textDirection|textAlignment|textboxTightWrap|outlineLvl|divId|cnfStyle|"
        rb"rPr|sectPr|pPrChange)\b|</(?:[\w.-]{1,20}:)?pPr>"
    ),
    "rtl": re.compile(
        rb"<(?:[\w.-]{1,20}:)?(?:cs|em|lang|eastAsianLayout|specVanish|oMath|rPrChange)\b|"
        rb"</(?:[\w.-]{1,20}:)?rPr>"
    ),
}
_DIRECTION = re.compile(rb"<(?:[\w.-]{1,20}:)?(?:bidi|rtl)(?:\s[^<>]*)?/>")
_TWINS = {  # properties -> the names of those for text from right to left
    re.compile(rb"(<(?:[\w.-]{1,20}:)?)b((?:\s[^<>]*)?/>)"): b"bCs",
    re.compile(rb"(<(?:[\w.-]{1,20}:)?)i((?:\s[^<>]*)?/>)"): b"iCs",
    re.compile(rb"(<(?:[\w.-]{1,20}:)?)sz((?:\s[^<>]*)?/>)"): b"szCs",
}
_CONTAINERS = frozenset(
    ("hyperlink", "ins", "moveTo", "smartTag", "customXml", "sdt", "dir", "bdo", "fldSimple")
)
_DROPPED = {"proofErr", "lastRenderedPageBreak", "softHyphen"}
_PROSE_FIELDS = {"HYPERLINK", "TOC", "QUOTE", "IF", "FORMTEXT"}
_UNSEEN = {"lang", "noProof"}  # properties of runs
# Names of pieces: "field begin", "field separate", "field end"; what follows is the instruction.
_FIELD, _INSTRUCTION = "field ", "instruction "
_MAX_FIELDS = 32  # in each other


def read(data: bytes, options: DocumentOptions) -> Document:
    """Read a Word document.

    Raises:
        DataError: The data is not a valid Word document.
    """
    package = Package(Archive(data), _KIND)
    document, names = GraphicDocument(package), _part_names(package)
    seen = {*names}
    for name in names:
        document.parts.add(name, WordDialect())
        document.add_graphics(name, seen)
    return document


def _part_names(package: Package) -> list[str]:
    """The names of the parts with text, in reading order."""
    found = []
    for name, kind in package.types.items():
        for rank, pattern in enumerate(_PARTS):
            if pattern.search(kind):
                number = int(re.sub(r"\D", "", name)[:9] or 0)
                found.append((rank, number, name))
    if not any(rank == 0 for rank, _, _ in found):
        raise package.no_document()
    return [name for _, _, name in sorted(found)]


class WordDialect:
    """WordprocessingML."""

    def is_wanted(self, namespace: str, name: str) -> bool:
        """Whether an element is a paragraph."""
        return name == "p" and namespace in _WORD

    def is_paragraph(self, element: Element) -> bool:
        """Whether an element is a paragraph."""
        return _word(element) == "p"

    def is_copy(self, element: Element) -> bool | None:
        """Whether an element is a fallback for another one (True), or has one (False)."""
        return is_copy(element)

    def is_skipped(self, namespace: str, name: str) -> bool:
        """No paragraph is skipped."""
        return False

    def pieces(self, paragraph: Element, xml: XmlFile) -> list[Piece]:
        """The contents of a paragraph."""
        pieces: list[Piece] = []
        _add_content(pieces, paragraph, xml)
        return _cursor_last(_with_fields(pieces), paragraph)

    def encode(self, text: str, run: Run) -> str:
        """The markup for a text in a run."""
        text = escaped(LINE_SPACES.sub(" ", text))
        return f'<{run.prefix}t xml:space="preserve">{text}</{run.prefix}t>'

    def turned(self, content: bytes, direction: str, inline: Inline) -> bytes:
        """The content of a paragraph that is written in another direction."""
        if not _PARAGRAPH_PROPERTIES.match(content):
            prefix = next((run.prefix for run in inline.runs.values() if run), "")
            content = f"<{prefix}pPr></{prefix}pPr>".encode() + content
        return _with_property(content, _PARAGRAPH_PROPERTIES, "bidi", direction)

    def turned_run(self, run: Run, direction: str) -> Run:
        """A run of a paragraph that is written in another direction.

        Text that is written from right to left has its own properties of bold, italics and size.
        """
        before = run.before
        if not _RUN_PROPERTIES.search(before):
            before += f"<{run.prefix}rPr></{run.prefix}rPr>".encode()
        return replace(run, before=_with_property(before, _RUN_PROPERTIES, "rtl", direction))


def _word(element: Element) -> str:
    """The name of an element of WordprocessingML, or ""."""
    return element.name if element.namespace in _WORD else ""


def _with_property(
    content: bytes, properties: re.Pattern[bytes], name: str, direction: str
) -> bytes:
    """Content whose properties state a direction, in the place that the schema prescribes.

    Args:
        content: The content; it has properties.
        properties: Finds their start tag.
        name: The name of the property.
        direction: "rtl" or "ltr".
    """
    found = properties.search(content)
    assert found is not None
    prefix, inner, end = (found[1] or b"").decode(), found.end(), b""
    if found[0].endswith(b"/>"):
        content = content[: inner - 2] + b">" + content[inner:]
        inner, end = inner - 1, f"</{prefix}pPr>".encode()
        end = end if name == "bidi" else f"</{prefix}rPr>".encode()
    following = _FOLLOWING[name].search(content, inner)
    at = inner if end or not following else following.start()
    own = _DIRECTION.sub(b"", content[inner:at])
    if direction == "rtl" and name == "rtl":
        for each, copied in _TWINS.items():
            if copied not in own:
                own = each.sub(rb"\g<0>\g<1>" + copied + rb"\g<2>", own)
    value = "" if direction == "rtl" else f' {prefix}val="0"'
    return content[:inner] + own + f"<{prefix}{name}{value}/>".encode() + end + content[at:]


def _add_content(pieces: list[Piece], parent: Element, xml: XmlFile, start: int = 0) -> bool:
    """Add the pieces of a paragraph, or of a container in it, from an index in the file.

    Returns:
        Whether there is text among them.
    """
    has_text = False
    for child in parent.elements:
        name = _word(child)
        if child.start < start:
            continue
        if name == "r":
            has_text |= _add_run(pieces, child, xml)
        elif name in _CONTAINERS:
            has_text |= _add_container(pieces, child, xml)
        elif name not in _DROPPED:
            pieces.append(_piece(child, None))
    return has_text


def _add_container(pieces: list[Piece], element: Element, xml: XmlFile) -> bool:
    """Add the pieces of an element around runs."""
    body = next((child for child in element.elements if _word(child) == "sdtContent"), element)
    inner = body.inner
    for child in takewhile(lambda child: child.name.endswith("Pr"), body.elements):
        inner = child.end  # properties stay before the contents
    first = len(pieces)
    name = str(element.start)
    pieces.append(Piece(PieceKind.START, element.start, inner, name=name))
    has_text = _add_content(pieces, body, xml, inner)
    is_computed = _word(element) == "fldSimple" and not _has_prose(element.get("instr"))
    if has_text and not is_computed:
        pieces.append(Piece(PieceKind.END, body.inner_end, element.end, name=name))
        return True
    hollow = not is_computed and len(pieces) == first + 1
    pieces[first:] = [Piece(PieceKind.EMPTY, element.start, element.end, hollow=hollow)]
    return False


def _add_run(pieces: list[Piece], element: Element, xml: XmlFile) -> bool:
    """Add the pieces of a run."""
    run = run_of(element, xml, unseen=_UNSEEN, is_unseen=_is_unseen)
    has_text = False
    for child in element.elements:
        name = _word(child)
        if name in ("t", "noBreakHyphen"):
            text = LINE_SPACES.sub(" ", child.text) if name == "t" else "\u2011"
            pieces.append(Piece(PieceKind.TEXT, text=text, run=run))
            has_text = True
        elif name == "ruby":  # the text, without its phonetic guide
            for base in child.elements:
                if _word(base) == "rubyBase":
                    has_text |= _add_content(pieces, base, xml)
        elif name != "rPr" and name not in _DROPPED:
            pieces.append(_piece(child, run))
    return has_text


def _piece(element: Element, run: Run | None) -> Piece:
    """An element that stays."""
    name = _word(element)
    piece = Piece(PieceKind.EMPTY, element.start, element.end, run=run)
    if name == "fldChar":
        return piece._replace(name=_FIELD + element.get("fldCharType"))
    if name in ("cr", "tab") or (name == "br" and element.get("type") in ("", "textWrapping")):
        return piece._replace(breaks=True)
    if name == "instrText":
        return piece._replace(name=_INSTRUCTION + element.text)
    if match := re.fullmatch("(.+)(Start|End)", name):
        kind = PieceKind.START if match[2] == "Start" else PieceKind.END
        name = f"{match[1]} {element.get('id')}"
        return piece._replace(kind=kind, name=name, firm=kind is PieceKind.START)
    return piece


def _is_unseen(attribute: str) -> bool:
    return attribute.startswith(("rsid", "hint"))


def _cursor_last(pieces: list[Piece], paragraph: Element) -> list[Piece]:
    """Move the place of the last change, a bookmark that may be in a word, to the end."""
    names = {
        f"bookmark {child.get('id')}"
        for child in paragraph.elements
        if _word(child) == "bookmarkStart" and child.get("name") == "_GoBack"
    }
    return sorted(pieces, key=lambda piece: piece.name in names)


def _with_fields(pieces: list[Piece]) -> list[Piece]:
    """Make one piece of each computed field, and pairs of the other fields."""
    out: list[Piece] = []
    begins: list[int] = []
    for piece in pieces:
        out.append(piece)
        if piece.name == _FIELD + "begin":
            begins.append(len(out) - 1)
            if len(begins) > _MAX_FIELDS:
                raise DataError(
                    f"fields of a paragraph are nested more than {_MAX_FIELDS} levels deep: "
                    "update the fields"
                )
        elif piece.name == _FIELD + "end" and begins:
            start = begins.pop()
            out[start:] = _field(out[start:])
    return out


def _field(pieces: list[Piece]) -> list[Piece]:
    """The pieces of a field, from its beginning to its end."""
    starts, ends = (
        {piece.name for piece in pieces if piece.kind is kind and piece.name.isdecimal()}
        for kind in (PieceKind.START, PieceKind.END)
    )
    if starts != ends:  # it begins or ends within a container
        return pieces
    names = [piece.name for piece in pieces]
    code = "".join(n.removeprefix(_INSTRUCTION) for n in names if n.startswith(_INSTRUCTION))
    if _FIELD + "separate" not in names or not _has_prose(code):
        return [Piece(PieceKind.EMPTY, parts=tuple(pieces))]
    result = names.index(_FIELD + "separate") + 1
    start = Piece(PieceKind.START, name=str(pieces[0].start), parts=tuple(pieces[:result]))
    end = Piece(PieceKind.END, name=start.name, parts=(pieces[-1],))
    return [start, *pieces[result:-1], end]


def _has_prose(code: str) -> bool:
    """Whether the result of a field is text that its author wrote."""
    return code.split()[:1] != [] and code.split()[0].upper() in _PROSE_FIELDS
