"""What translation memories know of a text, and of its sentences.

    Save the file.      100, used      Die Datei speichern.
    Page 4 of 12         99, used      Seite 4 von 12            from "Page 3 of 10"
    Save this file.      75, offered   Die Datei speichern.

A text that no memory has as a whole is translated sentence by sentence: by the memories, where they
have the sentence, and by the model.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property

from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.private_use import PLACE
from yakusu.data.segments import SegmentContext
from yakusu.memory.matches import FILLED, MemoryMatch, find_matches
from yakusu.memory.memory import TranslationMemory
from yakusu.search.neighbours import SegmentStates
from yakusu.translator.reading.passage import Passage
from yakusu.translator.reading.planner import TextPlan
from yakusu.translator.recall.analysis import MatchAnalysis
from yakusu.translator.recall.related import RelatedStates
from yakusu.translator.request import Request
from yakusu.translator.writing.translation import Translation

IsUsable = Callable[[str, str], bool]  # whether a target may be the translation of a source
_NOT_IN_A_LINE = re.compile(rf"{PLACE.pattern}|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


@dataclass(frozen=True)
class MemoryReader:
    """Snapshots of memories.

    Attributes:
        config: What they are used for.
        memories: The memories.
        revisions: Their revisions.
        related: Those that a model learns from.
    """

    config: TextConfig
    memories: Sequence[TranslationMemory]
    revisions: tuple[int, ...]
    related: Sequence[RelatedStates]

    def matches(self, text: str, context: SegmentContext) -> list[MemoryMatch]:
        """The matches of a text, best first; of equally good ones, the first memory has precedence.

        Their percentages are reduced by the penalties of their origins.
        """
        threshold = self.config.threshold / 100
        found = [
            match
            for memory in self.memories
            for match in find_matches(
                memory, text, context=context, threshold=threshold, penalty=self._penalty
            )
        ]
        found.sort(key=lambda match: -match.match)  # stable
        return [match for match in found if match.match >= self.config.threshold]

    def _penalty(self, origin: str) -> int:
        penalties = self.config.penalties.items()
        return max((n for name, n in penalties if fnmatchcase(origin, name)), default=0)

    def states(self, sentence: str) -> SegmentStates | None:
        """The states of the segments that are related to a sentence; None: there are none."""
        if not self.related:
            return None
        states = SegmentStates.of([related.of(sentence) for related in self.related])
        return states if len(states.tokens) else None

    def recalled(self, item: str | Request, is_usable: IsUsable) -> "RecalledText":
        """What the memories know of a text; see `RecalledText`."""
        return RecalledText(self, item, is_usable)


@dataclass(frozen=True)
class _Sentence:
    """A sentence of a text.

    Attributes:
        text: The sentence.
        found: Its matches, best first.
        used: The match that is its translation, if any.
    """

    text: str
    found: Sequence[MemoryMatch]
    used: MemoryMatch | None


class RecalledText:
    """What memories know of a text.

    Args:
        reader: The memories.
        item: The text.
        is_usable: Decides whether a match of 99% or 100% is used.
    """

    def __init__(self, reader: MemoryReader, item: str | Request, is_usable: IsUsable) -> None:
        request = item if isinstance(item, Request) else Request(item)
        self._reader, self._is_usable = reader, is_usable
        self._given, self._context, self._is_plain = request.text, request.context, request.is_plain
        self._sentences = list[_Sentence]()

    @cached_property
    def _text(self) -> str:
        return self._given.strip()

    @cached_property
    def _found(self) -> Sequence[MemoryMatch]:
        """The matches of the text, best first."""
        return self._reader.matches(self._text, self._context) if self._text else []

    @cached_property
    def _used(self) -> MemoryMatch | None:
        """The match that is the translation of the text, if any."""
        return self._usable(self._text, self._found)

    def _usable(self, text: str, found: Sequence[MemoryMatch]) -> MemoryMatch | None:
        """The best of the matches that may be used."""
        if not (self._reader.config.exact and self._is_plain):
            return None
        exact = (match for match in found if match.match >= FILLED)
        return next(
            (
                match
                for match in exact
                if self._is_usable(text, match.target) and not _adds_lines(text, match)
            ),
            None,
        )

    @property
    def is_known(self) -> bool:
        """Whether the translation of the whole text is known."""
        return self._used is not None

    @property
    def plan(self) -> TextPlan | None:
        """The plan of a text whose translation is known; None: it is not."""
        if self._used is None:
            return None
        start = self._given.index(self._text)
        before, after = self._given[:start], self._given[start + len(self._text) :]
        return [Passage(before + self._used.target + after)], []

    def translation(self, sentence: str, *, has_tags: bool) -> str | None:
        """The translation of a sentence of the text; None: the model translates it.

        Args:
            sentence: The sentence without its tags.
            has_tags: Whether tags are left out, so that the model has to place them.
        """
        if sentence == self._text:
            found = self._found
        else:
            found = self._reader.matches(sentence, replace(self._context, before="", after=""))
        used = None if has_tags else self._usable(sentence, found)
        if used and _NOT_IN_A_LINE.search(used.target):
            used = None
        self._sentences.append(_Sentence(sentence, found, used))
        return used.target if used else None

    def states(self, sentence: str) -> SegmentStates | None:
        """The states that a sentence is predicted from, too; None: there are none."""
        return self._reader.states(sentence)

    def count(self, analysis: MatchAnalysis) -> int:
        """Count the words by class of match; return how many translations memories have."""
        if self._used:
            analysis.add(self._text, self._used.match)
            return 1
        if self._found:
            analysis.add(self._text, self._found[0].match)
        else:
            for each in self._sentences:
                analysis.add(each.text, each.found[0].match if each.found else 0)
        return sum(1 for each in self._sentences if each.used)

    def told(self, best: list[Translation]) -> list[Translation]:
        """The translations of the text, the first one with what the memories know."""
        revisions = self._reader.revisions
        return [replace(best[0], match=self._match, matches=self._offers, revisions=revisions)] + [
            replace(each, revisions=revisions) for each in best[1:]
        ]

    @property
    def _match(self) -> int | None:
        """How well the translation matches; None: a part of it is the model's."""
        if self._used:
            return self._used.match
        used = [each.used.match for each in self._sentences if each.used]
        return min(used) if used and len(used) == len(self._sentences) else None

    @property
    def _offers(self) -> tuple[MemoryMatch, ...]:
        """The matches of the text, or of its only sentence."""
        if not self._found and len(self._sentences) == 1:
            return tuple(self._sentences[0].found)
        return tuple(self._found)


def _adds_lines(text: str, match: MemoryMatch) -> bool:
    """Whether a match has line breaks, as its source has, but the text does not."""
    return "\n" not in text and "\n" in match.segment.source and "\n" in match.target
