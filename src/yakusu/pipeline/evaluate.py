"""Scores of a system: of files, of a model folder, of a model that is being trained."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yakusu.data.corpus import holds_trees, tree_files
from yakusu.data.text import language_of, read_lines
from yakusu.data.tokenizer import Tokenizer
from yakusu.device import keep_freed_memory
from yakusu.errors import DataError, ModelError
from yakusu.metrics import BootstrapResult, Score, paired_bootstrap, score, tokenized_compound_bleu
from yakusu.model.base import Seq2Seq
from yakusu.progress import Progress, Silent, Tracker
from yakusu.recipe import Recipe
from yakusu.training.distributed import Group
from yakusu.translator import Translator

Text = str | Path | Iterable[str]  # a file, or lines


def evaluate(
    system: Text,
    references: Text,
    *,
    src: Text | None = None,
    baseline: Text | None = None,
    lowercase: bool = False,
    tokenize: str | None = None,
    target_language: str | None = None,
    paper: bool = False,
    progress: Progress | None = None,
) -> list[Score | BootstrapResult]:
    """BLEU, chrF and TER with their signatures; of trees see `evaluate_trees`.

    Args:
        system: Translations: a file or lines; or a model folder, which translates `src`.
        references: What they should be: sentences, or trees as in `evaluate_trees`, which a name
            in .mrg, a folder of *.mrg or the beginning of the file says.
        src: Source sentences, where `system` is a model.
        baseline: Another system, to compare with by paired bootstrap.
        lowercase: Ignore case.
        tokenize: sacreBLEU's tokenizer; None chooses by the language.
        target_language: Its code; else as the references' file is named, as in test.de, or as
            the system says.
        paper: Also the paper's tokenised, compound-split BLEU.
        progress: Watches.

    Returns:
        The scores, and last the comparison with `baseline`.

    Raises:
        DataError: A file cannot be read, or the texts differ in length.
        ModelError: The model folder is incomplete or corrupt, or a parser has no true trees.
    """
    progress = progress or Silent()
    if isinstance(references, str | Path) and holds_trees(references):
        given = any((src, baseline, lowercase, tokenize, target_language, paper))
        _refuse_for_trees(system, references, given)
        return [*evaluate_trees(str(system), references, progress=progress)]
    truth = _read(references, "the truth", None, progress)
    made = _read(system, "the system", src, progress)
    _refuse_unequal(made, truth)
    language = target_language or truth.language or made.language or None
    options: dict[str, Any] = {"lowercase": lowercase, "tokenize": tokenize}
    options["target_language"] = language
    if not (language or tokenize):
        progress.say("the target language is not known, so BLEU's tokenizer is 13a: add --language")
    if not lowercase:
        remark_on_case(made.lines, truth.lines, progress)
    results: list[Score | BootstrapResult] = [*score(made.lines, truth.lines, **options)]
    if paper:
        of = language or "en"
        results.append(tokenized_compound_bleu(made.lines, truth.lines, of, lowercase=lowercase))
    if baseline is not None:
        other = _read(baseline, "the baseline", src, progress)
        _refuse_unequal(other, truth)
        results.append(paired_bootstrap(other.lines, made.lines, truth.lines, **options))
    return results


def remark_on_case(lines: Iterable[str], truth: Iterable[str], progress: Progress) -> None:
    """Say so where a system writes no capitals, the truth does, and a score would mind."""
    if all(line == line.lower() for line in lines) and any(t != t.lower() for t in truth):
        progress.say("the system writes no capitals, the references do: --lowercase ignores case")


def evaluate_trees(
    system: str | Path, references: str | Path, *, progress: Progress | None = None
) -> list[Score]:
    """Labelled F1, precision, recall and exact match, as EVALB counts with COLLINS.prm.

    Args:
        system: Trees: a file, folder or pattern; or a model folder, which parses the words of
            `references`.
        references: The true trees: a file, folder or pattern.
        progress: Watches.

    Raises:
        DataError: A file cannot be read, a tree is broken, or the words differ.
        ModelError: The model folder is incomplete or corrupt, or holds no parser.
    """
    from yakusu.data.trees import read_trees, tree_of, words_of
    from yakusu.tasks.evalb import compare, total  # its library is an extra

    true = list(read_trees(tree_files(references)))
    if not true:
        raise DataError(f"{references} holds no tree: name a file or folder of true trees")
    if not Path(system).is_dir() or holds_trees(system):
        made = list(read_trees(tree_files(system)))
    else:
        parser = Translator.load(system)
        if parser.task_name != "parsing":
            raise ModelError(f"{system} translates and {references} are trees: name a parser")
        progress = progress or Silent()
        with progress.track("parsing", "sentences", len(true)) as tracker:
            sentences = [" ".join(words_of(tree)) for tree in true]
            made = [tree_of(line) for line in translated(parser, sentences, tracker)]
    return total(compare(made, true)).scores()


def _refuse_for_trees(system: Text, references: str | Path, options: bool) -> None:
    if options:
        raise DataError(f"{references} is trees, which are scored one way: leave out options")
    if not isinstance(system, str | Path):
        raise DataError("trees are compared with trees: name a file of them, or a parser's folder")


@dataclass(frozen=True)
class _Text:
    """Lines, what to call them, and their language where that is known."""

    name: str
    lines: list[str]
    language: str


def _read(text: Text, name: str, src: Text | None, progress: Progress) -> _Text:
    """A file, lines that are called `name`, or what a model makes of `src`, called as that is."""
    if not isinstance(text, str | Path):
        return _Text(name, list(text), "")
    if not Path(text).is_dir():
        return _Text(str(text), list(read_lines(text)), language_of(text))
    keep_freed_memory()
    translator = Translator.load(text)
    if translator.task_name == "parsing":
        raise ModelError(f"{text} is a parser: name true trees (S (NP ...) ...) as the reference")
    if src is None:
        raise DataError(f"{text} is a model folder: add --src FILE for it to translate")
    sources = _read(src, "the source", None, progress).lines
    with progress.track("translating", "sentences", len(sources)) as tracker:
        lines = translated(translator, sources, tracker)
    return _Text(str(src), lines, translator.languages[1])


def translated(translator: Translator, sources: Iterable[str], tracker: Tracker) -> list[str]:
    """The best translation of each sentence; each advances the tracker."""
    texts = []
    for best in translator.stream(sources):
        texts.append(best[0].text)
        tracker.advance()
    return texts


def _refuse_unequal(made: _Text, truth: _Text) -> None:
    if len(made.lines) != len(truth.lines):
        raise DataError(
            f"{made.name} has {len(made.lines)} lines and {truth.name} {len(truth.lines)}: align "
            "them line by line"
        )


class DevScore:
    """The task's score of real beam output on the dev set, shared out among the processes."""

    def __init__(
        self, recipe: Recipe, tokenizer: Tokenizer, data: Path, group: Group, progress: Progress
    ) -> None:
        self.recipe, self.tokenizer = recipe, tokenizer
        self.group, self.progress = group, progress
        self.src, self.tgt = (list(read_lines(data / f"dev.{side}.txt")) for side in ("src", "tgt"))

    def __call__(self, model: Seq2Seq) -> Score:
        recipe = self.recipe
        translator = Translator(
            model,
            self.tokenizer,
            languages=recipe.languages,
            search=recipe.search.model_copy(update={"n_best": 1}),
            task=recipe.task,
            device=model.output_weight.device,
        )
        sources = self.group.shard(self.src)
        with self.progress.track("validating", "sentences", len(sources)) as tracker:
            hypotheses = self.group.gather(translated(translator, sources, tracker))
        return translator.task.score(
            hypotheses,
            self.tgt,
            lowercase=recipe.tokenizer.lowercases,
            language=recipe.languages[1],
        )
