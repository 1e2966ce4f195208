"""Checkpoints: named tensors as safetensors, the newest whole one, the average of several.

Nothing is ever unpickled. See docs/decisions/0005.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from yakusu.errors import ModelError
from yakusu.folder import verify_folder

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


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first."""
    return sorted(folder.glob("step-[0-9]*"), key=step_of)


def newest_whole(folder: Path, say: Callable[[str], None]) -> Path | None:
    """The newest checkpoint that is as it was written; None where there is none at all.

    Newer ones that are not are said, and put aside as `corrupt-step-N`.

    Raises:
        ModelError: None of those that are there is whole.
    """
    faults: dict[Path, ModelError] = {}
    for checkpoint in reversed(checkpoints(folder)):
        try:
            verify_folder(checkpoint)
        except ModelError as error:
            faults[checkpoint] = error
            continue
        for corrupt, fault in faults.items():
            aside = corrupt.with_name(f"corrupt-{corrupt.name}")
            shutil.rmtree(aside, ignore_errors=True)
            corrupt.rename(aside)
            say(f"{fault}; it is now {aside}, going back to {checkpoint.name}")
        return checkpoint
    if faults:
        first = next(iter(faults.values()))
        raise ModelError(f"no checkpoint in {folder} is whole ({first}): begin another run")
    return None


def step_of(checkpoint: Path) -> int:
    """The step at which a checkpoint was written."""
    return int(checkpoint.name.removeprefix("step-"))
