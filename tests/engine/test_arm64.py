"""The kernels of arm64, compiled by ziglang and run under qemu, give the bits of this processor."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.native.driving import build_driver, drive
from yakusu.native.compile import TARGETS, zig_compiler

QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64") or ""
NEW, OLD = "neoverse-n1", "cortex-a57"  # processors with and without dot products
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("ziglang") is None, reason="ziglang is not installed"
    ),
    pytest.mark.skipif(not QEMU, reason="qemu-aarch64 (Debian: qemu-user-static) is not installed"),
]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = TARGETS["musllinux_1_2_aarch64"]  # linked statically, so that qemu needs no system
    folder = tmp_path_factory.mktemp("arm64")
    source = Path(__file__).parent / "driver.c"
    return build_driver(source, folder, zig_compiler(target), machine=target.machine)


@pytest.mark.parametrize(("kernels", "cpu"), [("dotprod", NEW), ("generic", OLD)])
def test_arm64_computes_the_same_bits(driver: Path, printed: str, kernels: str, cpu: str) -> None:
    assert drive(QEMU, "-cpu", cpu, driver, kernels) == printed


@pytest.mark.parametrize(("kernels", "cpu"), [("dotprod", OLD), ("avx2", NEW)])
def test_kernels_that_the_processor_lacks_are_refused(driver: Path, kernels: str, cpu: str) -> None:
    done = subprocess.run([QEMU, "-cpu", cpu, driver, kernels], capture_output=True, check=False)
    assert done.returncode == 3 and not done.stdout
