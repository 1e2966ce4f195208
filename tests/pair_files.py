"""Files with both sides, as the readers of segments get them."""

from pathlib import Path

from yakusu.data.files.long_lines import LongLines
from yakusu.data.files.text import InvalidLines, PairFile
from yakusu.data.segment_files import read_segments
from yakusu.data.segments import MemorySegment


def pair_file(path: Path, *columns: int | str, remarks: list[str] | None = None) -> PairFile:
    """A file whose source and target are in some columns (default: 1 and 2)."""
    src, tgt = columns or (1, 2)
    said = [] if remarks is None else remarks
    return PairFile(str(path), (src, tgt), InvalidLines(), LongLines(), said.append)


def segments(path: Path, *columns: int | str) -> list[MemorySegment]:
    """The segments of a file."""
    return [*read_segments(pair_file(path, *columns))]
