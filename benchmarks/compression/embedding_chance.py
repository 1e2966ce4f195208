"""Table 5 of the compression paper: the spread of BLEU when a translator is compressed repeatedly.

The method has no seed: ten runs must give the same bytes, and therefore one BLEU. The baseline (Shu
and Nakayama) depends on its seed; the source embedding is compressed with each of ten seeds. The
CPU engine translates Multi30k's test2016 in float32; BLEU ignores case.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.bleu import ParallelLines, Scorer
from benchmarks.common import Benchmark
from benchmarks.compression.translators import (
    compressed,
    compressed_by_shu,
    digest,
    translated,
)
from benchmarks.records import Record
from benchmarks.tables import NONE, FilledTable, fixed
from yakusu.compress.config import CompressConfig
from yakusu.translator.folder.folder import ModelFolder

SIZE = (32, 16)  # M, K of the baseline
PAPER = "26.9 to 27.0 in ten runs; Shu's 24.9 to 25.6 (WMT16 en-de)"

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


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Table 5: BLEU when the source embedding is compressed ten times."""
    head = ["System", "Runs", "Different results", "Lowest BLEU", "Highest BLEU"]
    for record in records:
        # "uncompressed 39.66; ours, K = 8: 39.55, ..."
        before, ours = record["score"].split("; ")[:2]
        floats, own = before.split()[-1], ours.partition(": ")[2].split(",")[0]
        shu = record["shu"]
        rows = [
            ["uncompressed", NONE, NONE, floats, floats],
            ["yakusu, K = 8", "10", "1" if record["equal"] else "more", own, own],
            ["Shu+'18", str(len(shu)), str(len(set(shu))), fixed(min(shu)), fixed(max(shu))],
            ["Proposed, in the paper", "10", NONE, "26.90", "27.00"],
            ["Shu+'18 in the paper", "10", NONE, "24.90", "25.60"],
        ]
        yield FilledTable(head, rows, [record], record["name"])


def main(args: argparse.Namespace) -> None:
    """Compress repeatedly by both methods, and score."""
    test = ParallelLines.read(
        *(args.data / "multi30k" / f"test2016.{name}" for name in ("en", "de"))
    )
    scorer = Scorer(test.ref, True, ModelFolder.open(args.model).config.target_language or None)

    def bleu(folder: Path) -> float:
        texts = translated(folder, test.src, precision="float32", threads=args.threads)
        return scorer.score(texts).value

    config = CompressConfig(k=8, exact=0, stacks=("encoder",))
    bleus = []
    with TemporaryDirectory() as folder:
        runs = [Path(folder) / str(i) for i in range(args.times)]
        equal = len({digest(compressed(args.model, out, config).folder) for out in runs}) == 1
        ours = bleu(runs[0])
        for seed in range(1, args.times + 1):
            out, options = Path(folder) / f"shu {seed}", {"steps": args.steps, "seed": seed}
            bleus.append(
                bleu(compressed_by_shu(args.model, out, "encoder", size=SIZE, **options).folder)
            )
            print(f"Shu's, seed {seed}: {bleus[-1]:.2f}", flush=True)
    alike = f"{args.times} runs with the same bytes" if equal else "runs that differ"
    score = (
        f"uncompressed {bleu(args.model):.2f}; ours, K = 8: {ours:.2f}, "
        f"{alike}; Shu's, {args.times} seeds: {min(bleus):.2f} to {max(bleus):.2f}"
    )
    print(f"{score}\npaper: {PAPER}")
    result = {"name": args.name, "score": score, "paper": PAPER, "equal": equal}
    benchmark.record(result | {"shu": [round(each, 2) for each in bleus], "steps": args.steps})


if __name__ == "__main__":
    benchmark.run(main)
