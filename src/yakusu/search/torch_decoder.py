"""The torch engine as a `Decoder`: every architecture, on any device."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby

import torch

from yakusu.data.batches import pad
from yakusu.data.files.text import windows
from yakusu.model.base import SearchModel, Seq2Seq
from yakusu.model.config import Role
from yakusu.model.ensemble import members_of
from yakusu.model.linear import padded_length
from yakusu.search.beam import beam_search
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Pair, Query, TargetScore, Weights, refuse_longer
from yakusu.search.forced import attention_weights, score_targets
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.restrictions import Restrictions
from yakusu.search.tokens import TokenRules


class TorchDecoder:
    """A model, or an ensemble, that torch runs.

    Args:
        model: It is moved to `device` and set to evaluation mode.
        device: Device to compute on.
    """

    def __init__(self, model: SearchModel, *, device: torch.device | str = "cpu") -> None:
        self.model = model.to(device).eval()
        self.device = torch.device(device)

    @property
    def members(self) -> Sequence[SearchModel]:
        """The models."""
        return members_of(self.model)

    @property
    def n_members(self) -> int:
        """The number of models."""
        return len(self.members)

    @property
    def max_length(self) -> int:
        """The longest sentence, in tokens including eos."""
        return self.model.max_length

    @property
    def roles(self) -> Collection[Role]:
        """The kinds of attention that every member has."""
        of_members = [
            member.attention_layers() if isinstance(member, Seq2Seq) else {}
            for member in self.members
        ]
        first, *others = of_members
        return [role for role in first if all(role in other for other in others)]

    def search(
        self, queries: Iterable[Query], config: SearchConfig, rules: TokenRules, *, batch: int
    ) -> list[list[Hypothesis]]:
        """See `Decoder.search`."""
        queries = list(queries)
        found = [[Hypothesis((), -math.inf, -math.inf)] for _ in queries]
        for every in _batches(queries, batch):
            rows = [row for row in every if not queries[row].is_cancelled]
            if not rows:
                continue
            some = [queries[row] for row in rows]
            best = beam_search(
                self.model,
                pad([[*query.source] for query in some], self.model.src_pad).to(self.device),
                config,
                restrictions=[query.restrictions or Restrictions(rules) for query in some],
                prefixes=[query.prefix for query in some],
                traces=[query.trace for query in some],
            )
            for row, own in zip(rows, best, strict=True):
                found[row] = own
        return found

    def score(self, pairs: Sequence[Pair], *, alternatives: int, batch: int) -> list[TargetScore]:
        """See `Decoder.score`."""
        for source, target in pairs:
            refuse_longer(len(source), self.max_length)
            refuse_longer(len(target), self.max_length, side="target")
        return score_targets(self.model, pairs, alternatives=alternatives, batch=batch)

    def attentions(
        self, pairs: Sequence[Pair], roles: Collection[Role]
    ) -> list[list[dict[Role, Weights]]]:
        """See `Decoder.attentions`."""
        of_members = [
            attention_weights(member, pairs, roles)
            for member in self.members
            if isinstance(member, Seq2Seq)
        ]
        return [list(own) for own in zip(*of_members, strict=True)]


def _batches(queries: Sequence[Query], batch: int) -> Iterator[list[int]]:
    """The rows of each batch: sentences of the same padded length, shortest first.

    Sentences with phrases to include or placeholder tokens are searched differently, so they are
    batched separately.
    """

    def has_goal(row: int) -> bool:
        restrictions = queries[row].restrictions
        return restrictions is not None and restrictions.has_goal

    def length(row: int) -> tuple[bool, int]:
        return has_goal(row), len(queries[row].source)

    def kind(row: int) -> tuple[bool, int]:
        return has_goal(row), padded_length(len(queries[row].source))

    for _, same in groupby(sorted(range(len(queries)), key=length), key=kind):
        yield from windows(same, batch)
