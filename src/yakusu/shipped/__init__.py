"""Translators that the package contains: one model folder each, named after its languages."""

from pathlib import Path

from yakusu.config import did_you_mean
from yakusu.errors import ModelError

FOLDER = Path(__file__).parent


def shipped_names() -> list[str]:
    """Return the names of the models of the package, sorted."""
    return sorted(manifest.parent.name for manifest in FOLDER.glob("*/manifest.json"))


def is_shipped(model: str | Path) -> bool:
    """Whether this names a model of the package, and not a file or folder."""
    return str(model) in shipped_names() and not Path(model).exists()


def model_path(model: str | Path) -> Path:
    """Return the folder of a model: the one at this path, or else the package's of this name.

    Raises:
        ModelError: It is neither, and not a path with folders, which opening it refuses.
    """
    if is_shipped(model):
        return FOLDER / model
    path, names = Path(model), shipped_names()
    if names and path.name == str(model) and not path.exists():
        raise ModelError(
            f"{model} is neither a model folder nor a model of the package: "
            f"{did_you_mean(path.name, names)}"
        )
    return path
