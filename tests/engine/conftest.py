from pathlib import Path

import pytest

from tests.engine.driving import build_driver, drive
from yakusu.engine.compile import system_compiler


@pytest.fixture(scope="session")
def compiler() -> list[str]:
    """The system's C compiler."""
    if command := system_compiler():
        return command
    pytest.skip("there is no C compiler")


@pytest.fixture(scope="session")
def printed(compiler: list[str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the driver prints with the generic kernels of this processor."""
    folder: Path = tmp_path_factory.mktemp("driver")
    return drive(build_driver(folder, compiler, flags=["-O1"]), "generic")
