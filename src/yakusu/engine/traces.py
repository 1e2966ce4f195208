"""The trace of a search in the library -> its steps."""

import ctypes
from itertools import groupby
from operator import itemgetter

import numpy as np

from yakusu.engine.library import Search
from yakusu.search.trace import Extension, Step, best_first

# As `Traced` in native/search.h.
_TRACED = np.dtype(
    [
        *(("log_prob", np.float64), ("parent", np.int32), ("token", np.int32)),
        *(("score", np.float64), ("step", np.int32), ("fate", np.int32)),
    ]
)
_FATES = OPEN, FINISHED, DROPPED = range(3)


def steps_of(search: Search) -> list[Step[int]]:
    """The steps of a finished search, whose trace was requested."""
    if not search.n_traced:
        return []
    size = search.n_traced * _TRACED.itemsize
    rows = np.frombuffer(ctypes.string_at(search.trace, size), _TRACED).tolist()
    return [_step(list(own)) for _, own in groupby(rows, key=itemgetter(4))]


def _step(rows: list[tuple[float, int, int, float, int, int]]) -> Step[int]:
    found: list[list[Extension[int]]] = [[] for _ in _FATES]
    for log_prob, parent, token, score, _, fate in rows:
        ended = score if fate == FINISHED else None
        found[fate].append(Extension(parent, token, log_prob, ended))
    return Step(tuple(found[OPEN]), best_first(found[FINISHED]), tuple(found[DROPPED]))
