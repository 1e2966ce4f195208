"""What besides data, recipe and seed decides the bytes of a model: the environment of training.

A checkpoint lists the environments that its run was trained in, so that a resumed run can tell
whether its bytes will be those of an uninterrupted one.
"""

import logging
import os
import platform
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from yakusu.device import MadeBy, made_by
from yakusu.errors import RunError

_log = logging.getLogger(__name__)
_FEATURE = re.compile(r"(avx|amx|fma|f16c|ssse|sse|asimd|s[mv]e|bf16|i8mm)\w*")
# Each makes a library use other instructions than it would choose, or another number of threads.
_VARIABLES = (
    "DNNL_MAX_CPU_ISA",
    "GLIBC_TUNABLES",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_NUM_THREADS",
    "NPY_DISABLE_CPU_FEATURES",
    "NVIDIA_TF32_OVERRIDE",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
)


@dataclass(frozen=True)
class Environment:
    """The environment of a training run.

    Attributes:
        threads: Number of threads that torch uses on the CPU.
        precision: "fp32", "bf16", or "unknown" in runs of earlier versions.
        device: Name of the GPU or of the processor.
        features: Instruction sets for vectors and matrices, and the one that torch uses.
        variables: Environment variables that restrict what libraries use.
        versions: Name -> version of the libraries.
    """

    threads: int
    precision: str
    device: str
    features: list[str]
    variables: dict[str, str]
    versions: dict[str, str]

    @classmethod
    def of(cls, device: torch.device, *, bf16: bool) -> "Environment":
        """Describe the environment of this process."""
        made = made_by(device)
        libraries = {name: each for name, each in made.versions.items() if name != "python"}
        libc, version = platform.libc_ver()
        return cls(
            threads=made.hardware.threads,
            precision="bf16" if bf16 else "fp32",
            device=made.hardware.device,
            features=[*_features(), f"ATen {torch.backends.cpu.get_cpu_capability()}"],
            variables={name: os.environ[name] for name in _VARIABLES if name in os.environ},
            versions=libraries | ({libc: version} if libc else {}),
        )

    @classmethod
    def of_earlier_version(cls, made: MadeBy) -> "Environment":
        """Return what a checkpoint says that does not list environments."""
        return cls(
            threads=made.hardware.threads,
            precision="unknown",
            device=made.hardware.device,
            features=[],
            variables={},
            versions=made.versions,
        )

    def changes(self, now: "Environment") -> Iterator[str]:
        """Yield each difference from another environment, such as "threads: 2, now 4"."""
        for name in ("threads", "precision", "device"):
            yield from _changed(name, getattr(self, name), getattr(now, name))
        old, new = {*self.features}, {*now.features}
        sides = (("without", old - new), ("with", new - old))
        named = [f"{word} {', '.join(sorted(names))}" for word, names in sides if names]
        if named:
            yield f"processor features: now {' and '.join(named)}"
        for one, other in ((self.variables, now.variables), (self.versions, now.versions)):
            for name in sorted({*one, *other}):
                yield from _changed(name, one.get(name, "none"), other.get(name, "none"))


def _changed(name: str, old: object, new: object) -> Iterator[str]:
    if old != new:
        yield f"{name}: {old}, now {new}"


def _features() -> list[str]:
    """The instruction sets of the processor as Linux lists them; other systems: none."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return sorted(flag for flag in flags.partition(":")[2].split() if _FEATURE.fullmatch(flag))


def check_environment(
    earlier: Sequence[Environment], now: Environment, *, where: Path, exact: bool
) -> None:
    """Warn if a run resumes in another environment than that of its last checkpoint.

    Args:
        earlier: The environments that the run was trained in, as its checkpoint lists them; none
            in checkpoints of earlier versions.
        now: The environment in which it resumes.
        where: Folder of the checkpoints, for the message.
        exact: Refuse if the bytes may differ from those of an uninterrupted run.

    Raises:
        RunError: With `exact`, an environment differs from `now` or is not recorded.
    """
    differing = [each for each in earlier if each != now]
    if exact and not earlier:
        raise RunError(
            f"{where} does not record the environment of training, so the bytes of an "
            "uninterrupted run cannot be promised: resume without --exact"
        )
    if exact and differing:
        raise RunError(
            f"{_described(differing[-1], now, where)}: restore the environment, or resume without "
            "--exact"
        )
    if earlier and earlier[-1] != now:
        _log.warning(_described(earlier[-1], now, where))


def _described(earlier: Environment, now: Environment, where: Path) -> str:
    changes = "; ".join(earlier.changes(now))
    return (
        f"{where} comes from training in another environment ({changes}), so the bytes of the "
        "model will differ from those of an uninterrupted run"
    )
