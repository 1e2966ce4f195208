"""Reads a model of another toolkit, of any of the supported formats."""

from pathlib import Path

from yakusu.errors import ModelError
from yakusu.export.argos import read_argos
from yakusu.export.ctranslate2.reader import read_ctranslate2
from yakusu.export.foreign import ForeignModel
from yakusu.export.hf.reader import read_hf
from yakusu.export.npz.reader import read_npz


def read_foreign(path: Path) -> ForeignModel:
    """Read a folder or a file, recognised by its name or by the files in it.

    Raises:
        ModelError: The format is unknown, or the model is inconsistent.
    """
    names = {each.name for each in path.iterdir()} if path.is_dir() else set()
    if path.suffix == ".argosmodel" or {"metadata.json", "model"} <= names:
        return read_argos(path)
    if "model.bin" in names:
        return read_ctranslate2(path)
    if {"config.json", "vocab.json"} <= names:
        return read_hf(path)
    if (path.suffix == ".npz" and path.is_file()) or any(each.endswith(".npz") for each in names):
        return read_npz(path)
    if not path.exists():
        raise ModelError(f"{path} does not exist: yakusu downloads no models; give a local folder")
    if package := next((each for each in sorted(names) if each.endswith(".argosmodel")), None):
        raise ModelError(f"{path} holds a package of Argos Translate: import {path / package}")
    if any(each.endswith(".onnx") for each in names):
        raise ModelError(
            f"{path} is an ONNX model, which cannot be imported: use the model that it was made "
            "from"
        )
    if "manifest.json" in names:
        raise ModelError(f"{path} is a model folder of yakusu already: use it without importing it")
    raise ModelError(
        f"{path} is not a model that can be imported: choose a folder with config.json and "
        "vocab.json (Hugging Face), with model.npz and its vocabularies (Marian), or with "
        "model.bin (CTranslate2), or a file *.argosmodel (Argos Translate)"
    )
