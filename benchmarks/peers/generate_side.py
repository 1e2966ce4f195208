"""Peer: Hugging Face's `generate` with a Marian model, as a service (`benchmarks.services`).

A model of the same sizes with random weights of its own, post-norm as Marian's. "int8" quantises
its linear layers with torch's dynamic quantisation.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from benchmarks.peers.common import Sizes
from benchmarks.peers.marian_loop import build_model, translate
from benchmarks.services import serve

_loaded: dict[str, Any] = {}


def load(plain: str, precision: str, threads: int) -> None:
    """Make a model of the sizes of a model that `benchmarks.speed.plain` wrote."""
    info = json.loads((Path(plain) / "plain.json").read_text(encoding="utf-8"))
    config, vocab_size = info["model"], len(info["target"]) + 1
    sizes = (config[key] for key in ("n_layers", "d_model", "d_ff", "n_heads", "dropout"))
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = build_model(Sizes(vocab_size, *sizes)).eval()
    if precision == "int8":
        quantise = torch.ao.quantization.quantize_dynamic
        model = quantise(model, {torch.nn.Linear}, dtype=torch.qint8)
    _loaded["model"] = model


def search(sources: list[list[int]], batch: int, beam: int, length: int) -> dict[str, Any]:
    """Translate ids; every translation has `length` tokens, the last of which is eos."""
    done = translate(
        _loaded["model"],
        sorted(sources, key=len),
        max_new_tokens=length,
        num_beams=beam,
        batch_size=batch,
        force_length=True,
    )
    return {"seconds": done.seconds, "lengths": list(map(len, done.outputs))}


def versions() -> dict[str, Any]:
    """The versions that a record states."""
    names = ("transformers", "torch", "numpy")
    return {**{name: version(name) for name in names}, "python": sys.version.split()[0]}


if __name__ == "__main__":
    serve({"load": load, "search": search, "versions": versions})
