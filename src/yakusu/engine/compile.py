"""Compiles the engine: one shared library, with kernels for every instruction set of a processor.

`hatch_build.py` runs this when yakusu is installed. It imports the standard library only.
"""

import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

NATIVE = Path(__file__).parent / "native"
KERNELS = NATIVE / "model.c"  # compiled once per instruction set
OTHERS = ("memory.c", "pack.c", "search.c", "session.c", "cpu.c", "probe.c")

# No contraction: a * b + c must round as it is written, whatever the compiler.
FLAGS = ("-O3", "-std=c11", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-fPIC")
INSTRUCTION_SETS = {
    "x86_64": {
        "avx512vnni": "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mfma",
        "avxvnni": "-mavx2 -mfma -mavxvnni",
        "avx2": "-mavx2 -mfma",
        "generic": "",
    },
    "aarch64": {"dotprod": "-march=armv8.2-a+dotprod", "generic": ""},
}
_NAMES = {"amd64": "x86_64", "arm64": "aarch64"}  # of machines, on other systems


def library_name(system: str = sys.platform) -> str:
    """The file name of the library on a system, a value of `sys.platform`."""
    suffix = {"win32": "dll", "darwin": "dylib"}.get(system, "so")
    return f"libyakusu.{suffix}"


def compile_library(
    out: Path, compiler: Sequence[str], *, machine: str = "", flags: Sequence[str] = ()
) -> None:
    """Compile the library.

    Args:
        out: Path of the library.
        compiler: Command of a C compiler, such as ["cc"].
        machine: Processor, as in `platform.machine()`; "": this one.
        flags: Further flags, such as those of a sanitizer.

    Raises:
        OSError: The compiler does not exist.
        subprocess.CalledProcessError: It failed; `stderr` says why.
    """
    name = (machine or platform.machine()).lower()
    sets = INSTRUCTION_SETS.get(_NAMES.get(name, name), {"generic": ""})
    with tempfile.TemporaryDirectory() as folder:
        jobs = list(_jobs(sets, Path(folder)))
        with ThreadPoolExecutor() as threads:
            commands = [[*compiler, *FLAGS, *flags, *job] for job in jobs]
            list(threads.map(_run, commands))
        objects = [job[job.index("-o") + 1] for job in jobs]
        math = [] if out.suffix == ".dll" else ["-lm"]
        _run([*compiler, *flags, "-shared", "-o", str(out), *objects, *math])


def _jobs(sets: dict[str, str], folder: Path) -> Iterator[list[str]]:
    """The arguments that compile each object file."""
    for name, flags in sets.items():
        out = str(folder / f"{name}.o")
        yield [*flags.split(), f"-DISA={name}", "-c", str(KERNELS), "-o", out]
    for source in OTHERS:
        yield ["-c", str(NATIVE / source), "-o", str(folder / f"{source}.o")]


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
