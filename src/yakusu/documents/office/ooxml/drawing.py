"""DrawingML: the text of slides, shapes, tables, charts and SmartArt.

    <a:p><a:pPr/><a:r><a:rPr b="1"/><a:t>bold</a:t></a:r><a:br/><a:fld type="slidenum">...</a:p>
    <c:strCache><c:pt idx="0"><c:v>a label of a chart, as its cells had it</c:v></c:pt></c:strCache>

A change of formatting within a paragraph is a pair of marks; fields (numbers of slides, dates),
formulas and letters that a font shows as other signs are empty marks, and line breaks and tabs are
marks that end a sentence.
"""

import re
from collections.abc import Callable

from yakusu.data.files.xmltree import Element, XmlFile, escaped, with_attribute
from yakusu.data.lines.words import has_letter
from yakusu.documents.inline import Inline, Piece, PieceKind, Run
from yakusu.documents.office.ooxml.alignment import PRESENTATION
from yakusu.documents.office.ooxml.runs import is_copy, run_of

_DRAWING = {
    "http://schemas.openxmlformats.org/drawingml/2006/main",
    "http://purl.oclc.org/ooxml/drawingml/main",
}
_CHART = {
    "http://schemas.openxmlformats.org/drawingml/2006/chart",
    "http://purl.oclc.org/ooxml/drawingml/chart",
    "http://schemas.microsoft.com/office/drawing/2012/chart",
}
_CHART_EX = {"http://schemas.microsoft.com/office/drawing/2014/chartex"}
_LABELS = ("strCache", "multiLvlStrCache", "strLit", "dlblRangeCache", "tx")  # of charts
_UNSEEN = frozenset(("lang", "altLang", "dirty", "err", "smtClean", "smtId", "noProof", "bmk"))
_BREAK = re.compile(r"(\t|_x000[9ABD]_)")  # within a text; the others are how programs escape them
PLAIN_BREAK = re.compile(r"(\n|\r|_x[0-9A-Fa-f]{4}_)")  # within a text of a cell or label
_LINES = re.compile("[\r\n]+")
_SYMBOLS = re.compile("Wingdings|Webdings|Symbol$", re.IGNORECASE)  # names of fonts
_PLAIN = "plain"  # key of the run of a text without markup
_SIDE = "side "  # name of a piece without content; the side of the paragraph follows
_ALIGNED = re.compile(r"""\salgn\s*+=\s*+["'](\w+)["']""")
_PROPERTIES = re.compile(rb"(<(?:[\w.-]{1,20}:)?pPr\b[^<>]*>)")


class DrawingDialect:
    """DrawingML, and the labels of charts.

    Args:
        is_label: Whether a label of a chart, which repeats a cell, is translated.
        side: The side at which a paragraph is aligned that does not state it; "": unknown.

    Attributes:
        translated: The labels that are translated, of those that repeat cells.
        kept: Those that are not.
    """

    def __init__(
        self,
        is_label: Callable[[str], bool] = lambda _: True,
        side: Callable[[Element], str] = lambda _: "",
    ) -> None:
        self._is_label, self._side = is_label, side
        self.translated, self.kept = set[str](), set[str]()

    def is_wanted(self, namespace: str, name: str) -> bool:
        """Whether an element is a paragraph, or contains labels of a chart."""
        if namespace in _DRAWING:
            return name == "p"
        if namespace in _CHART:
            return name in _LABELS
        if namespace in _CHART_EX:
            return name in ("strDim", "txData")
        return name in ("text", "sp") and namespace in PRESENTATION

    def is_paragraph(self, element: Element) -> bool:
        """Whether an element is a paragraph, a label or a comment."""
        if element.namespace in _DRAWING:
            return element.name == "p"
        if element.namespace in PRESENTATION:
            return element.name == "text"
        return _is_label(element)

    def is_copy(self, element: Element) -> bool | None:
        """Whether an element is a fallback for another one (True), or has one (False)."""
        return is_copy(element)

    def is_skipped(self, namespace: str, name: str) -> bool:
        """Whether an element is the outline of a shape, which may have very many points."""
        return name == "custGeom" and namespace in _DRAWING

    def pieces(self, paragraph: Element, xml: XmlFile) -> list[Piece]:
        """The contents of a paragraph."""
        if paragraph.namespace not in _DRAWING:
            text = paragraph.text
            if _repeats_cell(paragraph) and has_letter(text):
                is_translated = self._is_label(text)
                (self.translated if is_translated else self.kept).add(text.strip())
                if not is_translated:
                    return []
            return split_text(text, Run(_PLAIN), PLAIN_BREAK)
        pieces = [Piece(PieceKind.EMPTY, name=_SIDE + self._side(paragraph))]
        for child in paragraph.elements:
            name = child.name if child.namespace in _DRAWING else ""
            if name == "r" and not _is_symbol(child):
                run = run_of(child, xml, is_unseen=_UNSEEN.__contains__)
                for t in child.named("t"):
                    pieces += split_text(_LINES.sub(" ", t.text), run, _BREAK)
            else:
                breaks = name == "br"
                pieces.append(Piece(PieceKind.EMPTY, child.start, child.end, breaks=breaks))
        return pieces

    def encode(self, text: str, run: Run) -> str:
        """The markup for a text in a run."""
        if run.key == _PLAIN:
            return escaped(text)
        return f"<{run.prefix}t>{escaped(_LINES.sub(' ', text))}</{run.prefix}t>"

    def turned(self, content: bytes, direction: str, inline: Inline) -> bytes:
        """The content of a paragraph that is written in another direction."""
        sides = [each.name for each in inline.before if each.name.startswith(_SIDE)]
        if not sides:
            return content  # a label
        run = inline.runs.get(None)
        found = _PROPERTIES.match(content)
        tag = found[1].decode() if found else f"<{run.prefix if run else ''}pPr/>"
        start, end = found.span(1) if found else (0, 0)
        aligned = _ALIGNED.search(tag)
        side = aligned[1] if aligned else sides[0].removeprefix(_SIDE)
        old, new, value = ("l", "r", "1") if direction == "rtl" else ("r", "l", "0")
        if side == old:
            tag = with_attribute(tag, "algn", new)
        tag = with_attribute(tag, "rtl", value)
        return content[:start] + tag.encode() + content[end:]

    def turned_run(self, run: Run, direction: str) -> Run:
        """Runs have no direction."""
        return run


def split_text(text: str, run: Run, breaks: re.Pattern[str]) -> list[Piece]:
    """The pieces of a text in a run.

    Args:
        text: The text.
        run: The run.
        breaks: A pattern, with one group, of what ends a sentence in it.
    """
    pieces = []
    for i, part in enumerate(breaks.split(text)):
        piece = Piece(PieceKind.TEXT, text=part, run=run)
        if i % 2:
            pieces.append(Piece(PieceKind.EMPTY, breaks=True, parts=(piece,)))
        elif part:
            pieces.append(piece)
    return pieces


def _is_symbol(run: Element) -> bool:
    """Whether a font shows the letters of a run as other signs, such as an arrow."""
    fonts = [font for each in run.named("rPr") for font in each.named("latin", "sym")]
    names = {font.name for font in fonts if _SYMBOLS.match(font.get("typeface"))}
    # Of a text with words, a program shows only signs in the font of symbols.
    return "latin" in names or ("sym" in names and len(run.text.strip()) == 1)


def _is_label(element: Element) -> bool:
    """Whether an element is a label of a chart, or the name of a series."""
    around = element.parent.name if element.parent else ""
    if element.namespace in _CHART:
        return element.name == "v" and around in ("pt", "tx")
    if element.namespace in _CHART_EX:
        outer = element.parent.parent if element.parent else None
        is_point = element.name == "pt" and outer is not None and outer.name == "strDim"
        return is_point or (element.name == "v" and around == "txData")
    return False


def _repeats_cell(element: Element) -> bool:
    """Whether a text is a label that repeats a cell, instead of being written in the chart."""
    around = [element.parent, element.parent.parent] if element.parent else []
    if element.namespace in _CHART:
        return not any(each and each.name in ("tx", "strLit") for each in around)
    return element.namespace in _CHART_EX and any(each and each.named("f") for each in around)
