"""Drivers: programs without Python that call the C code."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from filelock import FileLock

from yakusu.native.compile import FLAGS, NATIVE, compile_objects
from yakusu.native.library import PATH

QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64") or ""
_NOT_INLINED = "-DINLINE=static inline"  # which compiles ten times as fast
FAST = ("-O1", _NOT_INLINED)
SANITIZERS = ("-Og", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", _NOT_INLINED)


def on_arm64(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test of a driver that ziglang compiles for arm64 and qemu runs."""
    no_zig = importlib.util.find_spec("ziglang") is None
    no_qemu = "qemu-aarch64 (Debian: qemu-user-static) is not installed"
    test = pytest.mark.skipif(not QEMU, reason=no_qemu)(test)
    return pytest.mark.skipif(no_zig, reason="ziglang is not installed")(test)


def build_driver(
    source: Path,
    folder: Path,
    compiler: Sequence[str],
    *,
    machine: str = "",
    flags: Sequence[str] = (),
) -> Path:
    """Compile the sources of the library and a driver into one program.

    Args:
        source: The driver.
        folder: Keeps the library, which is compiled once for all drivers and processes.
        compiler: Command of a C compiler.
        machine: Processor, as in `platform.machine()`; "": this one.
        flags: Further flags.
    """
    command = repr((*compiler, machine, *flags))
    library = folder / f"objects-{hashlib.sha256(command.encode()).hexdigest()[:8]}"
    with FileLock(f"{library}.lock"):
        if not library.exists():
            compiling = Path(tempfile.mkdtemp(dir=folder))
            compile_objects(compiling, compiler, machine=machine, flags=flags)
            compiling.rename(library)
    return _linked(source, folder, [*compiler, *flags], map(str, sorted(library.glob("*.o"))))


def build_driver_of_library(source: Path, folder: Path, compiler: Sequence[str]) -> Path:
    """Compile a driver that calls the installed library."""
    return _linked(source, folder, compiler, [str(PATH), f"-Wl,-rpath,{PATH.parent}"])


def _linked(source: Path, folder: Path, command: Sequence[str], library: Iterable[str]) -> Path:
    """Compile a driver and link it with a library or with its objects."""
    program = Path(tempfile.mkdtemp(dir=folder)) / "driver"
    files = [f"-I{NATIVE}", str(source), *library, "-lm", "-o", str(program)]
    quiet = "-Wno-unused-function"  # of the headers
    subprocess.run([*command, *FLAGS, quiet, *files], check=True, capture_output=True)
    return program


def build_sanitized_driver(source: Path, folder: Path, compiler: Sequence[str]) -> Path:
    """The same for this processor with sanitizers; skips the test if the compiler has none."""
    main = Path(tempfile.mkdtemp(dir=folder)) / "main.c"
    main.write_text("int main(void) { return 0; }\n")
    probe = [*compiler, *SANITIZERS, str(main), "-o", str(main) + ".out"]
    if subprocess.run(probe, capture_output=True).returncode:
        pytest.skip(f"{compiler[0]} has no sanitizers")
    return build_driver(source, folder, compiler, flags=SANITIZERS)


def drive(*command: str | Path) -> str:
    """What the driver prints."""
    # Leaks of memory are reported, too.
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=280)
    assert done.returncode == 0, f"status {done.returncode}: {done.stderr[-4000:]}"
    return done.stdout
