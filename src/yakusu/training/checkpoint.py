"""Folders of tensors that are whole or absent: save, verify, load, average.

A folder is written under a temporary name, synced and renamed; `manifest.json` lists each file
with its size and SHA-256. Tensors are safetensors, the rest is JSON: nothing is ever unpickled.
See docs/decisions/0005.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from yakusu.errors import ModelError

FORMAT = 1  # of model and checkpoint folders; CHANGELOG.md says what reads what
Tensors = dict[str, Tensor]


def save_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Make a folder that is there whole or not at all, replacing an older one of its kind.

    Args:
        folder: Its final name.
        fill: Writes the files into the folder that it is given.

    Raises:
        ModelError: Something else has that name.
    """
    if folder.exists() and not (folder / "manifest.json").exists():
        raise ModelError(f"{folder} exists and is no model folder: choose another name")
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        fill(temporary)
        files = sorted(path for path in temporary.iterdir())
        manifest = {
            "format": FORMAT,
            "files": {p.name: {"size": p.stat().st_size, "sha256": sha256(p)} for p in files},
        }
        write_json(temporary / "manifest.json", manifest)
        temporary.chmod(0o755)
        for path in (*files, temporary / "manifest.json", temporary):
            _sync(path)
        if folder.exists():
            old = temporary.with_name(f"{temporary.name}-old")
            folder.rename(old)
            try:
                temporary.rename(folder)
            except OSError:
                old.rename(folder)
                raise
            shutil.rmtree(old)
        else:
            temporary.rename(folder)
        _sync(folder.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def verify_folder(folder: Path) -> None:
    """Check every file of a folder against its manifest.

    Raises:
        ModelError: The folder or a file of it is missing, altered or of a newer format.
    """
    if not folder.is_dir():
        raise ModelError(f"{folder} is not a model folder: check the path")
    try:
        manifest = read_json(folder / "manifest.json")
        version = manifest["format"]
        files = [(name, f["size"], f["sha256"]) for name, f in manifest["files"].items()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{folder} has no whole manifest.json, so it is no model folder or an incomplete one: "
            "name the folder that 'yakusu train' or 'yakusu average' wrote"
        ) from error
    if version != FORMAT:
        raise ModelError(
            f"{folder} has format {version}, this yakusu reads {FORMAT}: update yakusu"
        )
    for name, size, digest in files:
        path = folder / name
        if not path.is_file():
            raise ModelError(f"{path} is missing: the folder is incomplete, copy it again")
        if path.stat().st_size != size or sha256(path) != digest:
            raise ModelError(
                f"{path} is corrupt ({path.stat().st_size} bytes, {size} when it was written, "
                "another SHA-256): copy the folder again"
            )


def sha256(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, value: Any) -> None:
    """Write JSON for people: indented, UTF-8, keys in their own order."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read JSON.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not JSON.
    """
    return json.loads(path.read_text(encoding="utf-8"))


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


def step_of(checkpoint: Path) -> int:
    """The step at which a checkpoint was written."""
    return int(checkpoint.name.removeprefix("step-"))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
