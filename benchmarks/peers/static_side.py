"""Memory and time of one library that encodes texts by static embeddings, in its own process.

Usage: python -m benchmarks.peers.static_side LIBRARY FOLDER TEXTS, where TEXTS has one text a line.
Prints JSON: resident MiB after opening, milliseconds of CPU time from the loaded tokenizer to the
first vector, and texts per second of CPU time on one thread, the best of three rounds. LIBRARY
"tokenizer" only loads numpy and the tokenizer.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from tokenizers import Tokenizer

from benchmarks.memory import mib

_BATCH = 20_000  # below the number of texts from which model2vec uses several threads
Encode = Callable[[list[str]], Any]


def open_model2vec(folder: str) -> Encode:
    """Open a model with model2vec."""
    from model2vec import StaticModel

    model = StaticModel.from_pretrained(folder)
    return lambda texts: model.encode(texts, use_multiprocessing=False)


def open_laghu(folder: str) -> Encode:
    """Open a model with laghu, without its core in Rust."""
    from laghu import load

    encode: Encode = load(folder).encode
    return encode


def open_yakusu(folder: str) -> Encode:
    """Open a model, compressed or not, with yakusu."""
    from yakusu.vectors import open_static

    return open_static(folder).encode


def first_vector(folder: str) -> float:
    """Return the milliseconds of CPU to the first vector of yakusu, from a loaded tokenizer."""
    from yakusu.vectors.static import model

    tokenizer = model.StaticTokenizer(Path(folder) / "tokenizer.json")
    seconds = []
    with patch.object(model, "StaticTokenizer", lambda path: tokenizer):
        for text in ("The first text.", "A second one.", "Then a third one."):
            start = time.process_time()
            model.open_static(folder).encode(text)
            seconds.append(time.process_time() - start)
    return 1000 * sorted(seconds)[1]


def main(library: str, folder: str, path: str) -> None:
    """Print the measurements."""
    if library == "tokenizer":
        loaded = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
        print(json.dumps({"mib": mib("VmRSS"), "tokens": loaded.get_vocab_size()}))
        return
    encode = {"model2vec": open_model2vec, "laghu": open_laghu, "yakusu": open_yakusu}[library](
        folder
    )
    found = {"mib": mib("VmRSS")}
    texts = Path(path).read_text(encoding="utf-8").splitlines()
    rates = []
    for _ in range(3):
        start = time.process_time()
        for begin in range(0, len(texts), _BATCH):
            assert np.isfinite(encode(texts[begin : begin + _BATCH])).all()
        rates.append(len(texts) / (time.process_time() - start))
    found |= {"rate": max(rates), "encoding_mib": mib("VmHWM")}
    if library == "yakusu":
        found["first_ms"] = first_vector(folder)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
