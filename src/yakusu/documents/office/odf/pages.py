"""Pages of OpenDocument presentations and drawings: paragraphs, and the texts of their footers.

<presentation:footer-decl presentation:name="ftr1">A text</presentation:footer-decl>
"""

from yakusu.data.files.xmltree import CharacterData, Element, XmlFile, escaped
from yakusu.documents.inline import Piece, PieceKind, Run
from yakusu.documents.office.odf.text import NAMES, OFFICE, TextDialect

_PRESENTATION = NAMES + "presentation:1.0"
_DECLARED = ("footer-decl", "header-decl")
_PLAIN = "plain"  # key of the run of a text without markup


class PageDialect(TextDialect):
    """Pages; those of masters stay."""

    def is_wanted(self, namespace: str, name: str) -> bool:
        """Whether an element is a paragraph, or the text of footers or headers."""
        return (namespace == _PRESENTATION and name in _DECLARED) or super().is_wanted(
            namespace, name
        )

    def is_skipped(self, namespace: str, name: str) -> bool:
        """Whether an element contains masters, or deleted text."""
        return (namespace, name) == (OFFICE, "master-styles") or super().is_skipped(namespace, name)

    def pieces(self, paragraph: Element, xml: XmlFile) -> list[Piece]:
        """The contents of a paragraph."""
        if paragraph.namespace != _PRESENTATION:
            return super().pieces(paragraph, xml)
        run = Run(_PLAIN)
        return [
            Piece(PieceKind.TEXT, text=" ".join(child.text.split()), run=run)
            if isinstance(child, CharacterData)
            else Piece(PieceKind.EMPTY, child.start, child.end)
            for child in paragraph.children
        ]

    def encode(self, text: str, run: Run) -> str:
        """The markup for a text in a run."""
        return escaped(text) if run.key == _PLAIN else super().encode(text, run)
