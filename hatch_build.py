"""Build hook: compiles the CPU engine into the wheel, or for `pip install -e` into src/.

Environment variables:
    CC: Command of the C compiler; otherwise cc, gcc or clang.
    YAKUSU_COMPILER: "system": the system's compiler or none; "zig": that of the package ziglang;
        "none": install without the engine. Not set: the system's compiler, or else ziglang, which
        is then downloaded for the build.
    YAKUSU_TARGET: Platform tag, such as musllinux_1_2_x86_64: compile for it, with ziglang.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

ROOT = Path(__file__).parent
NATIVE = Path("src/yakusu/native")
ZIGLANG = "ziglang>=0.17,<0.18"
LEGACY = {"manylinux_2_17_": "manylinux2014_"}  # names that old versions of pip know
NO_ENGINE = (
    "yakusu is installed without its CPU engine, so translating needs torch "
    "(pip install '.[train]') and is slower"
)


def _load_compile() -> ModuleType:
    """The module yakusu.native.compile, without the package, whose dependencies are missing."""
    spec = importlib.util.spec_from_file_location("_compile", ROOT / NATIVE / "compile.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Plan(NamedTuple):
    """How the engine is compiled."""

    compiler: list[str]
    tag: str  # of the wheel's platform
    machine: str = ""
    library: str = ""
    needs_ziglang: bool = False


def plan() -> Plan | None:
    """Choose a compiler; None: the engine is left out."""
    compile = _load_compile()
    choice, tag = os.environ.get("YAKUSU_COMPILER", ""), os.environ.get("YAKUSU_TARGET", "")
    if choice not in ("", "system", "zig", "none"):
        sys.exit(f"YAKUSU_COMPILER={choice}: set it to system, zig or none, or do not set it")
    if tag and tag not in compile.TARGETS:
        sys.exit(f"YAKUSU_TARGET={tag} is not one of {', '.join(compile.TARGETS)}")
    if choice == "none":
        return None
    if not tag and choice != "zig" and (command := compile.system_compiler()):
        return Plan(command, native_tag(), library=compile.library_name())
    # On a platform that is not a target, ziglang may not be available either.
    tag = tag or next((tag for tag in platform_tags() if tag in compile.TARGETS), "")
    if not tag or choice == "system":
        return None
    target = compile.TARGETS[tag]
    full = next((f"{tag}.{tag.replace(a, b)}" for a, b in LEGACY.items() if a in tag), tag)
    return Plan(compile.zig_compiler(target), full, target.machine, target.library, True)


def native_tag() -> str:
    """The tag of this platform; the system's compiler does not support older Linux systems."""
    return next(tag for tag in platform_tags() if "manylinux" not in tag and "musllinux" not in tag)


def _why_no_compiler() -> str:
    if os.environ.get("YAKUSU_COMPILER") == "none":
        return "YAKUSU_COMPILER is none"
    if command := os.environ.get("CC", "").strip():
        return f"CC={command} is not a C compiler that can compile the CPU engine"
    return "no C compiler was found that can compile the CPU engine"


class EngineHook(BuildHookInterface[Any]):
    """Adds the compiled library to a wheel."""

    def dependencies(self) -> list[str]:
        chosen = plan()
        return [ZIGLANG] if chosen and chosen.needs_ziglang else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        for stale in (ROOT / NATIVE).glob("libyakusu.*"):
            if version == "editable":
                stale.unlink()
        chosen = plan()
        if chosen and chosen.needs_ziglang and not importlib.util.find_spec("ziglang"):
            # pip install --no-build-isolation
            if os.environ.get("YAKUSU_TARGET") or os.environ.get("YAKUSU_COMPILER"):
                sys.exit(f"ziglang is not installed: pip install '{ZIGLANG}'")
            chosen = None
        if not chosen:
            self.app.display_warning(f"{_why_no_compiler()}: {NO_ENGINE}")
            return
        folder = ROOT / NATIVE
        if version != "editable":
            self._scratch = tempfile.TemporaryDirectory()  # removed with the hook
            folder = Path(self._scratch.name)
            build_data["force_include"][str(folder / chosen.library)] = (
                f"yakusu/native/{chosen.library}"
            )
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{chosen.tag}"
        self._compile(folder / chosen.library, chosen)

    def _compile(self, out: Path, chosen: Plan) -> None:
        try:
            _load_compile().compile_library(out, chosen.compiler, machine=chosen.machine)
        except subprocess.CalledProcessError as error:
            command = " ".join(chosen.compiler)
            sys.exit(
                f"{error.stderr}\n{command} could not compile the CPU engine (see above): choose "
                "another compiler with CC=..., or set YAKUSU_COMPILER to zig, or to none to "
                "install without the engine"
            )
