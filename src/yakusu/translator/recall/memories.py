"""The translation memories of a translator.

A job reads one snapshot of each memory, over connections of its own.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from yakusu.data.lines.config import TextConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.errors import ModelError
from yakusu.memory.memory import TranslationMemory
from yakusu.memory.states import StateStore, StoredStates
from yakusu.search.decoder import Decoder
from yakusu.translator.recall.reader import MemoryReader
from yakusu.translator.recall.related import Encoder, RelatedStates

_log = logging.getLogger(__name__)


class Memories:
    """The memories of a translator.

    Args:
        config: Their files, and what they are used for.
        languages: Codes of the languages of the model; "" if unknown.
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

    @property
    def revisions(self) -> tuple[int, ...]:
        """The present revisions of the memories."""
        with self.reading() as reader:
            return reader.revisions

    @contextmanager
    def reading(self) -> Iterator[MemoryReader]:
        """Open the memories, and read one revision of each."""
        with ExitStack() as stack:
            memories, revisions = list[TranslationMemory](), list[int]()
            related = list[RelatedStates]()
            for path, held in zip(self._config.memory, self._held, strict=True):
                memory = stack.enter_context(TranslationMemory.open(Path(path), self._languages))
                revisions.append(stack.enter_context(memory.snapshot()))
                memories.append(memory)
                if self._learner and self._learner.codebook:
                    store = stack.enter_context(StateStore(memory, self._learner.codebook, held))
                    related.append(RelatedStates(memory, store, self._learner, self._encoded))
            yield MemoryReader(self._config, memories, tuple(revisions), related)

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
