"""Charts of OpenDocument: titles, the labels of axes and data, and the table of the data.

<table:table-cell office:value-type="string"><text:p>North</text:p></table:table-cell>
"""

from collections.abc import Callable
from typing import Any

from yakusu.data.files.xmltree import Element
from yakusu.documents.office.odf.sheets import TextIndexes, index_in, is_cell, plain_paragraph
from yakusu.documents.office.odf.text import TextDialect
from yakusu.documents.office.parts import OfficePart, PartSource


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


class ChartPart(OfficePart):
    """The texts of a chart; equal ones are one text.

    Args:
        archive: The archive.
        name: The name of the part.
        dialect: Its format.
        texts: Texts of previous parts, to which those of this part are added.
        scope: The texts that the chart may repeat, to which its own are added.
        n_free: Bytes of XML that may be kept.

    Raises:
        DataError: The part is not valid XML, or exceeds a limit.
    """

    def __init__(
        self,
        archive: PartSource,
        name: str,
        dialect: ChartDialect,
        texts: list[str],
        *,
        scope: TextIndexes,
        n_free: int,
    ) -> None:
        self._scope = scope
        super().__init__(archive, name, dialect, texts, n_free)

    def _index(self, text: str, alternatives: tuple[Any, ...]) -> int:
        return index_in(self._scope, self._texts, text)
