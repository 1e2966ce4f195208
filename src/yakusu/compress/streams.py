"""Tables of whole numbers on disk: entropy-coded, while a running model holds a byte a number."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

_NUMBERS = ".numbers"  # how the name of such a matrix ends
_HEIGHT = "height"


def to_streams(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Every matrix of numbers as its code and what is needed to read it; the rest as it is."""
    coded = {name: tensor for name, tensor in weights.items() if not name.endswith(_NUMBERS)}
    for name in weights.keys() - coded.keys():
        from yakusu.compress.entropy import EntropyCodes  # here alone, for it needs a library
        from yakusu.compress.uniform import ONE_TIER

        numbers = weights[name].numpy()
        codes = EntropyCodes.of(numbers.astype(np.int16), ONE_TIER)
        arrays = codes.arrays | {_HEIGHT: np.array([len(numbers)])}
        coded |= {_named(part, name): torch.from_numpy(a) for part, a in arrays.items()}
    return coded


def from_streams(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights that `to_streams` was given."""
    whole = {name: tensor for name, tensor in weights.items() if not name.endswith(_NUMBERS)}
    coded = {name.partition(" of ")[2] for name in weights.keys() - whole.keys()}
    for name in coded:
        from yakusu.compress.entropy import EntropyCodes

        parts = [key.partition(" of ")[0] for key in weights if key.endswith(f" of {name}")]
        arrays = {part: weights[_named(part, name)].numpy() for part in parts}
        height = int(arrays[_HEIGHT][0])
        numbers = EntropyCodes.from_arrays(arrays, height).rows(np.arange(height))
        whole[name] = torch.from_numpy(numbers.astype(np.int8))
    return whole


def _named(part: str, name: str) -> str:
    return f"{part} of {name}"
