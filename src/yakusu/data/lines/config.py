"""How text is read: the options of a translator that do not concern the search."""

from collections.abc import Mapping
from typing import Annotated, Any

from yakusu.config import Config, did_you_mean
from yakusu.data.files.long_lines import LONGEST_LINE
from yakusu.data.lines.code import RULE_VERSIONS
from yakusu.data.lines.spans import SpanFinder
from yakusu.errors import DataError
from yakusu.typed import setting


def _one_or_several(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _none_or_several(value: Any) -> Any:
    return () if value == "" else _one_or_several(value)


def _check_rules(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in RULE_VERSIONS:
            raise DataError(f"there is no rule '{name}': {did_you_mean(name, list(RULE_VERSIONS))}")
    return names


class TextConfig(Config):
    """How text is read.

    Attributes:
        version: Version of the text rules. 1: those without the `CODE_RULES` that are new in
            version 2; sentences in capitals and in title case are read as they are, quotation marks
            and dashes that are read as ASCII stay so, a character counts as seen if training has
            seen what the vocabulary makes of it, words with invisible characters are copied, and
            numbers are not compared.
        to: Code of the target language; "": the model's default. Required if the model has several
            target languages and no default.
        protect: Regular expressions of further text to copy; a string is a single one.
        builtin_spans: Copy placeholders, tags, addresses and other code-like tokens.
        unprotect: Names of `CODE_RULES` that do not apply; a string is a single one.
        capitals: Read sentences in capitals and in title case in sentence case, and write the
            translations of the former in capitals, unless there is a prefix, or a phrase to include
            or exclude.
        check: Compare the numbers and the code-like tokens of each sentence with those of its
            translation, search once more where they differ, and keep the sentence if they differ
            again. Translations with a prefix, or a phrase to include or exclude, are not compared.
        one_sentence_per_line: Do not divide lines. White space at their ends is removed, and their
            layout is not kept.
        glossary: Paths of glossaries, which are combined; a string is a single one.
        memory: Paths of translation memories; a string is a single one. (): the one that the model
            folder names.
        own_memory: Use the memory that the model folder names, if `memory` is ().
        exact: Use a match of 99% or 100% as the translation; otherwise, it is only offered.
        threshold: Lowest match in percent that is offered.
        penalties: By how many percent matches count less, by their origin; "*" and "?" stand for
            any text and any character.
        learning: Predict from the segments of the memories that are related to a sentence.
        min_quality: Lowest estimated quality of the translation of a sentence, from 0 to 100; a
            sentence whose translation is worse is kept. 0: none is.
        longest_line: Number of bytes in UTF-8 of the longest line that is translated; longer ones
            are kept.
        protect_seconds: The longest time that the expressions of `protect` may take for a line.
    """

    version: int = setting(2, ge=1, le=2)
    to: str = ""
    protect: tuple[str, ...] = setting((), first=_one_or_several)
    builtin_spans: bool = True
    unprotect: tuple[str, ...] = setting((), first=_one_or_several, then=_check_rules)
    capitals: bool = True
    check: bool = True
    one_sentence_per_line: bool = False
    glossary: tuple[str, ...] = setting((), first=_none_or_several)
    memory: tuple[str, ...] = setting((), first=_one_or_several)
    own_memory: bool = True
    exact: bool = True
    threshold: int = setting(75, ge=50, le=100)
    penalties: Mapping[str, Annotated[int, setting(ge=0, le=100)]] = {}
    learning: bool = True
    min_quality: int = setting(0, ge=0, le=100)
    longest_line: int = setting(LONGEST_LINE, ge=1000)
    protect_seconds: float = setting(5.0, gt=0)

    def span_finder(self, *first: str) -> SpanFinder:
        """A finder of what is copied; the expressions of `first` take precedence.

        Raises:
            DataError: An expression is not valid.
        """
        later = (name for name, since in RULE_VERSIONS.items() if since > self.version)
        without = (*self.unprotect, *later)
        return SpanFinder(
            self.protect,
            first=first,
            builtin=self.builtin_spans,
            unprotect=without,
            seconds=self.protect_seconds,
        )
