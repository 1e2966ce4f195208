"""`yakusu train` without a recipe on each corpus: the chosen recipe, the minutes and BLEU.

The recipe is chosen by the number of sentence pairs (docs/decisions/0046). Its settings are not
changed, except by --set, which applies to all corpora. Nothing is tuned in this benchmark, but
values of `tiny` and `small` come from earlier runs on small_parallel_enja and Multi30k. Development
sets are used only to choose checkpoints and to end training. The test set is translated with the
model that training returns: the average of the last checkpoints, or the best checkpoint if its dev
score is higher. A finished run is not trained again.

The first 1,500 lines of newstest2013 are the development set of the news corpora, and the others
are their test set. Of the development set of IWSLT 2014, the first 1,000 lines are used. The
validation set of the WMT sample of OpenNMT has 50 lines, so the last 1,000 of its training pairs
are held out instead: 500 for development and 500 for the test. One of these test pairs, and four of
these development pairs, occur in the training part as well.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import yakusu
from benchmarks.common import Benchmark
from benchmarks.quick import SETTINGS
from benchmarks.runs import Remarks, curve, slug
from benchmarks.tables import Table, score_of
from yakusu.data import config
from yakusu.data.corpus import read_pairs
from yakusu.data.files.text import read_lines
from yakusu.folder import read_json, write_text
from yakusu.pipeline.training.choose_recipe import recipe_for


@dataclass(frozen=True)
class Part:
    """Pairs `first` (from 0) to `last` (excluded) of a TSV file with a header or two text files.

    path: The TSV file, or the files without the suffix of their language.
    step: 6 leaves only every sixth of these pairs.
    """

    path: str
    first: int = 0
    last: int | None = None
    step: int = 1


@dataclass(frozen=True)
class Corpus:
    """A corpus in one direction.

    languages: Source and target.
    tokenize: sacreBLEU's tokenizer for text that is already tokenised; None: its default.
    """

    languages: tuple[str, str]
    train: Part
    dev: Part
    test: Part
    tokenize: str | None = None


def _folder(folder: str, source: str, target: str, dev: str = "dev", test: str = "test") -> Corpus:
    parts = (Part(f"{folder}/{name}") for name in ("train", dev, test))
    return Corpus((source, target), *parts)


def _news(target: str) -> Corpus:
    dev, test = Part("wmt/newstest2013", 0, 1500), Part("wmt/newstest2013", 1500)
    return Corpus(("en", target), Part("wmt/newstest2009-2012"), dev, test)


CORPORA = {
    "small_parallel_enja, en-ja, the first 5,000": Corpus(
        ("en", "ja"), Part("enja/train", 0, 5000), Part("enja/dev"), Part("enja/test"), "none"
    ),
    "IWSLT 2014 sample, de-en": Corpus(
        ("de", "en"),
        Part("iwslt14/train_lr.tok"),
        Part("iwslt14/valid.tok", 0, 1000),
        Part("iwslt14/test.tok"),
        "none",
    ),
    "WMT newstest 2009-2012, en-de": _news("de"),
    "WMT newstest 2009-2012, en-fr": _news("fr"),
    "WMT sample of OpenNMT, en-de": Corpus(
        ("en", "de"),
        Part("wmt/onmt10k.train.tok", 0, 8998),
        Part("wmt/onmt10k.train.tok", 8998, 9498),
        Part("wmt/onmt10k.train.tok", 9498),
        "none",
    ),
    "Multi30k, en-de": _folder("multi30k", "en", "de", "val", "test2016"),
    "Multi30k, en-fr": _folder("multi30k", "en", "fr", "val", "test2016"),
    "Bible, en-de": Corpus(
        ("en", "de"), Part("bible/train.tsv"), Part("bible/dev.tsv"), Part("bible/test.tsv")
    ),
    "Bible, en-de, every sixth pair": Corpus(
        ("en", "de"), Part("bible/train.tsv", step=6), Part("bible/dev.tsv"), Part("bible/test.tsv")
    ),
    "Tatoeba, en-de": _folder("tatoeba/en-de", "en", "de"),
    "Tatoeba, en-fr": _folder("tatoeba/en-fr", "en", "fr"),
}

QUICK = ("training.max_steps=4", "training.validate_steps=2", "batches.step_tokens=500")

benchmark = Benchmark(
    "corpora",
    __doc__,
    example="python -m benchmarks.paper.corpora --runs runs/corpora --rows 'Multi30k, en-de'",
    needs=["data", "runs"],
    quick={
        "set": [*QUICK, "model.n_layers=1", *SETTINGS],
        "rows": ["small_parallel_enja, en-ja, the first 5,000"],
    },
)
benchmark.option(
    "--rows", nargs="+", default=list(CORPORA), choices=CORPORA, help="in quotes (default: all)"
)
benchmark.option("--set", nargs="+", default=[], help="further settings of all runs, key=value")


tables = Table(
    (
        ("Corpus", "{name}"),
        ("Pairs", "{pairs:,.0f}"),
        ("Recipe", "`{chosen}`"),
        ("Steps", "{steps:,.0f}"),
        ("Minutes", "{minutes:,.0f}"),
        ("Dev BLEU", score_of("dev_score")),
        ("Test BLEU", score_of("score")),
        ("Other settings", lambda record: ", ".join(record["settings"])),
    )
)


def pairs_of(part: Part, data: Path, languages: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the sentence pairs of a part; pairs with an empty side are left out."""
    path, (source, target) = str(data / part.path), languages
    if path.endswith(".tsv"):
        files = config.Corpus(pairs=path, src_column=source, tgt_column=target)
    else:
        files = config.Corpus(src=f"{path}.{source}", tgt=f"{path}.{target}")
    found = [(src, tgt) for src, tgt in read_pairs(files) if src and tgt]
    return found[part.first : part.last : part.step]


def write_pairs(pairs: list[tuple[str, str]], paths: tuple[Path, Path]) -> None:
    """Write the two sides of sentence pairs to two files."""
    for path, lines in zip(paths, zip(*pairs, strict=True), strict=True):
        write_text(path, "".join(f"{line}\n" for line in lines))


def measure(name: str, args: argparse.Namespace) -> dict[str, object]:
    """Train on a corpus, translate its test set, and return what was measured."""
    corpus, run = CORPORA[name], args.runs / slug(name)
    texts = args.runs / "texts" / slug(name)
    texts.mkdir(parents=True, exist_ok=True)
    source, target = corpus.languages
    train, dev, test = (
        (texts / f"{part}.{source}", texts / f"{part}.{target}")
        for part in ("train", "dev", "test")
    )
    for part, paths in ((corpus.train, train), (corpus.dev, dev), (corpus.test, test)):
        write_pairs(pairs_of(part, args.data, corpus.languages), paths)
    files = {"src": train[0], "tgt": train[1], "dev_src": dev[0], "dev_tgt": dev[1]}
    trained = yakusu.train(None, args.set, progress=Remarks(slug(name)), run=run, **files)
    engine = yakusu.EngineConfig(precision="float32", threads=args.threads)
    (score, *_) = yakusu.evaluate_model(
        trained.model, *test, tokenize=corpus.tokenize, engine=engine
    )
    n_pairs = sum(1 for _ in read_lines(train[0]))
    return {
        "name": name,
        "pairs": n_pairs,
        "chosen": recipe_for(n_pairs),
        "score": str(score),
        "dev_score": trained.dev_score,
        "steps": trained.steps,
        "reason": trained.reason,
        "minutes": round(trained.seconds / 60, 1),
        "parameters": read_json(trained.model / "receipt.json")["parameters"],
        "settings": list(args.set),
        "curve": curve(run),
    }


def main(args: argparse.Namespace) -> None:
    """Measure each corpus."""
    for name in args.rows:
        found = measure(name, args)
        benchmark.record(found)
        print(f"{name}: {found['chosen']}, {found['minutes']} minutes, {found['score']}")


if __name__ == "__main__":
    benchmark.run(main)
