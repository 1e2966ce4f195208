"""The decoder states of the segments of a memory that are related to a sentence.

They are computed when they are needed for the first time, and kept in the memory; see
`memory.states`.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import numpy as np

from yakusu.engine.decoder import NativeDecoder
from yakusu.memory.memory import StoredSegment, TranslationMemory
from yakusu.memory.states import StateStore
from yakusu.search.decoder import IdPair
from yakusu.search.neighbours import SegmentStates

MOST = 16  # related segments of a memory
_BATCH = 64  # segments that are decoded together
Encoder = Callable[[str, str], IdPair | None]


class RelatedStates:
    """Finds states for the sentences of a job.

    Args:
        memory: The memory.
        store: Its states for the model.
        decoder: The model.
        encoded: The ids of a source and its translation, with eos; None: they are too long.
    """

    def __init__(
        self,
        memory: TranslationMemory,
        store: StateStore,
        decoder: NativeDecoder,
        encoded: Encoder,
    ) -> None:
        self._memory, self._store = memory, store
        self._decoder, self._encoded = decoder, encoded

    def of(self, sentence: str) -> list[SegmentStates]:
        """The states of each segment that is related to a sentence."""
        segments = self._memory.related(sentence, most=MOST)
        known = self._store.read(each.number for each in segments)
        missing = [each for each in segments if each.number not in known]
        if missing:
            known |= self._computed(missing)
        return [known[each.number] for each in segments]

    def compute(self, advance: Callable[[int], None]) -> None:
        """Compute the states of all segments that have none.

        Args:
            advance: Called with the number of segments that have been done.

        Raises:
            DataError: The memory cannot be written.
        """
        numbers = iter(self._store.missing())
        while some := [*islice(numbers, _BATCH)]:
            self._computed([self._memory[number] for number in some])
            advance(len(some))

    def _computed(self, segments: Sequence[StoredSegment]) -> dict[int, SegmentStates]:
        """The states of segments, which are kept."""
        found = dict(zip((each.number for each in segments), self._states(segments), strict=True))
        self._store.write(found)
        return found

    def _states(self, segments: Iterable[StoredSegment]) -> list[SegmentStates]:
        pairs = [self._encoded(each.segment.source, each.segment.target) for each in segments]
        codes = iter(self._decoder.codes([pair for pair in pairs if pair], batch=_BATCH))
        return [
            SegmentStates(next(codes), np.array(pair[1], np.int32)) if pair else self._store.nothing
            for pair in pairs
        ]
