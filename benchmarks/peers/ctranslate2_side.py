"""Peer: CTranslate2, as a service (`benchmarks.services`); see `benchmarks.speed.systems`.

Its environment has neither torch nor the other libraries of yakusu:
pip install -r benchmarks/peers/requirements-ctranslate2.txt
"""

import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ctranslate2
import sentencepiece

from benchmarks.peers.ctranslate2_convert import convert
from benchmarks.services import serve

_loaded: dict[str, Any] = {}


def load(
    folder: str, plain: str, precision: str, inter: int, intra: int, device: str = "cpu"
) -> None:
    """Open a converted model.

    Args:
        folder: The model, as `convert` writes it.
        plain: The folder that it was converted from, which has the SentencePiece models.
        precision: CTranslate2's `compute_type`.
        inter: Batches translated in parallel.
        intra: Threads per batch.
        device: "cpu" or "cuda".
    """
    _loaded["translator"] = ctranslate2.Translator(
        folder,
        device=device,
        compute_type=precision,
        inter_threads=inter,
        intra_threads=intra,
    )
    for side in ("source", "target"):
        if (path := Path(plain) / f"{side}.model").exists():
            _loaded[side] = sentencepiece.SentencePieceProcessor(model_file=str(path))


def search(sources: list[list[int]], batch: int, beam: int, length: int) -> dict[str, Any]:
    """Translate ids; every translation has `length` tokens, because eos has no probability.

    The library appends eos to sources.
    """
    translator, tokens = _loaded["translator"], [[_token(i) for i in ids[:-1]] for ids in sources]
    start = time.perf_counter()
    found = translator.translate_batch(
        tokens,
        beam_size=beam,
        max_batch_size=batch,
        max_decoding_length=length,
        max_input_length=0,
    )
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "lengths": [len(each.hypotheses[0]) for each in found]}


def _token(i: int) -> str:
    return ("</s>", "<unk>")[i] if i < 2 else f"t{i}"


def translate(lines: list[str], batch: int, search: dict[str, Any]) -> dict[str, Any]:
    """Translate sentences from text to text."""
    start = time.perf_counter()
    pieces = _loaded["source"].encode(lines, out_type=str)
    found = _loaded["translator"].translate_batch(
        pieces,
        beam_size=search["beam"],
        length_penalty=search["alpha"],
        max_batch_size=batch,
        disable_unk=True,
    )
    outputs = [each.hypotheses[0] for each in found]
    texts = _loaded["target"].decode(outputs)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "texts": texts, "tokens": sum(len(each) + 1 for each in outputs)}


def versions() -> dict[str, Any]:
    """The versions that a record states."""
    names = ("ctranslate2", "sentencepiece", "numpy")
    types = sorted(ctranslate2.get_supported_compute_types("cpu"))
    return {
        **{name: version(name) for name in names},
        "python": sys.version.split()[0],
        "compute types": types,
    }


if __name__ == "__main__":
    serve(
        {
            "convert": convert,
            "load": load,
            "search": search,
            "translate": translate,
            "versions": versions,
        }
    )
