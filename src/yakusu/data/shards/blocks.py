"""What a shard of a corpus is: a file that is read in blocks of texts, and written again."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from yakusu.data.files.text import InvalidLines
from yakusu.data.lines.layout import Layout


@dataclass(frozen=True)
class ShardBlock:
    """Consecutive texts of a shard.

    Attributes:
        texts: Lines, or the values of a column; None: a missing value.
        start: Number of texts of the shard before this block.
        layout: State of the layout before the first line; None: the texts are independent.
    """

    texts: tuple[str | None, ...]
    start: int
    layout: Layout | None = None


class Shard(Protocol):
    """A shard that can be read and written."""

    def blocks(self, size: int, invalid: InvalidLines) -> Iterator[ShardBlock]:
        """Read the texts in order, `size` at a time, and count those that are not UTF-8.

        Raises:
            DataError: The file is not valid.
            RunError: Reading it needs a library that is not installed.
        """

    def write(self, file: BinaryIO, translations: Iterator[str | None]) -> None:
        """Write the shard with a translation for each of its texts."""
