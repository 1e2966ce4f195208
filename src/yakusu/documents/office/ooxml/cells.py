"""SpreadsheetML: the texts of cells, in sheets, in the list of shared strings, and of comments.

<si><r><rPr><b/></rPr><t>bold</t></r></si>              a shared string
<c t="inlineStr"><is><t>a text</t></is></c>             a text in its cell
<c t="str"><v>a text</v></c>                            so, too, unless a formula gave it
"""

from collections.abc import Callable

from yakusu.data.files.xmltree import Element, XmlFile, escaped
from yakusu.documents.inline import Inline, Piece, PieceKind, Run
from yakusu.documents.office.ooxml.drawing import PLAIN_BREAK, split_text
from yakusu.documents.office.ooxml.runs import run_of

SHEET_NAMESPACES = {
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "http://purl.oclc.org/ooxml/spreadsheetml/main",
}
VALUE = "value"  # key of the run of the value of a cell, which has no markup


class CellDialect:
    """Texts of cells.

    Args:
        stays: Whether a text is not translated.
        wanted: Names of the elements that are parsed: `si` in shared strings; in sheets, `is`, or
            `c` if values of cells are texts, too; `text` in comments.
    """

    def __init__(self, stays: Callable[[str], bool], wanted: str) -> None:
        self.stays = stays
        self.wanted = wanted

    def is_wanted(self, namespace: str, name: str) -> bool:
        """Whether an element contains a text."""
        return name == self.wanted and namespace in SHEET_NAMESPACES

    def is_paragraph(self, element: Element) -> bool:
        """Whether an element is a text."""
        if self.wanted != "c":
            return self.is_wanted(element.namespace, element.name)
        cell = element.parent
        if element.name not in ("is", "v") or cell is None or cell.name != "c" or cell.named("f"):
            return False
        return element.name == "is" or cell.get("t") == "str"

    def is_copy(self, element: Element) -> bool | None:
        """No element repeats another one."""
        return None

    def is_skipped(self, namespace: str, name: str) -> bool:
        """No text is skipped."""
        return False

    def pieces(self, paragraph: Element, xml: XmlFile) -> list[Piece]:
        """The contents of a text, without phonetic guides; [] if it stays."""
        if paragraph.name == "v":
            runs = [(paragraph, Run(VALUE))]
        else:
            plain = [(each, Run((), prefix=each.prefix)) for each in paragraph.named("t")]
            rich = [(t, run_of(r, xml)) for r in paragraph.named("r") for t in r.named("t")]
            runs = rich or plain
            if rich and plain:
                return []  # no program writes both
        if self.stays("".join(text.text for text, _ in runs)):
            return []
        pieces = [piece for text, run in runs for piece in split_text(text.text, run, PLAIN_BREAK)]
        for child in paragraph.named("phoneticPr"):
            pieces.append(Piece(PieceKind.EMPTY, child.start, child.end))
        return pieces

    def encode(self, text: str, run: Run) -> str:
        """The markup for a text in a run."""
        if run.key == VALUE:
            return escaped(text)
        space = "" if text == text.strip() and "\n" not in text else ' xml:space="preserve"'
        return f"<{run.prefix}t{space}>{escaped(text)}</{run.prefix}t>"

    def turned(self, content: bytes, direction: str, inline: Inline) -> bytes:
        """Programs show a text in the direction of its letters."""
        return content

    def turned_run(self, run: Run, direction: str) -> Run:
        """Runs have no direction."""
        return run
