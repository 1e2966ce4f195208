"""How long the stages of a translation take, and how much they read and write.

plan      texts are read; searches begin while later texts are read
search    the translator waits for the searches
write     translations are checked, perhaps searched again, and written
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from yakusu.search.decoder import Query
from yakusu.search.hypothesis import Hypothesis

Stage = Literal["plan", "search", "write"]
STAGES: tuple[Stage, ...] = ("plan", "search", "write")
T = TypeVar("T")


@dataclass
class StageCounts:
    """What a translator has done for some texts that it translates together.

    Attributes:
        seconds: The seconds of each stage, without those in which nobody asked for a result.
        source_tokens: Number of tokens that the model has read, with eos.
        target_tokens: Number of tokens of the best translations, with eos.
        matched: Number of texts and sentences whose translation is that of a memory.
    """

    seconds: dict[Stage, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))
    source_tokens: int = 0
    target_tokens: int = 0
    matched: int = 0
    _since: float = field(default_factory=time.perf_counter)

    def count_tokens(
        self, queries: Iterable[Query], results: Iterable[Sequence[Hypothesis]]
    ) -> None:
        """Count the tokens of searches and of the best hypothesis of each."""
        lengths = (len(query.source) for query in queries)
        self.source_tokens += sum(n for n in lengths if n > 1)
        self.target_tokens += sum(len(best[0].tokens) + 1 for best in results if best)

    def end(self, stage: Stage) -> None:
        """Count the time since the end of the stage before."""
        now = time.perf_counter()
        self.seconds[stage] += now - self._since
        self._since = now

    def timed(self, stage: Stage, items: Iterator[T]) -> Iterator[T]:
        """Yield items, and count the time that making them takes."""
        self._since = time.perf_counter()
        for item in items:
            self.end(stage)
            yield item
            self._since = time.perf_counter()
        self.end(stage)
