"""Compiling the library: compilers and targets."""

import ctypes
import platform
import subprocess
from pathlib import Path

import pytest

from tests.cases import THOROUGH
from tests.native.driving import FAST
from yakusu.native.compile import (
    INSTRUCTION_SETS,
    TARGETS,
    compile_library,
    instruction_set_flags,
    library_name,
    system_compiler,
    zig_compiler,
)
from yakusu.native.library import PATH


def script(path: Path, text: str) -> str:
    """An executable file."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


# ---- which compiler ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "name"),
    [("linux", "libyakusu.so"), ("darwin", "libyakusu.dylib"), ("win32", "libyakusu.dll")],
)
def test_the_library_is_named_after_the_system(system: str, name: str) -> None:
    assert library_name(system) == name


def test_the_library_is_loaded_under_the_name_that_it_is_compiled_to() -> None:
    assert PATH.name == library_name()


def test_cc_names_the_compiler_and_its_flags(
    compiler: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", f"{' '.join(compiler)} -pipe")
    assert system_compiler() == [*compiler, "-pipe"]


def test_another_compiler_does_not_replace_the_one_in_cc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nonexistent/cc")
    assert system_compiler() == []


def test_cc_gcc_and_clang_are_tried_in_turn(
    compiler: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = subprocess.run(["which", compiler[0]], capture_output=True, text=True).stdout.strip()
    monkeypatch.delenv("CC", raising=False)
    script(tmp_path / "cc", "exit 1")  # as macOS without its developer tools
    script(tmp_path / "clang", f'PATH=/usr/bin:/bin exec {real} "$@"')
    monkeypatch.setenv("PATH", str(tmp_path))
    assert system_compiler() == ["clang"]
    (tmp_path / "clang").unlink()
    assert system_compiler() == []


@pytest.mark.skipif(platform.machine() != "x86_64", reason="a flag of x86")
def test_a_compiler_that_lacks_an_instruction_set_is_not_used(
    compiler: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = f'case "$*" in *avxvnni*) exit 1;; esac\nexec {" ".join(compiler)} "$@"'
    monkeypatch.setenv("CC", script(tmp_path / "old-cc", old))
    assert system_compiler() == []


def test_ziglang_is_never_asked_for_the_processor_it_runs_on() -> None:
    for target in TARGETS.values():
        assert zig_compiler(target)[-2:] == ["-target", target.triple]


def test_names_of_machines_differ_between_systems() -> None:
    for name, same in ("AMD64", "x86_64"), ("arm64", "aarch64"):
        assert instruction_set_flags(["cc"], name) == INSTRUCTION_SETS[same]
    assert instruction_set_flags(["cc"], "riscv64") == {"generic": ""}


# ---- the library -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library(compiler: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("library") / library_name()
    compile_library(out, compiler, flags=FAST)
    return out


def test_the_library_is_all_that_is_left(library: Path) -> None:
    assert [path.name for path in library.parent.iterdir()] == [library.name]
    assert library.stat().st_size < 1_000_000
    assert ctypes.CDLL(str(library)).yk_kernels


@pytest.mark.skipif(not THOROUGH, reason="needs YAKUSU_TESTS=thorough")
def test_the_same_sources_give_the_same_bytes(
    compiler: list[str], library: Path, tmp_path: Path
) -> None:
    compile_library(tmp_path / library.name, compiler, flags=FAST)
    assert (tmp_path / library.name).read_bytes() == library.read_bytes()


def test_a_compiler_that_fails_leaves_the_previous_library(tmp_path: Path) -> None:
    out = tmp_path / library_name()
    out.write_bytes(b"previous")
    failing = script(tmp_path / "cc", "echo internal error >&2; exit 1")
    with pytest.raises(subprocess.CalledProcessError) as caught:
        compile_library(out, [failing])
    assert caught.value.stderr == "internal error\n"
    assert out.read_bytes() == b"previous"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cc", out.name]
