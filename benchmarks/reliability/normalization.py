"""BLEU with vocabularies normalised by NFC, compared with SentencePiece's nmt_nfkc.

For each corpus and seed, two models differ only in the normalisation of their vocabularies. Both
translate the dev set, whose text is cased and not normalised. The steps are few, so that the
comparison takes hours and not days. A finished run is only read.
"""

import argparse
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yakusu
from benchmarks.bleu import ParallelLines, Scorer
from benchmarks.common import Benchmark
from benchmarks.quick import SETTINGS
from benchmarks.records import Record
from benchmarks.runs import RECIPES, Remarks, open_translator
from benchmarks.tables import NONE, Cell, Table, score_of
from yakusu.data.files.text import read_lines
from yakusu.folder import read_json

BEFORE, AFTER = "nmt_nfkc", "nfc"
QUICK = (
    *("training.max_steps=4", "training.validate_steps=2", "batches.step_tokens=500"),
    *("training.warmup_steps=2", "model.n_layers=1", *SETTINGS),
)


@dataclass(frozen=True)
class Corpus:
    """What is compared.

    recipe: Recipe with the sizes of `small`.
    dev: The dev set, below the folder with the corpora, without its suffix.
    languages: Source and target.
    tokenize: sacreBLEU's tokenizer; None: its default.
    """

    recipe: str
    dev: str
    languages: tuple[str, str]
    tokenize: str | None = None


CORPORA = {
    "Multi30k en-de": Corpus("multi30k", "multi30k/val", ("en", "de")),
    "small_parallel_enja en-ja": Corpus("enja-en-ja", "enja/dev", ("en", "ja"), "none"),
    "small_parallel_enja ja-en": Corpus("enja-ja-en", "enja/dev", ("ja", "en"), "none"),
    "koen ko-en": Corpus("koen-ko-en", "koen/dev", ("ko", "en")),
}

benchmark = Benchmark(
    "normalization",
    __doc__,
    example="python -m benchmarks.reliability.normalization --runs runs/normalization",
    needs=["data", "runs"],
    quick={"set": QUICK, "corpora": ["Multi30k en-de"], "seeds": [1]},
)
benchmark.option("--corpora", nargs="+", default=list(CORPORA), choices=CORPORA, help="all")
benchmark.option("--seeds", type=int, nargs="+", default=[1, 2], help="%(default)s")
benchmark.option("--steps", type=int, default=1_000, help="of a run (%(default)s)")
benchmark.option("--set", nargs="+", default=[], help="further settings of all runs, key=value")


def _share(name: str) -> Cell:
    def cell(record: Record) -> str:
        shares = record["full_width"]
        return f"{shares[name]:.1%}" if shares["targets"] else NONE

    return cell


tables = Table(
    (
        ("Corpus and seed", "{name}"),
        ("Steps", "{steps:,}"),
        (f"Dev BLEU, {BEFORE}", score_of(f"scores.{BEFORE}")),
        (f"Dev BLEU, {AFTER}", score_of(f"scores.{AFTER}")),
        ("Difference", lambda record: f"{record['gain'][0]:+.2f}"),
        ("95% interval", lambda record: "{:+.2f} to {:+.2f}".format(*record["gain"][1:])),
        ("Full-width digits and punctuation: training targets", _share("targets")),
        (BEFORE, _share(BEFORE)),
        (AFTER, _share(AFTER)),
    )
)


def full_width(lines: Iterable[str]) -> float:
    """The share of full-width forms among the digits and punctuation marks that have one."""
    counts = Counter[bool]()
    for character in "".join(lines):
        half = unicodedata.normalize("NFKC", character)
        if unicodedata.category(character)[0] in "NP" and half.isascii() and len(half) == 1:
            counts[character != half] += 1
    return counts[True] / max(1, counts.total())


def run_of(name: str, normalization: str, seed: int, args: argparse.Namespace) -> Path:
    """The folder of a run."""
    folder: Path = args.runs / f"{CORPORA[name].recipe}-{normalization}-{args.steps}-{seed}"
    return folder


def translated(name: str, normalization: str, seed: int, args: argparse.Namespace) -> list[str]:
    """Train a model, unless its run is finished, and translate the dev set."""
    corpus, run = CORPORA[name], run_of(name, normalization, seed, args)
    settings = [
        *(f'run="{run}"', f"seed={seed}", f'tokenizer.normalization="{normalization}"'),
        *(f"training.max_steps={args.steps}", f"training.warmup_steps={args.steps // 2}"),
        *args.set,
    ]
    recipe = yakusu.load_recipe(RECIPES / f"{corpus.recipe}.toml", settings)
    model = yakusu.train(recipe, progress=Remarks(run.name)).model
    source = read_lines(args.data / f"{corpus.dev}.{corpus.languages[0]}")
    translator = open_translator(model, threads=args.threads)
    return [best[0].text for best in translator.stream(source)]


def compared(name: str, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """Compare both normalisations with one seed."""
    corpus = CORPORA[name]
    texts = {each: translated(name, each, seed, args) for each in (BEFORE, AFTER)}
    source, target = (args.data / f"{corpus.dev}.{code}" for code in corpus.languages)
    scorer = Scorer(
        ParallelLines.read(source, target).ref,
        lowercase=False,
        language=corpus.languages[1],
        tokenize=corpus.tokenize,
    )
    train = yakusu.load_recipe(RECIPES / f"{corpus.recipe}.toml").data.train
    of_targets = full_width(read_lines(Path(train.files[1])))
    steps = {
        each: read_json(run_of(name, each, seed, args) / "model" / "receipt.json")["steps"]
        for each in (BEFORE, AFTER)
    }
    return {
        "name": f"{name}, seed {seed}",
        "steps": steps[AFTER],
        "steps_of_each": steps,
        "scores": {each: str(scorer.score(lines)) for each, lines in texts.items()},
        "gain": [round(value, 2) for value in scorer.difference(texts[BEFORE], texts[AFTER])],
        "full_width": {
            "targets": of_targets,
            **{each: full_width(lines) for each, lines in texts.items()},
        },
        "set": args.set,
    }


def main(args: argparse.Namespace) -> None:
    """Compare with each seed and corpus."""
    for seed in args.seeds:
        for name in args.corpora:
            found = compared(name, seed, args)
            print(
                f"{found['name']}: {found['scores']}, difference {found['gain']}, "
                f"full-width {found['full_width']}",
                flush=True,
            )
            benchmark.record(found, seed=seed)


if __name__ == "__main__":
    benchmark.run(main)
