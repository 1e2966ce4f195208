"""The decoder states of the segments of a memory that are related to a sentence.

They are computed when they are needed for the first time, and kept in the memory; see
`memory.states`.
"""

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np

from yakusu.engine.decoder import NativeDecoder
from yakusu.memory.memory import StoredSegment, TranslationMemory
from yakusu.memory.states import StateStore, StoredStates
from yakusu.search.decoder import IdPair
from yakusu.search.neighbours import SegmentStates

MOST = 64  # related segments of a memory; see docs/decisions/0057-learning.md
_CANDIDATES = MOST + 16  # that are looked up, because several may be the same pair
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

    def of(self, sentence: str) -> SegmentStates:
        """The states of the segments that are related to a sentence."""
        related = self._memory.related(sentence, most=_CANDIDATES)
        stored = self._store.read([*related])
        if missing := [number for number in related if number not in stored]:
            stored |= self._added(self._memory.indexed(missing))
        ranked = sorted((-degree, stored[number]) for number, degree in related.items())
        distinct = dict.fromkeys(states for _, states in ranked)  # a pair may occur several times
        return self._store.joined([*islice(distinct, MOST)])

    def compute(self, advance: Callable[[int], None]) -> None:
        """Compute and store the states of all segments that have none.

        Args:
            advance: Called with the number of segments that have been done.

        Raises:
            DataError: The memory cannot be written.
        """
        numbers = iter(self._store.missing())
        while some := [*islice(numbers, _BATCH)]:
            self._store.write(self._computed([self._memory[number] for number in some]))
            advance(len(some))

    def _added(self, segments: Sequence[StoredSegment]) -> dict[int, StoredStates]:
        """The states of segments that the file does not have."""
        held = self._store.held(segments)
        computed = self._computed([each for each in segments if each.number not in held])
        self._store.keep(computed)
        return held | {each.number: states for each, states in computed.items()}

    def _computed(self, segments: Sequence[StoredSegment]) -> dict[StoredSegment, StoredStates]:
        """The states of segments; a segment that is too long has none."""
        pairs = [self._encoded(each.segment.source, each.segment.target) for each in segments]
        known = {each: pair for each, pair in zip(segments, pairs, strict=True) if pair}
        every = self._decoder.codes([*known.values()], batch=_BATCH)
        return dict.fromkeys(segments, StoredStates(b"", b"")) | {
            each: StoredStates.of(SegmentStates(codes, np.array(pair[1], np.int32)))
            for (each, pair), codes in zip(known.items(), every, strict=True)
        }
