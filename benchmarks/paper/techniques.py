"""Better translators from the same text: each technique alone, and combinations.

All models are trained on Multi30k English-German with the sizes of recipes/multi30k.toml and
compared on its development set. A gain is the difference in BLEU from the first row, with its 95%
interval by paired bootstrap resampling, which does not include the spread between seeds.

With --test, the model of a row also translates the test sets: once, when all settings are fixed.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yakusu
from benchmarks.bleu import Scorer
from benchmarks.common import Benchmark
from benchmarks.paper.quality_sections import FIRST, TESTED
from benchmarks.quick import SETTINGS
from benchmarks.runs import RECIPES, Remarks, curve, slug
from yakusu.data.text import read_lines
from yakusu.errors import DataError
from yakusu.folder import read_json
from yakusu.recipe import Recipe
from yakusu.translator.passage import TextConfig

KEPT = 10  # checkpoints of a run
# The settings of the first row; the others differ from it.
BASE = {
    "training.max_steps": 6000,
    "training.keep_last": KEPT,
    "training.r_drop": 0,
    "training.bpe_dropout": 0,
    "training.ema_decay": 0,
    "model.attention_dropout": 0,
}
R_DROP, BPE_DROPOUT = {"training.r_drop": 5}, {"training.bpe_dropout": 0.1}
TUNED = {"beam": 8, "alpha": 1.4}
TESTS = ("test2016", "test2017")


@dataclass(frozen=True)
class Row:
    """A row of the table.

    changes: Settings that differ from the first row.
    seeds: More than one: an ensemble.
    last: Number of checkpoints to average.
    search: Search settings that differ from the first row.
    teacher: The row whose models translate the sources of the training pairs; of their eight best
        translations with the tuned search, the student is trained on the one that is closest to
        the reference, and on the references as well.
    backward: Train also on the targets of the training pairs with sources that a model of the
        reverse direction made from them.
    """

    changes: Mapping[str, float] = field(default_factory=dict)
    seeds: tuple[int, ...] = (1,)
    last: int = KEPT
    search: Mapping[str, float] = field(default_factory=dict)
    teacher: str | None = None
    backward: bool = False


ROWS = {
    FIRST: Row(),
    "seed 2": Row(seeds=(2,)),
    "seed 3": Row(seeds=(3,)),
    "1 checkpoint": Row(last=1),
    "3 checkpoints averaged": Row(last=3),
    "length penalty 1.4": Row(search={"alpha": 1.4}),
    "beam of 8, length penalty 1.4": Row(search=TUNED),
    "12,000 steps": Row({"training.max_steps": 12_000}),
    "moving average, decay 0.999": Row({"training.ema_decay": 0.999}, last=1),
    "attention dropout 0.1": Row({"model.attention_dropout": 0.1}),
    "BPE-dropout 0.1": Row(BPE_DROPOUT),
    "R-Drop, alpha 5": Row(R_DROP),
    "R-Drop and BPE-dropout": Row(R_DROP | BPE_DROPOUT),
    "ensemble of three seeds": Row(seeds=(1, 2, 3)),
    "distilled from the ensemble": Row(teacher="ensemble of three seeds"),
    "with back-translated sources": Row(backward=True),
}
TEXT = "$YAKUSU_DATA/multi30k"
REVERSE = (
    *('data.source_language="de"', 'data.target_language="en"'),
    f'data.train={{src="{TEXT}/train.de", tgt="{TEXT}/train.en"}}',
    f'data.dev={{src="{TEXT}/val.de", tgt="{TEXT}/val.en"}}',
)
QUICK = (
    *("training.max_steps=10", "training.validate_steps=1", "batches.step_tokens=500"),
    *("model.n_layers=1", *SETTINGS),
)

benchmark = Benchmark(
    "techniques",
    __doc__,
    example="python -m benchmarks.paper.techniques --runs runs/techniques --rows 'R-Drop, alpha 5'",
    needs=["data", "runs"],
    quick={
        "set": QUICK,
        "rows": ["distilled from the ensemble", "with back-translated sources"],
    },
)
benchmark.option(
    "--rows", nargs="+", default=list(ROWS), choices=ROWS, help="in quotes (default: all)"
)
benchmark.option(
    "--test", action="store_true", help="translate the test sets, too; only with a single row"
)
benchmark.option("--set", nargs="+", default=[], help="further settings of all rows, key=value")


@dataclass(frozen=True)
class Finished:
    """The models of a row.

    folders: Model folders.
    runs: Their runs.
    """

    folders: list[Path]
    runs: list[Path]

    def receipts(self) -> list[dict[str, Any]]:
        """Return the receipt of each model."""
        return [read_json(run / "model" / "receipt.json") for run in self.runs]


class Rows:
    """Trains the rows and translates with their models; a finished run is only read."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.models, self.translated = cache(self._models), cache(self._translated)

    def _models(self, name: str) -> Finished:
        """Train the models of a row."""
        row, runs = ROWS[name], list[Path]()
        for seed in row.seeds:
            settings = [f"{key}={value}" for key, value in row.changes.items()]
            teacher = [f"from {row.teacher}"] if row.teacher else []
            extra = self._backward() if row.backward else []
            words = ["run", *teacher, *(["backward"] if extra else []), *settings, str(seed)]
            runs.append(self.args.runs / slug(" ".join(words)))
            self._train(self._recipe(row, seed, runs[-1], *extra), row.teacher)
        return Finished([self._average(run, row.last) for run in runs], runs)

    def _average(self, run: Path, last: int) -> Path:
        steps = read_json(run / "model" / "receipt.json")["steps"]
        folder = run / f"average-{last}-of-{steps}"
        if not folder.exists():
            yakusu.average(run, last=last, out=folder)
        return folder

    def _backward(self) -> list[str]:
        """Make sources with a model of the reverse direction; return the settings that add them."""
        run, out = self.args.runs / "run-reverse", self.args.runs / "backward"
        self._train(self._recipe(Row(), 1, run, *REVERSE), None)
        config = yakusu.BacktranslateConfig(tag="", drop_held_out=True)
        text = self.args.data / "multi30k" / "train.de"
        made = yakusu.backtranslate(
            self._average(run, KEPT), text, out=out, config=config, progress=Remarks(out.name)
        )
        return [f'data.extra={{src="{made.corpus}/train.src", tgt="{made.corpus}/train.tgt"}}']

    def _recipe(self, row: Row, seed: int, run: Path, *more: str) -> Recipe:
        settings = BASE | dict(row.changes) | {"seed": seed}
        changes = [f'run="{run}"', *(f"{key}={value}" for key, value in settings.items())]
        return yakusu.load_recipe(RECIPES / "multi30k.toml", [*changes, *more, *self.args.set])

    def _train(self, recipe: Recipe, teacher: str | None) -> None:
        progress = Remarks(Path(recipe.run).name)
        if teacher is None:
            yakusu.train(recipe, progress=progress)
        else:
            config = yakusu.DistilConfig(drop_held_out=True, closest=True)
            search = yakusu.SearchConfig(**TUNED, n_best=TUNED["beam"])
            teachers = self.models(teacher).folders
            yakusu.distil(teachers, recipe, options=search, config=config, progress=progress)

    def _translated(self, name: str, corpus: Path) -> list[str]:
        """Translate a corpus with the models of a row, in float32."""
        first, *others = self.models(name).folders
        translator = yakusu.Translator.load(
            first,
            ensemble=others,
            engine=yakusu.EngineConfig(precision="float32", threads=self.args.threads),
            text=TextConfig(one_sentence_per_line=True),
        )
        search = translator.search.model_copy(update=dict(ROWS[name].search))
        translator = translator.with_settings(search=search)
        source = read_lines(corpus.with_suffix(".en"))
        return [best[0].text for best in translator.stream(source)]

    def _scorer(self, corpus: Path) -> Scorer:
        return Scorer(list(read_lines(corpus.with_suffix(".de"))), lowercase=True, language="de")

    def tests(self, name: str) -> dict[str, str]:
        """Return BLEU on each test set, with its signature."""
        corpora = [self.args.data / "multi30k" / test for test in TESTS]
        return {
            each.name: str(self._scorer(each).score(self.translated(name, each)))
            for each in corpora
        }

    def result(self, name: str) -> dict[str, Any]:
        """Train a row and compare it with the first one."""
        dev = self.args.data / "multi30k" / "val"
        models, texts, scorer = self.models(name), self.translated(name, dev), self._scorer(dev)
        score = scorer.score(texts)
        gain = scorer.difference(self.translated(FIRST, dev), texts)
        receipts = models.receipts()
        seconds = [receipt["wall_seconds"] for receipt in receipts]
        return {
            "name": name,
            "score": str(score),
            "dev_bleu": round(score.value, 2),
            "gain": [round(value, 2) for value in gain],
            "minutes": round(sum(seconds) / 60, 1),
            "steps": receipts[0]["steps"],
            "flops": sum(receipt["flops"]["counted"] for receipt in receipts),
            "curves": [curve(run) for run in models.runs],
            "settings": BASE | dict(ROWS[name].changes),
            "search": dict(ROWS[name].search),
            "teachers_search": TUNED if ROWS[name].teacher else {},
            "set": self.args.set,
        }


def show(results: Sequence[Mapping[str, Any]]) -> None:
    """Print the table."""
    print(
        f"\n{'Multi30k en-de, dev set':38}{'BLEU':>6}{'gain':>7}{'95% interval':>18}{'minutes':>9}"
    )
    for found in results:
        gain, low, high = found["gain"]
        print(
            f"{found['name']:38}{found['dev_bleu']:6.2f}{gain:+7.2f}"
            f"{f'{low:+.2f} to {high:+.2f}':>18}{found['minutes']:9.1f}"
        )


def main(args: argparse.Namespace) -> None:
    """Train, compare and print each row."""
    if args.test and len(args.rows) > 1:
        raise DataError("the test sets are translated by a single row: add --rows ROW")
    rows = Rows(args)
    results = []
    for name in args.rows:
        results.append(rows.result(name))
        benchmark.record(results[-1])
        show(results[-1:])
    show(results)
    if args.test:
        tests = rows.tests(args.rows[0])
        benchmark.record({"name": TESTED, "model": args.rows[0], "tests": tests})
        print("\n".join(f"{test}: {score}" for test, score in tests.items()))


if __name__ == "__main__":
    benchmark.run(main)
