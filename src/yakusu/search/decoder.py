"""The interface of an engine: search, scores of given targets, and attention weights.

S source, T target, N layers, H heads.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from yakusu.errors import DataError
from yakusu.model.config import Role
from yakusu.search.config import SearchConfig
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.restrictions import Restrictions
from yakusu.search.tokens import TokenRules
from yakusu.search.trace import Step

Weights = NDArray[np.float32]
Alternative = tuple[int, float]  # a token id and its log-probability
MAX_ALTERNATIVES = 256  # most probable tokens of a position that are returned
Pair = tuple[Sequence[int], Sequence[int]]  # source and target ids, both ending with eos


@dataclass(frozen=True)
class Query:
    """A sentence to translate.

    Attributes:
        source: Its ids, ending with eos.
        prefix: The ids that the translation begins with, without eos.
        restrictions: What the translation must and must not contain; None: `TokenRules` only. They
            change during the search, so they belong to one query.
        trace: The search appends its steps to this list; None: the trace is not requested.
        cancelled: Once it is set, from any thread, the search for the sentence ends and finds
            nothing. torch reads it before each batch only. None: the search cannot be cancelled.
    """

    source: Sequence[int]
    prefix: Sequence[int] = ()
    restrictions: Restrictions | None = None
    trace: list[Step[int]] | None = None
    cancelled: Event | None = None

    @property
    def is_cancelled(self) -> bool:
        """Whether the search is to end."""
        return self.cancelled is not None and self.cancelled.is_set()


def refuse_longer(n_tokens: int, most: int, *, side: str = "source") -> None:
    """Raise a `DataError` if a sentence has more tokens than a model can process.

    Args:
        n_tokens: The number of tokens of the sentence, including eos.
        most: The maximum number of tokens of the model.
        side: What the sentence is, for the message.
    """
    if n_tokens > most:
        raise DataError(
            f"a {side} has {n_tokens:,} tokens, more than the maximum of the model, {most:,}: "
            "split it"
        )


@dataclass(frozen=True)
class TargetScore:
    """The log-probabilities of the tokens of one target, in nats."""

    token_log_probs: tuple[float, ...]  # of each token, including eos
    alternatives: tuple[tuple[Alternative, ...], ...]  # of each position, most probable first

    @property
    def log_prob(self) -> float:
        """log P(Y | X), summed in double precision."""
        return math.fsum(self.token_log_probs)


class Decoder(Protocol):
    """A model, or an ensemble, that an engine runs.

    On a CPU, the results for a sentence do not depend on the others.
    """

    @property
    def max_length(self) -> int:
        """The longest sentence, in tokens including eos."""

    @property
    def roles(self) -> Collection[Role]:
        """The kinds of attention that every member has."""

    @property
    def n_members(self) -> int:
        """The number of models."""

    def search(
        self, queries: Iterable[Query], config: SearchConfig, rules: TokenRules, *, batch: int
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each query, best first: at most `n_best`.

        If no token is allowed, or the query is cancelled, the result is an empty hypothesis with
        log-probability -inf.

        Args:
            queries: Sentences of at most `max_length` tokens. With several threads, the native
                engine decodes the first ones while it iterates over the others.
            config: Settings of the search.
            rules: The tokens that may be generated.
            batch: Maximum number of sentences decoded together.

        Raises:
            DataError: A source has more than `max_length` tokens.
        """

    def score(self, pairs: Sequence[Pair], *, alternatives: int, batch: int) -> list[TargetScore]:
        """The log-probability of each target.

        Args:
            pairs: Sources and targets of at most `max_length` tokens.
            alternatives: Number of most probable tokens to return for each position, at most
                `MAX_ALTERNATIVES`.
            batch: Maximum number of pairs scored together.

        Raises:
            DataError: A source or a target has more than `max_length` tokens.
        """

    def attentions(
        self, pairs: Sequence[Pair], roles: Collection[Role]
    ) -> list[list[dict[Role, Weights]]]:
        """The attention weights of each pair, in each member.

        Args:
            pairs: Sources and targets.
            roles: The roles to compute, among `roles`.

        Returns:
            (N, H, rows, columns) for each role: rows and columns are S, S in the encoder, T, T in
            the decoder, and T, S between them.
        """
