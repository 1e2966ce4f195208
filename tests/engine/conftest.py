from pathlib import Path

import pytest

from tests.native.driving import FAST, build_driver, drive


@pytest.fixture(scope="session")
def printed(compiler: list[str], shared_folder: Path) -> str:
    """What the driver prints with the generic kernels of this processor."""
    source = Path(__file__).parent / "driver.c"
    return drive(build_driver(source, shared_folder, compiler, flags=FAST), "generic")
