"""The kernels of arm64, compiled by ziglang and run under qemu, give the bits of this processor."""

import subprocess
from pathlib import Path

import pytest

from tests.native.driving import QEMU, build_driver, drive, on_arm64
from yakusu.native.compile import TARGETS, zig_compiler

NEW, OLD = "neoverse-n1", "cortex-a57"  # processors with and without dot products
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def driver(shared_folder: Path) -> Path:
    target = TARGETS["musllinux_1_2_aarch64"]  # linked statically, so that qemu needs no system
    source = Path(__file__).parent / "driver.c"
    return build_driver(source, shared_folder, zig_compiler(target), machine=target.machine)


@on_arm64
@pytest.mark.parametrize(("kernels", "cpu"), [("dotprod", NEW), ("generic", OLD)])
def test_arm64_computes_the_same_bits(driver: Path, printed: str, kernels: str, cpu: str) -> None:
    assert drive(QEMU, "-cpu", cpu, driver, kernels) == printed


@on_arm64
@pytest.mark.parametrize(("kernels", "cpu"), [("dotprod", OLD), ("avx2", NEW)])
def test_kernels_that_the_processor_lacks_are_refused(driver: Path, kernels: str, cpu: str) -> None:
    done = subprocess.run([QEMU, "-cpu", cpu, driver, kernels], capture_output=True, check=False)
    assert done.returncode == 3 and not done.stdout
