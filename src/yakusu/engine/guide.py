"""Guides: the functions that the library calls in searches with constraints.

K hypotheses of a sentence, V vocabulary without padding, M candidates.
"""

from collections.abc import Callable
from ctypes import c_int32, c_uint8
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from yakusu.engine.library import PROPOSALS, Guide

if TYPE_CHECKING:
    from yakusu.search.restrictions import Restrictions

CANDIDATE = np.dtype([("log_prob", np.float64), ("beam", np.int32), ("id", np.int32)])
RESTRICTED, WITH_GOAL = 1, 2  # see native/session.h


@dataclass
class Guided:
    """The constraints of a sentence."""

    restrictions: "Restrictions"
    has_begun: bool = field(default=False, init=False)

    @property
    def kind(self) -> int:
        """Which functions the library calls."""
        return WITH_GOAL if self.restrictions.has_goal else RESTRICTED


class Guides:
    """The guided sentences of a session, by key.

    An exception in a function that the library calls cannot pass through the library. The first one
    of each sentence is kept, and its functions are not called again; the other sentences continue.

    Args:
        n_tokens: V, padded as in the library.

    Attributes:
        sentences: The guided sentences by key.
        errors: The exceptions by key.
    """

    def __init__(self, *, n_tokens: int) -> None:
        self.sentences: dict[int, Guided] = {}
        self.errors: dict[int, BaseException] = {}
        self._n_tokens = n_tokens
        self.functions = Guide(
            Guide.restrict_type(self._kept(self._restrict)),
            Guide.order_type(self._kept(self._order)),
            Guide.follow_type(self._kept(self._follow)),
        )

    def _kept(self, function: Callable[..., None]) -> Callable[..., None]:
        def called(key: int, *args: int) -> None:
            try:
                if key not in self.errors:
                    function(key, *args)
            except BaseException as error:  # KeyboardInterrupt, too
                self.errors[key] = error

        return called

    def _restrict(self, key: int, n: int, left: int, allowed: int, proposals: int) -> None:
        restrictions = self.sentences[key].restrictions
        flags = _array(allowed, c_uint8, (n, self._n_tokens))
        flags[:, : restrictions.rules.n_tokens] = restrictions.allowed(left)
        wanted = _array(proposals, c_int32, (n, PROPOSALS))
        wanted[:, 0] = -1
        if restrictions.has_goal:
            for row, own in zip(wanted, restrictions.proposals(), strict=False):
                ids = np.unique(own[own >= 0])[: PROPOSALS - 1]
                row[: len(ids)], row[len(ids)] = ids, -1

    def _order(self, key: int, n: int, candidates: int) -> None:
        """Put the candidates into the order in which the search follows them."""
        rows = _array(candidates, c_uint8, (n * CANDIDATE.itemsize,)).view(CANDIDATE)
        order = self.sentences[key].restrictions.order(rows["log_prob"], rows["beam"], rows["id"])
        rows[:] = rows[order]

    def _follow(self, key: int, n: int, beams: int, ids: int) -> None:
        guided = self.sentences[key]
        chosen, tokens = (_array(each, c_int32, (n,)).astype(np.int64) for each in (beams, ids))
        # At first, restrictions have one hypothesis, and all samples are equal to it.
        extended = chosen if guided.has_begun else np.zeros_like(chosen)
        guided.restrictions.follow(extended, tokens)
        guided.has_begun = True


def _array(address: int, kind: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Memory of the library as an array."""
    size = int(np.prod(shape))
    return np.ctypeslib.as_array((kind * size).from_address(address)).reshape(shape)
