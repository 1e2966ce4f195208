"""Compiles the library: one file, with kernels for every instruction set of a processor.

`hatch_build.py` runs this when yakusu is installed. It imports the standard library only.
"""

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

NATIVE = Path(__file__).parent
KERNELS = (NATIVE / "model.c", NATIVE / "scan.c")  # compiled once per instruction set

# -ffp-contract=off: a * b + c must round twice, as written, with every compiler.
FLAGS = ("-O3", "-std=c11", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-fPIC")
_AVX512 = "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mfma"
INSTRUCTION_SETS = {
    "x86_64": {
        "amx": f"{_AVX512} -mavx512vbmi -mamx-tile -mamx-int8",
        "avx512vnni": _AVX512,
        "avxvnni": "-mavx2 -mfma -mavxvnni",
        "avx2": "-mavx2 -mfma",
        "generic": "",
    },
    "aarch64": {"dotprod": "-march=armv8.2-a+dotprod", "generic": ""},
}
_NAMES = {"amd64": "x86_64", "arm64": "aarch64"}  # of processors, on other systems
_ZIG = {"-march=armv8.2-a+dotprod": "-mcpu=generic+v8_2a+dotprod"}  # the same flags for zig
_PROBE = "#include <math.h>\n#include <stdint.h>\nint probe(void) { return 0; }\n"


class Target(NamedTuple):
    """A platform that ziglang compiles for."""

    triple: str  # its name in zig
    machine: str
    library: str


def library_name(system: str = sys.platform) -> str:
    """The file name of the library on a system, a value of `sys.platform`."""
    suffix = {"win32": "dll", "darwin": "dylib"}.get(system, "so")
    return f"libyakusu.{suffix}"


TARGETS = {  # by the platform tag of a wheel
    "manylinux_2_17_x86_64": Target("x86_64-linux-gnu.2.17", "x86_64", library_name("linux")),
    "manylinux_2_17_aarch64": Target("aarch64-linux-gnu.2.17", "aarch64", library_name("linux")),
    "musllinux_1_2_x86_64": Target("x86_64-linux-musl", "x86_64", library_name("linux")),
    "musllinux_1_2_aarch64": Target("aarch64-linux-musl", "aarch64", library_name("linux")),
    "macosx_11_0_x86_64": Target("x86_64-macos.11.0", "x86_64", library_name("darwin")),
    "macosx_11_0_arm64": Target("aarch64-macos.11.0", "aarch64", library_name("darwin")),
    "win_amd64": Target("x86_64-windows-gnu", "x86_64", library_name("win32")),
}


def compile_library(
    out: Path, compiler: Sequence[str], *, machine: str = "", flags: Sequence[str] = ()
) -> None:
    """Compile the library.

    Args:
        out: Path of the library; its suffix is that of the target system.
        compiler: Command of a C compiler, such as ["cc"].
        machine: Processor, as in `platform.machine()`; "": this one.
        flags: Further flags, such as those of a sanitizer.

    Raises:
        OSError: The compiler does not exist.
        subprocess.CalledProcessError: It failed; `stderr` says why.
    """
    # A folder next to `out`: the finished library replaces a previous one in one step.
    with tempfile.TemporaryDirectory(prefix=".libyakusu-", dir=out.parent) as folder:
        objects = compile_objects(Path(folder), compiler, machine=machine, flags=flags)
        library = Path(folder) / out.name
        math = [] if out.suffix == ".dll" else ["-lm"]
        _run([*compiler, *flags, "-shared", *_strip(out), "-o", str(library), *objects, *math])
        library.replace(out)


def compile_objects(
    folder: Path, compiler: Sequence[str], *, machine: str = "", flags: Sequence[str] = ()
) -> list[str]:
    """Compile the sources into a folder; return the paths of the object files.

    Args and Raises: see `compile_library`.
    """
    jobs = list(_jobs(instruction_set_flags(compiler, machine), folder))
    with ThreadPoolExecutor() as threads:
        commands = [[*compiler, "-g0", *FLAGS, *flags, *job] for job in jobs]
        list(threads.map(_run, commands))
    return [job[job.index("-o") + 1] for job in jobs]


def instruction_set_flags(compiler: Sequence[str], machine: str = "") -> dict[str, str]:
    """The instruction sets of a machine ("": this one), and the flags that enable each."""
    name = (machine or platform.machine()).lower()
    sets = INSTRUCTION_SETS.get(_NAMES.get(name, name), {"generic": ""})
    spelling = _ZIG if "ziglang" in compiler else {}
    return {name: spelling.get(flags, flags) for name, flags in sets.items()}


# ---- compilers ---------------------------------------------------------------------------------


def system_compiler() -> list[str]:
    """The command of this system's C compiler: $CC, or else cc, gcc or clang.

    Returns [] if no compiler accepts all flags and finds the C headers.
    """
    chosen = os.environ.get("CC", "").strip()
    names = [chosen] if chosen else ["cc", "gcc", "clang"]
    commands = (shlex.split(name, posix=os.name == "posix") for name in names)
    return next((command for command in commands if _is_usable(command)), [])


def zig_compiler(target: Target) -> list[str]:
    """The command of ziglang's C compiler for a platform."""
    # Always with a target: without one, zig compiles for the processor that it runs on.
    return [sys.executable, "-m", "ziglang", "cc", "-target", target.triple]


def _is_usable(compiler: Sequence[str]) -> bool:
    """Whether the compiler makes a library with the flags of each instruction set."""
    if not shutil.which(compiler[0]):
        return False
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "probe.c", Path(folder) / library_name()
        source.write_text(_PROBE)
        for flags in instruction_set_flags(compiler).values():
            files = ["-shared", "-o", str(out), str(source), "-lm"]
            try:
                _run([*compiler, *FLAGS, *flags.split(), *files])
            except (OSError, subprocess.CalledProcessError):
                return False
    return True


# ---- commands ----------------------------------------------------------------------------------


def _jobs(sets: dict[str, str], folder: Path) -> Iterator[list[str]]:
    """The arguments that compile each object file."""
    for name, flags in sets.items():
        for source in KERNELS:
            out = str(folder / f"{source.stem}-{name}.o")
            yield [*flags.split(), f"-DISA={name}", "-c", str(source), "-o", out]
    for source in sorted(set(NATIVE.glob("*.c")) - set(KERNELS)):
        yield ["-c", str(source), "-o", str(folder / f"{source.name}.o")]


# ---- WebAssembly -------------------------------------------------------------------------------

WEB = Target("wasm32-wasi", "wasm32", "")


class WebModule(NamedTuple):
    """A module of WebAssembly: its sources, the functions that it exports, and flags."""

    sources: tuple[str, ...]
    exports: tuple[str, ...]
    flags: tuple[str, ...]


def _kernels(*flags: str) -> WebModule:
    """Kernels for one kind of host.

    They share the engine's memory: 17 MiB for its stack and data. Their own stack and data are at
    the low end of its stack, which uses little of its 16 MiB.
    """
    memory = ("-Wl,-z,stack-size=32768", "-Wl,--initial-memory=17825792")
    return WebModule(
        ("model",), ("encode", "decode", "predict", "mean", "weigh"), (*flags, *memory)
    )


_SIMD, _RELAXED = ("-msimd128",), ("-msimd128", "-mrelaxed-simd")
WEB_PROBE = "relaxed.wasm"  # whether a host computes relaxed instructions exactly
WEB_MODULES = {
    "engine.wasm": WebModule(
        (
            *("cpu", "memory", "pack", "session", "sentence", "search", "rows", "extend"),
            *("neighbours", "sampling", "host", "segmenter", "normalise", "merge", "find_best"),
            "trie",
        ),
        (
            *("malloc", "free", "yk_kernels", "yk_matrix", "yk_pack", "yk_model", "yk_session"),
            *("yk_free_session", "yk_search", "yk_score", "yk_advance", "yk_next"),
            *("yk_host_guide", "yk_segmenter", "yk_encode", "yk_decode", "yk_free_segmented"),
        ),
        ("-Wl,--import-memory", "-Wl,--export-memory"),
    ),
    "kernels-relaxed.wasm": _kernels(*_RELAXED),
    "kernels-simd.wasm": _kernels(*_SIMD),
    "kernels-scalar.wasm": _kernels("-Os"),  # much smaller, for old browsers
    WEB_PROBE: WebModule(("relaxed",), ("is_exact",), (*_RELAXED, "-Os")),
}


def compile_web(folder: Path) -> None:
    """Compile the engine's modules for browsers into a folder, with ziglang.

    Raises:
        subprocess.CalledProcessError: The compiler failed; `stderr` says why.
    """
    common = ["-DISA=generic", "-DWEB", "-g0", "-mexec-model=reactor"]
    kept = ["-Wl,--gc-sections", "-Wl,--strip-all"]
    for name, module in WEB_MODULES.items():
        command = [*zig_compiler(WEB), *FLAGS, *common, *module.flags, *kept]
        files = [str(NATIVE / f"{source}.c") for source in module.sources]
        linked = [f"-Wl,--export={export}" for export in module.exports]
        _run([*command, *linked, "-o", str(folder / name), *files])


def web_sources() -> str:
    """A hash of what `compile_web` compiles and of how it does."""
    found = hashlib.sha256(repr((WEB_MODULES, FLAGS)).encode())
    sources = {source for module in WEB_MODULES.values() for source in module.sources}
    for path in (*(NATIVE / f"{name}.c" for name in sorted(sources)), *sorted(NATIVE.glob("*.h"))):
        found.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return found.hexdigest()


def _strip(out: Path) -> list[str]:
    """The flag that leaves out symbols; Apple's linker has none."""
    return [] if out.suffix == ".dylib" else ["-s"]


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
