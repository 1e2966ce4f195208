"""Trains a model further on the confirmed pairs of translation memories, and compares both models.

RUN/pairs/          train.src, train.tgt, held-out.src, held-out.tgt; pairs.json: `PairFacts`
RUN/improved.json   the comparison: `ComparisonRecord`
RUN/model/, ...     as in any run; see training/run.py

The comparison translates without memories.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain, count, islice
from pathlib import Path

from pydantic import BaseModel, ValidationError

from yakusu.data.corpus import Corpus, ExtraCorpus, read_pairs
from yakusu.data.files.text import Pair, Text
from yakusu.data.languages import same_language
from yakusu.device import pick_device
from yakusu.errors import DataError, ModelError, RecipeError, RunError
from yakusu.folder import (
    exchange_folders,
    locked,
    read_json,
    save_folder,
    sha256,
    verify_folder,
    write_json,
    write_text,
)
from yakusu.memory.memory import TranslationMemory
from yakusu.memory.pairs import confirmed_pairs, is_held_out, source_key
from yakusu.metrics import paired_bootstrap
from yakusu.pipeline.evaluate import NamedLines, refuse_unequal, translate_to_score
from yakusu.pipeline.receipts.receipt import Receipt, read_facts
from yakusu.pipeline.synthetic.held_out import find_dev_set
from yakusu.pipeline.training.parent import with_parent_sizes
from yakusu.pipeline.training.run import refuse_other_run
from yakusu.pipeline.training.train import Trained, train
from yakusu.pipeline.training.validation import require_engine
from yakusu.progress import Progress, Silent
from yakusu.recipe import Recipe, load_recipe, save_recipe
from yakusu.translator.folder.folder import ModelFolder, weights_hash

FEWEST = 200  # pairs to train on
_MOST_COMPARED = 1000  # held-out pairs
_MIX = 0.5
_RATES = 0.05, 0.4  # of the learning rate, for few pairs and for many
_PAIRS_PER_RATE = 72_000
_CONFIRMED, _OLDER = "confirmed pairs", "older test set"


class PairFacts(BaseModel):
    """pairs.json: where the pairs of a run are from.

    Attributes:
        memories: The revision of each memory that was read.
        parent: SHA-256 of the weights of the model to improve.
        train: Number of pairs for training.
        held_out: Number of pairs for the comparison.
        known: Number of held-out pairs that are not compared, because the old data contains them.
        mix: Share of the training pairs that are old data.
        older: The older test set, unless another one is given.
    """

    memories: dict[str, int]
    parent: str
    train: int
    held_out: int
    known: int
    mix: float
    older: Corpus


class Comparison(BaseModel):
    """The BLEU of two models on the same sentences.

    Attributes:
        name: What the sentences are.
        sentences: Their number.
        before: Score of the model that was improved.
        after: Score of the new model.
        low: Lower end of the 95% confidence interval of the difference.
        high: Upper end.
        signature: How the scores were computed.
    """

    name: str
    sentences: int
    before: float
    after: float
    low: float
    high: float
    signature: str

    @property
    def verdict(self) -> int:
        """1: the new model is significantly better; -1: significantly worse; otherwise 0."""
        return (self.low > 0) - (self.high < 0)

    @property
    def difference(self) -> str:
        """The difference with its interval."""
        return f"{self.after - self.before:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


class ComparisonRecord(BaseModel):
    """improved.json: a comparison, and the models and sentences that were compared.

    Attributes:
        compared: Hashes of the models and of the sentences.
        results: The comparison.
        kept: Where the model that was replaced is; "": none was.
    """

    compared: list[str]
    results: list[Comparison]
    kept: str = ""


@dataclass(frozen=True)
class Improved:
    """Result of `improve`.

    Attributes:
        n_train: Number of pairs that the new model was trained on.
        model: Folder of the new model; None: there were too few pairs.
        compared: The comparison of both models.
        kept: Where the model that was replaced is; None: none was.
        conclusion: What follows from the comparison, in one sentence.
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
        memory: The file of a memory, or several; of a source that several have, the first counts.
        run: Run folder, which receives the new model.
        mix: Share of the training pairs that are taken from the corpus of `model` (default: 0.5, or
            0 if the corpus is no longer available).
        test_src: Source sentences of an older test set (default: the dev set of `model`, if it is
            available).
        test_tgt: Their translations, line by line.
        overrides: Keys of the recipe "adapt" to override, such as "training.max_steps=500".
        replace: Put the new model in the place of `model`, unless it is significantly worse on one
            of the two sets; the old one is kept beside it.
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
    older = _given_test_set(test_src, test_tgt)
    work = _Improvement(Path(model), paths, Path(run), mix, overrides, progress or Silent())
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
        self.opened = ModelFolder.open(model)
        if self.opened.config.task != "translation":
            raise ModelError(f"{model} is a parser: give a translator")
        self.memories = memories
        self.pairs = run / "pairs"
        with self._reading() as found:
            self.languages = found[0].languages

    def run(self, older: Sequence[Pair] | None, *, replace: bool) -> Improved:
        facts = self._known_facts()
        if facts and (done := self._replaced(facts)):
            return done
        if not facts and (n := self._count_few()) < FEWEST:
            return Improved(0, None, (), None, _too_few(n))
        recipe = self._recipe(facts)
        pick_device(recipe.training.device)  # these fail before anything is written
        require_engine(recipe)
        refuse_other_run(self.folder, recipe)
        with locked(self.folder):
            if facts is None:
                save_recipe(recipe, self.folder / "recipe.toml")
                facts = self._write_pairs(recipe)
                recipe = self._recipe(facts)
            self.progress.say(_described(facts, recipe))
            trained = train(recipe, progress=self.progress)
            record = self._compare(facts, trained, _read_pairs(self.pairs, "train"), older)
            kept = self._replace(trained.model, record) if replace else None
        conclusion = _conclusion(record.results)
        return Improved(facts.train, trained.model, tuple(record.results), kept, conclusion)

    # ---- pairs -------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[list[TranslationMemory]]:
        """Open the memories, and read one revision of each.

        Raises:
            DataError: One cannot be read, or has other languages than the model or the first one.
        """
        config, found = self.opened.config, list[TranslationMemory]()
        several = self.opened.tokenizer.src.language_tokens
        own = config.source_language, config.target_language
        languages = own if all(own) and not several else None
        with ExitStack() as stack:
            for path in self.memories:
                memory = stack.enter_context(TranslationMemory.open(path, languages))
                languages = memory.languages
                if own[0] and not same_language(own[0], languages[0]):
                    raise DataError(
                        f"{path} is a memory of {'-'.join(languages)}, but {self.model} translates "
                        f"from {own[0]}: choose another file"
                    )
                stack.enter_context(memory.snapshot())
                found.append(memory)
            yield found

    def _count_few(self) -> int:
        """The number of pairs, at most `FEWEST`."""
        with self._reading() as memories:
            return sum(1 for _ in islice(confirmed_pairs(memories), FEWEST))

    def _known_facts(self) -> PairFacts | None:
        """The facts about the pairs of a run that has begun; None: it has not.

        Raises:
            RunError: It uses other memories.
            ModelError: Its pairs are corrupt.
        """
        if not self.pairs.exists():
            return None
        verify_folder(self.pairs, repair=f"delete {self.folder}, and start again")
        facts = PairFacts.model_validate(read_json(self.pairs / "pairs.json"))
        if [*facts.memories] != [*map(str, self.memories)]:
            raise RunError(
                f"{self.folder} learns from {', '.join(facts.memories)}: give the same memories, "
                "or choose another folder with --run"
            )
        with self._reading() as memories:
            if [memory.revision for memory in memories] != [*facts.memories.values()]:
                self.progress.say(
                    "the memory has changed since the run started, which uses the pairs that it "
                    "had then: choose another folder with --run to use the new ones"
                )
        return facts

    def _write_pairs(self, recipe: Recipe) -> PairFacts:
        """Write RUN/pairs."""

        def fill(folder: Path) -> None:
            held_out, n_train = list[Pair](), 0
            with self._reading() as memories, _writing(folder, "train") as write:
                for pair in confirmed_pairs(memories):
                    if is_held_out(pair[0]):
                        held_out.append(pair)
                    else:
                        write(pair)
                        n_train += 1
                revisions = [memory.revision for memory in memories]
            known = self._known_sources(recipe.data.extra, held_out)
            new = [pair for pair in held_out if source_key(pair[0]) not in known]
            chosen = {*nsmallest(_MOST_COMPARED, (source_key(source) for source, _ in new))}
            compared = [pair for pair in new if source_key(pair[0]) in chosen]
            with _writing(folder, "held-out") as write:
                for pair in compared:
                    write(pair)
            facts = PairFacts(
                memories=dict(zip(map(str, self.memories), revisions, strict=True)),
                parent=recipe.parent.sha256,
                train=n_train,
                held_out=len(compared),
                known=len(held_out) - len(new),
                mix=recipe.parent.mix,
                older=_older_test_set(self.model),
            )
            write_json(folder / "pairs.json", facts.model_dump())

        save_folder(self.pairs, fill)
        return PairFacts.model_validate(read_json(self.pairs / "pairs.json"))

    def _known_sources(self, corpus: Corpus, pairs: Sequence[Pair]) -> set[int]:
        """Those of the sources that a corpus contains."""
        if not corpus or not pairs:
            return set()
        wanted, found = {source_key(source) for source, _ in pairs}, set[int]()
        with self.progress.track("comparing with the old data", "pairs", None) as tracker:
            for source, _ in read_pairs(corpus):
                found.add(source_key(source))
                found &= wanted
                tracker.advance()
        return found

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
            "train": Corpus(src=str(self.pairs / "train.src"), tgt=str(self.pairs / "train.tgt")),
            "source_language": self.languages[0],
            "target_language": self.languages[1],
        }
        if mix and not recipe.data.extra and (old := _mixed_before(self.model)):
            data["extra"] = old
        return with_parent_sizes(
            recipe.model_copy(update={"data": recipe.data.model_copy(update=data)})
        )

    # ---- comparison --------------------------------------------------------------------------

    def _compare(
        self,
        facts: PairFacts,
        trained: Trained,
        seen: Iterator[Pair],
        older: Sequence[Pair] | None,
    ) -> ComparisonRecord:
        """Compare both models, unless that has been done."""
        if older is None:
            older = [*read_pairs(facts.older)] if facts.older else []
        known = {source_key(source) for source, _ in seen}
        sets = {
            _CONFIRMED: [*_read_pairs(self.pairs, "held-out")],
            _OLDER: [pair for pair in older if all(pair) and source_key(pair[0]) not in known],
        }
        compared = [facts.parent, weights_hash(trained.model), *map(_hash, sets.values())]
        path = self.folder / "improved.json"
        if (record := _read_record(path)) and record.compared == compared:
            return record
        results = [
            self._compared(name, pairs, trained.model)
            for name, pairs in sets.items()
            if len(pairs) > 1  # a bootstrap needs two
        ]
        record = ComparisonRecord(compared=compared, results=results)
        write_text(path, record.model_dump_json(indent=2))
        return record

    def _compared(self, name: str, pairs: Sequence[Pair], new: Path) -> Comparison:
        sources, references = ([*side] for side in zip(*pairs, strict=True))
        before, after = (
            translate_to_score(each, sources, to=self.languages[1], progress=self.progress)
            for each in (self.model, new)
        )
        found = paired_bootstrap(before, after, references, target_language=self.languages[1])
        return Comparison(
            name=name,
            sentences=len(pairs),
            before=found.baseline.score.value,
            after=found.system.score.value,
            low=found.interval[0],
            high=found.interval[1],
            signature=found.system.score.signature,
        )

    # ---- replacement -------------------------------------------------------------------------

    def _replace(self, new: Path, record: ComparisonRecord) -> Path | None:
        """Put the new model in the place of the old one, and return where this is now."""
        if any(each.verdict < 0 for each in record.results):
            self.progress.say(f"{self.model} is not replaced, because the new model is worse")
            return None
        kept = _free_name(self.model, weights_hash(new))
        if not kept.exists():

            def fill(folder: Path) -> None:
                for name in read_json(new / "manifest.json")["files"]:
                    shutil.copyfile(new / name, folder / name)

            save_folder(kept, fill)
        replaced = record.model_copy(update={"kept": str(kept)})
        write_text(self.folder / "improved.json", replaced.model_dump_json(indent=2))
        exchange_folders(kept, self.model)
        return kept

    def _replaced(self, facts: PairFacts) -> Improved | None:
        """The result of a run whose model is in the place of the old one; None: it is not."""
        new, record = self.folder / "model", _read_record(self.folder / "improved.json")
        found = weights_hash(self.model)
        if found == facts.parent or not new.exists() or found != weights_hash(new) or not record:
            return None
        conclusion = _conclusion(record.results)
        return Improved(facts.train, new, tuple(record.results), Path(record.kept), conclusion)


def _given_test_set(src: Text | None, tgt: Text | None) -> list[Pair] | None:
    """The pairs of a test set; None: there is none.

    Raises:
        DataError: A file cannot be read, one is missing, or they differ in length.
    """
    if src is None and tgt is None:
        return None
    if src is None or tgt is None:
        raise DataError("a test set has two files: give both --test-src and --test-tgt")
    sources, references = NamedLines.of(src, "test sources"), NamedLines.of(tgt, "test references")
    refuse_unequal(sources, references)
    return [*zip(sources.lines, references.lines, strict=True)]


def _older_test_set(model: Path) -> Corpus:
    """The dev set of a model or, if it was improved, of the first model; empty: there is none."""
    try:
        facts = read_facts(model)
        assert isinstance(facts, Receipt)
        pairs = Path(facts.recipe.data.train.src).with_name("pairs.json")
        return PairFacts.model_validate(read_json(pairs)).older
    except (ModelError, OSError, ValueError, AssertionError):
        return find_dev_set(model)


def _mixed_before(model: Path) -> ExtraCorpus | None:
    """The old data that a model was trained on when it was improved, if it is unchanged."""
    try:
        facts = read_facts(model)
    except ModelError:
        return None
    if not isinstance(facts, Receipt) or not facts.recipe.parent.model:
        return None
    old = facts.recipe.data.extra
    unchanged = [path.exists() and sha256(path) in facts.inputs.values() for path in old.files]
    return ExtraCorpus(**old.model_dump(exclude={"share", "weight"})) if all(unchanged) else None


@contextmanager
def _writing(folder: Path, stem: str) -> Iterator[Callable[[Pair], None]]:
    """Write the two files of a corpus."""
    with (
        (folder / f"{stem}.src").open("w", encoding="utf-8", newline="\n") as src,
        (folder / f"{stem}.tgt").open("w", encoding="utf-8", newline="\n") as tgt,
    ):

        def write(pair: Pair) -> None:
            src.write(f"{pair[0]}\n")
            tgt.write(f"{pair[1]}\n")

        yield write


def _read_pairs(folder: Path, stem: str) -> Iterator[Pair]:
    return read_pairs(Corpus(src=str(folder / f"{stem}.src"), tgt=str(folder / f"{stem}.tgt")))


def _hash(pairs: Sequence[Pair]) -> str:
    return hashlib.sha256("".join(f"{src}\n{tgt}\n" for src, tgt in pairs).encode()).hexdigest()


def _read_record(path: Path) -> ComparisonRecord | None:
    try:
        return ComparisonRecord.model_validate(read_json(path))
    except (OSError, ValueError, ValidationError):
        return None


def _free_name(model: Path, new: str) -> Path:
    """A name beside a model that is free, or that an interrupted replacement has used."""
    names = (model.with_name(f"{model.name}-before{number}") for number in chain([""], count(2)))
    return next(
        path
        for path in names
        if not path.exists() or ((path / "manifest.json").exists() and weights_hash(path) == new)
    )


def _too_few(n: int) -> str:
    pairs = f"{n} pair{'s' * (n != 1)}"
    return (
        f"{pairs} are too few to train on, which takes at least {FEWEST}: translate with --memory, "
        "which uses them already"
        if n
        else "there are no pairs to train on in the memory"
    )


def _described(facts: PairFacts, recipe: Recipe) -> str:
    known = f" ({facts.known:,} others are part of the old data)" if facts.known else ""
    mixed = f", with old data as {facts.mix:.0%} of the training pairs" if facts.mix else ""
    return (
        f"{facts.train:,} pairs to train on, {facts.held_out:,} held out for comparison{known}; "
        f"training.lr_scale = {recipe.training.lr_scale:g}{mixed}"
    )


def _conclusion(results: Sequence[Comparison]) -> str:
    """What follows from a comparison, in one sentence."""
    if not results:
        return "too few sentences were held out to compare both models"
    verdicts = {1: "better on the {} by", 0: "not significantly different on the {}:"}
    parts = [
        f"{verdicts.get(each.verdict, 'worse on the {} by').format(each.name)} {each.difference}"
        for each in results
    ]
    return f"the new model is {', and '.join(parts)} BLEU"
