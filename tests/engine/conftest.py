from pathlib import Path

import pytest

from tests.native.driving import build_driver_of_library, drive


@pytest.fixture(scope="session")
def printed(compiler: list[str], shared_folder: Path) -> str:
    """What the driver prints with the generic kernels of the library."""
    source = Path(__file__).parent / "driver.c"
    return drive(build_driver_of_library(source, shared_folder, compiler), "generic")
