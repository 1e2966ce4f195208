"""Nearest rows of a compressed matrix, found on the codes.

Eq. 1 is linear in the weights of the codes, so the product of a query q with a rebuilt vector is a
sum over a table of M x K products, computed once per query:

    q . e_w = q . mean + sum_m P[m, c_m(w)],   P[m, k] = alpha[m, k] (A_m . q)

P is rounded to 16 bits. If K is above 16, products of integers are faster than the table, so the
weights of each component are rounded to integers from -127 to 127 instead, once for all queries,
and the sum is a product of integers, as it is for a `Lattice`:

    q . e_w = q . mean + sum_m q_m(w) (B_m . q)

The sums are exact, and the best candidates are scored again without rounding. V rows, H dimensions,
M components, K codes per component, Q queries.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from yakusu.arrays import Doubles
from yakusu.compress import kernels
from yakusu.compress.blocks import Matrix, Rows, row_blocks
from yakusu.compress.codebook import Codebook
from yakusu.compress.entropy import EntropyCodes
from yakusu.compress.lattice import Lattice
from yakusu.compress.storage import CompressedMatrix, Vectors
from yakusu.errors import DataError

_ScoreFunction = Callable[[Doubles], Vectors]  # a query (H,) -> its products with all rows, (V,)
_CandidateFunction = Callable[
    [Doubles, int], Rows
]  # queries (Q, H), n -> the n best rows of each, (Q, n)
_Factors = npt.NDArray[np.floating | np.integer]  # of the basis: weights or integers, (n, M)
_FactorFunction = Callable[[Rows], _Factors]  # rows (n,) -> their factors
_Bytes = npt.NDArray[np.int8 | np.int16]
_CANDIDATES = 32  # more than are wanted, which are scored again
_RERANKED = 4  # times as many as are wanted, scored with the original vectors
_QUERIES = 16  # at a time per thread
_TINY = float(np.finfo(np.float32).tiny)
_COMPONENTS = 2**16  # sums of as many 16-bit numbers fit in 32 bits
_GROUPS = 4096  # of rows, of which only the best are sorted


@dataclass(frozen=True, eq=False, repr=False)
class Index:
    """The codes of a matrix in memory, in the layout in which they are scored.

    Codes with K up to 16 take half a byte each, and others a byte; integers take a byte, or two if
    they exceed 8 bits. Without the compiled library, nothing is kept in memory, and every search
    rebuilds the vectors in blocks. The lengths of the rebuilt vectors take 4 bytes per row.

    matrix: The matrix.
    lengths: Reciprocal lengths of the rebuilt vectors, (V,); 0 for vectors of length 0.
    """

    matrix: CompressedMatrix
    lengths: Vectors
    _candidates: _CandidateFunction
    _factors: _FactorFunction

    def __repr__(self) -> str:
        return f"Index({self.matrix!r})"

    @classmethod
    def of(cls, matrix: CompressedMatrix) -> "Index":
        """Build the index of a matrix, which reads all of its codes."""
        scores, factors = _functions(matrix)
        lengths = np.empty(len(matrix), dtype=np.float32)
        for rows in row_blocks(len(matrix)):
            vectors = factors(rows) @ matrix.book.basis
            vectors += matrix.book.mean
            lengths[rows] = np.linalg.norm(vectors, axis=1)
        np.divide(1, lengths, out=lengths, where=lengths > 0)
        candidates = _scanned(scores, lengths) if scores else _rebuilt(matrix, lengths)
        return cls(matrix, lengths, candidates, factors)

    def search(
        self,
        queries: npt.ArrayLike,
        n: int = 10,
        *,
        originals: Matrix | None = None,
        n_jobs: int = 2,
    ) -> tuple[Rows, Vectors]:
        """Return the n rows with the largest cosine to each query, and their cosines.

        Args:
            queries: (Q, H).
            n: Number of rows, at least 1.
            originals: Vectors before compression, (V, H), such as a memory map: 4 n + 32 candidates
                are found on the codes and scored with these vectors.
            n_jobs: Number of threads, each of which scores up to 16 queries at a time; it does not
                affect the result.

        Returns:
            Indices and cosines, (Q, n), the largest cosine first. n is at most V. Of more equal
            cosines than are wanted, any are returned.

        Raises:
            DataError: The queries are not a finite matrix of width H, `n` or `n_jobs` is less than
                1, or the originals have another shape.
        """
        wanted = _scaled(self._checked(queries, n, originals, n_jobs))
        n = min(n, len(self.matrix))
        rows = np.empty((len(wanted), n), dtype=np.int64)
        cosines = np.empty((len(wanted), n), dtype=np.float32)

        def find(part: slice) -> None:
            rows[part], cosines[part] = self._nearest(wanted[part], n, originals)

        parts = [slice(i, i + _QUERIES) for i in range(0, len(wanted), _QUERIES)]
        with ThreadPoolExecutor(n_jobs) as pool:
            list(pool.map(find, parts))
        return rows, cosines

    def _checked(
        self, queries: npt.ArrayLike, n: int, originals: Matrix | None, n_jobs: int
    ) -> Doubles:
        wanted = np.asarray(queries, dtype=np.float64)
        shape = len(self.matrix), self.matrix.width
        if wanted.ndim != 2 or wanted.shape[1] != shape[1] or n < 1:
            raise DataError(
                f"queries of shape {wanted.shape} with n = {n}: give queries of shape (Q, "
                f"{shape[1]}) and n >= 1"
            )
        if not np.isfinite(wanted).all():
            raise DataError("the queries are not all finite: remove NaN and infinity")
        if originals is not None and originals.shape != shape:
            raise DataError(
                f"originals of shape {originals.shape} are not the vectors before compression: "
                f"give vectors of shape {shape}"
            )
        if n_jobs < 1:
            raise DataError(f"n_jobs = {n_jobs} is out of range: give at least 1")
        return wanted

    def _nearest(self, queries: Doubles, n: int, originals: Matrix | None) -> tuple[Rows, Doubles]:
        """Return the n nearest rows of each query, and their cosines, (Q, n)."""
        n_candidates = (n if originals is None else _RERANKED * n) + _CANDIDATES
        rows = self._candidates(queries, min(n_candidates, len(self.matrix)))
        pairs = zip(queries, rows, strict=True)
        cosines = np.array([self._cosines(*pair, originals) for pair in pairs])
        best = np.lexsort((rows, -cosines))[:, :n]
        return np.take_along_axis(rows, best, axis=1), np.take_along_axis(cosines, best, axis=1)

    def _cosines(self, query: Doubles, rows: Rows, originals: Matrix | None) -> Doubles:
        """Return the cosines of a query (H,) and rows (n,), from codes or from the originals."""
        if originals is None:
            book = self.matrix.book
            products = self._factors(rows) @ basis_products(book, query) + query @ book.mean
            reciprocals = self.lengths[rows].astype(np.float64)
        else:
            vectors = np.asarray(originals[rows], dtype=np.float64)
            products, lengths = vectors @ query, np.linalg.norm(vectors, axis=1)
            reciprocals = np.divide(1, lengths, out=np.zeros(len(rows)), where=lengths > 0)
        length = np.linalg.norm(query)
        cosines: Doubles = products * reciprocals / (length if length > 0 else 1)
        return cosines.clip(-1, 1)  # lengths are rounded to float32


def _scaled(queries: Doubles) -> Doubles:
    """Divide each query (Q, H) by its largest magnitude, which does not change its cosines."""
    largest = np.abs(queries).max(axis=1, keepdims=True)
    scaled: Doubles = np.divide(queries, largest, out=np.zeros_like(queries), where=largest > 0)
    return scaled


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


def _decoded(matrix: CompressedMatrix, rows: Rows) -> _Factors:
    """Return the factors of the basis in the vectors of rows (n,)."""
    codes = matrix.codes.rows(rows)
    if isinstance(matrix.book, Codebook):
        return matrix.book.chosen(codes)
    return codes


def basis_products(book: Codebook | Lattice, query: Doubles) -> Doubles:
    """Return the products (M,) of the basis and a query (H,)."""
    # Not by BLAS, which starts threads for so small a product.
    products: Doubles = np.einsum("mh,h->m", book.basis, query)
    return products


def rounded_table(products: Doubles) -> tuple[npt.NDArray[np.uint16], float, float]:
    """Round products (M, K), K up to 16, to multiples of a step above the least of each component.

    Returns:
        Multiples (M, 16), of which K are used; the step; and the sum of the least products.
    """
    least = products.min(axis=1, keepdims=True)
    above = products - least
    step = max(float(above.max()), _TINY) / (2**16 - 1)
    table = np.zeros((len(products), 16), dtype=np.uint16)
    table[:, : products.shape[1]] = np.rint(above / step)
    return table, step, float(least.sum())


def rounded_words(products: Doubles) -> tuple[npt.NDArray[np.int16], float]:
    """Round products (M,) to 16 bits; return these, and their step."""
    step = max(float(np.abs(products).max()), _TINY) / (2**15 - 1)
    return np.rint(products / step).astype(np.int16), step


# ---- candidates ----------------------------------------------------------------------------------


def _functions(matrix: CompressedMatrix) -> tuple[_ScoreFunction | None, _FactorFunction]:
    """Return the functions that score all rows (None: they must be rebuilt) and read factors."""
    factors: _FactorFunction = partial(_decoded, matrix)
    if not kernels.are_available() or len(matrix.book.basis) > _COMPONENTS:
        return None, factors
    if isinstance(matrix.book, Codebook) and matrix.book.n_codes <= 16:
        return _half_bytes(matrix, matrix.book), factors
    stored, steps, middles = _stored(matrix)
    if isinstance(matrix.book, Lattice):
        factors = stored.__getitem__
    return _integers(matrix.book, stored, steps, middles), factors


def _scanned(scores: _ScoreFunction, lengths: Vectors) -> _CandidateFunction:
    """Find candidates by scoring all rows in memory."""

    def candidates(queries: Doubles, n: int) -> Rows:
        found = [largest(scores(query) * lengths, n) for query in queries]
        return np.array(found)

    return candidates


def _rebuilt(matrix: CompressedMatrix, lengths: Vectors) -> _CandidateFunction:
    """Score the rebuilt vectors of one block of rows after the other."""

    def candidates(queries: Doubles, n: int) -> Rows:
        scores, found = np.empty((len(queries), 0)), np.empty((len(queries), 0), dtype=np.int64)
        for rows in row_blocks(len(matrix)):
            near = queries @ (matrix.book.rebuild(matrix.codes.rows(rows)) * lengths[rows, None]).T
            scores = np.concatenate([scores, near], axis=1)
            found = np.concatenate([found, np.broadcast_to(rows, near.shape)], axis=1)
            best = np.array([largest(each, n) for each in scores])
            scores = np.take_along_axis(scores, best, axis=1)
            found = np.take_along_axis(found, best, axis=1)
        return found

    return candidates


def _half_bytes(matrix: CompressedMatrix, book: Codebook) -> _ScoreFunction:
    """Score codes with K up to 16 by a table."""
    parts = [kernels.in_blocks(matrix.codes.rows(rows)) for rows in row_blocks(len(matrix))]
    stored = np.concatenate(parts)  # blocks of rows are whole blocks of kernels

    def scores(query: Doubles) -> Vectors:
        products = book.weights * basis_products(book, query)[:, None]  # (M, K)
        table, step, least = rounded_table(products)
        rest = np.float32(query @ book.mean + least)
        return kernels.scan4(stored, table)[: len(matrix)] * np.float32(step) + rest

    return scores


def _integers(
    book: Codebook | Lattice, stored: _Bytes, steps: Doubles, middles: Doubles
) -> _ScoreFunction:
    """Score integers by their products with the basis."""

    def scores(query: Doubles) -> Vectors:
        products = basis_products(book, query)
        rest = query @ book.mean + middles @ products
        weights, step = rounded_words(products * steps)
        return (kernels.dot(stored, weights) * step + rest).astype(np.float32)

    return scores


def _stored(matrix: CompressedMatrix) -> tuple[_Bytes, Doubles, Doubles]:
    """Return integers (V, M), and for each component their step and what 0 stands for, (M,)."""
    book, shape = matrix.book, (len(matrix), len(matrix.book.basis))
    if isinstance(book, Codebook):
        least, most = book.weights.min(axis=1), book.weights.max(axis=1)
        middles, steps = (least + most) / 2, np.maximum(most - least, _TINY) / (2 * 127)
        rounded = np.rint((book.weights - middles[:, None]) / steps[:, None]).astype(np.int8)
        narrow = np.empty(shape, dtype=np.int8)
        for rows in row_blocks(len(matrix)):
            narrow[rows] = rounded[np.arange(shape[1]), matrix.codes.rows(rows)]
        return narrow, steps, middles
    is_narrow = isinstance(matrix.codes, EntropyCodes) and matrix.codes.largest < 128
    stored = np.empty(shape, dtype=np.int8 if is_narrow else np.int16)
    for rows in row_blocks(len(matrix)):
        stored[rows] = matrix.codes.rows(rows)
    return stored, np.ones(shape[1]), np.zeros(shape[1])
