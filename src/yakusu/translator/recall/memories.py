"""What translation memories know of a text: a match that is its translation, and related segments.

    Save the file.      100, used      Die Datei speichern.
    Page 4 of 12         99, used      Seite 4 von 12            from "Page 3 of 10"
    Save this file.      75, offered   Die Datei speichern.

A job reads one snapshot of each memory, over connections of its own.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from yakusu.data.lines.config import TextConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.errors import ModelError
from yakusu.memory.matches import FILLED, MemoryMatch, find_matches
from yakusu.memory.memory import TranslationMemory
from yakusu.memory.states import StateStore, StoredStates
from yakusu.search.decoder import Decoder
from yakusu.search.neighbours import SegmentStates
from yakusu.translator.reading.passage import Passage
from yakusu.translator.reading.planner import TextPlan
from yakusu.translator.recall.related import Encoder, RelatedStates
from yakusu.translator.request import Request
from yakusu.translator.writing.translation import Translation

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recalled:
    """What the memories know of a text.

    Attributes:
        used: The match that is its translation; None: it has to be translated.
        offered: The matches, best first.
        text: The translation; "": none is used.
    """

    used: MemoryMatch | None = None
    offered: Sequence[MemoryMatch] = ()
    text: str = ""

    @property
    def plan(self) -> TextPlan | None:
        """The plan of a text whose translation is known; None: it is not."""
        return ([Passage(self.text)], []) if self.used else None


@dataclass(frozen=True)
class MemoryReader:
    """Snapshots of memories.

    Attributes:
        config: What they are used for.
        memories: The memories.
        related: Those that a model learns from.
    """

    config: TextConfig
    memories: Sequence[TranslationMemory] = ()
    related: Sequence[RelatedStates] = ()

    def recall(self, item: str | Request, is_usable: Callable[[str, str], bool]) -> Recalled:
        """What is known of a text.

        Args:
            item: The text.
            is_usable: Whether a target may be the translation of a source.
        """
        text = item.text if isinstance(item, Request) else item
        if not self.memories or not (stripped := text.strip()):
            return Recalled()
        threshold = self.config.threshold / 100
        found = [
            match
            for memory in self.memories
            for match in find_matches(memory, stripped, threshold=threshold)
        ]
        found.sort(key=lambda match: -match.match)  # stable: the first memory has precedence
        is_plain = item == text or item == Request(text)
        best = next(
            (
                match
                for match in found
                if self.config.exact
                and is_plain
                and match.match >= FILLED
                and is_usable(stripped, match.target)
            ),
            None,
        )
        if best is None:
            return Recalled(None, found)
        before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        return Recalled(best, found, before + best.target + after)

    @property
    def state_finder(self) -> Callable[[str], SegmentStates | None] | None:
        """Finds the states of the segments that are related to a sentence; None: none are used."""
        return self._states if self.related else None

    def _states(self, sentence: str) -> SegmentStates | None:
        states = SegmentStates.of([related.of(sentence) for related in self.related])
        return states if len(states.tokens) else None


NO_MEMORIES = MemoryReader(TextConfig())


def with_matches(best: list[Translation], recalled: Recalled) -> list[Translation]:
    """The translations of a text with what memories know of it."""
    if not recalled.offered:
        return best
    used = recalled.used.match if recalled.used else None
    return [replace(best[0], match=used, matches=tuple(recalled.offered)), *best[1:]]


class Memories:
    """The memories of a translator.

    Args:
        config: Their files, and what they are used for.
        languages: StateCodes of the languages of the model; "" if unknown.
        decoder: The model.
        encoded: The ids of a text and its translation.

    Raises:
        DataError: A file is not a memory, or has other languages.
        ModelError: The engine does not learn from a memory.
    """

    def __init__(
        self, config: TextConfig, languages: tuple[str, str], decoder: Decoder, encoded: Encoder
    ) -> None:
        self._config, self._encoded = config, encoded
        self._languages = languages if all(languages) else None
        self._learner = _learner(decoder) if config.learning else None
        self._held: list[dict[int, StoredStates]] = [{} for _ in config.memory]  # what no file has
        with self.reading():
            pass

    @property
    def is_learning(self) -> bool:
        """Whether predictions depend on the memories."""
        return self._learner is not None

    @contextmanager
    def reading(self) -> Iterator[MemoryReader]:
        """Open the memories, and read one revision of each."""
        with ExitStack() as stack:
            memories, related = list[TranslationMemory](), list[RelatedStates]()
            for path, held in zip(self._config.memory, self._held, strict=True):
                memory = stack.enter_context(TranslationMemory.open(Path(path), self._languages))
                stack.enter_context(memory.snapshot())
                memories.append(memory)
                if self._learner and self._learner.codebook:
                    store = stack.enter_context(StateStore(memory, self._learner.codebook, held))
                    related.append(RelatedStates(memory, store, self._learner, self._encoded))
            yield MemoryReader(self._config, memories, related)

    def compute_states(self, advance: Callable[[int], None]) -> None:
        """Compute the states of all segments that have none.

        Args:
            advance: Called with the number of segments that have been done.

        Raises:
            DataError: A memory cannot be written.
        """
        with self.reading() as reader:
            for each in reader.related:
                each.compute(advance)


def _learner(decoder: Decoder) -> NativeDecoder | None:
    """The decoder, if its model has a codebook.

    Raises:
        ModelError: The engine does not learn from a memory.
    """
    if not (isinstance(decoder, NativeDecoder) and decoder.n_members == 1):
        what = "torch" if decoder.n_members == 1 else "an ensemble"
        raise ModelError(
            f"{what} does not learn from a memory: add --no-learning to use its matches only"
        )
    if decoder.codebook is None:
        _log.warning(
            "the model has no codebook, so that it does not learn from the memory: run 'yakusu "
            "memory add MEMORY --model MODEL' once"
        )
        return None
    return decoder
