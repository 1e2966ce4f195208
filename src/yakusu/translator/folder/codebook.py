"""The codebook of a model's decoder states, codebook.safetensors in its folder.

mean                           (H,), float32
axes                           (H, M), float32
centroids                      (M, 16), float32; NaN: not used
temperature, reach, weight     how the states of similar segments are weighed
"""

from pathlib import Path

import numpy as np

from yakusu.arrays import ArraysOnDisk
from yakusu.errors import ModelError
from yakusu.search.neighbours import N_CODES, StateCodebook

CODEBOOK = "codebook.safetensors"
_MULTIPLE = 16  # of M
_ARRAYS = ("mean", "axes", "centroids")
_NUMBERS = ("temperature", "reach", "weight")


def write_codebook(folder: Path, codebook: StateCodebook) -> None:
    """Write a codebook into a model folder, before its manifest."""
    from safetensors.numpy import save

    arrays = {
        name: np.array(getattr(codebook, name), np.float32, order="C")
        for name in (*_ARRAYS, *_NUMBERS)
    }
    (folder / CODEBOOK).write_bytes(save(arrays))


def read_codebook(folder: Path, width: int) -> StateCodebook | None:
    """Read the codebook in a model folder; None if it has none.

    Args:
        folder: The folder, which was verified.
        width: H of the model.

    Raises:
        ModelError: The file is not valid.
    """
    path = folder / CODEBOOK
    if not path.exists():
        return None
    stored = ArraysOnDisk(path)
    n_components = stored["axes"].shape[-1] if "axes" in stored else 0
    shapes = {
        **{"mean": (width,), "axes": (width, n_components), "centroids": (n_components, N_CODES)},
        **dict.fromkeys(_NUMBERS, ()),
    }
    if {name: stored[name].shape for name in stored} != shapes or n_components % _MULTIPLE:
        raise ModelError(
            f"{path} does not match the model: fit it again (yakusu memory add --model)"
        )
    temperature, reach, weight = (float(stored[name]) for name in _NUMBERS)
    mean, axes, centroids = (stored[name] for name in _ARRAYS)
    return StateCodebook(mean, axes, centroids, temperature, reach, weight)
