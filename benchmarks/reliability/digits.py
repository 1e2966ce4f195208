"""Digits in the demo's translations of sentences whose numbers occur in no training sentence.

The demo is trained for each target language and seed. A translation counts if the reference has
digits and the translation has the same ones, in the same order. The demo's own test set has 200
sentences; those of other phrasebooks give a more precise share. Their values do not occur in the
training sentences either. --set changes the recipe, to find out which settings matter.
"""

import argparse
from functools import cache

import yakusu
from benchmarks.common import Benchmark
from benchmarks.runs import Remarks, slug
from yakusu.data.phrasebook import phrasebook
from yakusu.pipeline.demo import Digits

FIRST_SEED = 11  # of the other phrasebooks

QUICK = ["training.max_steps=4", "model.n_layers=1", "search.beam=1", "search.max_extra=0"]

benchmark = Benchmark(
    "digits",
    __doc__,
    example="python -m benchmarks.reliability.digits --runs runs/digits --threads 2",
    needs=["runs"],
    quick={"targets": ["de"], "seeds": [1], "books": 1, "set": QUICK},
)
benchmark.option("--targets", nargs="+", default=["de", "fr", "ja", "ko"], help="languages")
benchmark.option("--seeds", nargs="+", type=int, default=[1, 2, 3], help="of the training")
benchmark.option("--books", type=int, default=10, help="other phrasebooks (%(default)s)")
benchmark.option("--set", nargs="+", default=[], help="settings to change, key=value")


@cache
def further_pairs(target: str, books: int) -> dict[str, str]:
    """Return the references of the test sentences of other phrasebooks, by their sources."""
    seeds = range(FIRST_SEED, FIRST_SEED + books)
    return dict(pair for seed in seeds for pair in phrasebook(target, n_pairs=1000, seed=seed).test)


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
            sources, references = zip(*further_pairs(target, args.books).items(), strict=True)
            translations = yakusu.Translator.load(made.model).translate(sources)
            further = Digits.of(translations, references)
            print(f"{name}: {made.digits}, {made.bleu}, {made.seconds:.0f} s")
            print(f"  other test sets: {further}")
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
                    "further_right": further.n_right,
                    "further_with_digits": further.n_sentences,
                    "training_seconds": made.seconds,
                },
                seed=seed,
            )


if __name__ == "__main__":
    benchmark.run(main)
