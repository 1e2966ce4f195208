from pathlib import Path

import pytest

from tests.native.driving import build_sanitized_driver, drive


@pytest.fixture(scope="session")
def sanitized_driver(compiler: list[str], shared_folder: Path) -> Path:
    """The driver of the engine for this processor, with sanitizers."""
    return build_sanitized_driver(Path(__file__).parent / "driver.c", shared_folder, compiler)


@pytest.fixture(scope="session")
def printed(sanitized_driver: Path) -> str:
    """What the driver prints with the generic kernels of this processor."""
    return drive(sanitized_driver, "generic")
