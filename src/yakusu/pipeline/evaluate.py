"""Scores translations and trees, translators and parsers."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from yakusu.data.files.text import Pair, Text, language_of, read_lines
from yakusu.data.files.tree_files import tree_files
from yakusu.data.languages import listed_codes, require_language
from yakusu.data.lines.config import TextConfig
from yakusu.engine.config import Engine, EngineConfig
from yakusu.errors import DataError, ModelError, unequal
from yakusu.metrics import (
    BootstrapResult,
    MetricOptions,
    Score,
    paired_bootstrap,
    score_translations,
    tokenized_compound_bleu,
)
from yakusu.progress import Progress, Silent, Tracker
from yakusu.translator import Translator

if TYPE_CHECKING:
    from nltk.tree import Tree

_Scores = list[Score | BootstrapResult]


def evaluate(
    hypotheses: Text,
    references: Text,
    *,
    baseline: Text | None = None,
    lowercase: bool = False,
    tokenize: str | None = None,
    target_language: str | None = None,
    paper: bool = False,
    progress: Progress | None = None,
) -> _Scores:
    """Score translations with BLEU, chrF and TER, each with its sacreBLEU signature.

    Args:
        hypotheses: Translations, as the path of a file or as lines.
        references: Reference translations, line by line.
        baseline: Translations of another system, for a comparison by paired bootstrap.
        lowercase: Ignore case.
        tokenize: Name of sacreBLEU's tokenizer (default: chosen by the language).
        target_language: Code such as "de", in any spelling (default: the suffix of the references
            file, such as test.de, otherwise the suffix of the hypotheses file).
        paper: Add the paper's BLEU, on tokenised text with hyphenated compounds split.
        progress: Progress reporter.

    Returns:
        The scores; the comparison with `baseline` comes last.

    Raises:
        DataError: A file cannot be read, the texts differ in length, or the language is unknown.
    """
    language = _checked_language(target_language)
    made, truth = NamedLines.of(hypotheses, "hypotheses"), NamedLines.of(references, "references")
    language = language or truth.language or made.language or None
    options = MetricOptions(tokenize, lowercase, language)
    return _score(made, truth, options, baseline, paper, progress or Silent())


def evaluate_model(
    model: str | Path,
    src: Text,
    references: Text,
    *,
    baseline: Text | None = None,
    lowercase: bool = False,
    tokenize: str | None = None,
    target_language: str | None = None,
    paper: bool = False,
    engine: EngineConfig | Engine | None = None,
    progress: Progress | None = None,
) -> _Scores:
    """Translate `src` with a model folder and score the translations as `evaluate` does.

    Args:
        model: Model folder.
        src: Source sentences, as the path of a file or as lines.
        references: Reference translations, line by line.
        baseline, lowercase, tokenize, paper, progress: As in `evaluate`.
        target_language: Code such as "de", in any spelling (default: the suffix of the references
            file, otherwise the model's target language). A model with several target languages
            translates to this one.
        engine: What runs the model, as in `translate`.

    Raises:
        DataError: As in `evaluate`.
        ModelError: The model folder is incomplete or corrupt, or holds a parser.
    """
    language, progress = _checked_language(target_language), progress or Silent()
    sources, truth = NamedLines.of(src, "source sentences"), NamedLines.of(references, "references")
    refuse_unequal(sources, truth)
    made = _translated(model, sources, language or truth.language, engine, progress)
    language = language or truth.language or made.language or None
    options = MetricOptions(tokenize, lowercase, language)
    return _score(made, truth, options, baseline, paper, progress)


def translate_to_score(
    model: str | Path,
    src: Text,
    *,
    to: str = "",
    engine: EngineConfig | Engine | None = None,
    progress: Progress | None = None,
) -> list[str]:
    """Return the translations by a model folder that `evaluate_model` scores.

    Args:
        model: Model folder.
        src: Source sentences, as the path of a file or as lines.
        to: Target language, if the model has several; "": its default.
        engine: What runs the model, as in `translate`.
        progress: Progress reporter.

    Raises:
        DataError: A file cannot be read.
        ModelError: The model folder is incomplete or corrupted, or holds a parser.
    """
    lines = NamedLines.of(src, "source sentences")
    return _translated(model, lines, to, engine, progress or Silent()).lines


def evaluate_trees(trees: str | Path, references: str | Path) -> list[Score]:
    """Score trees with labelled F1, precision, recall and exact match, as EVALB (COLLINS.prm) does.

    Args:
        trees: Trees of a parser: a file, a folder of *.mrg or a pattern.
        references: Reference trees: a file, a folder of *.mrg or a pattern.

    Raises:
        DataError: A file cannot be read, a tree is invalid, or the words differ.
    """
    from yakusu.tasks.evalb import compare_trees, total  # needs the extra "parse"

    truth = _read_references(references)
    return total(compare_trees(_read_trees(trees), truth)).scores()


def evaluate_parser(
    model: str | Path,
    references: str | Path,
    *,
    engine: EngineConfig | Engine | None = None,
    progress: Progress | None = None,
) -> list[Score]:
    """Parse the words of reference trees and score the result as `evaluate_trees` does.

    Args:
        model: Model folder of a parser.
        references: Reference trees: a file, a folder of *.mrg or a pattern.
        engine: What runs the model, as in `translate`.
        progress: Progress reporter.

    Raises:
        DataError: A file cannot be read, or a tree is invalid.
        ModelError: The model folder is incomplete or corrupt, or does not hold a parser.
    """
    from yakusu.data.trees import tree_of, words_of
    from yakusu.tasks.evalb import compare_trees, total  # needs the extra "parse"

    truth, progress = _read_references(references), progress or Silent()
    parser = Translator.load(model, engine=engine)
    if parser.task_name != "parsing":
        raise ModelError(f"{references} contains trees, but {model} is not a parser: use a parser")
    sentences = [" ".join(words_of(tree)) for tree in truth]
    with progress.track("parsing", "sentences", len(sentences)) as tracker:
        made = [tree_of(line) for line in translated(parser, sentences, tracker)]
    return total(compare_trees(made, truth)).scores()


@dataclass(frozen=True)
class NamedLines:
    """Lines of text, their name in messages, and the language in their file name ("": none)."""

    name: str
    lines: list[str]
    language: str

    @classmethod
    def of(cls, text: Text, name: str) -> "NamedLines":
        """Read a text; `name` is that of lines that are not from a file.

        Raises:
            DataError: The file cannot be read.
        """
        if isinstance(text, str | Path):
            return cls(str(text), list(read_lines(text)), language_of(text))
        return cls(f"the {name}", list(text), "")


def _translated(
    model: str | Path,
    sources: NamedLines,
    language: str,
    engine: EngineConfig | Engine | None,
    progress: Progress,
) -> NamedLines:
    translator = Translator.load(model, engine=engine)
    if translator.task_name == "parsing":
        raise ModelError(f"{model} is a parser: use trees (S (NP ...) ...) as the references")
    return translated_lines(translator, sources, language, name=str(model), progress=progress)


def translated_lines(
    translator: Translator, sources: NamedLines, language: str, *, name: str, progress: Progress
) -> NamedLines:
    """Translate lines to score them; see `scored_translator`.

    Args:
        translator: The translator.
        sources: The lines.
        language: Language of the references; "": unknown.
        name: Name of the model in messages.
        progress: Progress reporter.

    Raises:
        ModelError: The model has several target languages, but not that of the references.
    """
    translator = scored_translator(translator, language, name=name)
    with progress.track("translating", "sentences", len(sources.lines)) as tracker:
        lines = translated(translator, sources.lines, tracker)
    return NamedLines(f"the output of {name}", lines, translator.languages[1])


def scored_translator(translator: Translator, language: str, *, name: str) -> Translator:
    """A translator as it is scored: each line is one sentence.

    Args:
        translator: The translator.
        language: Language of the references; "": unknown. A model with several target languages
            translates to this one.
        name: Name of the model in messages.

    Raises:
        ModelError: The model has several target languages, but not that of the references.
    """
    if translator.targets and language:
        if not translator.tokenizer.languages_like(language):
            raise ModelError(
                f"{name} has no target language '{language}': choose one of "
                f"{listed_codes(translator.targets)} as the language of the references"
            )
        translator = translator.translating_to(language)
    return translator.with_settings(text=TextConfig(one_sentence_per_line=True))


def _score(
    made: NamedLines,
    truth: NamedLines,
    options: MetricOptions,
    baseline: Text | None,
    paper: bool,
    progress: Progress,
) -> _Scores:
    refuse_unequal(made, truth)
    language, lowercase = options.target_language, options.lowercase
    if not (language or options.tokenize):
        progress.say("unknown target language, using BLEU's default tokenizer 13a: add --language")
    if not lowercase:
        remark_on_case(made.lines, truth.lines, progress)
    results: _Scores = [*score_translations(made.lines, truth.lines, **asdict(options))]
    if paper:
        of = (language or "en").split("-")[0]
        results.append(tokenized_compound_bleu(made.lines, truth.lines, of, lowercase=lowercase))
    if baseline is not None:
        other = NamedLines.of(baseline, "baseline")
        refuse_unequal(other, truth)
        compared = paired_bootstrap(other.lines, made.lines, truth.lines, **asdict(options))
        results.append(compared)
    return results


def _checked_language(code: str | None) -> str | None:
    """Return the canonical code of a language, such as "de", "pt-BR" or "gsw", if it exists."""
    return None if code is None else require_language(code)


def remark_on_case(lines: Iterable[str], truth: Iterable[str], progress: Progress) -> None:
    """Report that the output has no capital letters but the references do: this lowers scores."""
    if all(line == line.lower() for line in lines) and any(t != t.lower() for t in truth):
        progress.say(
            "the output has no capital letters, but the references do: add --lowercase to ignore "
            "case"
        )


def translated(translator: Translator, sources: Iterable[str], tracker: Tracker) -> list[str]:
    """Return the best translation of each sentence, and advance the tracker for each one."""
    texts = []
    for best in translator.stream(sources):
        texts.append(best[0].text)
        tracker.advance()
    return texts


def given_test_set(src: Text | None, tgt: Text | None) -> list[Pair] | None:
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


def refuse_unequal(made: NamedLines, truth: NamedLines) -> None:
    """Raise DataError if two texts differ in the number of their lines."""
    if len(made.lines) != len(truth.lines):
        raise unequal(made.name, len(made.lines), truth.name, len(truth.lines))


def _read_references(references: str | Path) -> "list[Tree]":
    trees = _read_trees(references)
    if not trees:
        raise DataError(
            f"{references} contains no trees: specify a file or folder of reference trees"
        )
    return trees


def _read_trees(place: str | Path) -> "list[Tree]":
    from yakusu.data.trees import read_trees  # needs the extra "parse"

    return list(read_trees(tree_files(place)))
