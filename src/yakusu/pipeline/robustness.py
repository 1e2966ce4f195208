"""How well a model translates the same sentences when they are typed in another way.

    plain                  Do not open the door!
    capitals               DO NOT OPEN THE DOOR!      compared without case
    title case             Do Not Open The Door!
    lower case             do not open the door!      compared without case
    no final punctuation   Do not open the door       the reference has none, either
    typos                  Do not oepn the door!      one per ten words
    emoji                  Do not open the door! 🎉   compared without it

    of plain = BLEU / BLEU of the translations of the plain sources, compared in the same way

Case is that of the languages: without case, "Straße" equals "STRASSE". Languages without case have
no rows for it.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import regex

from yakusu.data.files.text import Text
from yakusu.data.languages import require_language
from yakusu.data.lines.casing import capitals, has_case, lower_case, title_case
from yakusu.data.lines.sentences import without_final_punctuation
from yakusu.data.lines.spans import SpanFinder
from yakusu.engine.config import Engine, EngineConfig
from yakusu.errors import ModelError
from yakusu.metrics import MetricOptions, Score, score_translations
from yakusu.pipeline.digits import Digits
from yakusu.pipeline.evaluate import NamedLines, refuse_unequal, scored_translator
from yakusu.pipeline.typos import with_typos
from yakusu.progress import Progress, Silent
from yakusu.translator import Translation, Translator

EMOJI = ("😀", "🎉", "❤️", "👍🏽", "☕", "🇯🇵", "👩‍💻", "✈️", "🙏", "🔥", "😂", "🌧️")
_EMOJI = regex.compile("|".join(EMOJI))


@dataclass(frozen=True)
class Row:
    """The translations of sentences that are typed in one way.

    Attributes:
        name: How they are typed, such as "lower case".
        bleu: BLEU, and how the translations were compared.
        of_plain: BLEU divided by that of the plain sources; None: that is 0.
        digits: How many translations have the digits of their references.
        unchanged: Share of the sources that are kept, because no translation could be used.
        emoji_kept: Share of the translations with the emoji of the source; None: there is none.
    """

    name: str
    bleu: Score
    of_plain: float | None
    digits: Digits
    unchanged: float
    emoji_kept: float | None = None


@dataclass(frozen=True)
class Robustness:
    """Result of `evaluate_robustness`: a row for each way to type the sentences, "plain" first."""

    rows: Sequence[Row]

    def __str__(self) -> str:
        """A table, and the signatures of the scores."""
        lines = [("", "BLEU", "of plain", "digits right", "unchanged", "emoji kept")]
        lines += [
            (
                row.name,
                f"{row.bleu.value:.2f}",
                _percent(row.of_plain),
                f"{row.digits.n_right} of {row.digits.n_sentences}",
                _percent(row.unchanged),
                _percent(row.emoji_kept),
            )
            for row in self.rows
        ]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        shown = [
            line[0].ljust(widths[0])
            + "".join(cell.rjust(n + 2) for cell, n in zip(line[1:], widths[1:], strict=True))
            for line in lines
        ]
        signatures = dict.fromkeys(row.bleu.signature for row in self.rows)
        return "\n".join([*shown, *(f"BLEU signature: {each}" for each in signatures)])


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


@dataclass(frozen=True)
class _Typed:
    """A way to type sentences.

    Attributes:
        name: Its name.
        change: Changes a source.
        expected: Changes a reference, and the translation of a plain source, in the same way.
        compared: Changes a translation before it is compared.
        lowercase: Case is ignored.
    """

    name: str
    change: Callable[[str], str]
    expected: Callable[[str], str] = str
    compared: Callable[[str], str] = str
    lowercase: bool = False


def evaluate_robustness(
    model: str | Path,
    src: Text,
    references: Text,
    *,
    lowercase: bool = False,
    tokenize: str | None = None,
    target_language: str | None = None,
    engine: EngineConfig | Engine | None = None,
    progress: Progress | None = None,
) -> Robustness:
    """Translate sentences as they are, in capitals, with typos and so on, and compare the scores.

    Args:
        model: Model folder.
        src: Source sentences, as the path of a file or as lines.
        references: Reference translations, line by line.
        lowercase, tokenize, target_language: As in `evaluate_model`.
        engine: What runs the model, as in `translate`.
        progress: Progress reporter.

    Raises:
        DataError: A file cannot be read, the texts differ in length, or the language is unknown.
        ModelError: The model folder is incomplete or corrupt, or holds a parser.
    """
    progress = progress or Silent()
    language = None if target_language is None else require_language(target_language)
    sources, truth = NamedLines.of(src, "source sentences"), NamedLines.of(references, "references")
    refuse_unequal(sources, truth)
    translator = Translator.load(model, engine=engine)
    if translator.task_name == "parsing":
        raise ModelError(f"{model} is a parser: --robust needs a model that translates")
    language = language or truth.language
    translator = scored_translator(translator, language, name=str(model))
    source, target = (
        sources.language or translator.languages[0],
        language or translator.languages[1],
    )

    def translate(lines: list[str]) -> Iterator[Translation]:
        with progress.track("translating", "sentences", len(lines)) as tracker:
            for best in translator.stream(lines):
                yield best[0]
                tracker.advance()

    options = MetricOptions(tokenize, lowercase, target or None)
    return robustness(translate, sources.lines, truth.lines, source, options)


def robustness(
    translate: Callable[[list[str]], Iterable[Translation]],
    sources: list[str],
    references: Sequence[str],
    source_language: str,
    options: MetricOptions,
) -> Robustness:
    """Compare the translations of sentences that are typed in several ways.

    Args:
        translate: Translates sentences.
        sources: The sentences as they are.
        references: Their translations.
        source_language: Code of their language, "" if unknown.
        options: Options of BLEU.
    """
    plain = list(translate(sources))
    rows = [_row(_Typed("plain", str), sources, plain, plain, references, options)]
    for way in _ways(source_language, options.target_language or ""):
        typed = list(map(way.change, sources))
        rows.append(_row(way, typed, list(translate(typed)), plain, references, options))
    return Robustness(rows)


def _ways(source: str, target: str) -> list[_Typed]:
    """The ways to type sentences of a source language, except the plain one."""

    def without_case(text: str) -> str:
        return capitals(text, target)

    def in_case(name: str, change: Callable[[str, str], str]) -> _Typed:
        typed = _outside_spans(lambda text: change(text, source))
        return _Typed(name, typed, without_case, without_case, lowercase=True)

    cases = [
        in_case("capitals", capitals),
        _Typed("title case", _outside_spans(lambda text: title_case(text, source))),
        in_case("lower case", lower_case),
    ]
    return [
        *(cases if has_case(source) else ()),
        _Typed("no final punctuation", without_final_punctuation, without_final_punctuation),
        _Typed("typos", _outside_spans(with_typos)),
        _Typed("emoji", with_emoji, compared=_without_emoji),
    ]


def _row(
    way: _Typed,
    sources: Sequence[str],
    made: Sequence[Translation],
    plain: Sequence[Translation],
    references: Sequence[str],
    options: MetricOptions,
) -> Row:
    """Compare the translations of sources that are typed in one way.

    Args:
        way: How they are typed.
        sources: The sources.
        made: Their translations.
        plain: The translations of the plain sources.
        references: The references.
        options: Options of BLEU.
    """
    given = asdict(options) | {"lowercase": options.lowercase or way.lowercase}
    texts, usual, truth = [each.text for each in made], [each.text for each in plain], references
    bleu, bleu_of_plain = (
        score_translations(lines, list(map(way.expected, truth)), metrics=("bleu",), **given)[0]
        for lines in (list(map(way.compared, texts)), list(map(way.expected, usual)))
    )
    emoji = [tuple(map(_EMOJI.findall, both)) for both in zip(sources, texts, strict=True)]
    kept = [own == in_source for in_source, own in emoji if in_source]
    return Row(
        way.name,
        bleu,
        bleu.value / bleu_of_plain.value if bleu_of_plain.value else None,
        Digits.of(texts, truth),
        unchanged=sum(each.copied for each in made) / len(made),
        emoji_kept=sum(kept) / len(kept) if kept else None,
    )


def with_emoji(text: str) -> str:
    """A text with an emoji, which is a function of the text, as is its place.

    It is at the end of two texts of four, at the beginning of one, and between two words of one.
    """
    digest = hashlib.blake2b(text.encode(), digest_size=4).digest()
    emoji, words = EMOJI[digest[0] % len(EMOJI)], text.split(" ")
    places = (len(words), len(words), 0, 1 + digest[1] % max(1, len(words) - 1))
    at = places[digest[2] % len(places)]
    return " ".join([*words[:at], emoji, *words[at:]])


def _without_emoji(text: str) -> str:
    return " ".join(_EMOJI.sub(" ", text).split())


def _outside_spans(change: Callable[[str], str]) -> Callable[[str], str]:
    """Change a text, except for its placeholders, tags, addresses and other code."""
    finder = SpanFinder()

    def changed(text: str) -> str:
        pieces, end = list[str](), 0
        for span in finder.find(text):
            pieces += [change(text[end : span.start]), span.text]
            end = span.end
        return "".join([*pieces, change(text[end:])])

    return changed
