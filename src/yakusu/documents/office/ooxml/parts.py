"""Parts of Office Open XML files: texts that occur in several places, and paragraphs that turn."""

from typing import Protocol

from yakusu.data.files.office.archive import Archive
from yakusu.documents.inline import Inline
from yakusu.documents.office.ooxml.direction import new_direction
from yakusu.documents.office.parts import Dialect, OfficePart
from yakusu.documents.splice import Copy

Scope = dict[str, int]  # indexes of texts, by text


class TurnableDialect(Dialect, Protocol):
    """A format whose paragraphs have a direction."""

    def turned(self, content: bytes, direction: str) -> bytes:
        """The content of a paragraph that is written in another direction, "rtl" or "ltr"."""


class OoxmlPart(OfficePart):
    """The paragraphs of a part.

    Args:
        archive: The archive.
        name: The name of the part.
        dialect: Its format.
        texts: Texts of previous parts, to which those of this part are added.
        n_free: Bytes of XML that may be kept.
        scope: Texts of other parts that this part may repeat, to which its own are added; equal
            texts get one translation. None: it repeats none.

    Raises:
        DataError: The part is not valid XML, or exceeds a limit.
    """

    def __init__(
        self,
        archive: Archive,
        name: str,
        dialect: TurnableDialect,
        texts: list[str],
        n_free: int,
        *,
        scope: Scope | None = None,
    ) -> None:
        self._scope = scope
        self._turned = dialect.turned
        super().__init__(archive, name, dialect, texts, n_free)

    @property
    def indexes(self) -> frozenset[int]:
        """The indexes of its texts."""
        return frozenset(self._indexes)

    def _index(self, text: str, alternatives: tuple[object, ...]) -> int:
        if self._scope is None:
            return super()._index(text, alternatives)
        if text not in self._scope:
            self._scope[text] = super()._index(text, ())
        return self._scope[text]

    def _written(self, inline: Inline, size: int, translation: str, copy: Copy[bytes]) -> bytes:
        written = super()._written(inline, size, translation, copy)
        direction = new_direction(inline.text, translation)
        return self._turned(written, direction) if direction else written
