"""Scores of a system: of files, of a model folder, of a model that is being trained."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from yakusu.errors import DataError
from yakusu.metrics import BootstrapResult, Score, paired_bootstrap, score, tokenized_compound_bleu
from yakusu.model.base import Seq2Seq
from yakusu.progress import Progress, Silent, Task
from yakusu.recipe import Recipe
from yakusu.text import language_of, read_lines
from yakusu.tokenizer import Tokenizer
from yakusu.training.device import keep_freed_memory
from yakusu.training.parallel import Group
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
    """BLEU, chrF and TER with their signatures.

    Args:
        system: Translations: a file or lines; or a model folder, which translates `src`.
        references: What they should be.
        src: Source sentences, where `system` is a model.
        baseline: Another system, to compare with by paired bootstrap.
        lowercase: Ignore case.
        tokenize: sacreBLEU's tokenizer; None chooses by the language.
        target_language: Its code; else as the references' file is named, as in test.de, or as the
            model says.
        paper: Also the paper's tokenised, compound-split BLEU.
        progress: Watches.

    Returns:
        The scores, and last the comparison with `baseline`.

    Raises:
        DataError: A file cannot be read, or the texts differ in length.
        ModelError: The model folder is incomplete or corrupt.
    """
    progress = progress or Silent()
    lines = list(read_lines(references)) if isinstance(references, str | Path) else list(references)
    hypotheses, model_language = _output(system, src, progress)
    named = language_of(references) if isinstance(references, str | Path) else ""
    language = target_language or named or model_language
    _refuse_unequal(_name(system, "the system"), hypotheses, _name(references, "the truth"), lines)
    options: dict[str, Any] = {"lowercase": lowercase, "tokenize": tokenize}
    if not (language or tokenize):
        progress.say("the target language is not known, so BLEU's tokenizer is 13a: add --language")
    results: list[Score | BootstrapResult] = []
    results += score(hypotheses, lines, **options, target_language=language or None)
    if paper:
        results.append(
            tokenized_compound_bleu(hypotheses, lines, language or "en", lowercase=lowercase)
        )
    if baseline is not None:
        other, _ = _output(baseline, src, progress)
        _refuse_unequal(_name(baseline, "the baseline"), other, _name(references, "it"), lines)
        results.append(
            paired_bootstrap(other, hypotheses, lines, **options, target_language=language or None)
        )
    return results


def _output(system: Text, src: Text | None, progress: Progress) -> tuple[list[str], str]:
    """The lines of a system, and its target language if it is a model."""
    if not isinstance(system, str | Path):
        return list(system), ""
    if not Path(system).is_dir():
        return list(read_lines(system)), ""
    if src is None:
        raise DataError(f"{system} is a model folder: add --src FILE for it to translate")
    sources = list(read_lines(src) if isinstance(src, str | Path) else src)
    keep_freed_memory()
    translator = Translator.load(system)
    with progress.task("translating", "sentences", len(sources)) as task:
        return _translated(translator, sources, task), translator.languages[1]


def _translated(translator: Translator, sources: Iterable[str], task: Task) -> list[str]:
    texts = []
    for best in translator.stream(sources):
        texts.append(best[0].text)
        task.advance()
    return texts


def _name(text: Text, otherwise: str) -> str:
    return str(text) if isinstance(text, str | Path) else otherwise


def _refuse_unequal(name: str, lines: list[str], truth: str, references: list[str]) -> None:
    if len(lines) != len(references):
        raise DataError(
            f"{name} has {len(lines)} lines and {truth} {len(references)}: align them line by line"
        )


class DevBleu:
    """BLEU of real beam output on the dev set, shared out among the processes."""

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
            device=model.output_weight.device,
        )
        sources = self.group.share(self.src)
        with self.progress.task("validating", "sentences", len(sources)) as task:
            hypotheses = self.group.join(_translated(translator, sources, task))
        return score(
            hypotheses,
            self.tgt,
            metrics=("bleu",),
            lowercase=recipe.tokenizer.lowercases,
            target_language=recipe.languages[1],
        )[0]
