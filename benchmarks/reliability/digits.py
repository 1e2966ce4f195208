"""Digits in the demo's translations of sentences whose numbers occur in no training sentence.

The demo is trained for each target language and seed. A translation counts if the reference has
digits and the translation has the same ones, in the same order. --set changes the recipe, to find
out which settings matter.
"""

import argparse

import yakusu
from benchmarks.common import Benchmark
from benchmarks.runs import Remarks, slug

QUICK = ["training.max_steps=4", "model.n_layers=1", "search.beam=1", "search.max_extra=0"]

benchmark = Benchmark(
    "digits",
    __doc__,
    example="python -m benchmarks.reliability.digits --runs runs/digits --threads 2",
    needs=["runs"],
    quick={"targets": ["de"], "seeds": [1], "set": QUICK},
)
benchmark.option("--targets", nargs="+", default=["de", "fr", "ja", "ko"], help="languages")
benchmark.option("--seeds", nargs="+", type=int, default=[1, 2, 3], help="of the training")
benchmark.option("--set", nargs="+", default=[], help="settings to change, key=value")


def main(args: argparse.Namespace) -> None:
    """Train each demo, and count its digits."""
    changes = " ".join(args.set) or "the demo"
    for target in args.targets:
        for seed in args.seeds:
            folder = args.runs / slug(f"{changes} {target} {seed}")
            progress = Remarks(f"{target}, seed {seed}")
            made = yakusu.demo(
                target, folder=folder, seed=seed, changes=args.set, progress=progress
            )
            name = f"{changes}, {target}, seed {seed}"
            print(f"{name}: {made.digits}, {made.bleu}, {made.seconds:.0f} s")
            benchmark.record(
                {
                    "name": name,
                    "target": target,
                    "demo_seed": seed,
                    "changes": args.set,
                    "score": str(made.bleu),
                    "bleu": made.bleu.value,
                    "right": made.digits.n_right,
                    "with_digits": made.digits.n_sentences,
                    "sentences": made.n_test,
                    "training_seconds": made.seconds,
                },
                seed=seed,
            )


if __name__ == "__main__":
    benchmark.run(main)
