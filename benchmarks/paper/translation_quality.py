"""BLEU, chrF and TER of small translators on the test sets of Multi30k and other small corpora.

Each recipe is trained (up to an hour on two cores) and its model scored; a finished run is only
scored.
"""

import argparse
from dataclasses import dataclass

import yakusu
from benchmarks.common import Benchmark
from benchmarks.quick import SETTINGS
from benchmarks.runs import RECIPES, Remarks, curve
from benchmarks.tables import Cell, Table, fixed, scores

QUICK = (
    *("training.max_steps=4", "training.validate_steps=2", "batches.step_tokens=500"),
    *("model.n_layers=1", *SETTINGS),
)


@dataclass(frozen=True)
class Corpus:
    """What a recipe is scored on.

    test: Source and reference of the test set, below the folder with the corpora.
    name: Name of the record.
    lowercase: Ignore case.
    tokenize: sacreBLEU's tokenizer; None: its default.
    paper: Published score.
    """

    test: tuple[str, str]
    name: str
    lowercase: bool = False
    tokenize: str | None = None
    paper: str = "no published score"


CORPORA = {
    "multi30k": Corpus(
        ("multi30k/test2016.en", "multi30k/test2016.de"),
        "Multi30k en-de, test2016, lower-cased",
        lowercase=True,
        paper="41.02 tokenised, lower-cased (Transformer-Tiny, text only)",
    ),
    "enja-ja-en": Corpus(
        ("enja/test.ja", "enja/test.en"),
        "small_parallel_enja ja-en, test, tokenised text",
        tokenize="none",
    ),
    "enja-en-ja": Corpus(
        ("enja/test.en", "enja/test.ja"),
        "small_parallel_enja en-ja, test, tokenised text",
        tokenize="none",
    ),
    "koen-ko-en": Corpus(("koen/test.ko", "koen/test.en"), "koen ko-en, test"),
    "koen-en-ko": Corpus(("koen/test.en", "koen/test.ko"), "koen en-ko, test"),
}

benchmark = Benchmark(
    "translation_quality",
    __doc__,
    example="python -m benchmarks.paper.translation_quality --runs runs --recipes multi30k",
    needs=["data", "runs"],
    threads=2,
    quick={"set": QUICK, "recipes": ["multi30k"]},
)
benchmark.option("--recipes", nargs="+", default=list(CORPORA), choices=CORPORA, help="all")
benchmark.option("--set", nargs="+", default=[], help="further recipe settings, key=value")


def _score(metric: str) -> Cell:
    return lambda record: fixed(scores("; ".join(record["scores"]))[metric])


def _last(key: str, digits: int) -> Cell:
    return lambda record: fixed(record["curve"][-1][key], digits)


tables = Table(
    (
        ("Test set", "{name}"),
        ("BLEU", _score("BLEU")),
        ("chrF2", _score("chrF2")),
        ("TER", _score("TER")),
        ("Steps", _last("step", 0)),
        ("Minutes", _last("minutes", 0)),
        ("Dev BLEU at the end", _last("dev_bleu", 2)),
        ("Published BLEU", "{paper}"),
    )
)


def show(points: list[dict[str, float]]) -> None:
    """Print a learning curve."""
    print(f"{'step':>7}{'minutes':>9}{'dev perplexity':>16}{'dev BLEU':>10}")
    for point in points:
        print(
            f"{point['step']:7,}{point['minutes']:9.1f}{point['dev_perplexity']:16.2f}"
            f"{point['dev_bleu']:10.2f}"
        )


def main(args: argparse.Namespace) -> None:
    """Train and score each recipe."""
    for name in args.recipes:
        corpus, run = CORPORA[name], args.runs / name
        recipe = yakusu.load_recipe(RECIPES / f"{name}.toml", [f'run="{run}"', *args.set])
        trained = yakusu.train(recipe, progress=Remarks(name))
        points = curve(run)
        show(points)
        src, ref = (args.data / path for path in corpus.test)
        scores = yakusu.evaluate_model(
            trained.model,
            src,
            ref,
            lowercase=corpus.lowercase,
            tokenize=corpus.tokenize,
            engine=yakusu.EngineConfig(precision="float32", threads=args.threads),
        )
        for score in scores:
            print(score)
        result = {
            "name": corpus.name,
            "score": str(scores[0]),
            "paper": corpus.paper,
            "scores": [str(score) for score in scores],
            "dev_score": trained.dev_score,
            "curve": points,
            "recipe": recipe.model_dump(exclude={"run", "data"}),
        }
        benchmark.record(result, seed=recipe.seed)


if __name__ == "__main__":
    benchmark.run(main)
