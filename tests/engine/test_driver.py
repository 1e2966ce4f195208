"""The engine without Python: compiled by ziglang, and with sanitizers."""

import importlib.util
import platform
from pathlib import Path

import pytest

from tests.cases import some
from tests.native.driving import build_driver, build_sanitized_driver, drive
from yakusu.native.compile import TARGETS, zig_compiler
from yakusu.native.library import instruction_sets

DRIVER = Path(__file__).parent / "driver.c"
pytestmark = pytest.mark.slow


@pytest.mark.skipif(platform.system() != "Linux", reason="a program that runs on Linux")
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="ziglang is not installed")
def test_ziglang_and_the_system_compiler_give_the_same_bits(
    shared_folder: Path, printed: str
) -> None:
    target = TARGETS[f"musllinux_1_2_{platform.machine()}"]
    driver = build_driver(DRIVER, shared_folder, zig_compiler(target), machine=target.machine)
    for kernels in instruction_sets():
        assert drive(driver, kernels) == printed, kernels


def test_kernels_and_searches_behave_as_c_defines_and_leak_no_memory(
    compiler: list[str], shared_folder: Path, printed: str
) -> None:
    driver = build_sanitized_driver(DRIVER, shared_folder, compiler)
    for kernels in some(instruction_sets()[:-1] or instruction_sets()):  # the fastest
        assert drive(driver, kernels) == printed, kernels
