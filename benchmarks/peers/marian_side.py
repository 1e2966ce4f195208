"""Peer: Marian, as a service (`benchmarks.services`); see `benchmarks.speed.systems`.

In int8, the weights are converted by Marian's own `convert` for any processor, and Marian arranges
them for this one when it reads them. Its environment:
pip install -r benchmarks/peers/requirements-marian.txt
"""

import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pymarian
import sentencepiece

from benchmarks.peers.marian_convert import convert
from benchmarks.services import serve

GEMM_TYPES = {"int8": "intgemm8", "int16": "intgemm16"}
_loaded: dict[str, Any] = {}


def load(plain: str, threads: int, precision: str) -> None:
    """Convert a model that `benchmarks.speed.plain` wrote; a search opens it."""
    folder = Path(plain) / "marian"
    convert(Path(plain), folder)
    model = folder / "model.npz"
    if precision != "float32":
        model = folder / f"model.{precision}.bin"
        command = [sys.executable, "-m", "pymarian", "convert"]  # in this process, it would log
        command += ["--from", str(folder / "model.npz"), "--to", str(model)]
        command += ["--gemm-type", GEMM_TYPES[precision]]
        subprocess.run(command, check=True, capture_output=True)
    _loaded.update(folder=folder, model=model, threads=threads, settings=None)
    for side in ("source", "target"):
        path = str(Path(plain) / f"{side}.model")
        _loaded[side] = sentencepiece.SentencePieceProcessor(model_file=path)


def _translator(batch: int, beam: int, alpha: float) -> Any:
    """The translator with these settings, which Marian accepts only when it is started."""
    folder, settings = _loaded["folder"], (batch, beam, alpha)
    if _loaded["settings"] != settings:
        _loaded["settings"] = settings
        _loaded["translator"] = pymarian.Translator(
            models=[str(_loaded["model"])],
            vocabs=[str(folder / f"{side}.vocab.yml") for side in ("source", "target")],
            cpu_threads=_loaded["threads"],
            mini_batch=batch,
            maxi_batch=100,
            maxi_batch_sort="src",
            beam_size=beam,
            normalize=alpha,
            quiet=True,
        )
    return _loaded["translator"]


def translate(lines: list[str], batch: int, search: dict[str, Any]) -> dict[str, Any]:
    """Translate sentences from text to text."""
    translator = _translator(batch, search["beam"], search["alpha"])
    start = time.perf_counter()
    pieces = [" ".join(line) for line in _loaded["source"].encode(lines, out_type=str)]
    outputs = [output.split() for output in translator.translate(pieces)]
    texts = _loaded["target"].decode(outputs)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "texts": texts, "tokens": sum(len(each) + 1 for each in outputs)}


def versions() -> dict[str, Any]:
    """The versions that a record states."""
    names = ("pymarian", "sentencepiece", "numpy")
    return {**{name: version(name) for name in names}, "python": sys.version.split()[0]}


if __name__ == "__main__":
    serve({"load": load, "translate": translate, "versions": versions})
