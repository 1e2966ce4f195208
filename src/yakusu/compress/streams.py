"""Tables of whole numbers on disk, in a Huffman code; a running model holds a byte a number.

The code is zlib's, so that a translator needs no library for it. A number takes whole bits there,
at least one: of normal numbers 2% more than an entropy of 3 bits, 6% more than one of 2 bits, 60%
more than one of 0.8 bits.
"""

import zlib
from collections.abc import Mapping

import torch
from torch import Tensor

_NUMBERS = ".numbers"  # how the name of such a matrix (V, M) ends
_SHAPE = "shape of "


def to_streams(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Every matrix of numbers as its code, and beside it its shape; the rest as it is."""
    coded: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if not name.endswith(_NUMBERS):
            coded[name] = tensor
            continue
        coded[name] = torch.frombuffer(bytearray(_stream(tensor)), dtype=torch.uint8)
        coded[_SHAPE + name] = torch.tensor(tensor.shape)
    return coded


def stored_bits(numbers: Tensor) -> float:
    """Bits that a row of numbers (V, M) takes on disk."""
    return 8 * len(_stream(numbers)) / max(1, len(numbers))


def from_streams(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights that `to_streams` was given.

    Raises:
        ValueError: A code is no whole one.
    """
    whole: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if name.endswith(_NUMBERS) and not name.startswith(_SHAPE):
            try:
                by_component = bytearray(zlib.decompress(tensor.numpy().tobytes()))
                numbers = torch.frombuffer(by_component, dtype=torch.int8)
                height, width = weights[_SHAPE + name].tolist()
                whole[name] = numbers.view(width, height).T.contiguous()
            except (zlib.error, KeyError, RuntimeError) as error:
                raise ValueError(f"the code of '{name}' is altered: {error}") from error
        elif not name.startswith(_SHAPE):
            whole[name] = tensor
    return whole


def _stream(numbers: Tensor) -> bytes:
    """The code of numbers (V, M), one component after the other: near ones are alike."""
    coder = zlib.compressobj(9, strategy=zlib.Z_HUFFMAN_ONLY)
    return coder.compress(numbers.T.contiguous().numpy().tobytes()) + coder.flush()
