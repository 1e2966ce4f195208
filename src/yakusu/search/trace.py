"""The trace of a search: what became of the candidates of each step."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T", int, str)


@dataclass(frozen=True)
class Extension(Generic[T]):
    """A hypothesis of a search: an open one of the previous step, and a further token.

    Attributes:
        parent: Its index in `TraceStep.open` of the previous step. At the first step, 0, or the
            number of the sample.
        token: The last token, as an id or as text; that of a finished hypothesis is eos.
        log_prob: The log-probability of all tokens so far, in nats.
        score: Of a finished hypothesis, the score of the search; None: it has not ended.
    """

    parent: int
    token: T
    log_prob: float
    score: float | None = None


@dataclass(frozen=True)
class TraceStep(Generic[T]):
    """The hypotheses of a sentence after a step of the search.

    Attributes:
        open: Those that the next step extends, at most K: best first, except those of samples, and
            of sentences with phrases to include or placeholder tokens.
        finished: Those that ended, the best score first, even if they are not among the n best.
        dropped: Those that would be open without the margin, best first.
    """

    open: tuple[Extension[T], ...] = ()
    finished: tuple[Extension[T], ...] = ()
    dropped: tuple[Extension[T], ...] = ()

    def as_text(self, text: Callable[[T], str]) -> "TraceStep[str]":
        """The step with each token as text."""

        def shown(extensions: tuple[Extension[T], ...]) -> tuple[Extension[str], ...]:
            return tuple(
                Extension(e.parent, text(e.token), e.log_prob, e.score) for e in extensions
            )

        return TraceStep(shown(self.open), shown(self.finished), shown(self.dropped))


def best_first(finished: Iterable[Extension[T]]) -> tuple[Extension[T], ...]:
    """Finished hypotheses of a step in the order of their scores."""
    return tuple(sorted(finished, key=lambda h: (h.score or 0.0, h.log_prob), reverse=True))


Trace = tuple[TraceStep[str], ...]  # of one search
