"""The interface of an engine: search, scores of given targets, and attention weights.

S source, T target, N layers, H heads.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from yakusu.arrays import Floats
from yakusu.errors import DataError
from yakusu.model.config import Role
from yakusu.search.config import SearchConfig
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.neighbours import SegmentStates
from yakusu.search.tokens import TokenRules

if TYPE_CHECKING:
    from yakusu.search.restrictions import Restrictions
    from yakusu.search.trace import TraceStep

Alternative = tuple[int, float]  # a token id and its log-probability
MAX_ALTERNATIVES = 256  # most probable tokens of a position that are returned
IdPair = tuple[Sequence[int], Sequence[int]]  # source and target ids, both ending with eos


@dataclass(frozen=True)
class Query:
    """A sentence to translate.

    Attributes:
        source: Its ids, ending with eos.
        prefix: The ids that the translation begins with, without eos.
        restrictions: What the translation must and must not contain; None: `TokenRules` only. They
            change during the search, so they belong to one query.
        states: Those of similar segments, if the decoder has a codebook; None: none.
        trace: The search appends its steps to this list; None: the trace is not requested.
        cancelled: Once it is set, from any thread, the search for the sentence ends and finds
            nothing. torch reads it before each batch only. None: the search cannot be cancelled.
    """

    source: Sequence[int]
    prefix: Sequence[int] = ()
    restrictions: "Restrictions | None" = None
    states: SegmentStates | None = None
    trace: "list[TraceStep[int]] | None" = None
    cancelled: Event | None = None


def too_long(n_tokens: int, most: int, *, side: str = "source") -> DataError:
    """The error for a sentence that has more tokens than a model can process.

    Args:
        n_tokens: The number of tokens of the sentence, including eos.
        most: The maximum number of tokens of the model.
        side: What the sentence is, for the message.
    """
    return DataError(
        f"a {side} has {n_tokens:,} tokens, more than the maximum of the model, {most:,}: split it"
    )


class TargetScore(NamedTuple):
    """The log-probabilities of the tokens of one target, in nats."""

    token_log_probs: tuple[float, ...]  # of each token, including eos
    alternatives: tuple[tuple[Alternative, ...], ...]  # of each position, most probable first

    @property
    def log_prob(self) -> float:
        """log P(Y | X), summed in double precision."""
        return math.fsum(self.token_log_probs)


class Searches(Protocol):
    """Searches that run while further sentences are prepared; a context manager.

    At the end of the context, sentences that wait are dropped.
    """

    def submit(self, query: Query) -> None:
        """Add a sentence of at most `max_length` tokens.

        Raises:
            DataError: The source of this sentence, or of an earlier one, has more tokens.
        """

    def results(self) -> list[list[Hypothesis]]:
        """The hypotheses of each query, best first: at most `n_best`. The last call.

        If no token is allowed, or the query is cancelled, the result is an empty hypothesis with
        log-probability -inf.

        Raises:
            DataError: A source has more than `max_length` tokens.
        """

    def __enter__(self) -> Self:
        """Begin."""

    def __exit__(self, *error: object) -> None:
        """End."""


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

    def searches(self, config: SearchConfig, rules: TokenRules, *, batch: int) -> Searches:
        """Begin searches. With several threads, the native engine decodes while others are added.

        Args:
            config: Settings of the search.
            rules: The tokens that may be generated.
            batch: Maximum number of sentences decoded together.
        """

    def search(
        self, queries: Iterable[Query], config: SearchConfig, rules: TokenRules, *, batch: int
    ) -> list[list[Hypothesis]]:
        """The results of searches for all queries; see `searches`."""
        with self.searches(config, rules, batch=batch) as searches:
            for query in queries:
                searches.submit(query)
            return searches.results()

    def score(self, pairs: Sequence[IdPair], *, alternatives: int, batch: int) -> list[TargetScore]:
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
        self, pairs: Sequence[IdPair], roles: Collection[Role]
    ) -> list[list[dict[Role, Floats]]]:
        """The attention weights of each pair, in each member.

        Args:
            pairs: Sources and targets.
            roles: The roles to compute, among `roles`.

        Returns:
            (N, H, rows, columns) for each role: rows and columns are S, S in the encoder, T, T in
            the decoder, and T, S between them.
        """
