"""A store of vectors: ids, metadata and codes in one file, which any number of processes read.

    with open_store("store.db") as store:
        for match in store.search(query[None], 10)[0]:
            print(match.id, match.score, match.metadata)

H dimensions, Q queries, k results.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import compress, repeat
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from yakusu.arrays import Doubles, Longs
from yakusu.compress.blocks import ReconstructionLoss, StoredMatrix, blocks
from yakusu.errors import DataError
from yakusu.progress import Progress, Silent
from yakusu.vectors.store.blocks import (
    BlockCache,
    ChosenRows,
    CodedRows,
    append_rows,
    delete_rows,
    next_revision,
    pack_block,
    revision_of,
)
from yakusu.vectors.store.cells import make_cells, visited
from yakusu.vectors.store.coding import PreparedQuery
from yakusu.vectors.store.file import (
    STORE_FILE,
    KeptPrecision,
    StoreSettings,
    StoreSimilarity,
    open_store_file,
)
from yakusu.vectors.store.given import GivenItems, checked_queries
from yakusu.vectors.store.items import (
    ItemMetadata,
    items_of,
    listed_ids,
    numbers_of,
    originals_of,
    put_items,
    remove_items,
    renumber_items,
)
from yakusu.vectors.store.searching import BestRows
from yakusu.vectors.store.similarity import comparable, score_of, values_of_originals

_TIMES, _MORE = 4, 32  # as many candidates as results, and more, are ranked again
_MEMORY = 2**30
_Chosen = list[ChosenRows | None]  # of each block; None: all rows


@dataclass(frozen=True)
class StoreMatch:
    """A vector that was found.

    id: Its id.
    score: Its cosine or inner product with the query, or its Euclidean distance.
    metadata: Its metadata; None if it has none.
    """

    id: str
    score: float
    metadata: dict[str, Any] | None


@dataclass(frozen=True)
class StoreAdded:
    """What `VectorStore.add` did.

    n_added: Number of vectors.
    n_replaced: How many of them replaced a vector with the same id.
    share_lost: Squared error of their codes, divided by their squared distance from the mean of the
        codebook.
    """

    n_added: int
    n_replaced: int
    share_lost: float


class VectorStore:
    """An open store; a context manager. One thread may use it at a time.

    Args:
        db: The file.
        path: Its name, for messages.
        settings: What was decided when it was created.
        memory: Bytes of codes that are kept in memory between searches.
        writable: Whether vectors may be added and deleted.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        path: Path,
        settings: StoreSettings,
        memory: int,
        *,
        writable: bool,
    ) -> None:
        self._db, self.path, self._settings, self._writable = db, path, settings, writable
        self._blocks = BlockCache(settings, memory)
        # The last `among`, and which rows it chose.
        self._filter: tuple[int, Sequence[str], _Chosen] = -1, (), []

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file; the last process to do so leaves a single file."""
        self._db.close()

    @property
    def width(self) -> int:
        """Number of dimensions H of a vector."""
        return self._settings.width

    @property
    def similarity(self) -> StoreSimilarity:
        """How vectors are compared: "cosine", "inner-product" or "euclidean"."""
        return self._settings.similarity

    @property
    def originals(self) -> KeptPrecision | None:
        """Type in which the vectors themselves are kept; None: they are not."""
        return self._settings.originals

    @property
    def file_bytes(self) -> int:
        """Size of the file, and of what is not yet merged into it, in bytes."""
        files = self.path, Path(f"{self.path}-wal")
        return sum(each.stat().st_size for each in files if each.exists())

    @property
    def n_cells(self) -> int:
        """Number of cells, in which similar vectors are grouped; 0: `compact` has made none."""
        with STORE_FILE.reading(self._db, self.path) as db:
            return len(np.unique(self._blocks.centres(db)[1], axis=0))

    def __len__(self) -> int:
        with STORE_FILE.reading(self._db, self.path) as db:
            return self._blocks.count(db)

    def __contains__(self, id_: object) -> bool:
        with STORE_FILE.errors(self.path):
            return isinstance(id_, str) and bool(numbers_of(self._db, [id_]))

    def __iter__(self) -> Iterator[str]:
        """The ids, in the order in which they were added, unless `compact` has made cells."""
        with STORE_FILE.errors(self.path):
            for (id_,) in self._db.execute("SELECT id FROM item ORDER BY number"):
                yield id_

    def missing(self, ids: Iterable[str]) -> list[str]:
        """Return the ids that are not stored, in the given order and without repeats.

        Raises:
            DataError: The ids are not strings.
        """
        asked = listed_ids(ids)
        with STORE_FILE.errors(self.path):
            known = numbers_of(self._db, asked)
        return [id_ for id_ in dict.fromkeys(asked) if id_ not in known]

    # ---- searching ---------------------------------------------------------------------------

    def search(
        self,
        queries: npt.ArrayLike,
        k: int = 10,
        *,
        among: Iterable[str] | None = None,
        candidates: int | None = None,
        share: float = 1,
        n_jobs: int = 1,
    ) -> list[list[StoreMatch]]:
        """Find the k best vectors for each query: largest cosines or products, smallest distances.

        The result is exact for the vectors that the codes rebuild, unless `share` leaves some out.
        If the store keeps the original vectors, the best candidates are ranked again with these.
        Vectors with equal scores are in the order of the store. A search sees one state of the
        store, whatever others write meanwhile.

        Args:
            queries: (Q, H).
            k: Number of results, at least 1.
            among: Ids among which results are found; those that are not stored are ignored.
                Consecutive searches with the same ids look them up once; to search among many
                ids, pass the same tuple each time.
            candidates: How many are ranked again with the original vectors; None: 4 k + 32.
            share: Minimum share of the vectors in cells (see `compact`) to visit, nearest cells
                first; vectors in no cell are always visited.
            n_jobs: Number of threads, which divide the queries.

        Returns:
            For each query, the best first; fewer than k if there are not as many vectors.

        Raises:
            DataError: The queries are not a finite matrix of width H, or one is zero, which has no
                cosine; another argument is out of range; or the file is damaged.
        """
        if not 0 < share <= 1:
            raise DataError(f"share = {share} is out of range: give more than 0, and at most 1")
        wanted = comparable(checked_queries(queries, self._settings), self.similarity)
        if candidates is None:
            candidates = _TIMES * k + _MORE
        if min(k, n_jobs, candidates) < 1:
            raise DataError(
                f"k = {k} with {candidates} candidates and n_jobs = {n_jobs}: give 1 or more"
            )
        n_best = max(k, candidates) if self._settings.originals else k
        prepared = [self._prepared(query) for query in wanted]
        with STORE_FILE.reading(self._db, self.path) as db:
            best = [BestRows(query, n_best, self._settings) for query in prepared]
            self._scan(db, best, self._chosen(db, among), share, n_jobs)
            return self._matches(db, best, k)

    def _scan(
        self,
        db: sqlite3.Connection,
        best: list[BestRows],
        chosen: _Chosen,
        share: float,
        n_jobs: int,
    ) -> None:
        """Find the best rows of queries block by block."""
        found = [*zip(self._blocks.rows(db), chosen, strict=True)]
        sizes = [rows.n if own is None else own.count for rows, own in found]
        visits = self._visits(db, best, np.array(sizes, dtype=np.int64), share)
        with ExitStack() as stack:
            each = map if n_jobs == 1 else stack.enter_context(ThreadPoolExecutor(n_jobs)).map
            for (rows, own), visitors in zip(found, visits, strict=True):
                if visitors:
                    block = self._blocks.load(db, rows)
                    list(each(BestRows.scan, visitors, repeat(block), repeat(own)))

    def _visits(
        self, db: sqlite3.Connection, best: list[BestRows], sizes: Longs, share: float
    ) -> list[list[BestRows]]:
        """Return the queries that visit each block, of which so many rows may be found."""
        if share == 1:
            return [best if size else [] for size in sizes.tolist()]
        known, centres = self._blocks.centres(db)
        masks = [
            visited(known, centres, sizes, each.query.vector, self.similarity, share, each.k)
            for each in best
        ]
        visits = np.reshape(masks, (len(best), len(sizes))).T.tolist()
        return [[*compress(best, block)] for block in visits]

    def _matches(
        self, db: sqlite3.Connection, best: list[BestRows], k: int
    ) -> list[list[StoreMatch]]:
        """Rank again if possible, and look up the ids of the k best."""
        if kind := self._settings.originals:
            for each in best:
                vectors = originals_of(db, each.numbers, np.dtype(kind), self.width)
                each.rank_again(values_of_originals(vectors, each.query.vector, self.similarity))
        items = items_of(db, {number for each in best for number in each.numbers[:k].tolist()})
        return [
            [
                StoreMatch(items[number][0], score_of(value, self.similarity), items[number][1])
                for number, value in zip(
                    each.numbers[:k].tolist(), each.values[:k].tolist(), strict=True
                )
            ]
            for each in best
        ]

    def _chosen(self, db: sqlite3.Connection, among: Iterable[str] | None) -> _Chosen:
        """Return which rows of each block may be found.

        The last ids are not looked up again: a list is compared with them, and the same tuple is
        recognised by identity.
        """
        revision, rows = revision_of(db), self._blocks.rows(db)
        if among is None:
            return [each.chosen(None) for each in rows]
        given = among if isinstance(among, list | tuple) else listed_ids(among)
        if self._filter[:2] != (revision, given):
            ids = listed_ids(given)
            numbers = _sorted(numbers_of(db, ids).values())
            kept = given if isinstance(given, tuple) else ids
            self._filter = revision, kept, [each.chosen(numbers) for each in rows]
        return self._filter[2]

    def _prepared(self, query: Doubles) -> PreparedQuery:
        return self._settings.coder.prepared(query, centred=self.similarity == "euclidean")

    # ---- writing -----------------------------------------------------------------------------

    def add(
        self,
        ids: Iterable[str],
        vectors: npt.ArrayLike | StoredMatrix,
        metadata: Sequence[ItemMetadata | None] | None = None,
        *,
        replace: bool = False,
        progress: Progress | None = None,
    ) -> StoreAdded:
        """Add vectors; invalid ones are refused before anything is written.

        A transaction has up to 8,192 vectors, so that a process that is killed loses no more.

        Args:
            ids: n distinct ids, without tabs and line breaks.
            vectors: (n, H), finite; those in a file are read in blocks.
            metadata: For each vector, an object of JSON, or None.
            replace: True: replace stored vectors with the same ids; False: refuse them.
            progress: Progress reporter.

        Raises:
            DataError: Ids, vectors or metadata cannot be stored, or do not fit each other; an id is
                already stored; or the store is not writable, or cannot be written.
        """
        self._require_writable()
        given = GivenItems.checked(ids, vectors, metadata, self._settings)
        with STORE_FILE.errors(self.path):
            self._known(given.ids, replace=replace)
        coder, n_replaced, error, away = self._settings.coder, 0, 0.0, 0.0
        with (progress or Silent()).track("indexing", "vectors", len(given.ids)) as tracker:
            for rows in blocks(len(given.ids)):
                part = comparable(given.vectors[rows], self.similarity)
                coded, rebuilt = CodedRows.of(part, self._settings)
                error += float(np.square(part - rebuilt).sum())
                away += float(np.square(part - coder.book.mean).sum())
                items = given.ids[rows], given.metadata[rows]
                n_replaced += self._write(*items, part, coded, replace=replace)
                tracker.advance(len(part))
        return StoreAdded(len(given.ids), n_replaced, ReconstructionLoss(error, away).share)

    def _write(
        self,
        ids: Sequence[str],
        metadata: Sequence[str | None],
        vectors: Doubles,
        coded: CodedRows,
        *,
        replace: bool,
    ) -> int:
        """Write up to 8,192 items; return how many were replaced."""
        with STORE_FILE.writing(self._db, self.path) as db:
            known = self._known(ids, replace=replace)
            self._forget(db, known)
            first = append_rows(db, coded, self._settings, next_revision(db))
            kind = self._settings.originals
            kept = [row.tobytes() for row in vectors.astype(kind)] if kind else repeat(None)
            put_items(db, first, ids, metadata, kept)
        return len(known)

    def _known(self, ids: Sequence[str], *, replace: bool) -> Longs:
        """Return the numbers of ids that are stored, which must be replaced."""
        if (known := numbers_of(self._db, ids)) and not replace:
            raise DataError(
                f"{self.path} already has {len(known):,} of these ids, such as {min(known)!r}: "
                "leave them out, give other ids (--ids), or replace their vectors (--replace), "
                "which also completes an interrupted command"
            )
        return _sorted(known.values())

    def delete(self, ids: Iterable[str]) -> int:
        """Remove vectors in one transaction; `compact` also removes their codes from the file.

        Returns:
            How many there were; ids that are not stored are ignored.

        Raises:
            DataError: The ids are not strings, or the store is not writable, or cannot be written.
        """
        self._require_writable()
        gone = listed_ids(ids)
        with STORE_FILE.writing(self._db, self.path) as db:
            numbers = _sorted(numbers_of(db, gone).values())
            self._forget(db, numbers)
            next_revision(db)
        return len(numbers)

    def _require_writable(self) -> None:
        """Raise DataError if the store was opened read-only."""
        if not self._writable:
            raise DataError(
                f"{self.path} is open read-only: open it with open_store(path, writable=True)"
            )

    def _forget(self, db: sqlite3.Connection, numbers: Longs) -> None:
        """Remove items, and mark their rows."""
        if len(numbers):
            delete_rows(db, numbers)
            remove_items(db, numbers.tolist())

    def compact(self, *, cells: bool = False) -> None:
        """Give the space of deleted vectors back to the disk, and fill the blocks.

        A process that is killed loses nothing. While it runs, the disk needs space for a second
        copy, and with `cells` for a third; until the cells are made, no other process can write.

        Args:
            cells: Group similar vectors into cells, so that `search` need not visit all of them
                (`share`). This changes the order of the vectors. Vectors added later are in no
                cell. Compacting again without `cells` removes the cells.

        Raises:
            DataError: The store is not writable, or cannot be written.
        """
        self._require_writable()
        if cells:
            with STORE_FILE.writing(self._db, self.path) as db:
                make_cells(db, self._settings, next_revision(db))
        else:
            self._fill_blocks()
        with STORE_FILE.errors(self.path):
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _fill_blocks(self) -> None:
        """Move the rows together, a block per transaction."""
        at: int | None = 0
        while at is not None:
            with STORE_FILE.writing(self._db, self.path) as db:
                moved = pack_block(db, at, self._settings, next_revision(db))
                if moved:
                    renumber_items(db, at, moved[1])
                at = moved and moved[0]


def open_store(path: str | Path, *, writable: bool = False, memory: int = _MEMORY) -> VectorStore:
    """Open a store.

    Args:
        path: The file.
        writable: Whether vectors may be added and deleted.
        memory: Bytes of codes that are kept in memory between searches; others are read each time.

    Raises:
        DataError: The file does not exist, is not a store, is damaged, or cannot be read or
            written.
    """
    db, settings = open_store_file(path := Path(path), writable=writable)
    return VectorStore(db, path, settings, memory, writable=writable)


def _sorted(numbers: Collection[int]) -> Longs:
    return np.sort(np.fromiter(numbers, np.int64, len(numbers)))
