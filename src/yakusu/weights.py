"""Checkpoints: named tensors as safetensors, the newest whole one, the average of several.

Nothing is ever unpickled. See docs/decisions/0005.
"""

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from yakusu.errors import ModelError

Tensors = dict[str, Tensor]
_REMEDY = "copy the folder again"
_DIFFERENT = "the checkpoints are of different models: average those of one run"
_PART = 2**22  # numbers of each checkpoint that are averaged at a time


def save_tensors(path: Path, tensors: Tensors) -> None:
    """Write named tensors as safetensors, from any device.

    Raises:
        OSError: The disk is full, or the place cannot be written to.
    """
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        save_file(whole, path)
    except SafetensorError as error:
        raise OSError(None, str(error), str(path)) from error


def load_tensors(path: Path) -> Tensors:
    """Read named tensors onto the CPU.

    Raises:
        ModelError: The file is missing or is not safetensors.
    """
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path} is no whole safetensors file: {_REMEDY}") from error


class TensorsOnDisk(Mapping[str, Tensor]):
    """The named tensors of a safetensors file, each read when it is asked for.

    Raises:
        ModelError: The file is missing or is not safetensors.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file: Any = safe_open(path, "pt")  # it ships no types
        except (OSError, SafetensorError) as error:
            raise ModelError(f"{path} is no whole safetensors file: {_REMEDY}") from error

    def __getitem__(self, name: str) -> Tensor:
        tensor: Tensor = self._file.get_tensor(name)
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._file.keys())

    def __len__(self) -> int:
        return len(self._file.keys())


def average_tensors(members: Sequence[Mapping[str, Tensor]]) -> Tensors:
    """The mean of each tensor over checkpoints, section 6.1, in float64, one tensor at a time.

    Each number is summed from the least to the greatest, so the order of the checkpoints has no
    part in it.

    Raises:
        ModelError: The checkpoints are of different models.
    """
    if any(member.keys() != members[0].keys() for member in members):
        raise ModelError(_DIFFERENT)
    return {name: _mean([member[name] for member in members]) for name in members[0]}


def _mean(tensors: list[Tensor]) -> Tensor:
    mean = torch.empty_like(tensors[0], memory_format=torch.contiguous_format)
    if any(tensor.shape != mean.shape for tensor in tensors):
        raise ModelError(_DIFFERENT)
    views = [tensor.flatten().split(_PART) for tensor in (mean, *tensors)]
    for out, *same in zip(*views, strict=True):
        out.copy_(torch.stack(same).double().sort(dim=0).values.mean(dim=0))
    return mean


# ---- from compress/rows.py: Weights in 8 bits: each row of a matrix is whole numbers from -127 to 127 times a scale.

_SCALE = "scale of "


def to_int8(weights: Mapping[str, Tensor], keep: Collection[str] = ()) -> dict[str, Tensor]:
    """Every matrix of floats as int8 rows and, beside it, their scales; the rest as it is.

    Args:
        weights: By name.
        keep: Names of matrices that stay as they are too.
    """
    small: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if name in keep or tensor.ndim != 2 or not tensor.is_floating_point():
            small[name] = tensor
            continue
        scale = tensor.abs().amax(dim=1, keepdim=True).clamp(min=torch.finfo(tensor.dtype).tiny)
        small[name] = (tensor * (127 / scale)).round().to(torch.int8)
        small[_SCALE + name] = scale / 127
    return small


def has_int8(weights: Mapping[str, Tensor]) -> bool:
    """Whether `to_int8` made them."""
    return any(name.startswith(_SCALE) for name in weights)


def from_int8(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights that `to_int8` was given, up to its rounding."""
    return {
        name: tensor * weights[_SCALE + name] if _SCALE + name in weights else tensor
        for name, tensor in weights.items()
        if not name.startswith(_SCALE)
    }


# ---- from compress/streams.py: Tables of whole numbers on disk, in a Huffman code; a running model holds a byte a number.

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
