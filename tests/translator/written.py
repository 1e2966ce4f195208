"""Lines written from given outputs, without a model."""

from collections.abc import Iterable, Sequence
from itertools import islice

from yakusu.translator.reading.passage import Passage
from yakusu.translator.reading.slots import restore
from yakusu.translator.writing.output import Output, masked
from yakusu.translator.writing.typed import as_typed

Lines = list[tuple[Passage, Sequence[Output], str]]


def lines_of(passages: Sequence[Passage], outputs: Iterable[Output], language: str) -> Lines:
    """Each line, its outputs and its masked translation."""
    waiting = iter(outputs)
    lines: Lines = []
    for passage in passages:
        own = list(islice(waiting, len(passage.texts)))
        lines.append((passage, own, as_typed(masked(passage, own, language), passage)))
    return lines


def printed(passages: Sequence[Passage], outputs: Iterable[Output], language: str) -> str:
    """The translation of a text."""
    return "".join(
        passage.before + restore(line, passage.kept) + passage.after
        for passage, _, line in lines_of(passages, outputs, language)
    )
