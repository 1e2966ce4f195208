"""Virtual environments with other libraries, in .peers/NAME, which git ignores.

requirements-NAME.txt pins the library and lists what its tests need. scripts/venv installs yakusu
with the extras `demo` and `import`.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from yakusu.errors import RunError

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDER = ROOT / ".peers"
EXTRAS = "demo,import"


def environment(name: str) -> Path:
    """Return the Python of an environment, which is set up if it is missing or outdated.

    Raises:
        RunError: It cannot be installed; pip has printed why.
    """
    folder, stamp = FOLDER / name, FOLDER / name / ".stamp-peer"
    python = folder / "bin" / "python"
    if stamp.exists() and stamp.read_text() == _state(name):
        return python
    shutil.rmtree(folder, ignore_errors=True)
    command = [ROOT / "scripts" / "venv", EXTRAS, folder, requirements(name)]
    # Wheels of torch may exist for the running version of Python only.
    settings = {**os.environ, "PYTHON": os.environ.get("PYTHON") or sys.executable}
    if subprocess.run(command, env=settings).returncode:
        raise RunError("the environment cannot be installed")
    stamp.write_text(_state(name))
    return python


def requirements(name: str) -> Path:
    """Return the file with the packages of an environment."""
    return HERE / f"requirements-{name}.txt"


def pinned(name: str) -> list[str]:
    """Return the names of the packages that a file pins."""
    return re.findall(r"^([\w-]+)==", requirements(name).read_text(), re.MULTILINE)


def _state(name: str) -> str:
    """A hash of the files that decide what is installed."""
    files = requirements(name), ROOT / "constraints.txt", ROOT / "pyproject.toml"
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
