"""Cells of a store: blocks of similar rows, so that a search may visit the nearest blocks only.

    cell(x) = argmin_c |x - m_c|

The C = sqrt(n) centres m are learned from rebuilt vectors by k-means. The rows of a cell move to
blocks of their own, which keep the centre.

n rows, H dimensions, C cells.
"""

import math
import sqlite3
import warnings
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from yakusu.arrays import Doubles, Longs
from yakusu.compress.blocks import ROWS, evenly_spaced
from yakusu.vectors.store.blocks import (
    CodedRows,
    RowsOfBlock,
    block_rows,
    coded_rows,
    put_block,
    remove_block,
)
from yakusu.vectors.store.file import StoreSettings, StoreSimilarity
from yakusu.vectors.store.items import renumber_items
from yakusu.vectors.store.similarity import values_of_originals

_SAMPLED, _ROUNDS = 64, 10  # of k-means: vectors for each centre
_MOVED = 8 * ROWS  # rows whose codes are in memory


def make_cells(db: sqlite3.Connection, settings: StoreSettings, version: int) -> None:
    """Move all rows to blocks of cells, whose numbers follow those of the old blocks."""
    taken = [*block_rows(db)]
    if not any(rows.n_live for rows in taken):
        return
    numbers = np.concatenate([rows.first + np.flatnonzero(rows.live) for rows in taken])
    n_cells = math.isqrt(len(numbers))
    sample = numbers[evenly_spaced(len(numbers), _SAMPLED * n_cells)]
    centres = _learned(_rebuilt(_gathered(db, taken, sample, settings), settings), n_cells)
    cells = np.concatenate(
        [
            _nearest(
                _rebuilt(coded_rows(db, rows, settings, np.flatnonzero(rows.live)), settings),
                centres,
            )
            for rows in taken
        ]
    )
    order, first = np.argsort(cells, kind="stable"), taken[-1].end
    for begin in range(0, len(order), _MOVED):
        part = order[begin : begin + _MOVED]
        coded = _gathered(db, taken, numbers[part], settings)
        changes = np.flatnonzero(np.diff(cells[part])) + 1
        for i, j in pairwise(np.union1d(changes, [*range(0, len(part), ROWS), len(part)]).tolist()):
            rows = RowsOfBlock(first + i, j - i, version, np.ones(j - i, dtype=bool))
            centre = centres[cells[part[i]]].astype("<f4").tobytes()
            put_block(db, rows, coded[i:j], settings.coder, centre)
        renumber_items(db, first, numbers[part])
        first += len(part)
    for rows in taken:
        remove_block(db, rows)


def visited(
    known: Longs,
    centres: Doubles,
    sizes: Longs,
    query: Doubles,
    similarity: StoreSimilarity,
    share: float,
    k: int,
) -> npt.NDArray[np.bool_]:
    """Return which of n blocks a query visits: the nearest, and those without a centre.

    Args:
        known: The blocks that have a centre, (C,).
        centres: (C, H).
        sizes: How many rows of each block may be found, (n,).
        query: (H,).
        similarity: What is compared.
        share: The visited blocks that have a centre have at least this share of their rows.
        k: They have at least so many rows, if there are as many.
    """
    found = np.ones(len(sizes), dtype=bool)
    found[known] = False
    near = known[np.argsort(-values_of_originals(centres, query, similarity), kind="stable")]
    before = np.cumsum(sizes[near]) - sizes[near]
    found[near] = before < max(share * sizes[near].sum(), k)
    return found & (sizes > 0)


def _gathered(
    db: sqlite3.Connection, taken: list[RowsOfBlock], numbers: Longs, settings: StoreSettings
) -> CodedRows:
    """Read the rows with some numbers (n,), in their order."""
    ordered, parts = np.sort(numbers), list[CodedRows]()
    for rows in taken:
        begin, end = np.searchsorted(ordered, (rows.first, rows.end))
        if begin < end:
            parts.append(coded_rows(db, rows, settings, ordered[begin:end] - rows.first))
    return CodedRows.joined(*parts)[np.searchsorted(ordered, numbers)]


def _rebuilt(coded: CodedRows, settings: StoreSettings) -> Doubles:
    return settings.coder.book.rebuild(coded.codes)


def _learned(sample: Doubles, n_cells: int) -> Doubles:
    """Return centres (C, H) of vectors (n, H)."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    means = KMeans(n_cells, init="random", n_init=1, max_iter=_ROUNDS, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some vectors are equal
        centres: Doubles = means.fit(sample).cluster_centers_
    return centres


def _nearest(vectors: Doubles, centres: Doubles) -> Longs:
    squares = np.einsum("ch,ch->c", centres, centres)
    nearest: Longs = (vectors @ centres.T - squares / 2).argmax(axis=1)
    return nearest
