"""Plan: a text becomes lines with segments, and a query of the search for each segment.

Request -> Passage (a line) -> Segment (a sentence, or a part of one) -> Query (its ids)
"""

import logging
import math
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import lru_cache
from threading import Event
from typing import TYPE_CHECKING, NamedTuple, Protocol

from yakusu.data.files.text import Pair
from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.layout import Layout
from yakusu.data.lines.private_use import IS_SLOT, RESERVED, SLOTS
from yakusu.data.lines.terms import Glossary
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import UNK
from yakusu.errors import DataError, MemoryFileError
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import IdPair, Query
from yakusu.search.hypothesis import limit
from yakusu.search.neighbours import SegmentStates
from yakusu.tasks.task import Task
from yakusu.translator.reading.constraints import Constraints
from yakusu.translator.reading.passage import Passage, PassageReader, Segment, unchecked
from yakusu.translator.reading.slots import places, restore, slots_of, to_slots
from yakusu.translator.request import Request
from yakusu.translator.tally import Tally

if TYPE_CHECKING:
    from yakusu.search.spelling import Phrase
    from yakusu.search.trace import TraceStep

_log = logging.getLogger(__name__)
TextPlan = tuple[list[Passage], list[Query]]  # the lines of a text, and the queries of its segments
_LONGEST_SOURCE = 100  # tokens, for models that do not record what training has seen


class SentenceMemory(Protocol):
    """What is known of a text and of its sentences."""

    @property
    def is_known(self) -> bool:
        """Whether the translation of the whole text is known."""

    def translation(self, sentence: str, *, has_tags: bool) -> str | None:
        """The translation of a sentence; None: the model translates it."""

    def states(self, sentence: str) -> SegmentStates | None:
        """The states that a sentence is predicted from, too; None: there are none."""


class GivenPair(NamedTuple):
    """A source and its translation in the form that the tokenizer encodes.

    Attributes:
        source: The source; spans are slots.
        target: The translation; spans are slots.
        slots: The slot and the text of each span of the translation, in order.
    """

    source: str
    target: str
    slots: tuple[tuple[str, str], ...] = ()


class Planner:
    """Divides texts into lines and segments, and makes a query of each segment.

    Args:
        tokenizer: The tokenizer of the model.
        text: How text is read.
        task: The task of the model.
        language: Code of the source language, "" if unknown.
        glossary: The terms to translate in a given way.
        search: Settings of the search.
        longest: Maximum numbers of tokens of a source and of a translation, including eos.

    Attributes:
        tally: Counts of what has been read; the writer adds what could not be translated.
        constraints: The constraints of the searches.

    Raises:
        DataError: A regular expression in `text` is not valid, or a term cannot be spelled with
            the vocabulary.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        text: TextConfig,
        *,
        task: Task,
        language: str,
        glossary: Glossary,
        search: SearchConfig,
        longest: tuple[int, int],
    ) -> None:
        self.tally, self.search, self.longest = Tally(), search, longest
        self._tokenizer, self._task, self._language = tokenizer, task, language
        self.constraints = Constraints(tokenizer, task)
        coverage = tokenizer.coverage
        self._longest_seen = coverage.longest_source if coverage else _LONGEST_SOURCE
        self._encoded = lru_cache(maxsize=64)(self._encode)
        self._set_text(text, glossary)

    def _set_text(self, text: TextConfig, glossary: Glossary) -> None:
        self.constraints.check_terms(glossary.terms, " and ".join(text.glossary) or "the glossary")
        self.text_config, self.glossary = text, glossary
        tokenizer = self._tokenizer
        self._covers = tokenizer.covers if text.version > 1 else tokenizer.covers_normalized
        self._finder = text.span_finder()
        self._reader = PassageReader(
            text,
            language=self._language,
            covers=self._covers,
            fits=self._fits,
            cost=self._cost,
            glossary=glossary,
        )

    def with_settings(
        self, search: SearchConfig, text: TextConfig, glossary: Glossary
    ) -> "Planner":
        """A planner with other settings and a tally of its own.

        Raises:
            DataError: As for a new planner.
        """
        other = copy(self)
        other.search, other.tally = search, Tally()
        if text is not self.text_config or glossary is not self.glossary:
            other._set_text(text, glossary)
        return other

    # ---- texts ---------------------------------------------------------------------------------

    def plan(
        self,
        item: str | Request,
        number: int,
        layout: Layout | None = None,
        memory: SentenceMemory | None = None,
        *,
        trace: bool = False,
        cancelled: Event | None = None,
    ) -> TextPlan:
        """The lines of a text, and a query for each of their segments with text.

        A text whose translation is known as a whole has no queries, and is not counted.

        Args:
            item: The text.
            number: Its number in messages.
            layout: State after the previous lines of a longer text; None: the text is complete.
            memory: What is known of its sentences; None: nothing.
            trace: Whether the searches are traced.
            cancelled: What cancels the searches; None: nothing.

        Raises:
            DataError: The text or one of its settings is not valid.
        """
        request = item if isinstance(item, Request) else Request(item)
        if not isinstance(request.text, str):
            raise TypeError(f"sentence {number} is not a string: {request.text!r}")
        try:
            _refuse_surrogates(request.text)
            for phrase in (request.prefix, *request.include, *request.exclude):
                _refuse_surrogates(phrase, of=" of the prefix or a phrase")
            passages = self._read(request, layout)
            if memory and memory.is_known:
                return passages, []
            if memory:
                from yakusu.translator.reading.known import with_known

                passages = [with_known(passage, memory.translation) for passage in passages]
            self._count(passages)
            queries = [
                self._query(request, passage, segment, number, memory)
                for passage in passages
                for segment in passage.segments
                if segment.text
            ]
        except MemoryFileError:
            raise
        except DataError as error:
            raise DataError(f"sentence {number}: {error}") from error
        if trace or cancelled:
            queries = [
                replace(query, trace=[] if trace else None, cancelled=cancelled)
                for query in queries
            ]
        return passages, queries

    def _read(self, request: Request, layout: Layout | None) -> list[Passage]:
        """The lines of a text."""
        if self._task.constrains:
            return [Passage("", (Segment("", request.text, "", given=request.text),))]
        given = (request.prefix, *request.include, *self.search.include)
        phrases = (*given, *request.exclude, *self.search.exclude)
        if found := next(filter(None, map(RESERVED.search, phrases)), None):
            raise DataError(
                f"U+{ord(found[0]):04X} is reserved for internal use: remove it from the prefix "
                "and the phrases to include or exclude"
            )
        passages = self._reader.read(request.text, layout=layout, whole=any(given))
        if any(phrases):
            passages = list(map(unchecked, passages))
        if request.prefix or request.include:
            if len(passages) > 1:
                raise DataError(
                    "a text with a prefix or phrases to include must be a single line: remove "
                    "its line breaks and separators, such as U+2028"
                )
            if not passages[0].texts:
                from yakusu.translator.reading.kept import check_kept

                check_kept(request)
        return passages

    def _count(self, passages: Sequence[Passage]) -> None:
        """Add the lines of a text to the tally."""
        for passage in passages:
            n_texts = len(passage.texts)
            self.tally.segments += sum(1 for s in passage.segments if s.text and s.known is None)
            self.tally.spans += passage.n_spans
            self.tally.unseen += passage.n_unseen
            self.tally.terms += passage.n_terms
            self.tally.invisible += passage.n_invisible
            has_more = bool(passage.before.strip() or passage.given.strip())
            self.tally.kept += has_more and not (n_texts or passage.kept_because)

    # ---- segments ------------------------------------------------------------------------------

    def _query(
        self,
        request: Request,
        passage: Passage,
        segment: Segment,
        number: int,
        memory: SentenceMemory | None,
    ) -> Query:
        """The query of a segment; it has no source if the translation is known."""
        if segment.known is not None:
            return Query(())
        text = segment.text
        ids = self._encoded(self._task.preprocess_source(text))
        if len(ids) > self.longest[0]:
            self.tally.truncated += 1
            ids = self._cut(number, restore(text, passage.given_texts), ids)
        prefix, include = request.prefix, (*self.search.include, *request.include)
        if prefix or include:
            from yakusu.translator.reading.kept import KeptText

            kept = KeptText(passage, self._finder, self._covers)
            prefix = kept.prefix(prefix)
            include = tuple(phrase for phrase in include if not kept.contains(phrase))
        phrases: list[str | Phrase] = [*include, *_terms(segment)]
        query = self._restricted(text, ids, prefix, phrases, request.exclude)
        if memory is None:
            return query
        return replace(query, states=memory.states(restore(segment.given, passage.given_texts)))

    def again(
        self, segment: Segment, exclude: Sequence[str], *, digits: bool, like: Query
    ) -> Query:
        """The query of a second search for a segment.

        Args:
            segment: The segment, whose numbers have become spans.
            exclude: Phrases that the translation must not contain.
            digits: Whether it may contain digits.
            like: The query of the first search.

        Raises:
            DataError: Phrases and terms contradict each other, or do not fit.
        """
        ids = self._encoded(self._task.preprocess_source(segment.text))
        query = self._restricted(segment.text, ids, "", _terms(segment), exclude, digits=digits)
        trace: list[TraceStep[int]] | None = None if like.trace is None else []
        return replace(query, trace=trace, cancelled=like.cancelled, states=like.states)

    def query(self, request: Request, ids: Sequence[int]) -> Query:
        """The query of a sentence that is not divided, and of which nothing is kept.

        Args:
            request: The sentence and its settings.
            ids: Its source ids, ending with eos, at most `longest[0]`.

        Raises:
            DataError: The prefix or a phrase cannot be spelled with the vocabulary.
        """
        include = (*self.search.include, *request.include)
        return self._restricted(request.text, ids, request.prefix, include, request.exclude)

    def _restricted(
        self,
        text: str,
        ids: Sequence[int],
        prefix: str,
        include: "Sequence[str | Phrase]",
        exclude: Sequence[str],
        *,
        digits: bool = True,
    ) -> Query:
        """The query of a sentence; the spans of `prefix` are slots."""
        exclude = (*self.search.exclude, *exclude)
        if self._task.constrains:
            if prefix or include or exclude:
                raise DataError(
                    f"a {self._task.model_noun} takes no prefix and no phrases to include or "
                    "exclude"
                )
            return Query(ids, (), self.constraints.tree(text) if len(ids) > 1 else None)
        found = () if text.isascii() else slots_of(text)  # places are not ASCII
        slots = [self._tokenizer.target_slots.get(slot, UNK) for slot in found]
        if digits and not (slots or prefix or include or exclude):
            return Query(ids)
        given = self._prefix(prefix)
        room = limit(
            self.search, n_source=len(ids) - 1, n_prefix=len(given), max_length=self.longest[1]
        ) - len(given)
        needed = self.constraints.of(
            include, exclude, slots=slots, prefix=given, room=room, digits=digits
        )
        return Query(ids, given, needed)

    def _prefix(self, text: str) -> list[int]:
        """The ids of a prefix, without eos."""
        if not text:
            return []
        *ids, _ = self._tokenizer.encode_target([text])[0]
        slots = IS_SLOT.findall(text)
        shown = IS_SLOT.sub("...", text)
        if ids.count(UNK) > len(slots):  # with older vocabularies, slots are UNK
            raise DataError(f"the prefix '{shown}' has characters that the vocabulary lacks")
        in_order = [SLOTS[i % len(SLOTS)] for i in range(len(slots))]
        if not self._tokenizer.target_slots and slots != in_order:
            raise DataError(
                f"the prefix '{shown}' has the spans of its source in another order, which a "
                "vocabulary without placeholder tokens cannot spell: end the prefix before them"
            )
        most = min(self.longest[0], self.longest[1] - 1)
        if len(ids) > most:
            raise DataError(f"the prefix has {len(ids):,} tokens, more than {most:,}: shorten it")
        return ids

    def _cut(self, number: int, text: str, ids: Sequence[int]) -> tuple[int, ...]:
        """The ids of a sentence that is too long, truncated; only eos if it is skipped.

        Args:
            number: The number of the sentence, for a warning.
            text: What a warning shows of the sentence.
            ids: All its ids.
        """
        # Part of a sentence can be translated, but a tree must cover all words.
        skipped, most = self._task.constrains, self.longest[0]
        result = "gets a flat tree" if skipped else "is truncated"
        begins, size = " ".join(text[:40].split()), f"{len(ids):,} tokens, more than {most:,}"
        _log.warning("sentence %d ('%s...') has %s, and %s: split it", number, begins, size, result)
        return (*(() if skipped else ids[: most - 1]), ids[-1])

    def _encode(self, text: str) -> tuple[int, ...]:
        """The source ids of a segment."""
        (ids,) = self._tokenizer.encode_source([to_slots(text)])
        return tuple(ids)

    def _fits(self, text: str) -> bool:
        """Whether a segment is at most as long as the longest source of the training text."""
        longest = min(self._longest_seen + 1, self.longest[0])
        return len(self._encoded(text)) <= longest

    def _cost(self, word: str) -> float:
        """The number of tokens of a word, plus less than 1, which is less for frequent tokens.

        Frequent tokens come first in a vocabulary. The cost is inf if training has not seen one of
        the characters.
        """
        if not self._covers(word):
            return math.inf
        *ids, _ = self._tokenizer.src.encode(word)
        if len(ids) < 2:
            return len(ids)
        return len(ids) + sum(ids) / (len(ids) * self._tokenizer.src_vocab_size)

    # ---- pairs ---------------------------------------------------------------------------------

    def pair(self, number: int, pair: Pair) -> GivenPair:
        """A source and its translation in the form that the tokenizer encodes.

        Raises:
            DataError: One of them is not valid for the task.
        """
        try:
            _refuse_surrogates(pair[0], of=" of the source")
            _refuse_surrogates(pair[1], of=" of the target")
            source, target = (line.strip() for line in pair)
            slots: list[tuple[str, str]] = []
            if not self._task.constrains:
                (source, target), slots = self._slotted((source, target))
            source = self._task.preprocess_source(source)
            target = self._task.preprocess_target(target) if target else ""
        except DataError as error:
            raise DataError(f"line {number}: {error}") from error
        return GivenPair(source, target, tuple(slots))

    def pair_ids(self, source: str, target: str) -> IdPair | None:
        """The ids of a source and its translation, with eos; None: they are too long."""
        given = self.pair(1, (source, target))
        (src,) = self._tokenizer.encode_source([given.source])
        (tgt,) = self._tokenizer.encode_target([given.target])
        return (src, tgt) if len(src) <= self.longest[0] and len(tgt) <= self.longest[1] else None

    def _slotted(self, pair: Pair) -> tuple[Pair, list[tuple[str, str]]]:
        """A pair whose spans are slots, with the slot and the text of each in the translation."""
        (source, target), spans = self._reader.read_pair(pair)
        slot_of = dict(zip(places(source), slots_of(source), strict=True))
        own = [place for place in places(target) if place in slot_of and place in spans]
        table = str.maketrans(slot_of)
        return (source.translate(table), target.translate(table)), [
            (slot_of[place], spans[place]) for place in own
        ]


def _terms(segment: Segment) -> "list[Phrase]":
    """What the translation of a segment contains for the terms of the glossary."""
    if not segment.terms:
        return []
    from yakusu.search.spelling import Phrase

    return [Phrase(term.target, capitals=True) for term in segment.terms]


def _refuse_surrogates(text: str, *, of: str = "") -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"character {error.start + 1}{of} is a lone surrogate, not valid text: decode the "
            'input with errors="replace"'
        ) from error
