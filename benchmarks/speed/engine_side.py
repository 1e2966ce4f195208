"""yakusu in the benchmarks of the CPU engine, as a service (`benchmarks.services`).

The native engine runs without torch, as it does for users.
"""

import json
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.services import serve
from yakusu.arrays import ArraysOnDisk
from yakusu.data.lines.config import TextConfig
from yakusu.engine.config import EngineConfig, Precision
from yakusu.engine.decoder import NativeDecoder
from yakusu.engine.model import NativeModel
from yakusu.engine.workers import Threads
from yakusu.model.config import TransformerConfig, config_of
from yakusu.native.library import instruction_set
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Decoder, Query
from yakusu.search.tokens import TokenRules
from yakusu.translator import Translator

_UNLIMITED = 1 << 20


@dataclass
class _Loaded:
    decoder: Decoder | None = None
    timed: Decoder | None = None  # the same models, in sessions of their own
    rules: TokenRules | None = None
    translator: Translator | None = None


_loaded = _Loaded()


def load_plain(
    folder: str, engine: str, precision: Precision, threads: int, device: str = "cpu"
) -> None:
    """Open a model that `benchmarks.speed.plain` wrote, for `search`; torch may use a GPU."""
    path = Path(folder)
    info = json.loads((path / "plain.json").read_text(encoding="utf-8"))
    config = config_of(info["model"])
    assert isinstance(config, TransformerConfig)
    source, target = len(info["source"]) + 1, len(info["target"]) + 1
    sizes = {"src_vocab_size": source, "tgt_vocab_size": target}
    _loaded.rules = TokenRules(target - 1, slot_kinds=info["never"])
    if engine == "torch":
        _loaded.decoder = _torch(config, path, sizes, threads, device)
        return
    weights = ArraysOnDisk(path / "model.safetensors")
    matrices = EngineConfig(precision=precision).matrices(config.d_model)
    models = [NativeModel(config, weights, **sizes, matrices=matrices)]
    _loaded.decoder, _loaded.timed = (NativeDecoder(models, Threads(threads)) for _ in range(2))


def _torch(
    config: TransformerConfig, path: Path, sizes: dict[str, int], threads: int, device: str
) -> Decoder:
    import torch

    from yakusu.model.architectures import build
    from yakusu.search.torch_decoder import TorchDecoder
    from yakusu.weights import load_tensors

    torch.set_num_threads(threads)
    model = build(config, **sizes)
    model.load_weights(load_tensors(path / "model.safetensors"))
    return TorchDecoder(model, device=device)


def load(folder: str, engine: str, precision: Precision, threads: int) -> None:
    """Open a model folder, for `translate`."""
    if engine == "torch":
        import torch

        torch.set_num_threads(threads)
        settings = EngineConfig(engine="torch")
    else:
        settings = EngineConfig.model_validate(
            {"engine": engine, "precision": precision, "threads": threads}
        )
    # The lines of a test set are segments already.
    text = TextConfig(one_sentence_per_line=True)
    _loaded.translator = Translator.load(folder, engine=settings, text=text)


def search(
    sources: list[list[int]], batch: int, beam: int, length: int, *, timed: bool = False
) -> dict[str, Any]:
    """Translate ids; every translation has `length` tokens, the last of which is eos.

    A session keeps the functions that it was created with, so `timed` searches have their own
    sessions.
    """
    decoder = _loaded.timed if timed else _loaded.decoder
    assert decoder and _loaded.rules
    config = SearchConfig(beam=beam, max_length=length - 1, max_extra=_UNLIMITED)
    queries = list(map(Query, sources))
    start = time.perf_counter()
    found = decoder.search(queries, config, _loaded.rules, batch=batch)
    seconds = time.perf_counter() - start
    lengths = [len(best[0].tokens) + 1 for best in found]
    return {"seconds": seconds, "lengths": lengths}


def translate(lines: list[str], batch: int, search: dict[str, Any]) -> dict[str, Any]:
    """Translate sentences from text to text; `search` are settings of `SearchConfig`."""
    assert _loaded.translator
    translator = _loaded.translator
    settings = SearchConfig.model_validate({**dict(translator.search), **search})
    translator = translator.with_settings(search=settings)
    start = time.perf_counter()
    found = list(translator.stream(lines, batch=batch))
    texts = [best[0].text for best in found]
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "texts": texts, "tokens": sum(b[0].n_tokens for b in found)}


def versions() -> dict[str, Any]:
    """The versions and the instruction set that a record states."""
    names = ["yakusu", "sentencepiece", "numpy", *(["torch"] if "torch" in sys.modules else [])]
    return {
        **{name: version(name) for name in names},
        "python": sys.version.split()[0],
        "instruction set": instruction_set(),
    }


if __name__ == "__main__":
    serve(
        {
            "load_plain": load_plain,
            "load": load,
            "search": search,
            "translate": translate,
            "versions": versions,
        }
    )
