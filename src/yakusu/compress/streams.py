"""Tables of whole numbers on disk, in a Huffman code; a running model holds a byte a number.

The code is zlib's, so that a translator needs no library for it. A number is a whole count of bits
there: of normal numbers it takes 2% more than an entropy of 3 bits, 6% more than one of 2 bits, and
0.5 bits more than one below 1.
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
        coder = zlib.compressobj(9, strategy=zlib.Z_HUFFMAN_ONLY)
        by_component = tensor.T.contiguous().numpy().tobytes()  # each has its own frequencies
        stream = coder.compress(by_component) + coder.flush()
        coded[name] = torch.frombuffer(bytearray(stream), dtype=torch.uint8)
        coded[_SHAPE + name] = torch.tensor(tensor.shape)
    return coded


def from_streams(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights that `to_streams` was given.

    Raises:
        ValueError: A code is no whole one.
    """
    whole: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if name.endswith(_NUMBERS) and not name.startswith(_SHAPE):
            height, width = weights[_SHAPE + name].tolist()
            try:
                by_component = bytearray(zlib.decompress(tensor.numpy().tobytes()))
            except zlib.error as error:
                raise ValueError(f"the code of '{name}' is altered: {error}") from error
            numbers = torch.frombuffer(by_component, dtype=torch.int8)
            whole[name] = numbers.view(width, height).T.contiguous()
        elif not name.startswith(_SHAPE):
            whole[name] = tensor
    return whole
