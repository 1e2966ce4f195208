"""The file of a store: its tables, how one is created and opened, and what its `meta` says.

`meta`   format, revision, similarity, originals, and the codebook
`block`  a run of up to 8,192 consecutive numbers: `live` has a bit for each that is not deleted,
         and `centre` is the centre of its cell in float32, NULL for rows in no cell
`codes`  what never changes of a block: codes, and lengths of the rebuilt vectors
`item`   number, id, metadata as JSON, and the original vector if the store keeps it

H dimensions, M components, K codes per component.
"""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from yakusu.compress.blocks import ROWS
from yakusu.compress.codebook import Codebook
from yakusu.compress.lattice import Lattice
from yakusu.errors import DataError, VectorStoreError
from yakusu.sqlite import DamagedFileError, SqliteKind
from yakusu.vectors.store.coding import HALF_BYTE, RowCoder, coder_of

StoreSimilarity = Literal["cosine", "inner-product", "euclidean"]
KeptPrecision = Literal["float16", "float32"]
WIDEST = 8192  # H
LONGEST_METADATA = 2**20  # bytes of JSON
_SMALL = 2**21  # bytes of a row that has no codes
_SIZES = ("components", "width", "n_codes")
_SCHEMA = """\
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE block (first INTEGER PRIMARY KEY, n, version, live BLOB, centre BLOB);
CREATE TABLE codes (first INTEGER PRIMARY KEY, codes BLOB, lengths BLOB, checksum);
CREATE TABLE item (number INTEGER PRIMARY KEY, id TEXT UNIQUE, metadata TEXT, vector BLOB);
"""
STORE_FILE = SqliteKind(
    name="store of vectors",
    plural="stores of vectors",
    application=0x79616B76,  # "yakv"
    format=1,
    schema=_SCHEMA,
    error=VectorStoreError,
    advice="restore a copy of it, or index the vectors again",
)


@dataclass(frozen=True, eq=False)
class StoreSettings:
    """What is decided when a store is created.

    similarity: What is compared: "cosine", "inner-product" or "euclidean".
    originals: Type in which the vectors themselves are kept, for ranking again; None: not at all.
    coder: The codebook, which never changes.
    """

    similarity: StoreSimilarity
    originals: KeptPrecision | None
    coder: RowCoder

    @property
    def width(self) -> int:
        """H."""
        return len(self.coder.book.mean)

    @property
    def meta(self) -> dict[str, Any]:
        """Rows of the table `meta`.

        Raises:
            DataError: A number of the codebook is too large for float32.
        """
        book = self.coder.book
        weights = book.weights if isinstance(book, Codebook) else np.zeros((len(book.basis), 0))
        with np.errstate(over="ignore"):
            numbers = [each.astype("<f4") for each in (book.mean, book.basis, weights)]
        if not all(np.isfinite(each).all() for each in numbers):
            raise DataError("the codebook exceeds the range of float32: scale the vectors")
        return {
            "revision": 0,
            "similarity": self.similarity,
            "originals": self.originals or "",
            **dict(zip(_SIZES, (*book.basis.shape, weights.shape[1]), strict=True)),
            "codebook": b"".join(each.tobytes() for each in numbers),
        }

    @classmethod
    def read(cls, db: sqlite3.Connection) -> "StoreSettings":
        """Read the settings of a store.

        Raises:
            DamagedFileError: They are not what `meta` returns.
        """
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _SMALL)
        meta: dict[str, Any] = dict(
            db.execute(
                "SELECT name, value FROM meta WHERE name IN (?, ?, ?, ?, ?)",
                ("similarity", "originals", *_SIZES),
            )
        )
        similarity, originals = meta.get("similarity", ""), meta.get("originals") or None
        m, h, k = (size if isinstance(size := meta.get(name), int) else -1 for name in _SIZES)
        is_possible = 1 <= m <= h <= WIDEST and (k == 0 or 2 <= k <= HALF_BYTE)
        kinds = get_args(StoreSimilarity), (None, *get_args(KeptPrecision))
        if not is_possible or similarity not in kinds[0] or originals not in kinds[1]:
            raise DamagedFileError("its settings are out of range")
        n_numbers = h + m * h + m * k
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _SMALL + max(4 * n_numbers, 2 * ROWS * m))
        row = db.execute("SELECT value FROM meta WHERE name = 'codebook'").fetchone()
        if not row or not isinstance(row[0], bytes) or len(row[0]) != 4 * n_numbers:
            raise DamagedFileError("its codebook does not have the size of its vectors")
        numbers = np.frombuffer(row[0], "<f4").astype(np.float64)
        if not np.isfinite(numbers).all():
            raise DamagedFileError("its codebook is not finite")
        mean, basis, weights = np.split(numbers, (h, h + m * h))
        axes = basis.reshape(m, h)
        book = Codebook(mean, axes, weights.reshape(m, k)) if k else Lattice(mean, axes)
        return cls(similarity, originals, coder_of(book))


def create_store_file(path: Path, settings: StoreSettings) -> None:
    """Create a file, which another process may do at the same time.

    Raises:
        DataError: It cannot be written.
    """
    with STORE_FILE.errors(path):
        STORE_FILE.open(path, writable=True, new=settings.meta).close()


def open_store_file(path: Path, *, writable: bool) -> tuple[sqlite3.Connection, StoreSettings]:
    """Open a file; return the connection and the settings of the store.

    Raises:
        DataError: The file does not exist, is not a store, is damaged, or cannot be read or
            written.
    """
    if not path.exists():
        raise VectorStoreError(f"{path} does not exist: check the path")
    db = STORE_FILE.open(path, writable=writable)
    try:
        with STORE_FILE.errors(path):
            made = [row[0] for row in db.execute("SELECT sql FROM sqlite_master WHERE sql <> ''")]
            if sorted(made) != sorted(STORE_FILE.statements):
                raise DamagedFileError("its tables are not those of a store")
            return db, StoreSettings.read(db)
    except BaseException:
        db.close()
        raise
