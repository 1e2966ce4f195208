"""All calls of the benchmarks to `yakusu.compress`, in one file that follows its changes.

V words, H dimensions, M components, K codes.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from yakusu.compress import CodebookCompressor, LatticeCompressor
from yakusu.compress.axes import PrincipalAxes
from yakusu.compress.blocks import ReconstructionLoss
from yakusu.compress.codebook import Codebook
from yakusu.compress.codes import code
from yakusu.compress.compressor import Compressor
from yakusu.compress.entropy import EntropyCodes
from yakusu.compress.fitting import fit_by_least_squares
from yakusu.compress.rounding import Rounding
from yakusu.compress.storage import CompressedMatrix, size_of_codes
from yakusu.model.table import Table
from yakusu.pipeline.tables import table_of


@dataclass(frozen=True)
class Codes:
    """Vectors compressed by the paper's method.

    codes: (V, M).
    book: Rebuilds vectors of codes.
    ratio: Bits of the float32 vectors over those of codes and codebook.
    """

    codes: np.ndarray
    book: Codebook
    ratio: float

    def rebuilt(self) -> np.ndarray:
        """Return the rebuilt vectors (V, H), float32."""
        return self.book.rebuild(self.codes).astype(np.float32)

    def digest(self) -> str:
        """Return the SHA-256 of everything that is kept."""
        kept = (self.codes, self.book.mean, self.book.basis, self.book.weights)
        return hashlib.sha256(b"".join(part.tobytes() for part in kept)).hexdigest()


def by_codes(vectors: np.ndarray, n_components: int, n_codes: int, *, threads: int = 1) -> Codes:
    """Compress vectors (V, H) to codes (V, M) and a codebook."""
    coded = code(vectors, n_components=n_components, n_codes=n_codes, threads=threads)
    book = fit_by_least_squares(Codebook.closed(coded), vectors, coded.codes, threads=threads)
    return Codes(
        coded.codes, book, size_of_codes(vectors.shape, n_components, n_codes).ratio(vectors.shape)
    )


@dataclass(frozen=True)
class Integers:
    """Vectors rounded to integers by one step for all components, and entropy-coded.

    codes: (V, H).
    rebuilt: (V, H), float32.
    ratio: Bits of the float32 vectors over those of a file without words.
    """

    codes: np.ndarray
    rebuilt: np.ndarray
    ratio: float


def by_integers(vectors: np.ndarray, steps: Sequence[float]) -> Iterator[Integers]:
    """Yield vectors (V, H) rounded by each step, in units of a whitened component."""
    rounding = Rounding(vectors, n_components=vectors.shape[1])
    for step in steps:
        integers = rounding.integers(step)[:]
        coded, lattice = EntropyCodes.of(integers, rounding.tiers), rounding.lattice(integers)
        rebuilt = lattice.rebuild(integers).astype(np.float32)
        yield Integers(integers, rebuilt, CompressedMatrix(lattice, coded).ratio)


def component_scores(vectors: np.ndarray, n_components: int) -> np.ndarray:
    """Return the scores (M, V) of vectors (V, H) on their first principal axes."""
    return np.asarray(PrincipalAxes.of(vectors, n_components).scores(vectors, slice(None)))


def variance_lost(vectors: np.ndarray, rebuilt: np.ndarray) -> float:
    """Return the squared error of rebuilt vectors (V, H) as a share of their variance."""
    return float(ReconstructionLoss.of(vectors, rebuilt.__getitem__).share)


def codes_table(weight: torch.Tensor, n_components: int, n_codes: int) -> Table:
    """Compress a table (V, H) to codes."""
    return _table(CodebookCompressor(n_components, n_codes), weight)


def integers_table(weight: torch.Tensor, *, step: float) -> Table:
    """Compress a table (V, H) to integers."""
    return _table(LatticeCompressor(step), weight)


def _table(compressor: Compressor, weight: torch.Tensor) -> Table:
    return table_of(weight[:0], compressor.fit(weight.numpy()).compressed_)
