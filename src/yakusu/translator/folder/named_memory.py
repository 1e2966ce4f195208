"""The translation memory that a model folder names, in memory.json.

{"memory": "../team.db"}        relative to the folder
"""

import os
from pathlib import Path

from yakusu.errors import ModelError
from yakusu.folder import read_json, write_json

NAMED_MEMORY = "memory.json"


def write_named_memory(folder: Path, memory: Path, *, of: Path) -> None:
    """Write the name of a memory into a folder, before its manifest.

    Args:
        folder: The folder that is written.
        memory: The memory.
        of: Where the folder will be.
    """
    write_json(folder / NAMED_MEMORY, {"memory": Path(os.path.relpath(memory, of)).as_posix()})


def named_memory(folder: Path) -> tuple[str, ...]:
    """The memory that a model folder names; (): none.

    Raises:
        ModelError: The file is not valid.
    """
    path = folder / NAMED_MEMORY
    if not path.exists():
        return ()
    try:
        stored = read_json(path)
    except ValueError:
        stored = None
    name = stored.get("memory") if isinstance(stored, dict) else None
    if not isinstance(name, str) or not name:
        raise ModelError(f"{path} names no memory: repeat 'yakusu card MODEL --memory FILE'")
    return (os.path.normpath(folder / name),)
