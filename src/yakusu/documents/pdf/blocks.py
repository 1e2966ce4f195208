"""Blocks: what a document without layout consists of."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from yakusu.documents.pdf.page import CellTexts


@dataclass(frozen=True)
class TextBlock:
    """A heading, a paragraph or an item of a list.

    Attributes:
        text: The text.
        heading: The level of a heading, from 1; 0: it is none.
        marker: What begins an item, such as "•" or "3."; "": it is none.
        depth: The number of lists that contain the list of an item.
    """

    text: str
    heading: int = 0
    marker: str = ""
    depth: int = 0


@dataclass(frozen=True)
class TableBlock:
    """A table.

    Attributes:
        rows: The texts of its cells; all rows have the same length.
    """

    rows: CellTexts


Block = TextBlock | TableBlock


def texts_of(blocks: Sequence[Block]) -> Iterator[str]:
    """Yield all texts, in reading order."""
    for block in blocks:
        if isinstance(block, TextBlock):
            yield block.text
        else:
            yield from (cell for row in block.rows for cell in row)


def with_texts(blocks: Sequence[Block], texts: Iterator[str]) -> Iterator[Block]:
    """Yield blocks with other texts, one for each of `texts_of`."""
    for block in blocks:
        if isinstance(block, TextBlock):
            yield replace(block, text=next(texts))
        else:
            yield TableBlock(tuple(tuple(next(texts) for _ in row) for row in block.rows))
