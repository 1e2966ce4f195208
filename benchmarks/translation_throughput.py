"""Translation speed of beam search beside Hugging Face's `generate`, in turns in one run.

Both search with beam 4 in fp32 on models of the same size with random weights, in the same batches
of the same sentences, and every translation has the same length: the end of a sentence cannot come
before. Counted are sentences and target tokens a second, from source ids to target ids.
"""

import argparse
import os
import statistics
import time
from dataclasses import asdict, dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import yakusu
from common import in_turns, ratio, record, start
from peers.common import Sizes
from yakusu.data.batches import pad
from yakusu.data.text import read_lines
from yakusu.data.tokenizer import EOS, Tokenizer, TokenizerConfig
from yakusu.model.base import DecoderState
from yakusu.model.config import TransformerConfig
from yakusu.model.linear import SOURCE_MULTIPLE
from yakusu.model.transformer import Transformer, TransformerState
from yakusu.search import SearchConfig, beam_search

TARGET = 1.4
OURS, THEIRS = "yakusu", "generate (Hugging Face)"


@dataclass(frozen=True)
class Job:
    """What is translated, and how."""

    model: TransformerConfig
    vocab_size: int
    sources: list[list[int]]
    length: int  # of every translation, in tokens
    beam: int
    batch: int
    seed: int


class FixedLength(Transformer):
    """A Transformer whose translations cannot end before `length` tokens, nor go on behind them."""

    length = 0

    @property
    def max_length(self) -> int:
        """Where the search has to stop."""
        return self.length

    def step(self, prev_ids: Tensor, state: DecoderState) -> tuple[Tensor, TransformerState]:
        """Make the end of a sentence so unlikely that it comes where the search forces it."""
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
    """Seconds that our search takes."""
    model = _our_model(job.model, job.vocab_size, job.length, job.seed)
    config = SearchConfig(beam=job.beam, max_extra=job.length)
    rows, lengths = iter(job.sources), set()
    began = time.perf_counter()
    while batch := list(islice(rows, job.batch)):
        src = pad(batch, model.src_pad, multiple=SOURCE_MULTIPLE)
        lengths |= {len(found[0].tokens) + 1 for found in beam_search(model, src, config)}
    seconds = time.perf_counter() - began
    _check(lengths, job.length)
    return seconds


@cache
def _their_model(sizes: Sizes, seed: int) -> Any:
    from peers.marian_loop import build_model

    torch.manual_seed(seed)
    return build_model(sizes)


def translate_marian(job: Job) -> float:
    """Seconds that `generate` takes."""
    from peers.marian_loop import translate

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


def _check(lengths: set[int], wanted: int) -> None:
    if lengths != {wanted}:
        raise ValueError(f"translations have {lengths} tokens where all should have {wanted}")


def source_ids(args: argparse.Namespace) -> tuple[list[list[int]], int]:
    """Sentences spread over the corpus, sorted by length as a translator does, and V."""
    lines = [line for line in read_lines(args.src) if line]
    config = TokenizerConfig(vocab_size=args.vocab)
    tokenizer = Tokenizer.train(lines, read_lines(args.tgt), config, seed=args.seed)
    chosen = lines[:: max(1, len(lines) // args.sentences)][: args.sentences]
    return sorted(tokenizer.encode_source(chosen), key=len), tokenizer.src_vocab_size


def compare(
    size: str, ids: list[list[int]], vocab: int, args: argparse.Namespace
) -> dict[str, Any]:
    """Measure both sides and print the table."""
    config = yakusu.load_recipe(size).model
    job = Job(config, vocab, ids, args.length, args.beam, args.batch, args.seed)
    sides = {OURS: translate_yakusu, THEIRS: translate_marian}
    seconds = in_turns(sides, args.rounds, lambda i: [job], threads=args.threads)
    speeds = {name: [len(ids) / s for s in each] for name, each in seconds.items()}
    rows = {}
    for name, each in speeds.items():
        median = statistics.median(each)
        tokens = median * args.length
        rows[name] = {"sentences_per_second": median, "tokens_per_second": tokens, "rounds": each}
        print(f"{size:6}{name:26}{median:8.1f} sentences/s{tokens:9,.0f} target tokens/s")
    gain = ratio(speeds[OURS], speeds[THEIRS])
    rows[THEIRS] |= {"ratio": asdict(gain), "target": TARGET}
    print(f"{size:6}times faster is yakusu: {gain}, wanted {TARGET}")
    shape = {"beam": args.beam, "batch": args.batch, "length": args.length, "vocab_size": vocab}
    return {"size": size, "sentences": len(ids), **shape, "sides": rows}


def main() -> None:
    """Tokenise, measure in turns, record."""
    data = Path(os.environ.get("YAKUSU_DATA", "data")) / "multi30k"
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="example: python benchmarks/translation_throughput.py --sizes tiny base --rounds 5",
    )
    parser.add_argument("--sizes", nargs="+", default=["tiny", "base"], help="names of recipes")
    parser.add_argument("--src", default=str(data / "train.en"), help="source sentences")
    parser.add_argument("--tgt", default=str(data / "train.de"), help="for the joint vocabulary")
    parser.add_argument("--vocab", type=int, default=10_000, help="tokens of the joint BPE")
    parser.add_argument("--sentences", type=int, default=256, help="translated in a round")
    parser.add_argument("--length", type=int, default=30, help="of every translation")
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-record", action="store_true", help="only print the result")
    args = parser.parse_args()
    ids, vocab = source_ids(args)
    for size in args.sizes:
        result = compare(size, ids, vocab, args)
        if not args.no_record:
            record("translation_throughput", result, seed=args.seed, threads=args.threads)


if __name__ == "__main__":
    start(main)
