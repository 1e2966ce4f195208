"""Count the tokens that a sentence takes in vocabularies with and without special tokens.

The pieces of the 256 bytes and of the placeholder tokens take places in a vocabulary that others
would have, so a sentence is divided into more tokens. This matters for small vocabularies.
"""

import argparse
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from benchmarks.common import Benchmark
from benchmarks.tables import Table
from yakusu.data.files.text import read_lines
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import TokenizerConfig

benchmark = Benchmark(
    "special_tokens",
    __doc__,
    example="python -m benchmarks.reliability.special_tokens --sizes 1500 6000",
    needs=["data"],
    quick={"sizes": [700], "corpus": "letters"},
)
benchmark.option("--sizes", type=int, nargs="*", default=[1500, 6000, 16_000], help="vocabularies")
benchmark.option("--corpus", default="multi30k", help="folder of --data (%(default)s)")


tables = Table(
    (
        ("Vocabulary", "{name}"),
        ("Neither", "{tokens.neither:,.2f}"),
        ("Placeholders", "{tokens.placeholders:,.2f}"),
        ("Bytes", "{tokens.bytes:,.2f}"),
        ("Bytes and placeholders", "{tokens.bytes and placeholders:,.2f}"),
    )
)


def tokens_per_sentence(tokenizer: Tokenizer, dev: Sequence[list[str]]) -> float:
    """Return the average over both sides, including eos."""
    encoded = [*tokenizer.encode_source(dev[0]), *tokenizer.encode_target(dev[1])]
    return sum(map(len, encoded)) / len(encoded)


def main(args: argparse.Namespace) -> None:
    """Learn vocabularies of each size, and count."""
    folder: Path = args.data / args.corpus
    train, dev = (
        [list(read_lines(folder / f"{split}.{side}")) for side in ("en", "de")]
        for split in ("train", "val")
    )
    for size in args.sizes:
        counts = {}
        for has_bytes, share in product((False, True), (0.0, 0.1)):
            config = TokenizerConfig(
                vocab_size=size, byte_fallback=has_bytes, placeholder_share=share
            )
            tokenizer = Tokenizer.train(*train, config, seed=1)
            name = " and ".join(
                name for name, used in (("bytes", has_bytes), ("placeholders", share > 0)) if used
            )
            counts[name or "neither"] = tokens_per_sentence(tokenizer, dev)
        base = counts["neither"]
        for name, count in counts.items():
            print(f"{size:>6,} {name:24} {count:6.2f} tokens per sentence, {count / base - 1:+.1%}")
        benchmark.record({"name": f"{args.corpus}, {size:,} tokens", "tokens": counts})


if __name__ == "__main__":
    benchmark.run(main)
