"""Nearest rows of a compressed matrix, found on the codes.

Eq. 1 is linear in the weights of the codes, so the product of a query q with a rebuilt vector is a
sum over a table of M x K products, computed once per query; for integers it is a product of
integers with the M products of q and the basis:

    q . e_w = q . mean + sum_m P[m, c_m(w)],   P[m, k] = alpha[m, k] (A_m . q)
    q . e_w = q . mean + sum_m q_m(w) (B_m . q)

P is rounded to 16 bits, the sums are exact, and the best candidates are scored again with their
rebuilt vectors. V rows, H dimensions, M components, K codes per component, Q queries.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from yakusu.compress import kernels
from yakusu.compress.blocks import Matrix, blocks, numbered
from yakusu.compress.codebook import Codebook
from yakusu.compress.storage import CompressedMatrix, Vectors
from yakusu.errors import DataError

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Scores = Callable[[Floats], Vectors]  # a query (H,) -> its products with all rows, (V,)
_CANDIDATES = 32  # more than are wanted, which are scored again
_RERANKED = 4  # times as many as are wanted, scored with the original vectors
_TINY = float(np.finfo(np.float32).tiny)
_GROUPS = 4096  # of rows, of which only the best are sorted


@dataclass(frozen=True, eq=False)
class Index:
    """The codes of a matrix in memory, in the layout in which they are scored.

    Codes with K up to 16 take half a byte each, and with K up to 256 a byte; integers take a byte,
    or two if they exceed 8 bits. Without the compiled library, and for K above 256, nothing is kept
    in memory, and every search rebuilds the vectors in blocks. The lengths of the rebuilt vectors
    take 4 bytes per row.

    matrix: The matrix.
    lengths: Reciprocal lengths of the rebuilt vectors, (V,); 0 for vectors of length 0.
    """

    matrix: CompressedMatrix
    lengths: Vectors
    _scores: Scores

    @classmethod
    def of(cls, matrix: CompressedMatrix) -> "Index":
        """Build the index of a matrix, which reads all of its codes once."""
        lengths = np.empty(len(matrix), dtype=np.float32)
        for rows in numbered(len(matrix)):
            lengths[rows] = np.linalg.norm(matrix.rows(rows), axis=1)
        np.divide(1, lengths, out=lengths, where=lengths > 0)
        return cls(matrix, lengths, _scores_of(matrix))

    def search(
        self, queries: npt.ArrayLike, n: int = 10, *, originals: Matrix | None = None
    ) -> tuple[Rows, Vectors]:
        """Return the n rows with the largest cosine to each query, and their cosines.

        Args:
            queries: (Q, H).
            n: Number of rows, at least 1.
            originals: Vectors before compression, (V, H), such as a memory map: 4 n candidates are
                found on the codes and scored with these vectors.

        Returns:
            Indices and cosines, (Q, n), the largest cosine first; among equal ones, the lowest
            index. n is at most V.

        Raises:
            DataError: The queries are not a finite matrix of width H, or `n` is less than 1.
        """
        wanted = np.asarray(queries, dtype=np.float64)
        if wanted.ndim != 2 or wanted.shape[1] != self.matrix.width or n < 1:
            raise DataError(
                f"queries of shape {wanted.shape} with n = {n}: give queries of shape (Q, "
                f"{self.matrix.width}) and n >= 1"
            )
        if not np.isfinite(wanted).all():
            raise DataError("the queries are not all finite: remove NaN and infinity")
        n = min(n, len(self.matrix))
        found = [self._nearest(query, n, originals) for query in wanted]
        rows = np.array([row for row, _ in found]).reshape(-1, n)
        return rows, np.array([cosines for _, cosines in found], np.float32).reshape(-1, n)

    def _nearest(self, query: Floats, n: int, originals: Matrix | None) -> tuple[Rows, Floats]:
        """Return the n nearest rows of one query (H,), and their cosines."""
        scores = self._scores(query) * self.lengths
        if originals is None:
            rows = largest(scores, n + _CANDIDATES)
            vectors = self.matrix.book.rebuild(self.matrix.codes.rows(rows))
        else:
            rows = largest(scores, _RERANKED * n + _CANDIDATES)
            vectors = np.asarray(originals[rows], dtype=np.float64)
        products, lengths = vectors @ query, np.linalg.norm(vectors, axis=1)
        lengths *= np.linalg.norm(query)
        cosines = np.divide(products, lengths, out=np.zeros(len(rows)), where=lengths > 0)
        best = np.lexsort((rows, -cosines))[:n]
        return rows[best], cosines[best]


def largest(scores: npt.NDArray[np.floating], n: int) -> Rows:
    """Return the indices of the n largest scores (V,), or of all of them, in any order."""
    if n >= len(scores):
        return np.arange(len(scores))
    n_groups = min(max(_GROUPS, 4 * n), len(scores))
    size = len(scores) // n_groups
    # Group i has the scores i, i + n_groups, ...: their maxima are computed fast.
    maxima = scores[: size * n_groups].reshape(size, n_groups).max(axis=0)
    groups = np.argpartition(-maxima, n - 1)[:n]
    inside = (groups[:, None] + n_groups * np.arange(size)).ravel()
    rows = np.concatenate([inside, np.arange(size * n_groups, len(scores))])
    found: Rows = rows[np.argpartition(-scores[rows], n - 1)[:n]]
    return found


def _scores_of(matrix: CompressedMatrix) -> Scores:
    """Return the fastest way to score all rows."""
    if not kernels.are_available() or (matrix.n_codes or 0) > 256:
        return _rebuilt(matrix)
    if not isinstance(matrix.book, Codebook):
        return _integers(matrix)
    return (
        _half_bytes(matrix, matrix.book)
        if matrix.book.n_codes <= 16
        else _bytes(matrix, matrix.book)
    )


def _rebuilt(matrix: CompressedMatrix) -> Scores:
    """Score the rebuilt vectors of one block of rows after the other."""

    def scores(query: Floats) -> Vectors:
        found = np.empty(len(matrix), dtype=np.float32)
        for rows in numbered(len(matrix)):
            found[rows] = matrix.rows(rows) @ query
        return found

    return scores


def _half_bytes(matrix: CompressedMatrix, book: Codebook) -> Scores:
    parts = [kernels.in_blocks(matrix.codes.rows(rows)) for rows in numbered(len(matrix))]
    stored = np.concatenate(parts)  # blocks of rows are whole blocks of kernels

    def scores(query: Floats) -> Vectors:
        table, step, least = _table(book, query, 16)
        return kernels.scan4(stored, table)[: len(matrix)] * step + least

    return scores


def _bytes(matrix: CompressedMatrix, book: Codebook) -> Scores:
    stored = np.concatenate([matrix.codes.rows(rows) for rows in numbered(len(matrix))])

    def scores(query: Floats) -> Vectors:
        table, step, least = _table(book, query, 256)
        return kernels.scan8(stored, table) * step + least

    return scores


def _table(
    book: Codebook, query: Floats, n_columns: int
) -> tuple[npt.NDArray[np.uint16], np.float32, np.float32]:
    """Return P rounded to multiples of a step above the least entry of each component.

    Returns:
        Multiples (M, n_columns), of which K are used; the step; and the product of the query with
        the mean, plus the sum of the least entries.
    """
    products = book.weights * (book.basis @ query)[:, None]  # (M, K)
    least = products.min(axis=1, keepdims=True)
    products -= least
    step = max(float(products.max()), _TINY) / (2**16 - 1)
    table = np.zeros((len(products), n_columns), dtype=np.uint16)
    table[:, : book.n_codes] = np.rint(products / step)
    return table, np.float32(step), np.float32(query @ book.mean + least.sum())


def _integers(matrix: CompressedMatrix) -> Scores:
    stored = np.empty((len(matrix), len(matrix.book.basis)), dtype=np.int16)
    for rows in blocks(len(matrix)):
        stored[rows] = matrix.codes.rows(np.arange(rows.start, rows.stop))
    if max(stored.max(), -int(stored.min())) < 128:
        stored = stored.astype(np.int8)

    def scores(query: Floats) -> Vectors:
        products = matrix.book.basis @ query  # (M,)
        step = max(float(np.abs(products).max()), _TINY) / (2**15 - 1)
        weights = np.rint(products / step).astype(np.int16)
        sums = kernels.dot(stored, weights)
        return (sums * step + query @ matrix.book.mean).astype(np.float32)

    return scores
