"""The blocks of a store: how they are written, read, checked and kept in memory.

n rows, H dimensions, M components.
"""

import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from yakusu.arrays import Array, Doubles, Longs
from yakusu.compress.blocks import ROWS, Rows
from yakusu.sqlite import DamagedFileError
from yakusu.vectors.store.coding import RowCoder
from yakusu.vectors.store.file import StoreSettings
from yakusu.vectors.store.similarity import row_terms

RowMask = npt.NDArray[np.bool_]
Lengths = npt.NDArray[np.float32 | np.float64]
_MOST = 2**53  # numbers


@dataclass(frozen=True, eq=False)
class ChosenRows:
    """Which rows of a block may be found.

    mask: Whether each row may be found, (n,).
    count: How many rows may be found.
    """

    mask: RowMask
    count: int


@dataclass(frozen=True, eq=False)
class RowsOfBlock:
    """Which rows a block has.

    first: Number of the first row; the others follow.
    n: How many there are, from 1 to 8,192.
    version: Differs if the codes do.
    live: Whether each was not deleted, (n,).
    is_cell: Whether the block has a centre; see `block_centres`.
    """

    first: int
    n: int
    version: int
    live: RowMask
    is_cell: bool = False

    @property
    def end(self) -> int:
        """Number after the last row."""
        return self.first + self.n

    @cached_property
    def n_live(self) -> int:
        """How many rows were not deleted."""
        return int(np.count_nonzero(self.live))

    def chosen(self, among: Longs | None) -> ChosenRows | None:
        """Return which rows are live and have numbers in `among` (ascending).

        `among` is None: all numbers. Returns None: all rows.
        """
        mask, count = self.live, self.n_live
        if among is not None:
            begin, end = np.searchsorted(among, (self.first, self.end))
            mask = np.zeros(self.n, dtype=bool)
            mask[among[begin:end] - self.first] = True
            mask &= self.live
            count = int(np.count_nonzero(mask))
        return None if count == self.n else ChosenRows(mask, count)


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Codes of rows, and what scoring needs.

    codes: (n, M).
    lengths: Of the rebuilt vectors, (n,), float32; for Euclidean distances, float64, because they
        are differences of squares, and without the mean, which changes no distance.
    """

    codes: Array
    lengths: Lengths

    @classmethod
    def of(cls, vectors: Doubles, settings: StoreSettings) -> tuple["CodedRows", Doubles]:
        """Code vectors (n, H); return them coded, and rebuilt."""
        book = settings.coder.book
        codes = settings.coder.encode(vectors)
        rebuilt = book.rebuild(codes)
        is_distance = settings.similarity == "euclidean"
        measured = rebuilt - book.mean if is_distance else rebuilt
        lengths = np.sqrt(np.einsum("nh,nh->n", measured, measured))
        return cls(codes, lengths.astype("<f8" if is_distance else "<f4")), rebuilt

    def __getitem__(self, rows: Array | slice) -> "CodedRows":
        return CodedRows(self.codes[rows], self.lengths[rows])

    @classmethod
    def joined(cls, *parts: "CodedRows") -> "CodedRows":
        """Return the rows of all parts."""
        codes = np.concatenate([part.codes for part in parts])
        return cls(codes, np.concatenate([part.lengths for part in parts]))


@dataclass(frozen=True, eq=False)
class LoadedBlock:
    """The codes of a block as they are scored.

    first, version: See `RowsOfBlock`.
    packed: See `RowCoder`.
    lengths: Of the rebuilt vectors, (n,).
    terms: See `similarity.row_terms`, (n,).
    reach: See `RowCoder.reach`.
    """

    first: int
    version: int
    packed: Array
    lengths: Lengths
    terms: Doubles
    reach: int

    @property
    def n_bytes(self) -> int:
        """Memory that it takes."""
        return self.packed.nbytes + self.lengths.nbytes + self.terms.nbytes


def block_rows(db: sqlite3.Connection, condition: str = "1", *values: int) -> Iterator[RowsOfBlock]:
    """Yield the blocks, in the order of their numbers.

    Raises:
        DamagedFileError: They are not what `put_block` writes.
    """
    what = "first, n, version, live, centre IS NOT NULL"
    end, query = 0, f"SELECT {what} FROM block WHERE {condition} ORDER BY first"
    for first, n, version, live, is_cell in db.execute(query, values):
        if not (
            all(isinstance(each, int) for each in (n, version))
            and 1 <= n <= ROWS
            and end <= first <= _MOST
            and isinstance(live, bytes)
            and len(live) == -(-n // 8)
        ):
            raise DamagedFileError("its blocks are not valid")
        end = first + n
        bits = np.unpackbits(np.frombuffer(live, np.uint8), bitorder="little")
        yield RowsOfBlock(first, n, version, bits[:n].astype(bool), bool(is_cell))


def block_centres(db: sqlite3.Connection, width: int) -> tuple[Longs, Doubles]:
    """Return which blocks have a centre, (C,), counted in their order, and the centres (C, H).

    Raises:
        DamagedFileError: They are not what `put_block` writes.
    """
    rows = enumerate(db.execute("SELECT centre FROM block ORDER BY first"))
    found = {at: centre for at, (centre,) in rows if centre is not None}
    if not all(isinstance(each, bytes) and len(each) == 4 * width for each in found.values()):
        raise DamagedFileError("the centre of a block does not have the size of its vectors")
    centres = np.frombuffer(b"".join(found.values()), "<f4").astype(np.float64)
    if not np.isfinite(centres).all():
        raise DamagedFileError("the centre of a block is not finite")
    return np.array([*found], dtype=np.int64), centres.reshape(-1, width)


def last_block(db: sqlite3.Connection) -> RowsOfBlock | None:
    """Return the last block, if there is one."""
    return next(block_rows(db, "first = (SELECT max(first) FROM block)"), None)


def load_block(db: sqlite3.Connection, rows: RowsOfBlock, settings: StoreSettings) -> LoadedBlock:
    """Read the codes of a block, and check them.

    Raises:
        DamagedFileError: They are not what `put_block` writes.
    """
    query = "SELECT codes, lengths, checksum FROM codes WHERE first = ?"
    stored, lengths, checksum = db.execute(query, (rows.first,)).fetchone() or (None, None, None)
    if not isinstance(stored, bytes) or not isinstance(lengths, bytes):
        raise DamagedFileError("the codes of a block are missing")
    kind = {4 * rows.n: "<f4", 8 * rows.n: "<f8"}.get(len(lengths))
    if not kind or zlib.crc32(lengths, zlib.crc32(stored)) != checksum:
        raise DamagedFileError("the codes of a block are not those that were written")
    packed = settings.coder.loaded(stored, rows.n)
    numbers = np.frombuffer(lengths, kind)
    if not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise DamagedFileError("a length is out of range")
    terms = row_terms(numbers.astype(np.float64), settings.similarity)
    reach = settings.coder.reach(packed)
    return LoadedBlock(rows.first, rows.version, packed, numbers, terms, reach)


class BlockCache:
    """The blocks of a store in memory; codes that are not kept are read for each search.

    Args:
        settings: Those of the store.
        most: Bytes of codes that are kept.
    """

    def __init__(self, settings: StoreSettings, most: int) -> None:
        self._settings, self._most = settings, most
        self._revision, self._rows = -1, list[RowsOfBlock]()
        self._centres = np.empty(0, dtype=np.int64), np.empty((0, settings.width))
        self._kept, self._size = dict[int, LoadedBlock](), 0  # by the numbers of their first rows

    def rows(self, db: sqlite3.Connection) -> list[RowsOfBlock]:
        """Return the rows of all blocks in the state of a store that is read now."""
        if (revision := revision_of(db)) != self._revision:
            self._rows = [*block_rows(db)]
            self._centres = block_centres(db, self._settings.width)
            versions = {rows.first: rows.version for rows in self._rows}
            kept = self._kept.items()
            self._kept = {at: block for at, block in kept if versions.get(at) == block.version}
            self._size = sum(block.n_bytes for block in self._kept.values())
            self._revision = revision
        return self._rows

    def centres(self, db: sqlite3.Connection) -> tuple[Longs, Doubles]:
        """Return which blocks have a centre, (C,), and the centres (C, H)."""
        self.rows(db)
        return self._centres

    def count(self, db: sqlite3.Connection) -> int:
        """Return the number of vectors in the state that is read now."""
        return sum(rows.n_live for rows in self.rows(db))

    def load(self, db: sqlite3.Connection, rows: RowsOfBlock) -> LoadedBlock:
        """Return the codes of one of these blocks."""
        if not (block := self._kept.get(rows.first)):
            block = load_block(db, rows, self._settings)
            if self._size + block.n_bytes <= self._most:
                self._kept[rows.first] = block
                self._size += block.n_bytes
        return block


def revision_of(db: sqlite3.Connection) -> int:
    """Return a number that every change of a store increases."""
    found = db.execute("SELECT value FROM meta WHERE name = 'revision'").fetchone()
    if not found or not isinstance(found[0], int):
        raise DamagedFileError("its revision is missing")
    return found[0]


def next_revision(db: sqlite3.Connection) -> int:
    """Increase the revision, and return it."""
    db.execute("UPDATE meta SET value = value + 1 WHERE name = 'revision'")
    return revision_of(db)


def coded_rows(
    db: sqlite3.Connection, rows: RowsOfBlock, settings: StoreSettings, chosen: Rows | None = None
) -> CodedRows:
    """Read rows of a block, given as indices (n,); None: all."""
    loaded = load_block(db, rows, settings)
    if chosen is None:
        chosen = np.arange(rows.n)
    return CodedRows(settings.coder.unpacked(loaded.packed, chosen), loaded.lengths[chosen])


def put_block(
    db: sqlite3.Connection,
    rows: RowsOfBlock,
    coded: CodedRows,
    coder: RowCoder,
    centre: bytes | None = None,
) -> None:
    """Write a block; `centre`: see `block_centres`."""
    stored, lengths = coder.dumped(coded.codes), coded.lengths.tobytes()
    checksum = zlib.crc32(lengths, zlib.crc32(stored))
    block = rows.first, rows.n, rows.version, _dumped(rows.live), centre
    db.execute("INSERT INTO block VALUES (?, ?, ?, ?, ?)", block)
    db.execute("INSERT INTO codes VALUES (?, ?, ?, ?)", (rows.first, stored, lengths, checksum))


def remove_block(db: sqlite3.Connection, rows: RowsOfBlock) -> None:
    """Remove a block."""
    db.execute("DELETE FROM block WHERE first = ?", (rows.first,))
    db.execute("DELETE FROM codes WHERE first = ?", (rows.first,))


def append_rows(
    db: sqlite3.Connection, coded: CodedRows, settings: StoreSettings, version: int
) -> int:
    """Write up to 8,192 rows after all others; return the number of the first one.

    They absorb the blocks before them that are not larger, as a binary counter does, so that single
    rows become few blocks, and each is rewritten rarely. Cells are left as they are.
    """
    before = last_block(db)
    first = begin = before.end if before else 0
    live = np.ones(len(coded.codes), dtype=bool)
    while before and _absorbed(before, begin, len(live)):
        coded = CodedRows.joined(coded_rows(db, before, settings), coded)
        live, begin = np.concatenate([before.live, live]), before.first
        remove_block(db, before)
        before = last_block(db)
    put_block(db, RowsOfBlock(begin, len(live), version, live), coded, settings.coder)
    return first


def _absorbed(before: RowsOfBlock, begin: int, n: int) -> bool:
    """Whether n rows from `begin` on absorb the block before them."""
    return not before.is_cell and before.end == begin and before.n <= n <= ROWS - before.n


def delete_rows(db: sqlite3.Connection, numbers: Longs) -> None:
    """Mark rows (n,), ascending, as deleted; blocks without any others are removed."""
    for rows in [
        *block_rows(db, "first BETWEEN ? AND ?", int(numbers[0]) - ROWS, int(numbers[-1]))
    ]:
        begin, end = np.searchsorted(numbers, (rows.first, rows.end))
        rows.live[numbers[begin:end] - rows.first] = False
        if not rows.live.any():
            remove_block(db, rows)
        elif end > begin:
            db.execute(
                "UPDATE block SET live = ? WHERE first = ?", (_dumped(rows.live), rows.first)
            )


def pack_block(
    db: sqlite3.Connection, at: int, settings: StoreSettings, version: int
) -> tuple[int, Array] | None:
    """Move the next 8,192 rows that were not deleted to the numbers from `at` on.

    Returns:
        The number after them, and the numbers that rows had, which follow `at` now; None if no row
        is left.
    """
    taken, n = list[RowsOfBlock](), 0
    for rows in block_rows(db, "first >= ?", at):
        taken.append(rows)
        if (n := n + int(rows.live.sum())) >= ROWS:
            break
    if not taken:
        return None
    if len(taken) == 1 and taken[0].first == at and taken[0].live.all():
        return taken[0].end, np.arange(0)
    moved = np.concatenate([rows.first + np.flatnonzero(rows.live) for rows in taken])
    coded = CodedRows.joined(
        *(coded_rows(db, rows, settings, np.flatnonzero(rows.live)) for rows in taken)
    )
    for rows in taken:
        remove_block(db, rows)
    for begin, end in pairwise(sorted({0, min(n, ROWS), n})):
        kept = RowsOfBlock(at + begin, end - begin, version, np.ones(end - begin, dtype=bool))
        put_block(db, kept, coded[begin:end], settings.coder)
    return at + min(n, ROWS), moved


def _dumped(live: RowMask) -> bytes:
    return np.packbits(live, bitorder="little").tobytes()
