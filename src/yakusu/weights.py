"""Tensors on disk: safetensors, averages of tensors, int8 rows, entropy-coded streams.

`arrays.py` reads the same files without torch, and defines the names in them. Nothing is ever
unpickled (docs/decisions/0005).
"""

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from yakusu.arrays import (
    INTEGERS,
    SCALE,
    SHAPE,
    integers_of,
    invalid_safetensors,
)
from yakusu.errors import ModelError
from yakusu.folder import regular_name, usual_permissions

Tensors = dict[str, Tensor]
_AVERAGED_AT_ONCE = 2**22  # elements of each checkpoint
_LEAST = 1e-30  # of the largest weights of a row, whose reciprocal is finite; rows below are zeros

# ---- safetensors ---------------------------------------------------------------------------------


def save_tensors(path: Path, tensors: Tensors) -> None:
    """Write named tensors, from any device, as safetensors.

    Raises:
        OSError: The disk is full, or the path is not writable.
    """
    on_cpu = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        with usual_permissions(path):
            save_file(on_cpu, path)
    except SafetensorError as error:
        raise OSError(None, str(error), str(path)) from error


def load_tensors(path: Path) -> Tensors:
    """Read named tensors onto the CPU.

    Raises:
        ModelError: The file is missing or is not a valid safetensors file.
    """
    try:
        with regular_name(path) as name:
            return load_file(name)
    except (OSError, SafetensorError) as error:
        raise invalid_safetensors(path) from error


class TensorsOnDisk(Mapping[str, Tensor]):
    """The named tensors of a safetensors file, each read when it is accessed.

    Raises:
        ModelError: The file is missing or is not a valid safetensors file.
    """

    def __init__(self, path: Path) -> None:
        try:
            with regular_name(path) as name:
                self._file: Any = safe_open(name, "pt")  # safetensors ships no types
        except (OSError, SafetensorError) as error:
            raise invalid_safetensors(path) from error

    def __getitem__(self, name: str) -> Tensor:
        tensor: Tensor = self._file.get_tensor(name)
        return tensor

    def __iter__(self) -> Iterator[str]:
        return iter(self._file.keys())

    def __len__(self) -> int:
        return len(self._file.keys())


# ---- averages, section 6.1 -----------------------------------------------------------------------


def average_tensors(checkpoints: Sequence[Mapping[str, Tensor]]) -> Tensors:
    """Return the mean of each tensor over checkpoints, computed in float64.

    The values of each element are sorted before they are summed, so the result does not depend on
    the order of the checkpoints. Only one tensor of each checkpoint is in memory at a time.

    Raises:
        ModelError: The checkpoints belong to different models.
    """
    first = checkpoints[0]
    if any(checkpoint.keys() != first.keys() for checkpoint in checkpoints):
        raise _different_models()
    return {name: _mean([checkpoint[name] for checkpoint in checkpoints]) for name in first}


def _mean(tensors: list[Tensor]) -> Tensor:
    mean = torch.empty_like(tensors[0], memory_format=torch.contiguous_format)
    if any(tensor.shape != mean.shape for tensor in tensors):
        raise _different_models()
    parts = [tensor.flatten().split(_AVERAGED_AT_ONCE) for tensor in (mean, *tensors)]
    for out, *values in zip(*parts, strict=True):
        out.copy_(torch.stack(values).double().sort(dim=0).values.mean(dim=0))
    return mean


def _different_models() -> ModelError:
    return ModelError(
        "the checkpoints belong to different models: average checkpoints of the same run"
    )


# ---- int8 rows: row = scale x integers from -127 to 127 ------------------------------------------


def to_int8(weights: Mapping[str, Tensor], keep: Collection[str] = ()) -> Tensors:
    """Round every matrix of floats to int8 rows, with one scale per row.

    Args:
        weights: Tensors by name.
        keep: Names of matrices to leave unchanged.

    Returns:
        The int8 matrices (n, m) with their scales (n, 1), and all other tensors unchanged.
    """
    rounded: Tensors = {}
    for name, tensor in weights.items():
        if name in keep or tensor.ndim != 2 or not tensor.is_floating_point():
            rounded[name] = tensor
            continue
        scale = tensor.abs().amax(dim=1, keepdim=True).clamp(min=_LEAST)
        rounded[name] = (tensor * (127 / scale)).round().to(torch.int8)
        rounded[SCALE + name] = scale / 127
    return rounded


def has_int8(weights: Mapping[str, Tensor]) -> bool:
    """Return whether any of the tensors is a result of `to_int8`."""
    return any(name.startswith(SCALE) for name in weights)


def from_int8(weights: Mapping[str, Tensor]) -> Tensors:
    """Return the tensors that `to_int8` was given, up to rounding."""
    return {
        name: tensor * weights[SCALE + name] if SCALE + name in weights else tensor
        for name, tensor in weights.items()
        if not name.startswith(SCALE)
    }


# ---- streams: integers (V, M) in a Huffman code --------------------------------------------------


def to_streams(weights: Mapping[str, Tensor]) -> Tensors:
    """Encode every matrix of integers, with its shape; leave all other tensors unchanged."""
    encoded: Tensors = {}
    for name, tensor in weights.items():
        if not name.endswith(INTEGERS):
            encoded[name] = tensor
            continue
        encoded[name] = torch.frombuffer(bytearray(_stream(tensor)), dtype=torch.uint8)
        encoded[SHAPE + name] = torch.tensor(tensor.shape)
    return encoded


def stored_bits(integers: Tensor) -> float:
    """Return the bits per row that integers (V, M) take on disk."""
    return 8 * len(_stream(integers)) / max(1, len(integers))


def from_streams(weights: Mapping[str, Tensor]) -> Tensors:
    """Return the tensors that `to_streams` was given.

    Raises:
        ValueError: A stream is not valid.
    """
    return {
        name: torch.from_numpy(integers_of(weights, name)) if name.endswith(INTEGERS) else tensor
        for name, tensor in weights.items()
        if not name.startswith(SHAPE)
    }


def _stream(integers: Tensor) -> bytes:
    """Encode integers (V, M) column by column, because each column has its own distribution."""
    coder = zlib.compressobj(9, strategy=zlib.Z_HUFFMAN_ONLY)
    return coder.compress(integers.T.contiguous().numpy().tobytes()) + coder.flush()
