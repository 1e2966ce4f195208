"""What is on a page of a PDF file: characters, lines that are drawn, and snippets of text.

Coordinates are points to the right and down, of text as a reader turns it. On a page that is mostly
written from right to left they are mirrored, so that all text begins at the left.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from yakusu import lazy
from yakusu.data.lines.private_use import PRIVATE_USE

_WIDEST = 1.0  # em: a wider space separates snippets
_LIFTED = 0.12  # em: so do baselines that differ by more,
_LARGER = 1.2  # and sizes
_PRIVATE = lazy.compile(PRIVATE_USE)
_UNKNOWN = "\ufffd"
CellTexts = tuple[tuple[str, ...], ...]
CellOf = Callable[[float, float], tuple[int, int, int] | None]  # place -> table, row, column


class Glyph(NamedTuple):
    """A character and its place.

    Attributes:
        text: The character; several for a ligature, " " for a space.
        left: Where it begins.
        right: Where it ends.
        base: The baseline.
        size: The size of the font.
    """

    text: str
    left: float
    right: float
    base: float
    size: float


class DrawnLine(NamedTuple):
    """A horizontal or vertical line that is drawn, between two points."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class PageContent:
    """What is on a page.

    Attributes:
        glyphs: The characters, in reading order within a line; those of text that is turned, by its
            angle. The first angle is that of most text.
        rules: The lines that are drawn.
        top: The upper end of the page.
        bottom: Its lower end.
    """

    glyphs: Sequence[Sequence[Glyph]]
    rules: Sequence[DrawnLine]
    top: float
    bottom: float


class Snippet(NamedTuple):
    """Text on one baseline without wide spaces, or a table.

    Attributes:
        left: Where it begins.
        right: Where it ends.
        base: The baseline.
        size: The largest size of its fonts; of a table, its height.
        text: The text.
        cell: The number of a table, a row and a column; None: it is in no table.
        rows: The cells of a table; (): it is text.
    """

    left: float
    right: float
    base: float
    size: float
    text: str
    cell: tuple[int, int, int] | None = None
    rows: CellTexts = ()

    @property
    def top(self) -> float:
        """The upper end."""
        return self.base - (self.size if self.rows else 0.8 * self.size)

    @property
    def bottom(self) -> float:
        """The lower end."""
        return self.base + (0.0 if self.rows else 0.2 * self.size)


@dataclass(frozen=True)
class PageText:
    """The text of a page.

    Attributes:
        snippets: The text and the tables.
        top: The upper end of the page.
        bottom: Its lower end.
    """

    snippets: Sequence[Snippet]
    top: float
    bottom: float


def snippets(glyphs: Iterable[Glyph], cell_of: CellOf) -> Iterator[Snippet]:
    """Yield the snippets of text that characters form, in their order."""
    begun: Snippet | None = None
    text, spaced = list[str](), False
    for glyph in glyphs:
        if glyph.text == " ":
            spaced = True
            continue
        cell = cell_of((glyph.left + glyph.right) / 2, glyph.base - glyph.size / 4)
        if begun and begun.cell == cell and _continues(begun, glyph):
            text += [" "] * spaced + [glyph.text]
            left, right = min(begun.left, glyph.left), max(begun.right, glyph.right)
            begun = begun._replace(left=left, right=right, size=max(begun.size, glyph.size))
        else:
            if begun:
                yield begun._replace(text=_readable("".join(text)))
            begun, text = Snippet(*glyph[1:], "", cell), [glyph.text]
        spaced = False
    if begun:
        yield begun._replace(text=_readable("".join(text)))


def _continues(begun: Snippet, glyph: Glyph) -> bool:
    """Whether a character belongs to a snippet that comes before it."""
    space = max(glyph.left - begun.right, begun.left - glyph.right)
    return (
        abs(glyph.base - begun.base) <= _LIFTED * begun.size
        and 1 / _LARGER <= glyph.size / begun.size <= _LARGER
        and space <= _WIDEST * begun.size
    )


def _readable(text: str) -> str:
    """A text without private-use characters: one that stands alone is a bullet."""
    return "•" if _PRIVATE.fullmatch(text) else _PRIVATE.sub(_UNKNOWN, text)
