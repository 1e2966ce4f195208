"""The engine as WebAssembly, compiled by ziglang and run by node, computes the same bits."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cases import THOROUGH
from tests.native.driving import FAST, build_driver, drive
from yakusu.native.compile import Target, zig_compiler

FOLDER = Path(__file__).parent
NODE = shutil.which("node") or ""
WASM = zig_compiler(Target("wasm32-wasi", "wasm32", ""))
SIMD, RELAXED = "-msimd128", "-mrelaxed-simd"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not NODE, reason="node is not installed"),
    pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="ziglang is missing"),
    pytest.mark.skipif(not THOROUGH, reason="needs YAKUSU_TESTS=thorough"),
]


def run(program: Path) -> str:
    return drive(NODE, "--no-warnings", FOLDER / "wasi.mjs", program)


@pytest.mark.parametrize("flags", [(), (SIMD,)])
def test_webassembly_computes_the_same_bits(
    flags: tuple[str, ...], shared_folder: Path, printed: str
) -> None:
    driver = FOLDER / "driver.c"
    program = build_driver(driver, shared_folder, WASM, machine="wasm32", flags=[*FAST, *flags])
    assert run(program) == printed


def test_relaxed_products_are_those_of_8_and_7_bits(
    shared_folder: Path, printed: str, tmp_path: Path
) -> None:
    flags, probe = [*FAST, SIMD, RELAXED], tmp_path / "probe.wasm"
    command = [*WASM, SIMD, RELAXED, str(FOLDER / "dots.c"), "-o", str(probe)]
    subprocess.run(command, check=True, capture_output=True)
    try:
        run(probe)
    except AssertionError:
        pytest.skip("this version of node has no relaxed products, or computes them wrongly")
    driver = FOLDER / "driver.c"
    program = build_driver(driver, shared_folder, WASM, machine="wasm32", flags=flags)
    assert run(program) == printed
