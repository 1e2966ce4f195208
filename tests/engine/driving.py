"""The driver: the engine as a program without Python."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from yakusu.engine.compile import FLAGS, NATIVE, compile_objects

SOURCE = Path(__file__).parent / "driver.c"


def build_driver(
    folder: Path, compiler: Sequence[str], *, machine: str = "", flags: Sequence[str] = ()
) -> Path:
    """Compile the engine and its driver into one program."""
    objects = compile_objects(folder, compiler, machine=machine, flags=flags)
    program = folder / "driver"
    files = [f"-I{NATIVE}", str(SOURCE), *objects, "-lm", "-o", str(program)]
    quiet = "-Wno-unused-function"  # of the headers
    subprocess.run([*compiler, *FLAGS, *flags, quiet, *files], check=True, capture_output=True)
    return program


def drive(*command: str | Path) -> str:
    """What the driver prints."""
    # Leaks of memory are reported, too.
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=280)
    assert done.returncode == 0, f"status {done.returncode}: {done.stderr[-4000:]}"
    return done.stdout
