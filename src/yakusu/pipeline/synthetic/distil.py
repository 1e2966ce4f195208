"""Sequence-level knowledge distillation (Kim and Rush 2016, arXiv:1606.07947).

A student is trained on the translations of its teachers. According to that paper, these are more
regular than human translations, so a smaller model learns them better and gains little from beam
search.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from yakusu.data.corpus import Corpus, numbered_pairs, refuse_both_sides
from yakusu.data.files.long_lines import LongLines
from yakusu.data.files.text import InvalidLines, Pair, read_lines
from yakusu.data.filters import NumberedPair
from yakusu.device import pick_device
from yakusu.engine.config import Engine, EngineConfig
from yakusu.errors import ModelError, RecipeError, RunError
from yakusu.folder import locked
from yakusu.metrics import sentence_scorer
from yakusu.pipeline.receipts.corpus import CorpusFacts, Making
from yakusu.pipeline.receipts.receipt import Receipt, read_facts
from yakusu.pipeline.synthetic.corpus import (
    SyntheticConfig,
    Texts,
    existing_corpus,
    hashes_of,
    read_texts,
    select_texts,
    write_corpus,
)
from yakusu.pipeline.synthetic.held_out import HeldOutLines, Overlaps, dev_set_of
from yakusu.pipeline.synthetic.models import ShardModels
from yakusu.pipeline.training.choose_recipe import recipe_of
from yakusu.pipeline.training.parent import with_parent_sizes
from yakusu.pipeline.training.run import is_started, refuse_other_run
from yakusu.pipeline.training.train import train
from yakusu.pipeline.training.trained import Trained
from yakusu.pipeline.training.validation import require_engine
from yakusu.progress import Progress, Silent
from yakusu.recipe import Recipe, RecipeFiles, save_recipe
from yakusu.search.config import SearchConfig
from yakusu.shipped import model_path

RECIPE = "fast"
_Similarity = Callable[[str, str], float]


class DistilConfig(SyntheticConfig):
    """What a student is trained on.

    Attributes:
        closest: Of the n best translations, use only the one that is closest to the reference, by
            sentence BLEU (sequence-level interpolation, section 3.3 of Kim and Rush 2016).
        references: Keep the original pairs as well, if the texts have references.
        corpus_only: Write the corpus, but do not train.
    """

    closest: bool = False
    references: bool = True
    corpus_only: bool = False


@dataclass(frozen=True)
class Distilled:
    """Result of `distil`.

    Attributes:
        corpus: Folder of the training corpus.
        recipe: Recipe of the student.
        facts: How the corpus was made, with the numbers of lines.
        trained: Result of the training; None: the student was not trained.
    """

    corpus: Path
    recipe: Path
    facts: CorpusFacts
    trained: Trained | None


def distil(
    teachers: str | Path | Sequence[str | Path],
    recipe: Recipe | str | Path = RECIPE,
    *,
    overrides: Sequence[str] = (),
    options: SearchConfig | None = None,
    config: DistilConfig | None = None,
    engine: EngineConfig | Engine | None = None,
    progress: Progress | None = None,
    **files: Unpack[RecipeFiles],
) -> Distilled:
    """Translate the sources of a corpus with teachers, and train a student on the translations.

    Call it again to resume.

    Args:
        teachers: Model folder, or several as an ensemble.
        recipe: Recipe of the student, whose `data.train` is the corpus to translate: two files, or
            source text alone, in which case only `src` is given.
        overrides: Keys to override, if `recipe` is a name or path.
        options: Settings of the teachers' search; with `n_best`, the student is trained on the
            n best translations of each text.
        config: What the student is trained on.
        engine: What runs the teachers.
        progress: Progress reporter.
        files: `run`, `src` and the other file arguments of `load_recipe`, if `recipe` is a name or
            path.

    Raises:
        YakusuError: As in `train`, or text is held out, or the run was made with other settings.

    Example:
        `yakusu.distil("runs/en-de/model", src="mono.en", run="runs/student")`
    """
    loaded, _ = recipe_of(recipe, overrides, files)
    folders = [teachers] if isinstance(teachers, str | Path) else list(teachers)
    distillation = _Distillation(loaded, folders, config or DistilConfig(), progress or Silent())
    return distillation.run(options, engine)


class _Distillation:
    """Writes the corpus of a student and trains it; `run` calls the other methods in order."""

    def __init__(
        self,
        recipe: Recipe,
        teachers: Sequence[str | Path],
        config: DistilConfig,
        progress: Progress,
    ) -> None:
        self.recipe, self.config, self.progress = recipe, config, progress
        self.teachers = [model_path(each) for each in teachers]
        _check(recipe, config)
        self.folder = Path(recipe.run)
        self.corpus, self.parts = self.folder / "corpus", self.folder / "parts"

    def run(self, options: SearchConfig | None, engine: EngineConfig | Engine | None) -> Distilled:
        teacher = ShardModels(self.teachers, options, to=self.config.to, engine=engine)
        if self.config.closest and teacher.translator.search.n_best == 1:
            raise RecipeError("--closest chooses among several translations: add --n-best N")
        data = self.recipe.data
        teacher.require_languages(data.train.names[0], data.languages)
        student = with_parent_sizes(self._student(teacher.translator.languages))
        if not self.config.corpus_only:  # these fail before hours of translation
            pick_device(student.training.device)
            require_engine(student)
        refuse_other_run(self.folder, student)
        making = self._making(teacher)
        with locked(self.folder):
            path = self.folder / "recipe.toml"
            if not is_started(self.folder):  # the corpus below belongs to a run
                save_recipe(student, path)
            facts = existing_corpus(self.corpus, making) or self._written(teacher, making)
            self.progress.say(f"{self.corpus}: {facts.summary}")
            trained = None
            if not self.config.corpus_only:
                trained = train(student, allow_misaligned=True, progress=self.progress)
        return Distilled(self.corpus, path, facts, trained)

    def _student(self, languages: tuple[str, str]) -> Recipe:
        """The recipe of the student, which is trained on the corpus to be written."""
        data = self.recipe.data
        src, tgt = (own or other for own, other in zip(data.languages, languages, strict=True))
        dev = data.dev
        if self._dev:
            dev = Corpus(src=str(self.corpus / "dev.src"), tgt=str(self.corpus / "dev.tgt"))
        elif not dev and not self.config.corpus_only:
            raise RecipeError(
                "the dev set of the teachers is not available, and pairs held out of the "
                "teachers' translations would not measure quality: add --dev-src FILE and "
                "--dev-tgt FILE"
            )
        train = Corpus(src=str(self.corpus / "train.src"), tgt=str(self.corpus / "train.tgt"))
        update = {"train": train, "dev": dev, "source_language": src, "target_language": tgt}
        return self.recipe.model_copy(update={"data": data.model_copy(update=update)})

    @cached_property
    def dev_sets(self) -> list[Corpus]:
        """The dev set of each teacher; empty: it is not available."""
        return [dev_set_of(path) for path in self.teachers]

    @property
    def _dev(self) -> Corpus:
        """The dev set of a teacher for a student whose recipe has none; empty: none is used."""
        if self.recipe.data.dev:
            return Corpus()
        found = zip(self.teachers, self.dev_sets, strict=True)
        return next((dev for path, dev in found if dev and _has_one_pair(path)), Corpus())

    @property
    def _held_out(self) -> list[Path]:
        """All files of dev and test sets, except the dev set of the recipe."""
        of_teachers = [path for dev in self.dev_sets for path in dev.files]
        return list(dict.fromkeys([*map(Path, self.config.held_out), *of_teachers]))

    def _making(self, teacher: ShardModels) -> Making:
        data = self.recipe.data
        files = {
            **data.train.named_files,
            **{f"dev {key}": path for key, path in data.dev.named_files.items()},
            **{f"held out {n}": path for n, path in enumerate(self._held_out, start=1)},
        }
        return Making(
            command="distil",
            models={f"teacher {n}": each for n, each in enumerate(teacher.hashes, start=1)},
            inputs=hashes_of(files),
            translations={"teacher": teacher.settings},
            options=self.config.model_dump(exclude={"to", "held_out", "corpus_only"})
            | self._reading,
        )

    @property
    def _reading(self) -> dict[str, Any]:
        """The columns of both corpora and their policy for invalid lines, without the defaults."""
        keys = {"src_column", "tgt_column", "errors", "encoding"}
        train = self.recipe.data.train
        numbered = {f"train {n}": each for n, each in enumerate(train.parts, start=1)}
        corpora: dict[str, Corpus] = {"train": train, **numbered, "dev": self.recipe.data.dev}
        return {
            f"{name} {key}": value
            for name, corpus in corpora.items()
            for key in keys
            if (value := getattr(corpus, key)) != Corpus.model_fields()[key].default
        }

    def _written(self, teacher: ShardModels, making: Making) -> CorpusFacts:
        # The first use of a library for the target language, before hours of translation.
        language = teacher.translator.languages[1]
        similarity = sentence_scorer("bleu", language) if self.config.closest else None
        corpus = self.recipe.data.train
        texts = Texts(
            lambda: _read(corpus),
            corpus.named_files,
            corpus.names,
        )
        counts = select_texts(
            self.parts / "texts",
            texts,
            Overlaps(
                HeldOutLines(
                    map(Path, self.config.held_out), [*self.dev_sets, self.recipe.data.dev]
                ),
                texts.names,
            ),
            teacher,
            inputs=making.inputs,
            drop_held_out=self.config.drop_held_out,
            reading=self._reading,
        )
        teacher.translate(self.parts / "texts", self.parts / "teacher", self.progress)
        pairs = self._pairs(teacher, counts, similarity)
        return write_corpus(self.corpus, making, counts, pairs, self._dev)

    def _pairs(
        self, teacher: ShardModels, counts: Counter[str], similarity: _Similarity | None
    ) -> Iterator[Pair]:
        """The pairs of the corpus: the translations of each text, then its reference."""
        translations = teacher.read(self.parts / "texts", self.parts / "teacher")
        for (text, reference), best in zip(
            read_texts(self.parts / "texts"), translations, strict=True
        ):
            chosen = [each for each in dict.fromkeys(best) if each]
            if best[0] in ("", text):  # the text takes the place of a translation that is missing
                counts["untranslated"] += 1
                chosen = []
            if similarity and reference and chosen:
                chosen = [max(chosen, key=lambda each: similarity(each, reference))]
            counts["translations"] += len(chosen)
            yield from ((text, each) for each in chosen)
            if reference and self.config.references:
                counts["references"] += 1
                yield text, reference


def _check(recipe: Recipe, config: DistilConfig) -> None:
    """Refuse what cannot be distilled."""
    if not recipe.run:
        raise RecipeError("the student has no run folder: add --run FOLDER")
    if recipe.task != "translation" or recipe.data.others:
        raise RecipeError("a student is a translator of one pair of languages: use another recipe")
    corpus = recipe.data.train
    if not (corpus.src or corpus.pairs or corpus.parts):
        raise RecipeError("there is no text to translate: add --src FILE")
    if corpus.src and not corpus.tgt:
        refuse_both_sides(corpus.src, "pass it as --pairs instead of --src")
    if config.closest and not (corpus.tgt or corpus.pairs or corpus.parts):
        raise RecipeError("--closest compares translations with references: add --tgt FILE")
    if "TORCHELASTIC_RUN_ID" in os.environ:
        raise RunError(
            "torchrun would translate in every process: run 'yakusu distil --corpus-only' without "
            f"it, then 'yakusu train {recipe.run}/recipe.toml' with it"
        )


def _read(corpus: Corpus) -> Iterator[NumberedPair]:
    """The texts of a corpus with their references; "": there is none."""
    if corpus.pairs or corpus.tgt or corpus.parts:
        yield from numbered_pairs(corpus)
        return
    errors = InvalidLines(corpus.errors, encoding=corpus.encodings[0])
    long = LongLines()
    for number, line in enumerate(read_lines(corpus.src, errors=errors, long=long), start=1):
        yield number, (line, "")
    corpus.warn(errors.warning(corpus.src))
    corpus.warn(long.warning(corpus.src))


def _has_one_pair(model: Path) -> bool:
    """Whether a model was trained for one pair of languages."""
    try:
        facts = read_facts(model)
    except ModelError:
        return False
    return isinstance(facts, Receipt) and not facts.recipe.data.others
