"""What is given to a store, checked before anything is written: vectors, ids and metadata.

n vectors, H dimensions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from yakusu.compress.blocks import AnyMatrix, Matrix, StoredMatrix, blocks
from yakusu.errors import DataError
from yakusu.vectors.store.file import StoreSettings
from yakusu.vectors.store.items import ItemMetadata, check_ids, listed_ids, metadata_text

_LARGEST = 1e30  # magnitude of a number
_HALF = np.finfo(np.float16)


@dataclass(frozen=True, eq=False)
class GivenItems:
    """Items that can be added to a store.

    ids: n distinct ids.
    vectors: (n, H), of which a few rows are read at a time.
    metadata: JSON of each, or None.
    """

    ids: Sequence[str]
    vectors: AnyMatrix
    metadata: Sequence[str | None]

    @classmethod
    def checked(
        cls,
        ids: Iterable[str],
        vectors: npt.ArrayLike | StoredMatrix,
        metadata: Sequence[ItemMetadata | None] | None,
        settings: StoreSettings,
    ) -> "GivenItems":
        """Check ids, all vectors and metadata.

        Raises:
            DataError: They cannot be stored, or do not fit each other.
        """
        given = vectors if isinstance(vectors, StoredMatrix) else np.asarray(vectors)
        check_width(given, settings.width)
        names = listed_ids(ids)
        for what, found in (("ids", names), ("metadata", metadata)):
            if found is not None and len(found) != len(given):
                raise DataError(
                    f"{len(found)} {what} do not fit {len(given)} vectors: give one per vector"
                )
        check_ids(names)
        for rows in blocks(len(given)):
            if bad := fault_of(given[rows], settings, kept=True):
                row = rows.start + bad[0]
                raise DataError(f"row {row} ({names[row]!r}) {bad[1]}")
        texts = [metadata_text(each, row) for row, each in enumerate(metadata or ())]
        return cls(names, given, texts if metadata is not None else [None] * len(names))


def checked_queries(queries: npt.ArrayLike, settings: StoreSettings) -> Matrix:
    """Return queries (n, H).

    Raises:
        DataError: They cannot be compared with the vectors of the store.
    """
    given = np.asarray(queries)
    check_width(given, settings.width)
    if bad := fault_of(given, settings, kept=False):
        raise DataError(f"query {bad[0]} {bad[1]}")
    return given


def check_width(vectors: AnyMatrix, width: int) -> None:
    """Raise DataError unless vectors are a matrix (n, H) of real numbers."""
    if vectors.ndim != 2 or vectors.shape[1] != width or vectors.dtype.kind not in "fiu":
        raise DataError(
            f"vectors have shape {vectors.shape} and type {vectors.dtype}: give a matrix of "
            f"numbers with {width} columns"
        )


def fault_of(vectors: Matrix, settings: StoreSettings, *, kept: bool) -> tuple[int, str] | None:
    """Return the first row that a store cannot compare, or keep, and what is wrong with it."""
    is_cosine = settings.similarity == "cosine"  # of vectors that are scaled to length 1
    is_half = kept and settings.originals == "float16" and not is_cosine
    least, largest = (float(_HALF.tiny), float(_HALF.max)) if is_half else (0.0, _LARGEST)
    highest, lowest = vectors.max(axis=1, initial=0), vectors.min(axis=1, initial=0)
    peaks: Any = np.maximum(highest.astype(np.float64), -lowest.astype(np.float64))
    fix = "scale the vectors, or use float32" if is_half else "scale the vectors"
    for bad, why in (
        (~np.isfinite(peaks), "is not finite: correct or remove it"),
        (peaks > largest, f"has a number above {largest:g}: {fix}"),
        ((peaks > 0) & (peaks < least), f"has no number above {least:g}: {fix}"),
        (
            (peaks == 0) & is_cosine,
            "is zero, which has no cosine: remove it, or use another similarity",
        ),
    ):
        if bad.any():
            return int(bad.argmax()), why
    return None
