"""The weights of a model as model.bin stores them: rows of bytes with a scale each, and vectors.

The engine's `Packing` says which matrices and vectors a model has; here they are recorded instead
of being passed to the library.
"""

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from yakusu.arrays import Floats
from yakusu.engine.library import MatrixFormat, ModelSizes
from yakusu.engine.model import N_POSITIONS
from yakusu.engine.packing import Packing, model_sizes
from yakusu.engine.tables import DenseWeights
from yakusu.model.config import TransformerConfig
from yakusu.translator.folder.folder import ModelFolder

LARGEST = 127


@dataclass
class WebMatrix:
    """A matrix of the engine.

    Attributes:
        n_out: Number of rows, of which those at the end that are not stored are zeros.
        n_in: Number of columns.
        bias: (n_out,).
        rows: (n, n_in), integers of 8 bits.
        scales: (n,): a row is its integers times its scale.
    """

    n_out: int
    n_in: int
    bias: Floats
    rows: NDArray[np.int8]
    scales: Floats


@dataclass
class RecordedPacking(Packing):
    """The matrices and vectors of a model, recorded in the order in which the library takes them.

    The library gets the rounded rows.

    Raises:
        ModelError: A weight is NaN or infinite, or of another model.
    """

    stored: list[WebMatrix] = field(default_factory=list)
    rounded: int = 0  # number of rows

    def _add(self, name: str, blocks: Iterable[Floats], bias: Floats, n_in: int) -> None:
        parts = []
        for block in blocks:
            rows, scales = in_8_bits(block)
            self.rounded += int((rows * scales[:, None] != block).any(axis=1).sum())
            parts.append((rows, scales))
        rows, scales = (np.concatenate(side) for side in zip(*parts, strict=True))
        self.stored.append(WebMatrix(len(bias), n_in, bias, rows, scales))
        super()._add(name, [rows * scales[:, None]], bias, n_in)

    @classmethod
    def of(cls, folder: ModelFolder, matrices: MatrixFormat) -> "RecordedPacking":
        """The matrices and vectors of the model in a folder."""
        config, model = folder.config, folder.config.model
        assert isinstance(model, TransformerConfig)
        dense = DenseWeights(model, folder.weights, config.compressed, **config.vocab_sizes)
        n_source, n_target = (size - 1 for size in config.vocab_sizes.values())
        n_tokens = n_source, n_target
        n_positions = min(model.max_length, N_POSITIONS)
        return cls(dense, n_tokens, n_positions, matrices)

    @property
    def vectors(self) -> list[Floats]:
        """The vectors, in order."""
        return self._vectors

    def size_fields(self) -> list[tuple[str, float]]:
        """The fields of `ModelSizes`, each with the letter of its type in `engine.js`."""
        sizes = model_sizes(self.config, self.n_tokens, self.n_positions)
        letters = {ctypes.c_int32: "i", ctypes.c_float: "f"}
        fields = ((own[0], letters[own[1]]) for own in ModelSizes._fields_)
        return [(letter, getattr(sizes, name)) for name, letter in fields]


def in_8_bits(rows: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Rows (n, width) as integers of 8 bits and a scale each; exact if that is what they are.

    The scale of a row of integers times a number is found again: its largest integer is 127, or
    less in rows that `compress` has rounded with errors minimised, which are tried from 127 down.
    """
    largest = np.abs(rows).max(axis=1, initial=0.0)
    scales = np.where(largest > 0, largest / np.float32(LARGEST), np.float32(1)).astype(np.float32)
    integers = np.rint(rows / scales[:, None])
    wrong = np.flatnonzero((integers.astype(np.float32) * scales[:, None] != rows).any(axis=1))
    for row in wrong:
        if (found := _exact(rows[row], float(largest[row]))) is not None:
            scales[row], integers[row] = found, np.rint(rows[row] / found)
    return integers.astype(np.int8), scales


def _exact(row: Floats, largest: float) -> np.float32 | None:
    """The scale with which a row consists of integers of 8 bits; None: there is none."""
    for n in range(LARGEST, 0, -1):
        near = np.float32(largest / n)
        for scale in (
            near,
            np.nextafter(near, np.float32(0)),
            np.nextafter(near, np.float32(np.inf)),
        ):
            integers = np.rint(row / scale).astype(np.float32)
            if np.abs(integers).max() <= LARGEST and (integers * scale == row).all():
                return np.float32(scale)
    return None
