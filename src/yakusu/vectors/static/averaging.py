"""The vectors of tokens, of which the mean is computed without rebuilding them.

A compressed vector is linear in the weights of its codes, or in its integers: e_w = mean + x_w B.
So the mean of some vectors is mean + (mean of x_w) B. V rows, H dimensions, M components, N texts.
"""

from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from yakusu.arrays import Array, Floats, Integers, Longs
from yakusu.compress.codebook import Codebook
from yakusu.compress.storage import CompressedMatrix

_KEPT = 2**22  # coordinates of tokens that are kept: 16 MB


@dataclass(frozen=True, eq=False)
class DenseTokens:
    """Vectors that are not compressed, (V, H); M = H."""

    rows: Array

    @property
    def shape(self) -> tuple[int, int]:
        """(V, H)."""
        return len(self.rows), self.rows.shape[1]

    @property
    def kind(self) -> "np.dtype[Any]":
        """Type of the vectors of texts."""
        return np.dtype(np.float32) if self.rows.dtype == np.int8 else self.rows.dtype

    def coordinates(self, rows: Integers) -> Floats:
        """Return what is averaged for rows (n,): (n, M)."""
        return self.rows[rows].astype(np.float32, copy=False)

    def vectors(self, means: Floats, shares: Floats) -> Floats:
        """Return the vectors (N, H) of mean coordinates (N, M) and mean weights (N,)."""
        return means


class CodedTokens:
    """Vectors as codes or integers in a memory map.

    The first tokens of texts are mostly the frequent ones, so their coordinates are kept.
    """

    def __init__(self, matrix: CompressedMatrix) -> None:
        self.matrix = matrix
        n_components = matrix.codes.n_components
        self._kept = np.empty(
            (min(len(matrix), max(1, _KEPT // n_components)), n_components), np.float32
        )
        self._place = np.full(len(matrix), -1, np.int32)  # of each row in `_kept`; -1: in none
        self._n_kept, self._lock = 0, Lock()

    @property
    def shape(self) -> tuple[int, int]:
        """(V, H)."""
        return len(self.matrix), self.matrix.width

    @property
    def kind(self) -> "np.dtype[Any]":
        """Type of the vectors of texts."""
        return np.dtype(np.float32)

    def coordinates(self, rows: Integers) -> Floats:
        """Return what is averaged for rows (n,): (n, M)."""
        with self._lock:
            places = self._place[rows]
            found = self._kept[places]
            if (new := np.flatnonzero(places < 0)).size:
                found[new] = self._decoded(rows[new])
                self._keep(rows[new], found[new])
        return found

    def _keep(self, rows: Integers, coordinates: Floats) -> None:
        begin = self._n_kept
        end = self._n_kept = min(begin + len(rows), len(self._kept))
        self._kept[begin:end] = coordinates[: end - begin]
        self._place[rows[: end - begin]] = np.arange(begin, end)

    def _decoded(self, rows: Integers) -> Floats:
        codes = self.matrix.codes.rows(rows)
        if self._weights is None:
            return codes.astype(np.float32)
        return self._weights.take(codes + self._begins)

    def vectors(self, means: Floats, shares: Floats) -> Floats:
        """Return the vectors (N, H) of mean coordinates (N, M) and mean weights (N,)."""
        mean, basis = self._affine
        vectors: Floats = means @ basis
        vectors += shares[:, None] * mean
        return vectors

    @cached_property
    def _weights(self) -> Floats | None:
        """Weights of the codes, one component after the other, (M K,); None for integers."""
        book = self.matrix.book
        return book.weights.astype(np.float32).ravel() if isinstance(book, Codebook) else None

    @cached_property
    def _begins(self) -> Longs:
        """Start of each component in `_weights`, (M,)."""
        return np.arange(self.matrix.codes.n_components) * (self.matrix.n_codes or 0)

    @cached_property
    def _affine(self) -> tuple[Floats, Floats]:
        book = self.matrix.book
        return book.mean.astype(np.float32), book.basis.astype(np.float32)


TokenVectors = DenseTokens | CodedTokens
