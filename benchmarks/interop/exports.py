"""What other libraries compute with exported models, compared with the original."""

import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from yakusu.errors import ModelError
from yakusu.export.foreign import own_model
from yakusu.export.formats import ExportedModel, ExportPrecision
from yakusu.export.importing import read_foreign
from yakusu.pipeline.export_model import export_model
from yakusu.translator.folder.folder import ModelFolder

FORMATS: dict[str, tuple[str, ExportPrecision]] = {
    "Hugging Face": ("hf", "float32"),
    "CTranslate2": ("ctranslate2", "float32"),
    "CTranslate2, int8": ("ctranslate2", "int8"),
    "Argos Translate": ("argos", "float32"),
    "ONNX": ("onnx", "float32"),
}
LIBRARIES = {  # of each format: its module
    "Hugging Face": "transformers",
    "CTranslate2": "ctranslate2",
    "CTranslate2, int8": "ctranslate2",
    "Argos Translate": "ctranslate2",
    "ONNX": "onnxruntime",
}


def export_row(
    name: str, model: Path, form: str, out: Path, sentences: Sequence[str]
) -> dict[str, Any]:
    """Export a model into an empty folder `out`, verify it there, and remove it.

    Returns:
        The fields of `Verification`; the sizes of the model and of what was written, in bytes; the
        seconds; and how many tensors are the same after an import. Or `refused`: the error.
    """
    row: dict[str, Any] = {"model": name, "format": form}
    to, precision = FORMATS[form]
    start = time.perf_counter()
    try:
        found = export_model(
            model, out, to=to, precision=precision, src=list(sentences), sentences=len(sentences)
        )
    except ModelError as error:
        return row | {"refused": str(error)}
    seconds = time.perf_counter() - start
    same = None if to == "onnx" else same_tensors(model, out)  # ONNX cannot be imported
    sizes = {"model_bytes": size_of(model), "bytes": size_of(out)}
    shutil.rmtree(out)
    return row | {**asdict(found), **sizes, "seconds": seconds, "tensors": same}


def same_tensors(model: Path, exported: Path) -> tuple[int, int]:
    """Return how many tensors of a model are the same if its export is imported, and of how many.

    A compressed table counts as the matrix that it stands for.
    """
    own = ExportedModel.of(ModelFolder.open(model)).weights
    packages = list(exported.glob("*.argosmodel"))
    _, imported, _ = own_model(read_foreign(packages[0] if packages else exported))
    same = [name in imported and np.array_equal(imported[name], own[name]) for name in own]
    return sum(same), len(same)


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files of a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
