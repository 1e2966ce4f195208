"""Trains a model further on the confirmed pairs of translation memories, and compares both models.

    learning rate factor = pairs / 72,000, but at least 0.05 and at most 0.4

RUN/pairs/          the pairs; see confirmed.py
RUN/improved.json   the comparison; see comparison.py
RUN/model/, ...     as in any run; see training/run.py
"""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

from yakusu.data.corpus import ExtraCorpus, read_pairs
from yakusu.data.files.text import Pair, Text
from yakusu.device import pick_device
from yakusu.errors import DataError, ModelError, RecipeError, RunError
from yakusu.folder import exchange_folders, locked, read_json, save_folder, sha256
from yakusu.memory.pairs import source_key
from yakusu.pipeline.evaluate import given_test_set
from yakusu.pipeline.improving.comparison import Comparison, ComparisonRecord, compare
from yakusu.pipeline.improving.confirmed import ConfirmedPairs, PairFacts
from yakusu.pipeline.receipts.receipt import read_receipt
from yakusu.pipeline.training.parent import with_parent_sizes
from yakusu.pipeline.training.run import refuse_other_run
from yakusu.pipeline.training.train import train
from yakusu.pipeline.training.validation import require_engine
from yakusu.progress import Progress, Silent
from yakusu.recipe import Recipe, load_recipe, save_recipe
from yakusu.shipped import model_path, own_folder
from yakusu.translator.folder.folder import ModelFolder, weights_hash
from yakusu.translator.folder.named_memory import NAMED_MEMORY

FEWEST = 200  # pairs to train on
_MIX = 0.5
_RATES = 0.05, 0.4  # factors of the learning rate, for few pairs and for many
_PAIRS_PER_RATE = 72_000


@dataclass(frozen=True)
class Improved:
    """Result of `improve`.

    Attributes:
        n_train: Number of pairs that the new model was trained on.
        model: Folder of the new model; None: there were too few pairs.
        compared: The comparison of both models.
        kept: The folder to which the old model was moved; None: it was not replaced.
        conclusion: What follows, in one sentence.
    """

    n_train: int
    model: Path | None
    compared: tuple[Comparison, ...]
    kept: Path | None
    conclusion: str


def improve(
    model: str | Path,
    memory: str | Path | Sequence[str | Path],
    *,
    run: str | Path,
    mix: float | None = None,
    test_src: Text | None = None,
    test_tgt: Text | None = None,
    overrides: Sequence[str] = (),
    replace: bool = False,
    progress: Progress | None = None,
) -> Improved:
    """Train a model further on the pairs of translation memories, and compare both models.

    A tenth of the pairs, chosen by a hash of their words, is held out for the comparison. Call it
    again to resume.

    Args:
        model: Model folder, a Transformer.
        memory: The file of a memory, or several; the first that has a source determines its
            translation.
        run: Run folder, which receives the new model.
        mix: Share of the training pairs that are taken from the corpus of `model` (default: 0.5, or
            0 if the corpus is no longer available).
        test_src: Source sentences of an older test set (default: the dev set of `model`, if it is
            available).
        test_tgt: Their translations, line by line.
        overrides: Keys of the recipe "adapt" to override, such as "training.max_steps=500".
        replace: Replace `model` unless the new model is significantly worse on one of the two sets;
            the old one is kept beside it.
        progress: Progress reporter.

    Raises:
        YakusuError: As in `train`, or a memory cannot be read or has other languages.

    Example:
        `yakusu.improve("runs/en-de/model", "team.db", run="runs/en-de-2")`
    """
    if "TORCHELASTIC_RUN_ID" in os.environ:
        raise RunError(
            "torchrun would compare the models in every process: run it without torchrun"
        )
    paths = [Path(memory)] if isinstance(memory, str | Path) else [*map(Path, memory)]
    if not paths:
        raise RecipeError("there is no memory to learn from: add --memory FILE")
    older = given_test_set(test_src, test_tgt)
    folder = own_folder(model) if replace else model_path(model)
    work = _Improvement(folder, paths, Path(run), mix, overrides, progress or Silent())
    return work.run(older, replace=replace)


class _Improvement:
    """Chooses the pairs, trains, and compares; `run` calls the other methods in order."""

    def __init__(
        self,
        model: Path,
        memories: Sequence[Path],
        run: Path,
        mix: float | None,
        overrides: Sequence[str],
        progress: Progress,
    ) -> None:
        self.model, self.folder, self.progress = model, run, progress
        self.mix, self.overrides = mix, overrides
        opened = ModelFolder.open(model)
        if opened.config.task != "translation":
            raise ModelError(f"{model} is a parser: give a translator")
        self.pairs = ConfirmedPairs(run / "pairs", opened, memories, progress)
        with self.pairs.reading() as found:
            self.languages = found[0].languages
            self.revisions = {str(each.path): each.revision for each in found}

    def run(self, older: Sequence[Pair] | None, *, replace: bool) -> Improved:
        facts = self.pairs.facts()
        if facts and (done := self._replaced(facts)):
            return done
        if facts:
            self._require_memories(facts)
        elif (n := self.pairs.count(FEWEST)) < FEWEST:
            return Improved(0, None, (), None, self._too_few(n))
        recipe = self._recipe(facts)
        pick_device(recipe.training.device)  # these fail before anything is written
        require_engine(recipe)
        refuse_other_run(self.folder, recipe)
        with locked(self.folder):
            if facts is None:
                save_recipe(recipe, self.folder / "recipe.toml")
                facts = self.pairs.write(recipe)
                recipe = self._recipe(facts)
            self.progress.say(_described(facts, recipe))
            new = train(recipe, allow_misaligned=True, progress=self.progress).model
            record = self._compared(facts, new, older)
            kept = self._replace(new, record) if replace else None
        return Improved(facts.train, new, tuple(record.results), kept, record.conclusion)

    def _require_memories(self, facts: PairFacts) -> None:
        """Refuse to resume a run with other memories; say if they have changed."""
        if [*facts.memories] != [*self.revisions]:
            raise RunError(
                f"{self.folder} learns from {', '.join(facts.memories)}: give the same memories, "
                "or choose another folder with --run"
            )
        if facts.memories != self.revisions:
            self.progress.say(
                "the memory has changed since the run started, which uses the pairs of that time: "
                "to use the new ones, choose another folder with --run"
            )

    def _too_few(self, n: int) -> str:
        """Say that there are too few pairs.

        Raises:
            DataError: There are none.
        """
        if not n:
            names = " and ".join(map(str, self.pairs.memories))
            raise DataError(f"there are no pairs in {names}: add some with 'yakusu memory add'")
        pairs = "1 pair is" if n == 1 else f"{n} pairs are"
        return (
            f"{pairs} too few to train on, which takes at least {FEWEST}: translate with --memory, "
            "which already uses them"
        )

    # ---- training ----------------------------------------------------------------------------

    def _recipe(self, facts: PairFacts | None) -> Recipe:
        """The recipe of the run, with the old data if it is available.

        Args:
            facts: About the pairs; None: they are not written yet.

        Raises:
            RecipeError: A share of the old data was asked for, but it is not available.
        """
        mix = facts.mix if facts and self.mix is None else self.mix
        if mix is not None:
            return self._with_mix(mix, facts)
        try:
            return self._with_mix(_MIX, facts)
        except RecipeError as error:
            recipe = self._with_mix(0.0, facts)
            self.progress.say(f"training without old data: {error}")
            return recipe

    def _with_mix(self, mix: float, facts: PairFacts | None) -> Recipe:
        low, high = _RATES
        rate = min(max((facts.train if facts else 0) / _PAIRS_PER_RATE, low), high)
        overrides = [f"training.lr_scale={rate:.3g}", *self.overrides]
        recipe = load_recipe("adapt", overrides, run=self.folder, parent=self.model, mix=mix)
        data = {
            "train": self.pairs.corpus,
            "source_language": self.languages[0],
            "target_language": self.languages[1],
        }
        if mix and not recipe.data.extra and PairFacts.of_model(self.model):
            data["extra"] = _old_data(self.model)
        changed = recipe.data.model_copy(update=data)
        return with_parent_sizes(recipe.model_copy(update={"data": changed}))

    # ---- comparison --------------------------------------------------------------------------

    def _compared(
        self, facts: PairFacts, new: Path, older: Sequence[Pair] | None
    ) -> ComparisonRecord:
        if older is None:
            available = facts.older and all(path.exists() for path in facts.older.files)
            older = [*read_pairs(facts.older)] if available else []
        if not older:
            self.progress.say("there is no older test set: name one with --test-src and --test-tgt")
        known = self.pairs.training_keys()
        sets = {
            "confirmed pairs": self.pairs.held_out(),
            "older test set": [
                pair for pair in older if all(pair) and source_key(pair[0]) not in known
            ],
        }
        return compare(
            (self.model, new),
            sets,
            self.languages[1],
            path=self.folder / "improved.json",
            progress=self.progress,
        )

    # ---- replacement -------------------------------------------------------------------------

    def _replace(self, new: Path, record: ComparisonRecord) -> Path | None:
        """Replace the old model with the new one, and return where the old one is now."""
        if any(each.verdict < 0 for each in record.results):
            self.progress.say(f"{self.model} is not replaced, because the new model is worse")
            return None
        kept = _free_name(self.model, weights_hash(new))
        if not kept.exists():

            def fill(folder: Path) -> None:
                for name in read_json(new / "manifest.json")["files"]:
                    shutil.copyfile(new / name, folder / name)
                if (self.model / NAMED_MEMORY).exists():
                    shutil.copyfile(self.model / NAMED_MEMORY, folder / NAMED_MEMORY)

            save_folder(kept, fill)
        changed = record.model_copy(update={"kept": str(kept)})
        changed.write(self.folder / "improved.json")
        exchange_folders(kept, self.model)
        return kept

    def _replaced(self, facts: PairFacts) -> Improved | None:
        """The result of a run whose model is in the place of the old one; None: it is not."""
        new, record = self.folder / "model", ComparisonRecord.read(self.folder / "improved.json")
        found = weights_hash(self.model)
        if found == facts.parent or not new.exists() or found != weights_hash(new) or not record:
            return None
        kept = Path(record.kept)
        return Improved(facts.train, new, tuple(record.results), kept, record.conclusion)


def _old_data(model: Path) -> ExtraCorpus:
    """The old data that a model was trained on when it was improved.

    Raises:
        RecipeError: There was none, or it is no longer available.
    """
    receipt = read_receipt(model)
    old = receipt.recipe.data.extra
    unchanged = [path.exists() and sha256(path) in receipt.inputs.values() for path in old.files]
    if not old or not all(unchanged):
        raise RecipeError(
            f"the old data of {model} is not available: set data.extra to a corpus to mix in"
        )
    return old.model_copy(update={"share": None, "weight": 1.0})


def _free_name(model: Path, new: str) -> Path:
    """A name beside a model that is free, or that an interrupted replacement has used.

    Args:
        model: The model.
        new: The hash of the weights that an interrupted replacement has written there.
    """
    names = (model.with_name(f"{model.name}-before{number}") for number in chain([""], count(2)))
    return next(
        path
        for path in names
        if not path.exists() or ((path / "manifest.json").exists() and weights_hash(path) == new)
    )


def _described(facts: PairFacts, recipe: Recipe) -> str:
    known = f" ({facts.known:,} others are part of the old data)" if facts.known else ""
    mixed = f", with old data as {facts.mix:.0%} of the training pairs" if facts.mix else ""
    return (
        f"{facts.train:,} pairs to train on, {facts.held_out:,} held out for comparison{known}; "
        f"training.lr_scale = {recipe.training.lr_scale:g}{mixed}"
    )
