"""`prepare`: raw text -> the data folder of a run.

train.* dev.*              binarised pairs, see data/pairs.py
dev.src.txt dev.tgt.txt    text of the dev set, for BLEU
tokenizer.model            or source.model and target.model
coverage.json              what the training text covers: `Coverage`
data.json                  sizes, counts and inputs: `DataFacts`
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Unpack

import numpy as np

from yakusu.data.augmentation import Augmentation
from yakusu.data.batches import CPU_TOKENS, cut_by_length, fullness
from yakusu.data.corpus import number_of_pairs
from yakusu.data.coverage import Coverage
from yakusu.data.files.compressed import refuse_pipe
from yakusu.data.files.text import Pair
from yakusu.data.filters import (
    NO_FILTERS,
    FilterReport,
    NumberedPair,
    Selection,
    read_in_order,
    sample_evenly,
)
from yakusu.data.lines.placeholders import Placeholders
from yakusu.data.mixing import extra_part, mixed, weighted
from yakusu.data.pairs import Binarised, CorpusPart, DataFacts, Pairs, RawPart, binarise, dtype_for
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import DataError
from yakusu.folder import replace_folder, save_folder, sha256
from yakusu.pipeline.receipts.inputs import check_unchanged, first_changed, inputs_of, models_of
from yakusu.pipeline.selection import PairSelector
from yakusu.pipeline.training.choose_recipe import recipe_of
from yakusu.pipeline.training.data_folder import (
    PreparedRecord,
    check_data,
    forget_record,
    write_record,
)
from yakusu.pipeline.training.detect_languages import with_detected_languages
from yakusu.pipeline.training.parent import Parent, with_parent_sizes
from yakusu.pipeline.training.run import (
    check_run,
    is_started,
    locked_run,
    with_choices_of_run,
)
from yakusu.pipeline.training.vocabulary_size import warn_of_large_vocabulary
from yakusu.progress import Progress, Silent
from yakusu.recipe import Recipe, RecipeFiles, save_recipe
from yakusu.tasks.task import tasks

_log = logging.getLogger(__name__)
_FULLNESS_SAMPLE = 100_000  # pairs from which the share of padding is estimated


@dataclass(frozen=True)
class Prepared:
    """Result of `prepare`."""

    folder: Path
    report: Mapping[str, int]  # pairs read, dropped by each filter, and kept
    n_train: int
    n_extra: int  # training pairs from data.extra
    directions: Sequence[tuple[str, int]]  # several, such as "en-de", and their training pairs
    n_dev: int
    n_masked: int  # training pairs with placeholder tokens
    fullness: float  # share of positions in training batches that are not padding
    existed: bool  # the folder was already complete and is unchanged

    def __str__(self) -> str:
        dropped = ", ".join(
            f"{n:,} {name}" for name, n in self.report.items() if name not in ("read", "kept")
        )
        named = [f"{n:,} {direction}" for direction, n in self.directions]
        named += [f"{self.n_extra:,} of them extra"] if self.n_extra else []
        extra = f" ({', '.join(named)})" if named else ""
        return (
            f"{self.report['read']:,} pairs read; dropped: {dropped}\n"
            f"{self.n_train:,} training pairs{extra}, {self.n_dev:,} dev pairs; padding is "
            f"{1 - self.fullness:.1%} of a batch\n"
            f"{self.n_masked:,} training pairs have placeholder tokens\n"
            f"binarised pairs and tokenizer: {self.folder}"
        )


def prepare(
    recipe: Recipe | str | Path | None = None,
    overrides: Sequence[str] = (),
    *,
    again: bool = False,
    allow_misaligned: bool = False,
    progress: Progress | None = None,
    workers: int | None = None,
    **files: Unpack[RecipeFiles],
) -> Prepared:
    """Filter the corpus, select the dev set, learn the tokenizer and binarise all pairs.

    A complete data folder from an earlier call is verified and left unchanged, or with `again`,
    replaced by one with the same bytes.

    Args:
        recipe: A recipe, or the name or path of one; None: as in `choose_recipe`. It names the
            corpora and the run; the data folder is RUN/data.
        overrides: Keys to override, unless `recipe` is loaded.
        again: Rebuild the data folder, which may be corrupt, and prove that its bytes are those
            that the run was prepared with; if they would differ, change nothing.
        allow_misaligned: Prepare a new run even if sampled lines of its training corpora are
            misaligned (see `check`).
        progress: Progress reporter.
        workers: Number of processes that encode (default: one per core); no effect on the result.
        files: `run`, `src`, `tgt` and the other file arguments of `load_recipe`, unless `recipe` is
            loaded.

    Raises:
        DataError: The corpus is missing, malformed, misaligned or too small.
        RecipeError: The recipe does not specify a run folder or a corpus.
        RunError: The run folder holds a different run, or a corpus has changed since that run, or
            a rebuilt data folder would differ.
    """
    progress = progress or Silent()
    found, why = recipe_of(recipe, overrides, files)
    found = with_choices_of_run(with_parent_sizes(found))
    recipe, languages = with_detected_languages(found)
    for sentence in filter(None, (why, languages)):
        progress.say(sentence)
    check_run(recipe, misaligned=allow_misaligned)
    with locked_run(recipe) as run:
        made = prepare_run(recipe, again=again, progress=progress, workers=workers)
        save_recipe(recipe, run / "recipe.toml")
    return made


def prepare_run(
    recipe: Recipe, *, again: bool = False, progress: Progress, workers: int | None = None
) -> Prepared:
    """Prepare the data of a run whose folder is locked.

    The recipe is saved with a new data folder, and left as it is beside an existing one.

    Args:
        recipe: The recipe, with the languages and the sizes of the run.
        again, progress, workers: As for `prepare`.

    Raises:
        YakusuError: As in `prepare`; nothing has changed.
    """
    run = Path(recipe.run)
    folder = run / "data"

    def write(temporary: Path) -> None:
        _Preparation(recipe, progress, workers).write(temporary)

    def write_first(temporary: Path) -> None:
        write(temporary)
        forget_record(run)
        save_recipe(recipe, run / "recipe.toml")

    if existed := folder.exists() and not again:
        check_data(run)
        check_unchanged(folder, DataFacts.read(folder), recipe)
    elif is_started(run):
        _rebuild(run, recipe, write, progress)
    else:
        save_folder(folder, write_first)
    write_record(run, is_new=not existed)
    return _prepared(recipe, folder, existed=existed)


def _prepared(recipe: Recipe, folder: Path, *, existed: bool) -> Prepared:
    facts = DataFacts.read(folder)
    sizes = [part.n_pairs for part in (facts.parts or {}).get("train", ())]
    named = [
        ("-".join(each.languages), sum(own))
        for each, own in zip(recipe.directions, _of_directions(recipe, sizes), strict=True)
        if recipe.data.others
    ]
    return Prepared(
        folder,
        facts.report,
        facts.n_train,
        sizes[-1] if recipe.data.extra else 0,
        tuple(named),
        facts.n_dev,
        facts.n_masked,
        facts.fullness,
        existed,
    )


def _of_directions(recipe: Recipe, values: Sequence[int]) -> list[list[int]]:
    """Divide values, one for each part of the training pairs, into those of the directions."""
    rest = iter(values)
    return [list(islice(rest, len(each.data.train.weights))) for each in recipe.directions]


def _rebuild(run: Path, recipe: Recipe, write: Callable[[Path], None], progress: Progress) -> None:
    """Replace the data folder of a run, if the new one has the bytes that the run started with."""
    folder, record = run / "data", PreparedRecord.of(run)
    if record is None:
        _log.warning(
            "%s is rebuilt, but its hashes were not recorded, so nothing proves that it is the one "
            "that the run was trained on",
            folder,
        )
        replace_folder(folder, write)
        return

    record.require_inputs(folder, recipe)
    replace_folder(folder, write, accept=partial(record.require_equal, folder))
    n = len(record.manifest.files)
    progress.say(f"rebuilt {folder}: its {n} files have the same SHA-256 as before")


@dataclass
class _Direction:
    """The pairs of a source and a target language, before tokenization.

    Attributes:
        code: Of the target language.
        selector: Selects the pairs.
        train: The training pairs, once they are selected.
        dev: The dev set.
    """

    code: str
    selector: PairSelector
    train: Selection = field(init=False)
    dev: Selection = field(init=False)

    def select(self) -> None:
        """Select the training pairs and the dev set."""
        self.train = self.selector.train()
        self.dev = self.selector.dev(self.train)


class _Preparation:
    """Writes a data folder; `write` calls the other methods in order."""

    def __init__(self, recipe: Recipe, progress: Progress, workers: int | None) -> None:
        self.recipe, self.progress, self.workers = recipe, progress, workers
        self.parent = Parent(recipe.parent.model) if recipe.parent.model else None
        self.task = tasks[recipe.task]()
        self.directions = [
            _Direction(each.languages[1], PairSelector(each, progress))
            for each in recipe.directions
        ]

    def write(self, folder: Path) -> None:
        """Write all files of the data folder except its manifest."""
        files = inputs_of(self.recipe)
        for path in files.values():
            refuse_pipe(path)
        inputs = {key: sha256(path) for key, path in files.items()}

        first, *others = self.directions
        for direction in self.directions:
            direction.select()
        extra = first.selector.extra(first.train, first.dev)
        parts = [first.train, *(each.train for each in others), *extra]
        tokenizer = self._learn_tokenizer(parts)
        written = self._write_train(folder, parts, tokenizer)
        dev = self._dev_pairs(tokenizer)
        for direction, n in zip(self.directions, written.sizes, strict=False):
            direction.selector.require_training_pairs(n)
        self._write_dev(folder, tokenizer, dev)

        if changed := first_changed(files, inputs):
            raise DataError(f"{changed} changed while being read: run 'yakusu prepare' again")
        dtype = dtype_for(max(tokenizer.vocab_sizes.values()))
        pairs = Pairs.map(folder / "train", dtype)
        coverage = _coverage(written, augmentation_of(self.recipe, pairs, tokenizer))
        kept = self.parent if self.recipe.parent.vocabulary == "keep" else None
        tokenizer.coverage = kept.coverage(coverage) if kept else coverage
        tokenizer.save(folder)
        if not self.parent:
            warn_of_large_vocabulary(tokenizer, pairs, self.recipe.tokenizer)
        DataFacts(
            dtype=dtype,
            n_train=sum(written.sizes),
            n_dev=sum(map(len, dev)),
            report=self._report().as_dict(),
            n_masked=written.n_masked,
            inputs=inputs | models_of(self.recipe),
            trees={key: str(path) for key, path in files.items()} if self._reads_trees else {},
            parts=self._parts(pairs, written.sizes, list(map(len, dev))),
            fullness=self._estimate_fullness(pairs),
        ).write(folder)

    def _learn_tokenizer(self, parts: list[Selection]) -> Tokenizer:
        """Learn the vocabularies from sentences evenly spaced over all parts, or keep others."""
        config, languages = self.recipe.tokenizer, self.recipe.target_languages
        if self.parent and self.recipe.parent.vocabulary == "keep":
            return self.parent.tokenizer
        n = min(sum(map(len, parts)), config.sample_sentences)
        samples = sample_evenly(parts, n)

        def sentences(side: int) -> Iterator[str]:
            return (self._read(pair)[side] for _, pair in read_in_order(samples))

        if (report := self._report()).kept < report.read / 2:  # may explain an error that follows
            self.progress.say(f"{report.read:,} pairs read; dropped: {report.summary}")
        self.progress.say(f"learning a vocabulary of {config.vocab_size:,} tokens from {n:,} pairs")
        with self.progress.track("learning a vocabulary", "tokens", None):
            return Tokenizer.train(
                sentences(0),
                sentences(1),
                config,
                seed=self.recipe.seed,
                languages=languages,
                warn=_log.warning,
            )

    @property
    def _reads_trees(self) -> bool:
        return bool(self.recipe.data.train.trees)

    def _read(self, pair: Pair) -> Pair:
        """Convert a pair to the text that the vocabularies encode."""
        return self.task.preprocess_source(pair[0]), self.task.preprocess_target(pair[1])

    def _all_read(self, pairs: Iterable[NumberedPair]) -> Iterator[NumberedPair]:
        return ((line, self._read(pair)) for line, pair in pairs)

    def _write_train(self, folder: Path, parts: list[Selection], tokenizer: Tokenizer) -> Binarised:
        """Binarise the training pairs; an extra part belongs to the first direction."""
        config = self.recipe.tokenizer
        placeholders = Placeholders(
            config.placeholder_share, ignore_case=config.lowercases, symbols=config.symbols
        )
        firsts = accumulate((len(part.mask) for part in parts), initial=0)
        first_direction = self.directions[0]
        owners = [
            *((each.code, each.selector.report) for each in self.directions),
            (first_direction.code, first_direction.selector.extra_report),
        ]
        return binarise(
            [
                RawPart(
                    tokenizer.translating_to(code),
                    self._all_read(read_in_order([part], first)),
                    report,
                )
                for part, first, (code, report) in zip(parts, firsts, owners, strict=False)
            ],
            folder / "train",
            dtype=dtype_for(max(tokenizer.vocab_sizes.values())),
            filters=self.recipe.filters,
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

    def _dev_pairs(self, tokenizer: Tokenizer) -> list[list[NumberedPair]]:
        """The dev pairs of each direction that are not too long."""
        return [
            each.selector.dev_pairs(
                each.dev, partial(self._count_tokens, tokenizer.translating_to(each.code))
            )
            for each in self.directions
        ]

    def _write_dev(
        self, folder: Path, tokenizer: Tokenizer, parts: list[list[NumberedPair]]
    ) -> None:
        """Write the dev pairs, binarised and as text."""
        for direction, part in zip(self.directions, parts, strict=True):
            direction.selector.require_dev_pairs(len(part), direction.dev.corpus)
        pairs = list(chain.from_iterable(parts))
        binarise(
            [
                RawPart(tokenizer.translating_to(each.code), self._all_read(part), FilterReport())
                for each, part in zip(self.directions, parts, strict=True)
            ],
            folder / "dev",
            dtype=dtype_for(max(tokenizer.vocab_sizes.values())),
            filters=NO_FILTERS,
            total=len(pairs),
            progress=self.progress,
            workers=self.workers,
        )
        for side, name in enumerate(("src", "tgt")):
            with (folder / f"dev.{name}.txt").open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(pair[side] + "\n" for _, pair in pairs)

    def _parts(
        self, pairs: Pairs, sizes: Sequence[int], dev_sizes: Sequence[int]
    ) -> dict[str, tuple[CorpusPart, ...]] | None:
        """Return the parts of the pairs, the last of which may be the extra corpus.

        Args:
            pairs: The training pairs.
            sizes: Number of training pairs of each part.
            dev_sizes: Number of dev pairs of each direction.
        """
        data, n = self.recipe.data, len(self.directions)
        own = sizes[:n]
        mixture = self._mixture(pairs, own)
        if len(sizes) == 1 and mixture == [CorpusPart(n_pairs=sizes[0], weight=1.0)]:
            return None
        n_seen = round(sum(part.n_pairs * part.weight for part in mixture))
        extra = (extra_part(size, data.extra, n_seen) for size in sizes[n:])
        parts = {"train": (*mixture, *extra)}
        return (
            parts | {"dev": tuple(CorpusPart(n_pairs=n, weight=1.0) for n in dev_sizes)}
            if data.others
            else parts
        )

    def _mixture(self, pairs: Pairs, sizes: Sequence[int]) -> list[CorpusPart]:
        """The parts of the directions; that of a list of corpora with weights is divided.

        Args:
            pairs: The training pairs.
            sizes: Number of those of each direction.
        """
        mixture = list[CorpusPart]()
        start = first = 0  # of the direction, among all pairs and among all lines
        parts = mixed(sizes, self.recipe.data.temperature)
        for part, train in zip(parts, (each.train for each in self.directions), strict=True):
            weights, own = train.corpus.weights, [part.n_pairs]
            if len(weights) > 1:
                ends = np.cumsum([number_of_pairs(each) for each in train.corpus.parts])
                lines = pairs.lines[start : start + part.n_pairs].astype(np.int64) - first
                own = np.diff(np.searchsorted(lines, ends, side="right"), prepend=0).tolist()
            mixture += weighted(part, own, weights)
            start, first = start + part.n_pairs, first + len(train.mask)
        return mixture

    def _report(self) -> FilterReport:
        """The counts of all training pairs."""
        selectors = [each.selector for each in self.directions]
        return FilterReport.total(
            [*(each.report for each in selectors), *(each.extra_report for each in selectors)]
        )

    def _estimate_fullness(self, pairs: Pairs) -> float:
        sample = np.linspace(0, len(pairs) - 1, min(len(pairs), _FULLNESS_SAMPLE), dtype=np.int64)
        # At most a batch of a CPU, so that the choice for a GPU in a recipe changes nothing.
        size = min(self.recipe.batches.batch_tokens_on("cpu"), CPU_TOKENS)
        batches = cut_by_length(sample, pairs, size)
        return fullness(pairs, batches)


def augmentation_of(recipe: Recipe, pairs: Pairs, tokenizer: Tokenizer) -> Augmentation:
    """The augmentation of the training pairs of a recipe."""
    return Augmentation(
        pairs,
        tokenizer,
        recipe.augmentation,
        seed=recipe.seed,
        languages=[each.languages for each in recipe.directions for _ in each.data.train.weights],
        symbols=recipe.tokenizer.symbols,
        max_tokens=recipe.filters.max_tokens,
    )


def _coverage(written: Binarised, augmentation: Augmentation) -> Coverage:
    """What training sees in the pairs as they are, and in the first epoch."""
    return Coverage(
        source_characters=augmentation.characters(written.source_characters),
        target_characters=written.target_characters,
        longest_source=augmentation.longest_source(0) - 1,  # without eos
    )
