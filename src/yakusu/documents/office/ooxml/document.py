"""Documents of several parts, some of which repeat texts of others."""

from collections.abc import Callable, Iterator, Sequence

from yakusu.data.files.office.archive import Archive
from yakusu.documents.office.ooxml.cell_parts import CellPart
from yakusu.documents.office.ooxml.cells import CellDialect
from yakusu.documents.office.ooxml.package import Package
from yakusu.documents.office.ooxml.parts import OoxmlPart, TurnableDialect
from yakusu.documents.office.parts import DocumentTexts, Scope

# What parts refer to that has text of the document: types of relationships.
CHARTS = ("chart", "chartEx")
EMBEDDED = ("package", "oleObject")
_SHAPES = ("drawing", "chartUserShapes")
_DIAGRAMS = ("diagramData", "diagramDrawing")


class TextParts:
    """The parts of an archive that have texts.

    Args:
        archive: The archive.
        texts: Receives the texts.
    """

    def __init__(self, archive: Archive, texts: DocumentTexts) -> None:
        self._archive = archive
        self._texts = texts
        self._parts: dict[str, OoxmlPart | CellPart] = {}

    def add(self, name: str, dialect: TurnableDialect, scope: Scope | None = None) -> OoxmlPart:
        """Read a part; see `OoxmlPart`.

        Raises:
            DataError: It is not valid XML, or exceeds a limit.
        """
        part = OoxmlPart(self._archive, name, dialect, self._texts, scope=scope)
        self._parts[name] = part
        return part

    def add_cells(
        self, name: str, stays: Callable[[str], bool], scope: Scope, *, wanted: str
    ) -> None:
        """Read a part with cells; see `CellPart`.

        Raises:
            DataError: It is not valid XML, or exceeds a limit.
        """
        self._parts[name] = CellPart(
            self._archive, name, CellDialect(stays, wanted), self._texts, scope=scope
        )

    def contents(self, translations: Sequence[str]) -> dict[str, bytes | bytearray]:
        """The parts that these translations change, by name."""
        rendered = {name: part.render(translations) for name, part in self._parts.items()}
        return {name: content for name, content in rendered.items() if content is not None}

    @property
    def indexes(self) -> frozenset[int]:
        """The indexes of all texts of the parts."""
        return frozenset().union(*(part.indexes for part in self._parts.values()))

    def __contains__(self, name: str) -> bool:
        return name in self._parts


def graphics(package: Package, part: str, seen: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the parts with charts, shapes and SmartArt of a slide or sheet: type and name.

    Args:
        package: The package.
        part: The slide or sheet.
        seen: Parts that are not yielded; those that are yielded are added.

    Raises:
        DataError: A list of relationships is not valid XML.
    """
    waiting = [part]
    while waiting:
        inner = []
        for relation in package.relations(waiting.pop()):
            is_graphic = relation.kind in (*CHARTS, *_SHAPES, *_DIAGRAMS)
            if is_graphic and relation.target and relation.target not in seen:
                seen.add(relation.target)
                yield relation.kind, relation.target
                inner.append(relation.target)
        waiting += reversed(inner)
