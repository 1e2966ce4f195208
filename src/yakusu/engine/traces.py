"""The trace of a search in the library -> its steps."""

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

from yakusu.engine.library import Search, Traced
from yakusu.search.trace import Extension, TraceStep, best_first

_FATES = OPEN, FINISHED, DROPPED = range(3)  # see native/search.h


def steps_of(search: Search) -> list[TraceStep[int]]:
    """The steps of a finished search, whose trace was requested."""
    rows = search.trace[: search.n_traced] if search.trace else []
    return [_step(own) for _, own in groupby(rows, key=attrgetter("step"))]


def _step(rows: Iterable[Traced]) -> TraceStep[int]:
    found: list[list[Extension[int]]] = [[] for _ in _FATES]
    for row in rows:
        score = row.score if row.fate == FINISHED else None
        found[row.fate].append(Extension(row.parent, row.token, row.log_prob, score))
    return TraceStep(tuple(found[OPEN]), best_first(found[FINISHED]), tuple(found[DROPPED]))
