from pathlib import Path

import pytest

from tests.native.driving import build_driver, drive


@pytest.fixture(scope="session")
def printed(compiler: list[str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the driver prints with the generic kernels of this processor."""
    source, folder = Path(__file__).parent / "driver.c", tmp_path_factory.mktemp("driver")
    return drive(build_driver(source, folder, compiler, flags=["-O1"]), "generic")
