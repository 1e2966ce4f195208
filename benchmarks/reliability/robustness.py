"""Sentences in capitals, with typos and so on: usual models, inline case marks, augmentation.

Systems:
- usual: the recipe without augmentation;
- marks: the corpora in lower case, with a mark before each capitalised word and another one before
  each word in capitals; the sources get the marks, and the translations lose them;
- noise: the recipe with its section [augmentation], or with that of --noise.

All systems of a corpus have the same number of steps. A share is BLEU divided by that of the plain
sources, compared in the same way (src/yakusu/pipeline/robustness.py). Settings are chosen on the
development sets; --test scores the test sets, once, when all settings are fixed.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import regex

import yakusu
from benchmarks.common import Benchmark
from benchmarks.quick import SETTINGS
from benchmarks.records import Record
from benchmarks.runs import Remarks, open_translator, slug
from benchmarks.tables import NONE, FilledTable, fill
from yakusu.data.files.text import read_lines
from yakusu.metrics import MetricOptions
from yakusu.pipeline.robustness import robustness

CAPITALISED, CAPITALS = "↑", "⇑"
LANGUAGES = ("en", "de")
SYSTEMS = ("usual", "marks", "noise")
NO_NOISE = tuple(
    f"augmentation.{key}=0" for key in yakusu.load_recipe("tiny").augmentation.model_dump()
)
_WORD = regex.compile(r"[\p{L}\p{M}]+")
_MARKED = regex.compile(rf"([{CAPITALISED}{CAPITALS}]) ?([\p{{L}}\p{{M}}]*)")


@dataclass(frozen=True)
class Corpus:
    """A corpus and how its models are trained.

    train, dev, test: Files without the language, below the folder of the corpora, or of the run of
        the demo.
    recipe: Name of a packaged recipe.
    steps: Number of steps.
    n_pairs: Number of training pairs; 0: all.
    """

    train: str
    dev: str
    test: str
    recipe: str
    steps: int
    n_pairs: int = 0


_MULTI30K = ("multi30k/train", "multi30k/val", "multi30k/test2016")
_TATOEBA = ("tatoeba/en-de/train", "tatoeba/en-de/dev", "tatoeba/en-de/test")
CORPORA = {
    "Multi30k, 5,000 pairs": Corpus(*_MULTI30K, "tiny", steps=1200, n_pairs=5000),
    "Multi30k, 29,000 pairs": Corpus(*_MULTI30K, "small", steps=4000),
    "Tatoeba, 161,704 pairs": Corpus(*_TATOEBA, "small", steps=8000),
    "the demo": Corpus("train", "dev", "test", "demo", steps=2000),
}

benchmark = Benchmark(
    "robustness",
    __doc__,
    example="python -m benchmarks.reliability.robustness --runs runs/robustness",
    needs=["data", "runs"],
    quick={
        "corpora": ["Multi30k, 5,000 pairs"],
        "steps": 4,
        "set": [
            "training.validate_steps=4",
            "batches.step_tokens=500",
            "model.n_layers=1",
            *SETTINGS,
        ],
    },
)
benchmark.option("--corpora", nargs="+", default=list(CORPORA), choices=CORPORA, help="all")
benchmark.option("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS, help="all")
benchmark.option("--seeds", nargs="+", type=int, default=[1], help="of the training (%(default)s)")
benchmark.option("--steps", type=int, help="other numbers of steps than those of the plan")
benchmark.option("--set", nargs="+", default=[], help="settings of all systems, key=value")
benchmark.option("--noise", nargs="+", default=[], help="all shares of noise, as in lower=0.1")
benchmark.option("--test", action="store_true", help="score the test sets")


# ---- inline case marks ---------------------------------------------------------------------------


def marked(text: str) -> str:
    """A text in lower case with marks: "Ein NATO-Gipfel" is "↑ ein ⇑ nato-↑ gipfel".

    Words such as iPhone and McDonald keep their case.
    """
    return str(_WORD.sub(lambda match: _with_mark(match[0]), text))


def _with_mark(word: str) -> str:
    if word == word.lower():
        return word
    mark = CAPITALS if word.isupper() and len(word) > 1 else CAPITALISED
    changed = f"{mark} {word.lower()}"
    return changed if restored(changed) == word else word


def restored(text: str) -> str:
    """A text with case instead of marks."""

    def cased(match: regex.Match[str]) -> str:
        mark, word = match.groups()
        return word.upper() if mark == CAPITALS else word[:1].upper() + word[1:]

    return str(_MARKED.sub(cased, text))


# ---- runs ----------------------------------------------------------------------------------------


def write_text(corpus: Corpus, data: Path, folder: Path, change: Callable[[str], str]) -> list[str]:
    """Write the training and dev set of a system; return the settings that name them."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = []
    for key, name, n in (("train", corpus.train, corpus.n_pairs), ("dev", corpus.dev, 0)):
        paths = []
        for language in LANGUAGES:
            lines = list(read_lines(data / f"{name}.{language}"))
            paths.append(folder / f"{key}.{language}")
            text = "".join(f"{change(line)}\n" for line in lines[: n or None])
            paths[-1].write_text(text, encoding="utf-8")
        settings.append(f'data.{key}={{src="{paths[0]}", tgt="{paths[1]}"}}')
    return settings


def label_of(system: str, args: argparse.Namespace) -> str:
    """The name of a system, with the shares that differ from those of the recipe."""
    return " ".join((system, *args.noise)) if system == "noise" else system


def train(name: str, system: str, seed: int, args: argparse.Namespace) -> Path:
    """Train a system on a corpus, or finish its run; return the run's folder."""
    corpus, steps = CORPORA[name], args.steps or CORPORA[name].steps
    folder: Path = args.runs / slug(f"{name} {steps} steps")
    folder /= slug(f"{label_of(system, args)} {seed}")
    noise = args.noise if system == "noise" else []
    shares = NO_NOISE if noise or system != "noise" else ()
    settings = [*shares, *(f"augmentation.{each}" for each in noise)]
    settings += [f"training.max_steps={steps}", "training.patience=0", *args.set]
    progress = Remarks(folder.name)
    if corpus.recipe == "demo":
        yakusu.demo("de", folder=folder, seed=seed, changes=settings, progress=progress)
        return folder / "demo-en-de"
    text = write_text(corpus, args.data, folder, marked if system == "marks" else str)
    own = [f'run="{folder / "run"}"', f"seed={seed}"]
    yakusu.train(yakusu.load_recipe(corpus.recipe, [*own, *settings, *text]), progress=progress)
    return folder / "run"


def scored(
    run: Path, system: str, corpus: Corpus, args: argparse.Namespace
) -> list[dict[str, Any]]:
    """The rows of the robustness of a model on the dev set, or on the test set."""
    data = run.parent / "phrasebook-en-de" if corpus.recipe == "demo" else args.data
    name = corpus.test if args.test else corpus.dev
    sources, references = (list(read_lines(data / f"{name}.{code}")) for code in LANGUAGES)
    translator = open_translator(run / "model", threads=args.threads)

    def translate(lines: list[str]) -> Iterator[yakusu.Translation]:
        if system != "marks":
            yield from (best for best, *_ in translator.stream(lines))
            return
        for best, *_ in translator.stream(map(marked, lines)):
            yield replace(best, text=restored(best.text))

    options = MetricOptions(target_language=LANGUAGES[1])
    found = robustness(translate, sources, references, LANGUAGES[0], options)
    print(found, flush=True)
    return [{**asdict(row), "bleu": row.bleu.value, "score": str(row.bleu)} for row in found.rows]


# ---- table ---------------------------------------------------------------------------------------


def tables(records: Sequence[Record]) -> Iterator[FilledTable]:
    """BLEU of plain sources and the shares of it, for each corpus, system and test set."""
    kinds = dict.fromkeys(record["test_set"] for record in records)
    for kind in kinds:
        own = [record for record in records if record["test_set"] == kind]
        names = [row["name"] for row in own[0]["rows"]][1:]
        columns = (
            ("Corpus", "{corpus}"),
            ("System", "{label}"),
            ("Seed", "{own_seed}"),
            ("Steps", "{steps:,}"),
            ("BLEU, plain", lambda r: f"{r['rows'][0]['bleu']:.2f}"),
            *((name, _share(number)) for number, name in enumerate(names, start=1)),
            ("Mean", lambda r: f"{mean(row['of_plain'] or 0 for row in r['rows'][1:]):.1%}"),
            ("Emoji kept", lambda r: f"{r['rows'][-1]['emoji_kept']:.1%}"),
        )
        yield fill(columns, own, own, title=kind)


def _share(number: int) -> Callable[[Record], str]:
    def cell(record: Record) -> str:
        share = record["rows"][number]["of_plain"]
        return NONE if share is None else f"{share:.1%}"

    return cell


def main(args: argparse.Namespace) -> None:
    """Train and score each system."""
    kind = "test set" if args.test else "development set"
    for name, seed, system in product(args.corpora, args.seeds, args.systems):
        if system == "marks" and CORPORA[name].recipe == "demo":
            continue  # the demo generates its own text
        run = train(name, system, seed, args)
        label, steps = label_of(system, args), args.steps or CORPORA[name].steps
        print(f"{name}, {label}, seed {seed}, {steps:,} steps, {kind}:")
        measured = {
            "name": f"{name}, {label}, seed {seed}, {steps} steps, {kind}",
            "corpus": name,
            "label": label,
            "own_seed": seed,
            "steps": steps,
            "test_set": kind,
            "changes": args.set,
            "rows": scored(run, system, CORPORA[name], args),
        }
        benchmark.record(measured, seed=seed)


if __name__ == "__main__":
    benchmark.run(main)
