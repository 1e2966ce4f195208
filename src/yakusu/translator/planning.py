"""Text -> passages -> jobs: what a translator passes to its model."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Event

from yakusu.data.files.text import Pair
from yakusu.data.lines.layout import Layout
from yakusu.data.lines.private_use import RESERVED
from yakusu.data.lines.spans import SpanFinder
from yakusu.data.lines.terms import Glossary
from yakusu.errors import DataError
from yakusu.translator.jobs import JobTranslator
from yakusu.translator.output import places, slots_of, to_slots
from yakusu.translator.passage import Passage, PassageReader, Segment, TextConfig
from yakusu.translator.placement import restore
from yakusu.translator.request import Job, Request
from yakusu.translator.requested import KeptText, check_kept
from yakusu.translator.scoring import Given
from yakusu.translator.tally import Tally

_LONGEST_SOURCE = 100  # tokens, for models that do not record what training has seen


@dataclass(frozen=True)
class Plan:
    """A text as passages, and a job for each of their segments."""

    number: int
    passages: list[Passage]
    jobs: list[Job]

    def searched_with(self, *, trace: bool, cancelled: Event | None) -> "Plan":
        """The plan with a request for traces, and with what cancels its searches."""
        jobs = [replace(job, trace=[] if trace else None, cancelled=cancelled) for job in self.jobs]
        return replace(self, jobs=jobs)


class Planner:
    """Divides texts into passages, and makes a job of each of their segments.

    Args:
        translator: The translator, with its tokenizer, task and settings of the search.
        text: How text is read.
        language: Code of the source language, "" if unknown.
        glossary: The terms to translate in a given way.

    Attributes:
        tally: Counts of what has been read; the translator adds what it could not translate.

    Raises:
        DataError: A regular expression in `text` is not valid.
    """

    def __init__(
        self, translator: JobTranslator, text: TextConfig, *, language: str, glossary: Glossary
    ) -> None:
        self.tally = Tally()
        self._translator, self._glossary = translator, glossary
        self._tokenizer, self._task = translator.tokenizer, translator.task
        self._finder = SpanFinder(text.protect, builtin=text.builtin_spans)
        coverage = self._tokenizer.coverage
        self._longest = coverage.longest_source if coverage else _LONGEST_SOURCE
        self._encoded = lru_cache(maxsize=64)(self._new_ids)
        self._passages = PassageReader(
            text,
            language=language,
            covers=self._tokenizer.covers,
            fits=self._fits,
            glossary=glossary,
        )

    def of(self, translator: JobTranslator) -> "Planner":
        """A planner of another translator with the same tokenizer, with a tally of its own."""
        other = copy(self)
        other._translator, other.tally = translator, Tally()
        return other

    def plan(self, item: str | Request, number: int, layout: Layout | None) -> Plan:
        """The jobs of a text.

        Args:
            item: The text.
            number: Its number in messages.
            layout: State after the previous lines of a longer text; None: the text is complete.

        Raises:
            DataError: The text or one of its settings is not valid.
        """
        request = item if isinstance(item, Request) else Request(item)
        if not isinstance(request.text, str):
            raise TypeError(f"sentence {number} is not a string: {request.text!r}")
        with _naming("sentence", number):
            _refuse_surrogates(request.text)
            for phrase in (request.prefix, *request.include, *request.exclude):
                _refuse_surrogates(phrase, of=" of the prefix or a phrase")
            passages = self._read(request, layout)
            self.tally.read(passages)
            jobs = [
                self._job(request, passage, text, number)
                for passage in passages
                for text in passage.texts
            ]
            return Plan(number, passages, jobs)

    def pair(self, number: int, pair: Pair) -> Given:
        """A source and its translation in the form that the tokenizer encodes.

        Raises:
            DataError: One of them is not valid for the task.
        """
        with _naming("line", number):
            _refuse_surrogates(pair[0], of=" of the source")
            _refuse_surrogates(pair[1], of=" of the target")
        source, target = (line.strip() for line in pair)
        slots: list[tuple[str, str]] = []
        if not self._task.constrains:
            (source, target), spans = self._passages.read_pair((source, target))
            slot_of = dict(zip(places(source), slots_of(source), strict=True))
            own = [place for place in places(target) if place in slot_of and place in spans]
            slots = [(slot_of[place], spans[place]) for place in own]
            table = str.maketrans(slot_of)
            source, target = source.translate(table), target.translate(table)
        with _naming("line", number):
            source = self._task.preprocess_source(source)
            target = self._task.preprocess_target(target) if target else ""
        return Given(source, target, tuple(slots))

    def _read(self, request: Request, layout: Layout | None) -> list[Passage]:
        """The passages of a text."""
        if self._task.constrains:
            return [Passage("", (Segment("", request.text, ""),))]
        of_search = self._translator.search
        given = (request.prefix, *request.include, *of_search.include)
        phrases = (*given, *request.exclude, *of_search.exclude)
        if found := next(filter(None, map(RESERVED.search, phrases)), None):
            raise DataError(
                f"U+{ord(found[0]):04X} is reserved for internal use: remove it from the prefix "
                "and the phrases to include or exclude"
            )
        passages = self._passages.read(request.text, layout=layout, whole=any(given))
        if request.prefix or request.include:
            if len(passages) > 1:
                raise DataError(
                    "a text with a prefix or phrases to include must be a single line: remove "
                    "its line breaks and separators, such as U+2028"
                )
            if not passages[0].texts:
                check_kept(request)
        return passages

    def _job(self, request: Request, passage: Passage, text: str, number: int) -> Job:
        """The job of a segment of a passage."""
        ids = [*self._encoded(to_slots(self._task.preprocess_source(text)))]
        kept = KeptText(passage, self._finder, self._tokenizer.covers)
        phrases = (*self._translator.search.include, *request.include)
        given = restore(text, {**passage.spans, **passage.terms})
        cut = self._translator.cut(number, given, ids)
        self.tally.truncated += len(cut) < len(ids)
        own = Request(text, kept.prefix(request.prefix), request.include, request.exclude)
        return self._translator.job(
            own,
            cut,
            terms=self._glossary.find(text),
            kept=[phrase for phrase in phrases if kept.contains(phrase)],
            aligns=bool(passage.tags),
        )

    def _new_ids(self, text: str) -> tuple[int, ...]:
        (ids,) = self._tokenizer.encode_source([text])
        return tuple(ids)

    def _fits(self, text: str) -> bool:
        """Whether a segment is at most as long as the longest source of the training text."""
        longest = min(self._longest + 1, self._translator.max_source_tokens)
        return len(self._encoded(to_slots(text))) <= longest


def _refuse_surrogates(text: str, *, of: str = "") -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"character {error.start + 1}{of} is a lone surrogate, not valid text: decode the "
            'input with errors="replace"'
        ) from error


@contextmanager
def _naming(kind: str, number: int) -> Iterator[None]:
    """Add the number of the sentence or line to the message of an error."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{kind} {number}: {error}") from error
