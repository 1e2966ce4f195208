"""Raw text -> the data folder of a run: filter, hold out, learn the tokenizer, binarise.

train.src.* train.tgt.* dev.src.* dev.tgt.*   binarised pairs
dev.src.txt dev.tgt.txt                       dev text, for BLEU
tokenizer.model                               or source.model and target.model
data.json                                     sizes, counts and the filters' report
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from yakusu.data.batches import cut_by_length, fullness
from yakusu.data.corpus import Corpus
from yakusu.data.pairs import Pairs, binarise, chosen_pairs, dtype_for, sift
from yakusu.data.text import FilterConfig, FilterReport, Pair, Repeats, length_fault
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import DataError, RunError
from yakusu.folder import read_json, save_folder, sha256, verify_folder, write_json
from yakusu.pipeline.run import opened
from yakusu.progress import Progress, Silent
from yakusu.recipe import Recipe
from yakusu.tasks.task import tasks

Numbered = tuple[int, Pair]  # with its line in the corpus
Sifted = tuple[Corpus, npt.NDArray[np.bool_]]  # True: that pair is fit
_SAMPLE = 100_000  # pairs whose batches tell the share of padding
_KEEP_ALL = FilterConfig(
    max_tokens=2**31, max_ratio=2**31, drop_duplicates=False, drop_identical=False
)


@dataclass(frozen=True)
class Prepared:
    """What `prepare` made."""

    folder: Path
    report: dict[str, int]  # pairs read, dropped by each filter, kept
    n_train: int
    n_extra: int  # of these
    n_dev: int
    fullness: float  # share of positions of a batch that are not padding
    was_there: bool  # nothing was to be done

    def __str__(self) -> str:
        dropped = ", ".join(
            f"{n:,} {reason}" for reason, n in self.report.items() if reason not in ("read", "kept")
        )
        extra = f"{self.n_extra:,} of them extra, " if self.n_extra else ""
        return (
            f"{self.report['read']:,} pairs read; dropped: {dropped}\n"
            f"{self.n_train:,} pairs to train on, {extra}{self.n_dev:,} to validate on; "
            f"{1 - self.fullness:.1%} of a batch's positions are padding\n"
            f"binarised pairs and tokenizer: {self.folder}"
        )


class Preparation:
    """One run of `prepare`."""

    def __init__(self, recipe: Recipe, progress: Progress, workers: int) -> None:
        self.recipe, self.progress, self.workers = recipe, progress, workers
        self.task = tasks[recipe.task]()

    def fill(self, folder: Path) -> None:
        """Write the data folder."""
        recipe, report = self.recipe, FilterReport()
        trees, source = _trees(recipe), recipe.data.train
        paths = _texts(recipe) | trees
        inputs = {key: sha256(path) for key, path in paths.items()}
        corpora = [recipe.data.train, *([recipe.data.extra] if recipe.data.extra else [])]
        kept = [sift(source, recipe.filters, report, self.progress)]
        _require(bool(kept[0].any()), "train", source, report)
        dev_report = FilterReport() if recipe.data.dev else report
        remedy = "give more text" if recipe.data.dev else "give more text, or a dev set of its own,"
        dev_corpus, dev_filters, dev = self._dev(kept[0], dev_report)
        _require(bool(dev.any()), "validate", dev_corpus, dev_report, remedy)
        if recipe.data.extra:
            kept.append(sift(recipe.data.extra, recipe.filters, report, self.progress))
            self._leave_out(kept[0], kept[1], chosen_pairs(dev_corpus, dev), report)
        parts = list(zip(corpora, kept, strict=True))
        tokenizer = self._tokenizer(parts)
        tokenizer.save(folder)
        total = sum(int(keep.sum()) for keep in kept)
        n_train = self._binarise(
            _chosen(parts), total, folder / "train", tokenizer, recipe.filters, report
        )
        dev_pairs = self._fit_dev(chosen_pairs(dev_corpus, dev), tokenizer, dev_filters, dev_report)
        if recipe.data.dev and dev_report.losses:
            self.progress.say(f"left out of the dev set: {dev_report.losses}")
        _require(n_train > 0, "train", source, report)
        _require(len(dev_pairs) > 0, "validate", dev_corpus, dev_report, remedy)
        self._write_dev(folder, dev_pairs, tokenizer)
        if changed := _changed(paths, inputs):
            raise DataError(f"{changed} changed while being read: run 'yakusu prepare' again")
        facts = {
            "dtype": dtype_for(max(tokenizer.src_vocab_size, tokenizer.tgt_vocab_size)),
            "n_train": n_train,
            "n_dev": len(dev_pairs),
            "report": report.as_dict(),
            "inputs": inputs,
            "trees": {key: str(path) for key, path in trees.items()},
        }
        self._describe(folder, facts, n_lines=len(kept[0]))

    def _write_dev(self, folder: Path, pairs: list[Numbered], tokenizer: Tokenizer) -> None:
        """Binarised and as text."""
        self._binarise(
            iter(pairs), len(pairs), folder / "dev", tokenizer, _KEEP_ALL, FilterReport()
        )
        for side, name in enumerate(("src", "tgt")):
            with (folder / f"dev.{name}.txt").open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(pair[side] + "\n" for _, pair in pairs)

    def _describe(self, folder: Path, facts: dict[str, Any], *, n_lines: int) -> None:
        """Write data.json; training pairs of a line beyond `n_lines` are the extra ones."""
        write_json(folder / "data.json", facts)
        pairs = Pairs.open(folder, "train")
        if extra := self.recipe.data.extra:
            first = int(np.searchsorted(pairs.lines, n_lines, side="right"))
            sizes = ((first, 1.0), (len(pairs) - first, extra.weight))
            train = [{"n_pairs": n, "weight": weight} for n, weight in sizes]
            facts = {**facts, "parts": {"train": train}}
        batch_tokens = self.recipe.batches.batch_tokens_on("cpu")
        sample = np.linspace(0, len(pairs) - 1, min(len(pairs), _SAMPLE), dtype=np.int64)
        batches = cut_by_length(sample, pairs, batch_tokens)
        write_json(folder / "data.json", {**facts, "fullness": fullness(pairs, batches)})

    def _fit_dev(
        self,
        pairs: Iterator[Numbered],
        tokenizer: Tokenizer,
        filters: FilterConfig,
        report: FilterReport,
    ) -> list[Numbered]:
        """Dev pairs whose lengths pass the filters; those held out are counted like the others."""
        fit = []
        for line, pair in pairs:
            src, tgt = self._read(pair)
            ids = tokenizer.encode_source([src]), tokenizer.encode_target([tgt])
            if fault := length_fault(len(ids[0][0]) - 1, len(ids[1][0]) - 1, filters):
                report.dropped[fault] += 1
            else:
                fit.append((line, pair))
        return fit

    def _dev(
        self, train: npt.NDArray[np.bool_], report: FilterReport
    ) -> tuple[Corpus, FilterConfig, npt.NDArray[np.bool_]]:
        """The dev corpus, its filters and its fit pairs; held-out ones are taken from `train`."""
        data = self.recipe.data
        if data.dev:
            longest = self.recipe.model.max_length - 1  # eos
            filters = _KEEP_ALL.model_copy(update={"max_tokens": longest})
            return data.dev, filters, sift(data.dev, filters, report, self.progress)
        fit = np.flatnonzero(train)
        n = min(data.hold_out, len(fit) // 20)
        held_out = np.zeros_like(train)
        held_out[fit[np.linspace(0, len(fit) - 1, n, dtype=np.int64)]] = True
        train &= ~held_out
        return data.train, self.recipe.filters, held_out

    def _leave_out(
        self,
        train: npt.NDArray[np.bool_],
        extra: npt.NDArray[np.bool_],
        dev: Iterator[Numbered],
        report: FilterReport,
    ) -> None:
        """Take out of `extra` what shares a sentence with the dev set and, where repeats go, what
        is in `train`."""
        data, known = self.recipe.data, [(src, tgt) for _, (src, tgt) in dev]
        sources, targets = {src for src, _ in known}, {tgt for _, tgt in known}
        pairs = (pair for _, pair in chosen_pairs(data.extra, extra))
        # A byte a pair: machine-made ones may be millions.
        shared = np.fromiter((s in sources or t in targets for s, t in pairs), dtype=np.bool_)
        extra[extra] = ~shared
        if shared.any():
            report.dropped["in the dev set"] += int(shared.sum())
        if self.recipe.filters.drop_duplicates:
            both = chain(chosen_pairs(data.train, train), chosen_pairs(data.extra, extra))
            repeated = _repeated(pair for _, pair in both)[train.sum() :]
            extra[extra] = ~repeated
            report.dropped["duplicate"] += int(repeated.sum())

    def _tokenizer(self, parts: list[Sifted]) -> Tokenizer:
        """Learnt on sentences spread evenly over the corpora."""
        config = self.recipe.tokenizer
        corpora, kept = zip(*parts, strict=True)
        keep = np.concatenate(kept)
        chosen = np.flatnonzero(keep)
        sample = np.zeros_like(keep)
        n = min(len(chosen), config.sample_sentences)
        sample[chosen[np.linspace(0, len(chosen) - 1, n, dtype=np.int64)]] = True
        samples = np.split(sample, np.cumsum([len(part) for part in kept])[:-1])

        def side(i: int) -> Iterator[str]:
            sampled = _chosen(list(zip(corpora, samples, strict=True)))
            return (self._read(pair)[i] for _, pair in sampled)

        self.progress.say(f"learning a vocabulary of {config.vocab_size:,} tokens from {n:,} pairs")
        with self.progress.track("learning a vocabulary", "tokens", None):
            return Tokenizer.train(side(0), side(1), config, seed=self.recipe.seed)

    def _read(self, pair: Pair) -> Pair:
        """A pair as the vocabularies read it."""
        return self.task.source(pair[0]), self.task.target(pair[1])

    def _binarise(
        self,
        pairs: Iterator[Numbered],
        total: int,
        stem: Path,
        tokenizer: Tokenizer,
        filters: FilterConfig,
        report: FilterReport,
    ) -> int:
        return binarise(
            ((line, self._read(pair)) for line, pair in pairs),
            stem,
            tokenizer=tokenizer,
            filters=filters,
            report=report,
            total=total,
            progress=self.progress,
            workers=self.workers,
        )


def _chosen(parts: list[Sifted]) -> Iterator[Numbered]:
    """The fit pairs of corpora; lines of the second follow those of the first."""
    before = 0
    for corpus, keep in parts:
        yield from ((before + line, pair) for line, pair in chosen_pairs(corpus, keep))
        before += len(keep)


def _repeated(pairs: Iterator[Pair]) -> npt.NDArray[np.bool_]:
    """True for each pair that occurred before."""
    with tempfile.TemporaryDirectory() as folder, Repeats(Path(folder)) as repeats:
        for pair in pairs:
            repeats.add(pair)
        return repeats.find()


def refuse_changed(folder: Path, recipe: Recipe) -> None:
    """Compare the corpora, where they still are, with what a data folder was made from.

    Trees are looked for where they were: a folder or a pattern may have lost all of its own.

    Raises:
        RunError: One has changed.
    """
    facts = read_json(folder / "data.json")
    trees = {key: Path(path) for key, path in facts.get("trees", {}).items()}
    paths = _texts(recipe) | trees
    there = {key: path for key, path in paths.items() if path.exists()}
    if changed := _changed(there, facts["inputs"]):
        raise RunError(
            f"{changed} has changed since {folder} was made from it: put the old text back, or "
            "choose another folder with --run"
        )
    with suppress(DataError):  # they are gone
        now = {path for path in _trees(recipe).values() if path.exists()}
        if added := now - set(trees.values()):
            raise RunError(
                f"{min(added)} was not there when {folder} was made: take it away, or choose "
                "another folder with --run"
            )


def _changed(paths: Mapping[str, Path], before: Mapping[str, str]) -> Path | None:
    """The first file that is not what it was."""
    return next((path for key, path in paths.items() if sha256(path) != before[key]), None)


def _texts(recipe: Recipe) -> dict[str, Path]:
    """The files of text that a run is made from, by their keys in the recipe."""
    return {
        f"{split}.{side}": Path(path)
        for split, corpus in _corpora(recipe).items()
        for side, path in (("src", corpus.src), ("tgt", corpus.tgt), ("tsv", corpus.tsv))
        if path
    }


def _trees(recipe: Recipe) -> dict[str, Path]:
    """The files of trees, numbered."""
    return {
        f"{split}.trees.{number}": path
        for split, corpus in _corpora(recipe).items()
        if corpus.trees
        for number, path in enumerate(corpus.files, start=1)
    }


def _corpora(recipe: Recipe) -> dict[str, Corpus]:
    return {"train": recipe.data.train, "extra": recipe.data.extra, "dev": recipe.data.dev}


def _require(
    is_left: bool,
    purpose: str,
    corpus: Corpus,
    report: FilterReport,
    remedy: str = "give more text",
) -> None:
    """Refuse a corpus of which nothing is left to train or validate on."""
    if is_left:
        return
    names = " and ".join(str(file) for file in corpus.files)
    kind = "tree" if corpus.trees else "sentence pair"
    if not report.read:
        raise DataError(f"{names}: no {kind} is there: check the files")
    filters = f"the filters, which dropped {report.losses}" if report.losses else "the filters"
    raise DataError(
        f"{names}: of {report.read:,} {kind}s read, none is left to {purpose} on: {remedy} or "
        f"loosen {filters}"
    )


def prepare(recipe: Recipe, *, progress: Progress | None = None, workers: int = -1) -> Prepared:
    """Filter the corpus, learn the tokenizer, binarise train and dev.

    Args:
        recipe: Says where everything lies; the result goes to `recipe.run`/data.
        progress: Watches.
        workers: Processes that tokenise; -1 for one a core. The bytes do not depend on it.

    Raises:
        DataError: The corpus cannot be used.
        RunError: The folder holds another run.
    """
    with opened(recipe) as run:
        folder = run / "data"
        was_there = folder.exists()
        if was_there:
            verify_folder(folder)
            refuse_changed(folder, recipe)
        else:
            save_folder(folder, Preparation(recipe, progress or Silent(), workers).fill)
    facts = read_json(folder / "data.json")
    parts = facts.get("parts", {}).get("train", ())
    return Prepared(
        folder,
        facts["report"],
        facts["n_train"],
        sum(part["n_pairs"] for part in parts[1:]),
        facts["n_dev"],
        facts["fullness"],
        was_there,
    )
