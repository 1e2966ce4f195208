"""The compute device: selection, memory settings, out-of-memory errors, description."""

import ctypes
import os
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import torch

from yakusu.errors import RecipeError

_LIBRARIES = ("yakusu", "torch", "numpy", "sentencepiece", "safetensors", "sacrebleu")
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # from glibc's malloc.h
_KERNELS = 2**14  # of oneDNN; up to about 0.2 MB each, so 3 GB if all are used


def pick_device(name: str, local_rank: int = 0) -> torch.device:
    """Return the device called `name`.

    Args:
        name: A torch device, or "auto" for a GPU if there is one and the CPU otherwise.
        local_rank: Rank of this process on its machine; "auto" and "cuda" give each process its
            own GPU.

    Raises:
        RecipeError: torch does not know the device, or this machine does not have it.
    """
    if name in ("auto", "cuda") and torch.cuda.is_available():
        return torch.device(f"cuda:{local_rank}")
    if name == "auto":
        return torch.device("cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        known = "auto, cpu or cuda" if torch.cuda.is_available() else "auto or cpu"
        raise RecipeError(f"there is no device '{name}' here: use {known}") from error


def use_threads(n: int) -> None:
    """Let torch use `n` threads on the CPU; 0: leave their number as it is."""
    if n:
        torch.set_num_threads(n)


def keep_freed_memory() -> None:
    """Tell glibc to keep freed memory for the next allocation; no effect with other allocators.

    Every training step on a CPU allocates and frees large tensors. Getting fresh pages from the
    kernel each time takes a fifth of the training time of a small model.
    """
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(_M_MMAP_THRESHOLD, 2**30)
        libc.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


def keep_compiled_kernels() -> None:
    """Let oneDNN keep more kernels for the shapes of training batches (docs/decisions/0049).

    oneDNN compiles a kernel for each shape of a matrix product in bfloat16. By default, it keeps
    1,024, but an epoch of a small corpus can need more than 2,000. No effect if the environment
    variable is already set, or if oneDNN has already compiled a kernel in this process.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(_KERNELS))


def disable_cudnn_attention() -> None:
    """Stop torch from computing attention with cuDNN, in the whole process (docs/decisions/0051).

    cuDNN prepares a kernel for each shape, and nearly every training batch has a shape of its own.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)


def out_of_memory(error: Exception) -> bool:
    """Return whether an error means that memory ran out, on a GPU or on the CPU."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


@dataclass(frozen=True)
class Hardware:
    """The machine of a training run."""

    system: str  # operating system and architecture
    device: str  # name of the GPU or of the processor
    threads: int  # number of threads that torch uses on the CPU
    cores: int | None


@dataclass(frozen=True)
class MadeBy:
    """The software and the hardware of a training run."""

    versions: dict[str, str]  # name -> version of Python and of the libraries
    hardware: Hardware


def made_by(device: torch.device) -> MadeBy:
    """Describe the software and the hardware that compute on a device."""
    on_gpu = device.type == "cuda"
    return MadeBy(
        versions=versions(),
        hardware=Hardware(
            system=f"{platform.system()} {platform.machine()}",
            device=torch.cuda.get_device_name(device) if on_gpu else _processor(),
            threads=torch.get_num_threads(),
            cores=os.cpu_count(),
        ),
    )


def versions() -> dict[str, str]:
    """The versions of Python, yakusu and the libraries."""
    return {"python": platform.python_version()} | {name: version(name) for name in _LIBRARIES}


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open() as file:
            names = (line.split(":")[1].strip() for line in file if line.startswith("model name"))
            return next(names, platform.machine())
    except OSError:
        return platform.processor() or sys.platform
