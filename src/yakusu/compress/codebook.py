"""Eqs. 1 and 2: vectors from codes, by M basis vectors and a weight for each code.

V words, H dimensions, M components, K codes a component.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from yakusu.compress.blocks import Lost, blocks
from yakusu.compress.codes import Coded, Codes, Floats, Matrix, code
from yakusu.progress import Progress, Silent

_PASSES = 3  # over the components, for the weights of a round
MOST_WEIGHTS = 10_000  # M K up to which the codebook is fitted; above, it stays in closed form


@dataclass(frozen=True, eq=False)
class Codebook:
    """Rebuilds vectors: e_w = mean + sum_m weights[m, c_m(w)] basis[m] (Eq. 1).

    mean: mu, (H,). The paper leaves it out, and its loss is then that of centred vectors.
    basis: A, (M, H); the paper misprints M x K.
    weights: alpha, (M, K); 0 where a component has fewer codes.
    """

    mean: Floats
    basis: Floats
    weights: Floats

    @classmethod
    def closed(cls, coded: Coded) -> "Codebook":
        """Without fitting: centroids for weights, loadings times deviations for the basis."""
        axes = coded.axes
        return cls(
            axes.mean, (axes.loadings * axes.scale[:, None]).T, np.nan_to_num(coded.centroids)
        )

    def folded(self) -> "Codebook":
        """The paper's form, without a mean: it goes into the weights, as far as the basis reaches.

        With M = H nothing is lost; with M < H what of the mean lies outside the basis is.
        """
        shares, *_ = np.linalg.lstsq(self.basis.T, self.mean)
        return Codebook(np.zeros_like(self.mean), self.basis, self.weights + shares[:, None])

    def rebuild(self, codes: npt.NDArray[np.integer]) -> Floats:
        """The vectors (n, H) of codes (n, M)."""
        chosen = self.weights[np.arange(codes.shape[1]), codes]  # (n, M)
        vectors: Floats = chosen @ self.basis
        vectors += self.mean
        return vectors

    def lost(self, vectors: Matrix, codes: Codes) -> Lost:
        """Eq. 2, and its share of the variance, for vectors (V, H) and their codes (V, M)."""
        return Lost.of(vectors, lambda rows: self.rebuild(codes[rows]))


@dataclass(frozen=True, eq=False)
class Statistics:
    """All that fitting needs of the words: its cost no longer depends on V.

    counts: How many words have both codes, (M K, M K), symmetric.
    sums: Of the centred vectors of the words with a code, (M K, H).
    squares: Of all centred vectors.
    n_words: V.
    """

    counts: npt.NDArray[np.int32]
    sums: Floats
    squares: float
    n_words: int

    @classmethod
    def of(
        cls, vectors: Matrix, codes: Codes, mean: Floats, n_codes: int, threads: int = 2
    ) -> "Statistics":
        """One pass over the words."""
        n_words, n_components = codes.shape
        size = n_components * n_codes
        sums, squares = np.zeros((size, vectors.shape[1])), 0.0
        for rows in blocks(n_words):
            centred = vectors[rows] - mean
            squares += float(np.square(centred).sum())
            _add_by_code(sums, centred, codes[rows], n_codes)
        counts = np.zeros((size, size), dtype=np.int32)
        columns = np.ascontiguousarray(codes.T)
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda m: _count_pairs(counts, columns, m, n_codes), range(n_components)))
        return cls(counts, sums, squares, n_words)


def fit(
    start: Codebook, statistics: Statistics, *, rounds: int = 30, progress: Progress | None = None
) -> Codebook:
    """Alternate between the best basis for given weights and better weights for a given basis.

    Both are least squares on the statistics. It ends when a round gains less than a millionth.

    Args:
        start: As by `Codebook.closed`.
        statistics: Of the words, with the mean of `start`.
        rounds: At most so many.
        progress: Watches.
    """
    basis, weights, before = start.basis, start.weights, np.inf
    with (progress or Silent()).track("fitting the codebook", "rounds", rounds) as tracker:
        for _ in range(rounds):
            basis = _best_basis(statistics, weights)
            weights = _better_weights(statistics, basis, weights)
            loss = loss_by(statistics, basis, weights)
            tracker.advance(note=f"loss {loss:.5f}")
            if before - loss < 1e-6 * loss:
                break
            before = loss
    return Codebook(start.mean, basis, weights)


def compress(
    vectors: Matrix,
    *,
    n_components: int,
    n_codes: int,
    rounds: int = 30,
    threads: int = 2,
    progress: Progress | None = None,
) -> tuple[Coded, Codebook]:
    """The paper's method: Algorithm 1, then the codebook, fitted where M K is not too large.

    Args:
        vectors: E, (V, H), finite.
        n_components: M, at most H.
        n_codes: K, at least 2.
        rounds: Of fitting at most; 0 leaves the closed form.
        threads: The result does not depend on it.
        progress: Watches.

    Raises:
        DataError: M or K does not suit the vectors, or these are not finite.
    """
    coded = code(
        vectors, n_components=n_components, n_codes=n_codes, threads=threads, progress=progress
    )
    book = Codebook.closed(coded)
    if rounds:
        book = fit_by_least_squares(
            book, vectors, coded.codes, rounds=rounds, threads=threads, progress=progress
        )
    return coded, book


def fit_by_least_squares(
    start: Codebook,
    vectors: Matrix,
    codes: Codes,
    *,
    rounds: int = 30,
    threads: int = 2,
    progress: Progress | None = None,
) -> Codebook:
    """`fit` to vectors (V, H) with codes (V, M); above `MOST_WEIGHTS` weights `start` stays."""
    n_codes = start.weights.shape[1]
    if start.weights.size > MOST_WEIGHTS:
        return start
    statistics = Statistics.of(vectors, codes, start.mean, n_codes, threads)
    return fit(start, statistics, rounds=rounds, progress=progress)


def ratio(shape: tuple[int, ...], n_components: int, n_codes: int) -> float:
    """Bits of vectors of `shape` (V, H) over those of codes and codebook, as the paper counts them.

    V H 32 / (V M log2 K + (M H + M K) 32): without the mean vector, and with fractions of bits.
    """
    n_words, n_columns = shape
    codes = n_words * n_components * np.log2(n_codes)
    book = 32 * n_components * (n_columns + n_codes)
    return float(32 * n_words * n_columns / (codes + book))


def loss_by(statistics: Statistics, basis: Floats, weights: Floats) -> float:
    """Eq. 2 from the statistics alone."""
    covered = np.einsum("mk,mkh,mh->", weights, _by_component(statistics.sums, weights), basis)
    rebuilt = np.sum(_between_components(statistics, weights) * (basis @ basis.T))
    return float((statistics.squares - 2 * covered + rebuilt) / statistics.n_words)


def _best_basis(statistics: Statistics, weights: Floats) -> Floats:
    normal = _between_components(statistics, weights)  # (M, M)
    target = np.einsum("mk,mkh->mh", weights, _by_component(statistics.sums, weights))
    return _solved(normal, target)


def _better_weights(statistics: Statistics, basis: Floats, weights: Floats) -> Floats:
    """The best weights of one component after another, given those of all others.

    No word has two codes of a component, so each of its weights is a quotient. A code that no word
    has keeps its weight.
    """
    weights, (n_components, n_codes) = weights.copy(), weights.shape
    counts = statistics.counts.reshape(n_components, n_codes, n_components * n_codes)
    products = basis @ basis.T
    wanted = np.einsum("mkh,mh->mk", _by_component(statistics.sums, weights), basis)
    for _ in range(_PASSES):
        for m in range(n_components):
            others = (products[m][:, None] * weights).ravel()
            others[m * n_codes : (m + 1) * n_codes] = 0
            words = counts[m, :, m * n_codes : (m + 1) * n_codes].diagonal() * products[m, m]
            rest = wanted[m] - counts[m] @ others
            weights[m] = np.divide(rest, words, out=weights[m].copy(), where=words > 0)
    return weights


def _between_components(statistics: Statistics, weights: Floats) -> Floats:
    """Sums over words of the product of two components' weights, (M, M)."""
    n_components, n_codes = weights.shape
    counts = statistics.counts.reshape(n_components, n_codes, n_components, n_codes)
    half = np.einsum("mk,mknl->mnl", weights, counts)
    sums: Floats = np.einsum("mnl,nl->mn", half, weights)
    return sums


def _by_component(sums: Floats, weights: Floats) -> Floats:
    return sums.reshape(*weights.shape, -1)


def _solved(normal: Floats, target: Floats) -> Floats:
    """Least squares of normal equations, (M, H): of directions that nothing tells apart, or that no
    word needs, the shortest."""
    ridge = 1e-10 * np.trace(normal) / len(normal)
    normal.flat[:: len(normal) + 1] += max(ridge, np.finfo(np.float64).tiny)
    solution: Floats = np.linalg.solve(normal, target).astype(np.float64, copy=False)
    return solution


@njit(cache=True, nogil=True)
def _add_by_code(sums: Any, vectors: Any, codes: Any, n_codes: int) -> None:
    for word in range(codes.shape[0]):
        for m in range(codes.shape[1]):
            row = m * n_codes + codes[word, m]
            for h in range(vectors.shape[1]):
                sums[row, h] += vectors[word, h]


@njit(cache=True, nogil=True)
def _count_pairs(counts: Any, columns: Any, m: int, n_codes: int) -> None:
    """How often each code of component m meets each code of the components from m on."""
    n_components, n_words = columns.shape
    for n in range(m, n_components):
        pairs = np.zeros((n_codes, n_codes), dtype=np.int32)
        for word in range(n_words):
            pairs[columns[m, word], columns[n, word]] += 1
        a, b = m * n_codes, n * n_codes
        counts[a : a + n_codes, b : b + n_codes] = pairs
        counts[b : b + n_codes, a : a + n_codes] = pairs.T
