"""What imported models compute, compared with the library of the original."""

import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.interop.exports import size_of
from benchmarks.interop.originals import CTranslate2Original, HfOriginal, MarianOriginal
from tests.export.marians import VARIANTS, Marian, segmenter, sentences
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import ModelError
from yakusu.export.argos import write_argos
from yakusu.export.verify import Peer, verify_export
from yakusu.pipeline.import_model import import_model
from yakusu.search.config import SearchConfig
from yakusu.translator.folder.network import open_model

NAMES = (
    "swish",
    "relu",
    "no biases",
    "more encoder layers",
    "separate vocabularies",
    "separate tables",
    "untied output",
    "three tables",
    "language tokens",
    "unk first",
    "pad first",
)
LIBRARIES = {  # of each format: its module, and that of the library that makes the model
    "Hugging Face": ("transformers",),
    "Marian": ("transformers",),
    "CTranslate2": ("ctranslate2", "transformers"),
    "CTranslate2, int8": ("ctranslate2", "transformers"),
    "Argos Translate": ("ctranslate2", "transformers"),
}
Original = tuple[str, Path, Callable[[Tokenizer], Peer]]  # format, what is imported, its library


def originals(marian: Marian, folder: Path) -> Iterator[Original]:
    """Write a model in all formats that can hold it."""
    hf = marian.write(folder / "hf")
    yield "Hugging Face", hf, lambda tokenizer: HfOriginal(hf, tokenizer)
    if marian.order[1] != ("<pad>",):
        return  # Marian has no padding, so its converters add it at the end
    original = marian.write_original(folder / "npz")
    yield "Marian", original, lambda tokenizer: MarianOriginal(hf, tokenizer)
    if marian.separate:
        return  # CTranslate2's converter reads one vocabulary
    for form, rounded in ("CTranslate2", None), ("CTranslate2, int8", "int8"):
        path = _ctranslate2(hf, folder / form, rounded)
        yield form, path, lambda tokenizer, path=path: CTranslate2Original(path, tokenizer)
    path = folder / "CTranslate2"
    package = _argos(path, folder / "argos")
    yield "Argos Translate", package, lambda tokenizer: CTranslate2Original(path, tokenizer)


def _ctranslate2(hf: Path, out: Path, quantization: str | None) -> Path:
    """Convert a model with CTranslate2's own converter."""
    from ctranslate2.converters import TransformersConverter

    files = ["source.spm", "target.spm"]
    TransformersConverter(str(hf), copy_files=files).convert(str(out), quantization=quantization)
    # The tokenizer of Hugging Face appends eos; the converter leaves this to its user.
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    (out / "config.json").write_text(json.dumps(config | {"add_source_eos": True}))
    return out


def _argos(model: Path, folder: Path) -> Path:
    """Write a package; its one SentencePiece model divides both sides."""
    folder.mkdir()
    copy = shutil.copytree(model, folder / "model", ignore=shutil.ignore_patterns("*.spm"))
    languages = "en", "de"
    return write_argos(folder, copy, sentencepiece=segmenter(0), languages=languages, card="")


def import_rows(name: str, folder: Path, forms: list[str], n: int) -> Iterator[dict[str, Any]]:
    """Import a model from each format, and compare it with the original.

    Args:
        name: A variant of `tests/export/marians.py`.
        folder: An empty folder.
        forms: The formats whose libraries are installed.
        n: Number of sentences.

    Yields:
        The fields of `Verification`, the size of the original in bytes, and the seconds of the
        import. Or `refused`: the error.
    """
    for form, path, library in originals(VARIANTS[name], folder):
        if form not in forms:
            continue
        row: dict[str, Any] = {"model": name, "format": form}
        try:
            yield row | _compared(path, folder / "own", library, n)
        except ModelError as error:
            yield row | {"refused": str(error)}
        shutil.rmtree(folder / "own", ignore_errors=True)


def _compared(
    path: Path, out: Path, library: Callable[[Tokenizer], Peer], n: int
) -> dict[str, Any]:
    start = time.perf_counter()
    import_model(path, out)
    seconds = time.perf_counter() - start
    _, network, tokenizer = open_model(out)
    sources = [tuple(ids) for ids in tokenizer.encode_source(sentences(0)[:n])]
    found = verify_export(network, SearchConfig(), sources, library(tokenizer))
    return {**asdict(found), "bytes": size_of(path), "seconds": seconds}
