"""A codebook in the layout of the library."""

import numpy as np

from yakusu.engine.library import CodebookStructure, MatrixFormat, library
from yakusu.engine.packing import padded, spread
from yakusu.errors import ModelError
from yakusu.search.neighbours import StateCodebook


class NativeCodebook:
    """A codebook that the library holds.

    Args:
        codebook: The codebook of a model.

    Raises:
        ModelError: A number is NaN or infinite, or there is not enough memory.
    """

    def __init__(self, codebook: StateCodebook) -> None:
        self._free = library().yk_free_matrix
        width, n_components = codebook.axes.shape
        bias = np.ascontiguousarray(-codebook.mean @ codebook.axes, np.float32)
        rows = np.ascontiguousarray(spread(codebook.axes.T, 1, width), np.float32)
        self._centroids = np.ascontiguousarray(codebook.centroids, np.float32)
        self._axes = library().yk_matrix(
            n_components, padded(width), bias.ctypes.data, MatrixFormat.FLOATS
        )
        if not self._axes:
            raise ModelError("there is not enough memory for the codebook")
        if library().yk_pack(self._axes, 0, rows.ctypes.data, n_components) != 1:
            raise ModelError("the codebook has a number that is NaN or infinite: fit it again")
        self.structure = CodebookStructure(
            *(self._axes, self._centroids.ctypes.data, n_components),
            *(codebook.temperature, codebook.reach, codebook.weight),
        )

    def __del__(self) -> None:
        if getattr(self, "_axes", None):
            self._free(self._axes)
