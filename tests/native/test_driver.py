"""The functions for compressed vectors without Python: with sanitizers, and on arm64."""

from pathlib import Path

import pytest

from tests.native.driving import (
    QEMU,
    build_driver,
    build_driver_of_library,
    build_sanitized_driver,
    drive,
    on_arm64,
)
from yakusu.native.compile import TARGETS, zig_compiler
from yakusu.native.library import instruction_sets

DRIVER = Path(__file__).parent / "driver.c"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def printed(compiler: list[str], shared_folder: Path) -> str:
    """What the driver prints with the generic functions of the library."""
    return drive(build_driver_of_library(DRIVER, shared_folder, compiler), "generic")


def test_codes_are_read_as_c_defines_and_not_beyond_their_arrays(
    compiler: list[str], shared_folder: Path, printed: str
) -> None:
    driver = build_sanitized_driver(DRIVER, shared_folder, compiler)
    for name in instruction_sets():
        assert drive(driver, name) == printed, name


@on_arm64
def test_arm64_gives_the_same_results(shared_folder: Path, printed: str) -> None:
    target = TARGETS["musllinux_1_2_aarch64"]  # linked statically, so that qemu needs no system
    driver = build_driver(DRIVER, shared_folder, zig_compiler(target), machine=target.machine)
    for name in "dotprod", "generic":
        assert drive(QEMU, "-cpu", "neoverse-n1", driver, name) == printed, name
