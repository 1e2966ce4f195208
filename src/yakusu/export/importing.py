"""Reads a model of another toolkit, of any of the supported formats."""

from pathlib import Path

from yakusu.errors import ModelError
from yakusu.export.foreign import Foreign
from yakusu.export.hf_reader import read_hf


def read_foreign(path: Path) -> Foreign:
    """Read a folder, recognised by its files.

    Raises:
        ModelError: The format is unknown, or the model is inconsistent.
    """
    names = {each.name for each in path.iterdir()} if path.is_dir() else set()
    if {"config.json", "vocab.json"} <= names:
        return read_hf(path)
    raise ModelError(
        f"{path} is not a model that can be imported: choose a folder with config.json and "
        "vocab.json (Hugging Face)"
    )
