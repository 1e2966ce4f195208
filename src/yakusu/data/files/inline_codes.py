"""Inline markup in the texts of a file, as its reader finds it.

Press <bpt i="1"/>Start<ept i="1"/>.    ->   "Press ", START i 1, "Start", END i 1, "."
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class CodeKind(Enum):
    """What an inline code is."""

    START = 0  # begins markup that encloses text
    END = 1
    EMPTY = 2  # markup that encloses nothing
    BREAK = 3  # a line break


@dataclass(frozen=True, slots=True)
class InlineCode:
    """Inline markup in a text.

    Attributes:
        kind: What it is.
        name: The same for a start and its end.
        link: The same for a code of the source and of the translation; None: its name.
    """

    kind: CodeKind
    name: str
    link: str | None = None

    @property
    def linked(self) -> tuple[bool, str]:
        """What identifies the code in another text."""
        return self.kind is CodeKind.START, self.name if self.link is None else self.link


InlineParts = Sequence[str | InlineCode]
