"""Where training runs, and what it asks of that place."""

import ctypes
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from yakusu.errors import RecipeError

_LIBRARIES = ("yakusu", "torch", "numpy", "sentencepiece", "safetensors", "sacrebleu")
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # glibc's malloc.h


def pick_device(name: str, local_rank: int = 0) -> torch.device:
    """The device called `name`; "auto" is a GPU where there is one, for each process its own.

    Raises:
        RecipeError: torch knows no such device, or this machine has none.
    """
    if name in ("auto", "cuda") and torch.cuda.is_available():
        return torch.device(f"cuda:{local_rank}")
    if name == "auto":
        return torch.device("cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        there = "auto, cpu or cuda" if torch.cuda.is_available() else "auto or cpu"
        raise RecipeError(f"there is no device '{name}' here: use {there}") from error


def keep_freed_memory() -> None:
    """Tell glibc to keep what is freed: large tensors come and go at each step on a CPU.

    Fresh pages from the kernel cost a fifth of the time of a small model. Elsewhere: no effect.
    """
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(_M_MMAP_THRESHOLD, 2**30)
        libc.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


def out_of_memory(error: Exception) -> bool:
    """Whether an error says that memory ran out, on a GPU or not."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


def made_by(device: torch.device) -> dict[str, Any]:
    """The versions and the hardware that train on a device."""
    on_gpu = device.type == "cuda"
    return {
        "versions": {"python": platform.python_version()} | {n: version(n) for n in _LIBRARIES},
        "hardware": {
            "system": f"{platform.system()} {platform.machine()}",
            "device": torch.cuda.get_device_name(device) if on_gpu else _processor(),
            "threads": torch.get_num_threads(),
            "cores": os.cpu_count(),
        },
    }


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open() as file:
            names = (line.split(":")[1].strip() for line in file if line.startswith("model name"))
            return next(names, platform.machine())
    except OSError:
        return platform.processor() or sys.platform
