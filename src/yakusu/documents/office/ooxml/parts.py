"""Parts of Office Open XML files: texts that occur in several places, and paragraphs that turn."""

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from yakusu.data.files.xmltree import Element, XmlFile
from yakusu.documents.inline import Inline, Run
from yakusu.documents.office.direction import new_direction
from yakusu.documents.office.ooxml.runs import is_copy
from yakusu.documents.office.parts import (
    AlternativeElement,
    Dialect,
    DocumentTexts,
    OfficePart,
    Paragraph,
    PartSource,
    Scope,
)
from yakusu.documents.splice import Copy


class TurnableDialect(Dialect, Protocol):
    """A format whose paragraphs have a direction."""

    def turned(self, content: bytes, direction: str, inline: Inline) -> bytes:
        """The content of a paragraph that is written in another direction.

        Args:
            content: The content.
            direction: "rtl" or "ltr".
            inline: Its text.
        """

    def turned_run(self, run: Run, direction: str) -> Run:
        """A run of a paragraph that is written in another direction."""


class OoxmlPart(OfficePart):
    """The paragraphs of a part, which turn with their translations; see `OfficePart`."""

    def __init__(
        self,
        archive: PartSource,
        name: str,
        dialect: TurnableDialect,
        texts: DocumentTexts,
        *,
        scope: Scope | None = None,
    ) -> None:
        # Indexes by text, of the first of two alternatives; by the place of what contains both.
        self._choices = defaultdict[int, defaultdict[str, deque[int]]](lambda: defaultdict(deque))
        self._turnable = dialect
        super().__init__(archive, name, dialect, texts, scope=scope)

    @property
    def indexes(self) -> frozenset[int]:
        """The indexes of its texts."""
        return frozenset(self._indexes)

    def _paragraphs(self, element: Element, xml: XmlFile) -> Iterator[Paragraph]:
        around = tuple(self._alternatives(element))
        for paragraph, inline, alternatives in super()._paragraphs(element, xml):
            yield paragraph, inline, (*around, *alternatives)

    def _alternatives(self, element: Element) -> Iterator[AlternativeElement]:
        """Yield the alternatives in which a paragraph is, such as shapes for other programs."""
        around = element.parent
        while around is not None:
            which = is_copy(around)
            if which is not None and around.parent is not None:
                yield AlternativeElement(which, self._choices[around.parent.start])
            around = around.parent

    def _written(self, inline: Inline, size: int, translation: str, copy: Copy[bytes]) -> bytes:
        direction = new_direction(inline.text, translation)
        if not direction:
            return super()._written(inline, size, translation, copy)
        runs = {
            pair: run and self._turnable.turned_run(run, direction)
            for pair, run in inline.runs.items()
        }
        written = super()._written(replace(inline, runs=runs), size, translation, copy)
        return self._turnable.turned(written, direction, inline)
