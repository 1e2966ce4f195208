"""Virtual environments with other libraries, in .peers/NAME, which git ignores.

requirements-NAME.txt pins the library and lists what its tests need; what
requirements-NAME-alone.txt pins is installed without its dependencies. scripts/venv installs yakusu
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
    flags = os.environ.get("PIP_FLAGS", "").split()  # as in scripts/venv
    alone = [python, "-m", "pip", "install", "-q", "--no-deps", *flags, "-r", _alone(name)]
    commands = [command, alone] if _alone(name).exists() else [command]
    if any(subprocess.run(each, env=settings).returncode for each in commands):
        raise RunError("the environment cannot be installed")
    stamp.write_text(_state(name))
    return python


def requirements(name: str) -> Path:
    """Return the file with the packages of an environment."""
    return HERE / f"requirements-{name}.txt"


def pinned(name: str) -> list[str]:
    """Return the names of the packages that a file pins."""
    alone = _alone(name)
    text = (alone if alone.exists() else requirements(name)).read_text()
    return re.findall(r"^([\w-]+)==", text, re.MULTILINE)


def _alone(name: str) -> Path:
    """Return the file with the packages that are installed without their dependencies."""
    return requirements(name).with_name(f"requirements-{name}-alone.txt")


def _state(name: str) -> str:
    """A hash of the files that decide what is installed."""
    files = requirements(name), _alone(name), ROOT / "constraints.txt", ROOT / "pyproject.toml"
    found = (path.read_bytes() for path in files if path.exists())
    return hashlib.sha256(b"\0".join(found)).hexdigest()
