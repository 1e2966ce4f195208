"""One of the best translations of a text."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yakusu.memory.matches import MemoryMatch
    from yakusu.search.trace import Trace
    from yakusu.translator.writing.details import Details


@dataclass(frozen=True)
class Translation:
    """One of the best translations of a text."""

    text: str
    score: float  # log_prob / length penalty; -inf: not produced by the model
    log_prob: float  # in nats, including eos
    n_tokens: int  # including eos
    details: "Details | None" = None  # if requested, and if the model produced the translation
    traces: "tuple[Trace, ...]" = ()  # of the search for each part of the text, if requested
    copied: bool = False  # the text is the source: there is no translation that can be used
    differences: tuple[str, ...] = ()  # a message for each sentence or line that is kept
    match: int | None = None  # in percent, if it is the translation of a memory; see `MemoryMatch`
    matches: "tuple[MemoryMatch, ...]" = ()  # what the memories offer for the text, best first
    revisions: tuple[int, ...] = ()  # of the memories that were read
    quality: int | None = None  # the chrF that it would have; None: unknown; see `quality.py`
    doubt: str = ""  # why it is probably bad; "": it is not, or the quality is unknown
