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


def own_folder(model: str | Path) -> Path:
    """Return the path of a model folder that is changed.

    Raises:
        ModelError: It is the name of a bundled model.
    """
    if is_shipped(model):
        raise ModelError(f"{model} is a bundled model, which never changes: copy {FOLDER / model}")
    return Path(model)


def model_path(model: str | Path) -> Path:
    """Return the folder of a model: the one at this path, or else the package's of this name.

    Raises:
        ModelError: It is neither. A path that contains a folder is not checked.
    """
    if is_shipped(model):
        return FOLDER / model
    path, names = Path(model), shipped_names()
    if names and path.name == str(model) and not path.exists():
        raise ModelError(
            f"{model} is neither a model folder nor a bundled model: "
            f"{did_you_mean(path.name, names)}"
        )
    return path
