"""Scores given translations and n-best lists with a model folder."""

import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import tee
from pathlib import Path

from yakusu.data.corpus import Corpus, aligned, read_pairs
from yakusu.data.files.text import Text, count_lines, language_of, raw_lines, read_lines
from yakusu.data.files.tree_files import holds_trees
from yakusu.data.lines.config import TextConfig
from yakusu.engine.config import Engine, EngineConfig
from yakusu.errors import DataError, unequal
from yakusu.pipeline.translate import sentences_for
from yakusu.translator import Translator
from yakusu.translator.scoring import Scored

_log = logging.getLogger(__name__)
_COLUMNS = ("number", "score", "log_prob", "text")  # of an n-best list
_OLD_COLUMNS = ("number", "score", "text")


def score(
    model: str | Path,
    src: Text,
    tgt: Text,
    *,
    ensemble: Sequence[str | Path] = (),
    text: TextConfig | None = None,
    alternatives: int = 0,
    batch: int = 64,
    engine: EngineConfig | Engine | None = None,
) -> Iterator[Scored]:
    """Compute the log-probability that a model assigns to given translations, in order.

    Args:
        model: Model folder.
        src: Source sentences, as the path of a file or as lines.
        tgt: Their translations, line by line; trees for a parser.
        ensemble: Additional model folders with the same vocabulary; probabilities are averaged.
        text: How the source is read, as in `translate`; lines are not divided, and a glossary has
            no effect. If the model has several target languages and `text.to` is not set, the
            suffix of the file `tgt` says which one, otherwise it is the model's default.
        alternatives: Number of most probable tokens to return for each target position.
        batch: Maximum number of pairs scored together; on a CPU, it does not change the result.
        engine: As in `translate`.

    Yields:
        The log-probability of each translation, in total and per token, and its score, which is the
        log-probability divided by the length penalty with the model's `alpha`.

    Raises:
        DataError: A file does not exist or cannot be read, the texts have different numbers of
            lines, or a line has too many tokens (the message names it).
        ModelError: A folder is incomplete or corrupt, the vocabularies of an ensemble differ, or
            a file contains trees, but the model is not a parser.

    Example:
        `[scored.log_prob for scored in yakusu.score("runs/en-de/model", "news.en", "news.de")]`
    """
    _refuse_unequal_files(src, tgt)
    translator = Translator.load(model, text=text, ensemble=ensemble, engine=engine)
    suffix = language_of(str(tgt)) if isinstance(tgt, str | Path) else ""
    if translator.targets and suffix and not (text and text.to):
        translator = translator.translating_to(suffix)
    names = _name(src, "the source sentences"), _name(tgt, "the translations")
    sources, targets = sentences_for(translator, src, name=str(model)), _targets(translator, tgt)
    one, other = tee(aligned(sources, targets, names=names))
    return translator.score(
        (source for source, _ in one),
        (target for _, target in other),
        alternatives=alternatives,
        batch=batch,
    )


def _refuse_unequal_files(src: Text, tgt: Text) -> None:
    """Refuse two files with different numbers of lines before anything is computed."""
    if not (isinstance(src, str | Path) and isinstance(tgt, str | Path)):
        return
    if all(Path(path).is_file() and not holds_trees(path) for path in (src, tgt)):
        n_src, n_tgt = count_lines(src), count_lines(tgt)
        if n_src != n_tgt:
            raise unequal(str(src), n_src, str(tgt), n_tgt)


def _targets(translator: Translator, tgt: Text) -> Iterable[str]:
    if not isinstance(tgt, str | Path):
        return tgt
    if translator.task_name == "parsing" and holds_trees(tgt):
        return (tree for _, tree in read_pairs(Corpus(trees=str(tgt))))
    return read_lines(tgt)


def _name(text: Text, name: str) -> str:
    return str(text) if isinstance(text, str | Path) else name


# ---- n-best lists --------------------------------------------------------------------------------


@dataclass(frozen=True)
class NBestEntry:
    """A line of an n-best list, as `yakusu translate --n-best` prints it.

    Attributes:
        number: The number of the source sentence, counted from 1.
        text: The translation.
        has_log_prob: Whether the list has a column with log-probabilities.
    """

    number: int
    text: str
    has_log_prob: bool

    def line(self, scored: Scored) -> str:
        """Return the line with new scores."""
        log_prob = [f"{scored.log_prob:.4f}"] if self.has_log_prob else []
        return "\t".join([str(self.number), f"{scored.score:.4f}", *log_prob, self.text])


def rescore(
    model: str | Path,
    src: Text,
    n_best: Text,
    *,
    ensemble: Sequence[str | Path] = (),
    text: TextConfig | None = None,
    batch: int = 64,
    engine: EngineConfig | Engine | None = None,
) -> Iterator[tuple[NBestEntry, Scored]]:
    """Score the translations of an n-best list, in its order.

    Args:
        model: Model folder.
        src: Source sentences, as the path of a file or as lines.
        n_best: The list, as the path of a file or as lines with the columns number, score, log_prob
            and text, or number, score and text, separated by tabs.
        ensemble: As in `score`.
        text: As in `score`.
        batch: As in `score`.
        engine: As in `score`.

    Raises:
        DataError: As in `score`, or a line of the list is malformed, or its number is smaller than
            that of the previous line or exceeds the number of source sentences.
        ModelError: As in `score`.
    """
    translator = Translator.load(model, text=text, ensemble=ensemble, engine=engine)
    sources = sentences_for(translator, src, name=str(model))
    lines = raw_lines(n_best) if isinstance(n_best, str | Path) else n_best
    names = _name(src, "the source sentences"), _name(n_best, "the n-best list")
    first, second, third = tee(_entries(lines, sources, names), 3)
    found = translator.score(
        (source for source, _ in first), (entry.text for _, entry in second), batch=batch
    )
    return ((entry, scored) for (_, entry), scored in zip(third, found, strict=True))


def _entries(
    lines: Iterable[str], sources: Iterable[str], names: tuple[str, str]
) -> Iterator[tuple[str, NBestEntry]]:
    """The source sentence and the entry of each line of an n-best list."""
    source, n_read, remaining = "", 0, iter(sources)
    texts, n_equal = set[str](), 0  # of the sentence
    for line_number, line in enumerate(lines, start=1):
        place = f"{names[1]}, line {line_number}"
        entry = _parsed(line, place)
        if entry.number < n_read:
            raise DataError(
                f"{place}: the number {entry.number} follows {n_read}: sort the list by sentence"
            )
        while n_read < entry.number:
            following = next(remaining, None)
            if following is None:
                raise DataError(
                    f"{place}: there is no sentence {entry.number}, because {names[0]} has only "
                    f"{n_read:,}: use the source that the list was made from"
                )
            source, n_read = following, n_read + 1
            texts.clear()
        n_equal += entry.text in texts
        texts.add(entry.text)
        yield source, entry
    if n_equal:
        lines_have = "line has" if n_equal == 1 else "lines have"
        _log.warning(
            "%s: %s %s the text of an earlier line of the same sentence, and thus its scores: the "
            "search has found the text as other tokens",
            *(names[1], f"{n_equal:,}", lines_have),
        )


def _parsed(line: str, place: str) -> NBestEntry:
    cells = line.split("\t", len(_COLUMNS) - 1)  # a text may have tabs
    columns = _OLD_COLUMNS if len(cells) == len(_OLD_COLUMNS) else _COLUMNS
    if len(cells) != len(columns):
        raise DataError(
            f"{place}: {len(cells)} columns instead of {', '.join(_COLUMNS[:-1])} and text: "
            "separate them with tabs, as yakusu translate --n-best does"
        )
    fields = dict(zip(columns, cells, strict=True))
    if not fields["number"].isdecimal() or int(fields["number"]) < 1:
        raise DataError(
            f"{place}: '{fields['number']}' is not the number of a sentence: count from 1"
        )
    for name in columns[1:-1]:
        _refuse_text(fields[name], name, place)
    return NBestEntry(int(fields["number"]), fields["text"], columns is _COLUMNS)


def _refuse_text(cell: str, name: str, place: str) -> None:
    try:
        float(cell)
    except ValueError as error:
        raise DataError(
            f"{place}: the {name} '{cell}' is not a number: use the columns that yakusu translate "
            "--n-best prints"
        ) from error


# ---- perplexity ----------------------------------------------------------------------------------


@dataclass
class Perplexity:
    """Perplexity of a corpus, exp(-(sum of log_prob) / (sum of n_tokens)), from running sums."""

    n_pairs: int = 0
    n_tokens: int = 0
    log_prob: float = 0.0

    def add(self, scored: Scored) -> None:
        """Add a pair."""
        self.n_pairs += 1
        self.n_tokens += scored.n_tokens
        self.log_prob += scored.log_prob

    @property
    def value(self) -> float:
        """The perplexity per token, including eos; NaN if there are no pairs, inf on overflow."""
        if not self.n_tokens:
            return math.nan
        try:
            return math.exp(-self.log_prob / self.n_tokens)
        except OverflowError:
            return math.inf
