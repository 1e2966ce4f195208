"""Whether a translation depends on its batch, and what the independence costs.

Models of every architecture translate sentences of 1 to 1,024 tokens: alone, together with one
other sentence, and all in one batch, in two orders. A sentence whose hypotheses or scores differ in
any bit counts as different.

With --speed-of, the sentences of a file are translated in batches of 64 and of 1. --baseline adds
the same measurement with another version of yakusu, alternating with this one.
"""

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from os import environ
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.tables import FilledTable, Table, entries
from yakusu.data.batches import pad
from yakusu.data.vocabulary import EOS
from yakusu.model.architectures import build
from yakusu.model.base import Seq2Seq, models
from yakusu.search.beam import beam_search
from yakusu.search.config import SearchConfig

LENGTHS = (1, 2, 15, 16, 17, 40, 127, 140, 142, 205, 300, 310, 490, 767, 1024)
VOCABULARY = 200
MODELS: dict[str, dict[str, Any]] = {
    "transformer, post-norm": {"d_model": 128, "d_ff": 256, "n_heads": 4},
    "transformer, pre-norm": {"d_model": 128, "d_ff": 256, "n_heads": 4, "norm": "pre"},
    "transformer, odd widths": {"d_model": 38, "d_ff": 51, "n_heads": 5, "d_k": 7, "d_v": 3},
    "transformer, wide": {"d_model": 512, "d_ff": 2048, "n_heads": 8},
    "transformer, experts": {"d_model": 64, "d_ff": 128, "n_heads": 4, "n_experts": 4},
    "transformer, restricted": {
        "d_model": 64,
        "d_ff": 128,
        "n_heads": 4,
        "mixing": "restricted",
        "neighbourhood": 9,
    },
    "transformer, convolution": {"d_model": 64, "d_ff": 128, "n_heads": 4, "mixing": "convolution"},
    "transformer, recurrence": {"d_model": 64, "d_ff": 128, "n_heads": 4, "mixing": "recurrent"},
    "convolutional": {"name": "convolutional", "d_model": 64, "d_conv": 96, "max_positions": 1024},
    "recurrent": {"name": "recurrent", "d_model": 64},
    "bytenet": {"name": "bytenet", "d_model": 64, "n_layers": 5},
}
ENVIRONMENT = {"OMP_WAIT_POLICY": "PASSIVE", "YAKUSU_ENGINE": "torch"}
TIME = """
import json, sys, time, torch
from pathlib import Path
from yakusu import Translator
model, file, batch, threads, n = sys.argv[1:]
torch.set_num_threads(int(threads))
translator = Translator.load(model)
lines = Path(file).read_text(encoding="utf-8").splitlines()[: int(n)]
list(translator.stream(lines[:8], batch=int(batch)))
start = time.perf_counter()
found = list(translator.stream(lines, batch=int(batch)))
seconds = time.perf_counter() - start
print(json.dumps([seconds, sum(best[0].n_tokens for best in found)]))
"""

benchmark = Benchmark(
    "batches",
    __doc__,
    example="python -m benchmarks.reliability.batches --speed-of runs/multi30k/model --src val.en",
    quick={"lengths": [1, 16, 40], "models": ["transformer, odd widths"]},
)
benchmark.option("--models", nargs="+", default=list(MODELS), choices=MODELS, help="all")
benchmark.option("--lengths", nargs="+", type=int, default=LENGTHS, help="in tokens (%(default)s)")
benchmark.option("--beam", type=int, default=4, help="%(default)s")
benchmark.option("--speed-of", type=Path, help="model folder whose speed is measured")
benchmark.option("--src", type=Path, help="source sentences for --speed-of")
benchmark.option(
    "--sentences",
    type=int,
    default=1000,
    help="of --src, and a fifth in batches of 1 (%(default)s)",
)
benchmark.option("--baseline", type=Path, help="folder src of another version of yakusu")
benchmark.option("--rounds", type=int, default=3, help="%(default)s")


_DIFFERENCES = Table(
    (
        ("Model", "{name}"),
        ("Lengths, 1 to 1,024 tokens", "{lengths}"),
        ("Different results", lambda row: ", ".join(map(str, row["different"])) or "none"),
    ),
    rows=lambda record: record["models"],
)
_SPEED = Table(
    (
        ("Sentences per batch", "{batch}"),
        ("Tokens per second", "{this version:,.2f}"),
        ("Previous version", "{baseline:,.2f}"),
        ("Ratio", "{ratio:,.2f}"),
    ),
    rows=entries("speed", "batch"),
    title="Speed",
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """The differences of each architecture, and the speed, of the newest record."""
    yield from _DIFFERENCES(records[-1:])
    yield from _SPEED(records[-1:])


def differences(model: Seq2Seq, lengths: list[int], beam: int) -> list[int]:
    """The lengths of the sentences whose hypotheses depend on the batch."""
    numbers = random.Random(1)
    ids = [[*(numbers.randrange(2, VOCABULARY - 1) for _ in range(n - 1)), EOS] for n in lengths]
    config = SearchConfig(beam=beam, n_best=beam, max_length=4)

    def search(sentences: list[list[int]]) -> list[Any]:
        return beam_search(model, pad(sentences, model.src_pad), config)

    alone = [search([sentence])[0] for sentence in ids]
    batches = [
        search(ids),
        search([*ids[::-1], *ids])[: len(ids)][::-1],
        [search([sentence, ids[-1], sentence])[2] for sentence in ids],
    ]
    return [n for i, n in enumerate(lengths) if any(found[i] != alone[i] for found in batches)]


def speeds(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Tokens per second of each version and batch size, and the ratio to the baseline."""
    versions = {"this version": Path(__file__).parents[2] / "src"}
    if args.baseline:
        versions["baseline"] = args.baseline
    found: dict[str, dict[str, float]] = {}
    for batch in (64, 1):
        rates: dict[str, list[float]] = {name: [] for name in versions}
        for _ in range(args.rounds):
            for name, path in versions.items():
                rates[name].append(_rate(path, args, batch))
        found[f"batch {batch}"] = {name: median(each) for name, each in rates.items()}
        if args.baseline:
            pairs = zip(rates["this version"], rates["baseline"], strict=True)
            found[f"batch {batch}"]["ratio"] = median(new / old for new, old in pairs)
    return found


def _rate(path: Path, args: argparse.Namespace, batch: int) -> float:
    """Tokens per second of a version, measured in a process of its own."""
    words = [str(args.speed_of), str(args.src), str(batch), str(args.threads)]
    words.append(str(args.sentences if batch > 1 else max(1, args.sentences // 5)))
    done = subprocess.run(
        [sys.executable, "-c", TIME, *words],
        env={**environ, "PYTHONPATH": str(path), **ENVIRONMENT},
        stdout=subprocess.PIPE,
        check=True,
    )
    seconds, n_tokens = json.loads(done.stdout)
    return float(n_tokens / seconds)


def main(args: argparse.Namespace) -> None:
    """Compare batches, then measure the speed."""
    rows = []
    for name in args.models:
        sizes = {"name": "transformer", "n_layers": 2, **MODELS[name]}
        torch.manual_seed(1)
        config = models[sizes["name"]].Config.model_validate(sizes)
        model = build(config, src_vocab_size=VOCABULARY, tgt_vocab_size=VOCABULARY).eval()
        bad = differences(model, list(args.lengths), args.beam)
        rows.append({"name": name, "lengths": len(args.lengths), "different": bad})
        print(f"{name:28} {len(args.lengths)} lengths, different: {bad or 'none'}", flush=True)
    speed = speeds(args) if args.speed_of else {}
    for batch, rates in speed.items():
        print(batch, {name: round(value, 2) for name, value in rates.items()})
    benchmark.record(
        {
            "name": "batches",
            "beam": args.beam,
            "models": rows,
            "sentences": args.sentences,
            "speed": speed,
        }
    )


if __name__ == "__main__":
    benchmark.run(main)
