"""Table 5 of the compression paper: the spread of BLEU when a translator is compressed repeatedly.

The method has no seed: ten runs must give the same bytes, and therefore one BLEU. The baseline (Shu
and Nakayama) depends on its seed; the source embedding is compressed with each of ten seeds.
"""

import argparse

from benchmarks.common import Benchmark
from benchmarks.compression.api import codes_table, table_digest
from benchmarks.compression.embedding_translation import Test, shu

SIZE = (32, 16)  # M, K of the baseline
PAPER = "one BLEU of ten runs; Shu's 24.9 to 25.6 (WMT16 en-de)"

benchmark = Benchmark(
    "embedding_chance",
    __doc__,
    example="python -m benchmarks.compression.embedding_chance --model runs/multi30k/model "
    "--name 'Multi30k en-de, test2016'",
    needs=["data", "model"],
    quick={"name": "generated text", "times": 2, "steps": 20},
)
benchmark.option("--name", default="", help="name of the test set, for the record")
benchmark.option("--times", type=int, default=10, help="runs of each method (%(default)s)")
benchmark.option("--steps", type=int, default=20_000, help="training steps of the baseline")


def main(args: argparse.Namespace) -> None:
    """Compress repeatedly by both methods, and score."""
    test = Test.load(args)
    weight = test.weight("encoder")
    tables = [codes_table(weight, weight.shape[1], 8).table for _ in range(args.times)]
    equal = len({table_digest(table) for table in tables}) == 1
    ours = test.bleu_with("encoder", tables[0]).value
    bleus = []
    for seed in range(1, args.times + 1):
        for _, made in shu(weight, args.steps, seed, [SIZE]):
            bleus.append(test.bleu_with("encoder", made.table).value)
        print(f"Shu's, seed {seed}: {bleus[-1]:.2f}", flush=True)
    alike = f"{args.times} runs with the same bytes" if equal else "runs that differ"
    score = (
        f"uncompressed {test.bleu().value:.2f}; ours, K = 8: {ours:.2f}, "
        f"{alike}; Shu's, {args.times} seeds: {min(bleus):.2f} to {max(bleus):.2f}"
    )
    print(f"{score}\npaper: {PAPER}")
    result = {"name": args.name, "score": score, "paper": PAPER, "equal": equal}
    benchmark.record(result | {"shu": [round(bleu, 2) for bleu in bleus], "steps": args.steps})


if __name__ == "__main__":
    benchmark.run(main)
