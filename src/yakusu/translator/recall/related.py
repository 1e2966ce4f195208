"""The decoder states of the segments of a memory that are related to a sentence.

They are computed when they are needed for the first time, and kept in the memory; see
`memory.states`.
"""

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np

from yakusu.engine.decoder import NativeDecoder
from yakusu.memory.memory import StoredSegment, TranslationMemory
from yakusu.memory.states import StateStore
from yakusu.search.decoder import IdPair
from yakusu.search.neighbours import SegmentStates

MOST = 32  # related segments of a memory; see docs/decisions/0057-learning.md
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
        assert decoder.codebook
        codes = np.zeros((0, decoder.codebook.n_components // 2), np.uint8)
        self._nothing = SegmentStates(codes, np.zeros(0, np.int32))

    def of(self, sentence: str) -> SegmentStates:
        """The states of the segments that are related to a sentence."""
        states, missing = self._store.read(self._memory.related(sentence, most=MOST))
        if not missing:
            return states
        computed = self._computed(missing)
        self._store.keep(computed)
        return SegmentStates.of([states, *computed.values()])

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

    def _computed(self, segments: Sequence[StoredSegment]) -> dict[StoredSegment, SegmentStates]:
        """The states of segments; a segment that is too long has none."""
        pairs = [self._encoded(each.segment.source, each.segment.target) for each in segments]
        known = {each: pair for each, pair in zip(segments, pairs, strict=True) if pair}
        every = self._decoder.codes([*known.values()], batch=_BATCH)
        return dict.fromkeys(segments, self._nothing) | {
            each: SegmentStates(codes, np.array(pair[1], np.int32))
            for (each, pair), codes in zip(known.items(), every, strict=True)
        }
