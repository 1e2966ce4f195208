"""Charts of OpenDocument: titles, the labels of axes and data, and the table of the data.

<table:table-cell office:value-type="string"><text:p>North</text:p></table:table-cell>
"""

from collections.abc import Callable

from yakusu.data.files.xmltree import Element
from yakusu.documents.office.odf.sheets import is_cell, plain_paragraph
from yakusu.documents.office.odf.text import TextDialect


class ChartDialect(TextDialect):
    """Charts.

    Args:
        is_label: Whether a text of the table is translated.
    """

    def __init__(self, is_label: Callable[[str], bool]) -> None:
        super().__init__({})
        self._is_label = is_label

    def is_paragraph(self, element: Element) -> bool:
        """Whether an element is a paragraph, and not a number in the table."""
        cell = element.parent
        if not super().is_paragraph(element) or cell is None:
            return False
        if not is_cell(cell.namespace, cell.name):
            return True
        return cell.get("value-type") == "string" and self._is_label(plain_paragraph(element))
