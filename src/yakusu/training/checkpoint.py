"""Checkpoints: named tensors as safetensors, the newest whole one, the average of several.

Nothing is ever unpickled. See docs/decisions/0005.
"""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from yakusu.errors import ModelError
from yakusu.folder import verify_folder

Tensors = dict[str, Tensor]


def save_tensors(path: Path, tensors: Tensors) -> None:
    """Write named tensors as safetensors, from any device."""
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, path)


def load_tensors(path: Path) -> Tensors:
    """Read named tensors onto the CPU.

    Raises:
        ModelError: The file is missing or is not safetensors.
    """
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path} is no whole safetensors file: copy the folder again") from error


def average_tensors(members: Sequence[Tensors]) -> Tensors:
    """The mean of each tensor over checkpoints, section 6.1, in float64.

    Each number is summed from the least to the greatest, so the order of the checkpoints has no
    part in it.

    Raises:
        ModelError: The checkpoints are of different models.
    """
    first = members[0]
    shapes = {name: tensor.shape for name, tensor in first.items()}
    if any({name: tensor.shape for name, tensor in other.items()} != shapes for other in members):
        raise ModelError("the checkpoints are of different models: average those of one run")
    return {
        name: torch.stack([member[name].double() for member in members])
        .sort(dim=0)
        .values.mean(dim=0)
        .to(tensor.dtype)
        for name, tensor in first.items()
    }


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first."""
    return sorted(folder.glob("step-*"), key=step_of)


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
