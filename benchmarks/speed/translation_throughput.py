"""Translation speed of beam search compared with Hugging Face's `generate`, in turns.

Both search with beam 4 in fp32 on models of the same size with random weights, in the same batches
of the same sentences, and every translation has the same length: a sentence cannot end earlier.
Speeds are sentences and target tokens per second, from source ids to target ids.
"""

import argparse
import statistics
import time
from dataclasses import asdict, dataclass
from functools import cache
from itertools import islice
from typing import Any

import torch
from torch import Tensor

import yakusu
from benchmarks.common import Benchmark
from benchmarks.peers.common import Sizes
from benchmarks.speed import training_throughput
from benchmarks.workers import in_turns, speedup
from yakusu.data.batches import pad
from yakusu.data.files.text import read_lines
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS, TokenizerConfig
from yakusu.model.base import DecoderState
from yakusu.model.config import TransformerConfig
from yakusu.model.linear import SOURCE_MULTIPLE
from yakusu.model.transformer import Transformer, TransformerState
from yakusu.search.beam import beam_search
from yakusu.search.config import SearchConfig

TARGET = 1.4
OURS, PEER = "yakusu", "generate (Hugging Face)"

benchmark = Benchmark(
    "translation_throughput",
    __doc__,
    example="python -m benchmarks.speed.translation_throughput --sizes tiny base --rounds 5",
    needs=["data"],
    threads=2,
    quick={
        **{"sizes": ["tiny"], "vocab": 110, "sentences": 8, "length": 5, "batch": 4},
        "rounds": 1,
    },
)
benchmark.option("--sizes", nargs="+", default=["tiny", "base"], help="names of recipes")
benchmark.option("--vocab", type=int, default=10_000, help="tokens of the joint BPE (%(default)s)")
benchmark.option("--sentences", type=int, default=256, help="sentences per round (%(default)s)")
benchmark.option("--length", type=int, default=30, help="tokens per translation (%(default)s)")
benchmark.option("--beam", type=int, default=4, help="beam size (%(default)s)")
benchmark.option("--batch", type=int, default=64, help="sentences per batch (%(default)s)")
benchmark.option("--rounds", type=int, default=5, help="measured rounds (%(default)s)")
benchmark.option("--seed", type=int, default=1, help="seed of the weights (%(default)s)")


tables = training_throughput.tables


@dataclass(frozen=True)
class Job:
    """What to translate, and how. `length` is in tokens, of every translation."""

    model: TransformerConfig
    vocab_size: int
    sources: list[list[int]]
    length: int
    beam: int
    batch: int
    seed: int


class FixedLength(Transformer):
    """A Transformer whose translations have exactly `length` tokens."""

    length = 0

    @property
    def max_length(self) -> int:
        """The length at which the search stops."""
        return self.length

    def step(self, prev_ids: Tensor, state: DecoderState) -> tuple[Tensor, TransformerState]:
        """Make the end of a sentence so unlikely that only the search ends it."""
        logits, after = super().step(prev_ids, state)
        logits[..., EOS] = -1e4
        return logits, after


@cache
def _our_model(sizes: TransformerConfig, vocab_size: int, length: int, seed: int) -> FixedLength:
    torch.manual_seed(seed)
    model = FixedLength(sizes, src_vocab_size=vocab_size, tgt_vocab_size=vocab_size)
    model.length = length
    return model.eval()


def translate_yakusu(job: Job) -> float:
    """Return the seconds that our search takes."""
    model = _our_model(job.model, job.vocab_size, job.length, job.seed)
    config = SearchConfig(beam=job.beam, max_extra=job.length)
    rows, lengths = iter(job.sources), set()
    start = time.perf_counter()
    while batch := list(islice(rows, job.batch)):
        src = pad(batch, model.src_pad, multiple=SOURCE_MULTIPLE)
        lengths |= {len(found[0].tokens) + 1 for found in beam_search(model, src, config)}
    seconds = time.perf_counter() - start
    _check(lengths, job.length)
    return seconds


@cache
def _their_model(sizes: Sizes, seed: int) -> Any:
    from benchmarks.peers.marian_loop import build_model

    torch.manual_seed(seed)
    return build_model(sizes)


def translate_marian(job: Job) -> float:
    """Return the seconds that `generate` takes."""
    from benchmarks.peers.marian_loop import translate

    config = job.model
    shape = (config.n_layers, config.d_model, config.d_ff, config.n_heads, config.dropout)
    done = translate(
        _their_model(Sizes(job.vocab_size, *shape), job.seed),
        job.sources,
        max_new_tokens=job.length,
        num_beams=job.beam,
        batch_size=job.batch,
        force_length=True,
    )
    _check(set(map(len, done.outputs)), job.length)
    return done.seconds


def _check(lengths: set[int], expected: int) -> None:
    if lengths != {expected}:
        raise ValueError(f"translations have {lengths} tokens instead of {expected}")


def source_ids(args: argparse.Namespace) -> tuple[list[list[int]], int]:
    """Return sentences spread over the corpus, sorted by length as a translator does, and V."""
    src, tgt = (args.data / "multi30k" / f"train.{language}" for language in ("en", "de"))
    lines = [line for line in read_lines(src) if line]
    config = TokenizerConfig(vocab_size=args.vocab)
    tokenizer = Tokenizer.train(lines, read_lines(tgt), config, seed=args.seed)
    chosen = lines[:: max(1, len(lines) // args.sentences)][: args.sentences]
    return sorted(tokenizer.encode_source(chosen), key=len), tokenizer.src_vocab_size


def compare(
    size: str, ids: list[list[int]], vocab: int, args: argparse.Namespace, has_peer: bool
) -> dict[str, Any]:
    """Measure the sides and print the table."""
    config = yakusu.load_recipe(size).model
    job = Job(config, vocab, ids, args.length, args.beam, args.batch, args.seed)
    sides = {OURS: translate_yakusu} | ({PEER: translate_marian} if has_peer else {})
    seconds = in_turns(sides, args.rounds, lambda i: [job], threads=args.threads)
    speeds = {name: [len(ids) / s for s in each] for name, each in seconds.items()}
    rows: dict[str, dict[str, Any]] = {}
    for name, each in speeds.items():
        median = statistics.median(each)
        tokens = median * args.length
        rows[name] = {"sentences_per_second": median, "tokens_per_second": tokens, "rounds": each}
        print(f"{size:6}{name:26}{median:8.1f} sentences/s{tokens:9,.0f} target tokens/s")
    if has_peer:
        gain = speedup(speeds[OURS], speeds[PEER])
        rows[PEER] |= {"ratio": asdict(gain), "target": TARGET}
        print(f"{size:6}speed-up of yakusu: {gain}, goal {TARGET}")
    shape = {"beam": args.beam, "batch": args.batch, "length": args.length, "vocab_size": vocab}
    return {"size": size, "sentences": len(ids), **shape, "sides": rows}


def main(args: argparse.Namespace) -> None:
    """Compare the sides for each size."""
    has_peer = bool(benchmark.installed({PEER: "transformers"}))
    ids, vocab = source_ids(args)
    for size in args.sizes:
        benchmark.record(compare(size, ids, vocab, args, has_peer), seed=args.seed)


if __name__ == "__main__":
    benchmark.run(main)
