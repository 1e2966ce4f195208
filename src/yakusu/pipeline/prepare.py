"""`prepare`: raw text -> the data folder of a run.

train.* dev.*              binarised pairs, see data/pairs.py
dev.src.txt dev.tgt.txt    text of the dev set, for BLEU
tokenizer.model            or source.model and target.model
coverage.json              what the training text covers: `Coverage`
data.json                  sizes, counts and inputs: `DataFacts`
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from yakusu.data.batches import cut_by_length, fullness
from yakusu.data.coverage import Coverage
from yakusu.data.filters import (
    NO_FILTERS,
    FilterReport,
    NumberedPair,
    Selection,
    read_in_order,
    sample_evenly,
)
from yakusu.data.pairs import Binarised, DataFacts, Pairs, Part, binarise, dtype_for
from yakusu.data.placeholders import Placeholders
from yakusu.data.text import Pair
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import TokenizerConfig
from yakusu.errors import DataError, RunError
from yakusu.folder import save_folder, sha256, verify_folder
from yakusu.pipeline.parent import Parent, resolved
from yakusu.pipeline.run import opened
from yakusu.pipeline.selection import PairSelector
from yakusu.progress import Progress, Silent
from yakusu.recipe import Recipe
from yakusu.tasks.task import tasks

_log = logging.getLogger(__name__)
_MIN_OCCURRENCES = 20  # average occurrences of a vocabulary entry in the training pairs
_FULLNESS_SAMPLE = 100_000  # pairs from which the share of padding is estimated


@dataclass(frozen=True)
class Prepared:
    """Result of `prepare`."""

    folder: Path
    report: Mapping[str, int]  # pairs read, dropped by each filter, and kept
    n_train: int
    n_extra: int  # training pairs from data.extra
    n_dev: int
    n_masked: int  # training pairs with placeholder tokens
    fullness: float  # share of positions in training batches that are not padding
    existed: bool  # the folder was already complete and is unchanged

    def __str__(self) -> str:
        dropped = ", ".join(
            f"{n:,} {name}" for name, n in self.report.items() if name not in ("read", "kept")
        )
        extra = f" ({self.n_extra:,} of them extra)" if self.n_extra else ""
        return (
            f"{self.report['read']:,} pairs read; dropped: {dropped}\n"
            f"{self.n_train:,} training pairs{extra}, {self.n_dev:,} dev pairs; padding is "
            f"{1 - self.fullness:.1%} of a batch\n"
            f"{self.n_masked:,} training pairs have placeholder tokens\n"
            f"binarised pairs and tokenizer: {self.folder}"
        )


def prepare(
    recipe: Recipe, *, progress: Progress | None = None, workers: int | None = None
) -> Prepared:
    """Filter the corpus, select the dev set, learn the tokenizer and binarise all pairs.

    A complete data folder from an earlier call is verified and left unchanged.

    Args:
        recipe: Names the corpora and the run; the data folder is `recipe.run`/data.
        progress: Progress reporter.
        workers: Number of processes that encode (default: one per core); no effect on the result.

    Raises:
        DataError: The corpus is missing, malformed or too small.
        RecipeError: The recipe does not specify a run folder or a corpus.
        RunError: The run folder holds a different run, or a corpus has changed since that run.
    """
    recipe = resolved(recipe)
    with opened(recipe) as run:
        folder = run / "data"
        if existed := folder.exists():
            verify_folder(folder)
            _check_unchanged(folder, recipe)
        else:
            save_folder(folder, _Preparation(recipe, progress or Silent(), workers).write)
    facts = DataFacts.read(folder)
    return Prepared(
        folder,
        facts.report,
        facts.n_train,
        sum(part.n_pairs for part in (facts.parts or {}).get("train", ())[1:]),
        facts.n_dev,
        facts.n_masked,
        facts.fullness,
        existed,
    )


class _Preparation:
    """Writes a data folder; `write` calls the other methods in order."""

    def __init__(self, recipe: Recipe, progress: Progress, workers: int | None) -> None:
        self.recipe, self.progress, self.workers = recipe, progress, workers
        self.parent = Parent(recipe.parent.model) if recipe.parent.model else None
        self.task = tasks[recipe.task]()
        self.selector = PairSelector(recipe, progress)
        self.report = self.selector.report

    def write(self, folder: Path) -> None:
        """Write all files of the data folder except its manifest."""
        files = _inputs(self.recipe)
        inputs = {key: sha256(path) for key, path in files.items()}

        train = self.selector.train()
        dev = self.selector.dev(train)
        parts = [train, *self.selector.extra(train, dev)]
        tokenizer = self._learn_tokenizer(parts)
        written = self._write_train(folder, parts, tokenizer)
        dev_pairs = self.selector.dev_pairs(dev, partial(self._count_tokens, tokenizer))
        self.selector.require_training_pairs(written.n_pairs)
        self.selector.require_dev_pairs(len(dev_pairs), dev.corpus)
        self._write_dev(folder, dev_pairs, tokenizer)

        if changed := _first_changed(files, inputs):
            raise DataError(f"{changed} changed while being read: run 'yakusu prepare' again")
        dtype = dtype_for(max(tokenizer.vocab_sizes.values()))
        pairs = Pairs.map(folder / "train", dtype)
        coverage = _coverage(written, pairs)
        kept = self.parent if self.recipe.parent.vocabulary == "keep" else None
        tokenizer.coverage = kept.coverage(coverage) if kept else coverage
        tokenizer.save(folder)
        if not self.parent:
            _warn_of_large_vocabulary(tokenizer, pairs, self.recipe.tokenizer)
        DataFacts(
            dtype=dtype,
            n_train=written.n_pairs,
            n_dev=len(dev_pairs),
            report=self.report.as_dict(),
            n_masked=written.n_masked,
            inputs=inputs,
            trees={key: str(path) for key, path in files.items()} if train.corpus.trees else {},
            parts=self._weigh_parts(pairs, n_lines=len(train.mask)),
            fullness=self._estimate_fullness(pairs),
        ).write(folder)

    def _learn_tokenizer(self, parts: list[Selection]) -> Tokenizer:
        """Learn the vocabularies from sentences evenly spaced over all parts, or keep others."""
        if self.parent and self.recipe.parent.vocabulary == "keep":
            return self.parent.tokenizer
        config = self.recipe.tokenizer
        n = min(sum(map(len, parts)), config.sample_sentences)
        samples = sample_evenly(parts, n)

        def sentences(side: int) -> Iterator[str]:
            return (self._read(pair)[side] for _, pair in read_in_order(samples))

        self.progress.say(f"learning a vocabulary of {config.vocab_size:,} tokens from {n:,} pairs")
        with self.progress.track("learning a vocabulary", "tokens", None):
            return Tokenizer.train(sentences(0), sentences(1), config, seed=self.recipe.seed)

    def _read(self, pair: Pair) -> Pair:
        """Convert a pair to the text that the vocabularies encode."""
        return self.task.preprocess_source(pair[0]), self.task.preprocess_target(pair[1])

    def _write_train(self, folder: Path, parts: list[Selection], tokenizer: Tokenizer) -> Binarised:
        """Binarise the training pairs."""
        config = self.recipe.tokenizer
        placeholders = Placeholders(config.placeholder_share, ignore_case=config.lowercases)
        return binarise(
            ((line, self._read(pair)) for line, pair in read_in_order(parts)),
            folder / "train",
            tokenizer=tokenizer,
            filters=self.recipe.filters,
            report=self.report,
            total=sum(map(len, parts)),
            progress=self.progress,
            placeholders=placeholders if tokenizer.target_slots else None,
            workers=self.workers,
        )

    def _count_tokens(self, tokenizer: Tokenizer, pair: Pair) -> tuple[int, int]:
        """The numbers of tokens of both sides, without eos."""
        src, tgt = self._read(pair)
        n_src, n_tgt = (
            len(tokenizer.encode_source([src])[0]),
            len(tokenizer.encode_target([tgt])[0]),
        )
        return n_src - 1, n_tgt - 1

    def _write_dev(self, folder: Path, pairs: list[NumberedPair], tokenizer: Tokenizer) -> None:
        """Write the dev pairs, binarised and as text."""
        binarise(
            ((line, self._read(pair)) for line, pair in pairs),
            folder / "dev",
            tokenizer=tokenizer,
            filters=NO_FILTERS,
            report=FilterReport(),
            total=len(pairs),
            progress=self.progress,
            workers=self.workers,
        )
        for side, name in enumerate(("src", "tgt")):
            with (folder / f"dev.{name}.txt").open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(pair[side] + "\n" for _, pair in pairs)

    def _weigh_parts(self, pairs: Pairs, *, n_lines: int) -> dict[str, tuple[Part, ...]] | None:
        """Return the parts of the training pairs; lines after `n_lines` are the extra corpus."""
        extra = self.recipe.data.extra
        if not extra:
            return None
        first = int(np.searchsorted(pairs.lines, n_lines, side="right"))
        n_extra, weight = len(pairs) - first, extra.weight
        if extra.share is not None and n_extra:
            weight = extra.share / (1 - extra.share) * first / n_extra
        return {"train": (Part(first, 1.0), Part(n_extra, weight))}

    def _estimate_fullness(self, pairs: Pairs) -> float:
        sample = np.linspace(0, len(pairs) - 1, min(len(pairs), _FULLNESS_SAMPLE), dtype=np.int64)
        batches = cut_by_length(sample, pairs, self.recipe.batches.batch_tokens_on("cpu"))
        return fullness(pairs, batches)


def _coverage(written: Binarised, pairs: Pairs) -> Coverage:
    longest = int(pairs.src.lengths.max(initial=1)) - 1  # without eos
    return Coverage(
        source_characters=written.source_characters,
        target_characters=written.target_characters,
        longest_source=longest,
    )


def _warn_of_large_vocabulary(tokenizer: Tokenizer, pairs: Pairs, config: TokenizerConfig) -> None:
    """Warn if vocabulary entries occur too rarely to learn their embeddings.

    A vocabulary of target tokens is not counted: `vocab_size` is only its upper limit.
    """
    n_src, n_tgt = (len(side.tokens) - len(side) for side in (pairs.src, pairs.tgt))  # without eos
    if tokenizer.joint:
        n_tokens = n_src + n_tgt
    else:
        n_tokens = n_src if config.target == "tokens" else min(n_src, n_tgt)
    vocab_size = tokenizer.src_vocab_size
    # A smaller vocabulary splits words into more tokens, so this size reaches the minimum.
    suggested = max(n_tokens // _MIN_OCCURRENCES, tokenizer.min_vocab_size)
    if vocab_size <= suggested:
        return
    _log.warning(
        f"a vocabulary of {vocab_size:,} tokens is too large for {len(pairs):,} training pairs, "
        f"because a token occurs {n_tokens / vocab_size:.1f} times on average (recommended: at "
        f"least {_MIN_OCCURRENCES}): start a new run with --set tokenizer.vocab_size={suggested}"
    )


def _check_unchanged(folder: Path, recipe: Recipe) -> None:
    """Compare the input files that still exist with those that a data folder was made from.

    Tree files are looked up at their recorded paths, because a folder or pattern may no longer
    match them.

    Raises:
        RunError: A file has changed, or a tree file was added.
    """
    facts = DataFacts.read(folder)
    recorded = {key: Path(path) for key, path in facts.trees.items()}
    files = {key: path for key, path in (recorded or _inputs(recipe)).items() if path.exists()}
    if changed := _first_changed(files, facts.inputs):
        raise RunError(
            f"{changed} has changed since {folder} was made from it: restore the file, or choose "
            "another folder with --run"
        )
    if not recorded:
        return
    with suppress(DataError):  # the tree files were removed
        current = {path for path in _inputs(recipe).values() if path.exists()}
        if added := current - set(recorded.values()):
            raise RunError(
                f"{min(added)} was added after {folder} was made: remove it, or choose another "
                "folder with --run"
            )


def _inputs(recipe: Recipe) -> dict[str, Path]:
    """Return the files of all corpora by their recipe keys, such as "train.src"."""
    data = recipe.data
    return {
        f"{split}.{key}": path
        for split, corpus in (("train", data.train), ("extra", data.extra), ("dev", data.dev))
        for key, path in corpus.named_files.items()
    }


def _first_changed(files: Mapping[str, Path], digests: Mapping[str, str]) -> Path | None:
    # Version 0.1.0 named the key "tsv".
    known = {key: digests.get(key) or digests[key.replace("pairs", "tsv")] for key in files}
    return next((path for key, path in files.items() if sha256(path) != known[key]), None)
