"""The torch engine as a `Decoder`: every architecture, on any device."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Self

import torch

from yakusu.arrays import Floats
from yakusu.data.batches import pad
from yakusu.data.files.text import windows
from yakusu.model.base import SearchModel, Seq2Seq
from yakusu.model.config import Role
from yakusu.model.ensemble import members_of
from yakusu.model.linear import padded_length
from yakusu.search.beam import beam_search
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Decoder, IdPair, Query, Searches, TargetScore, too_long
from yakusu.search.forced import forced_attention, score_targets
from yakusu.search.hypothesis import NOTHING, Hypothesis
from yakusu.search.restrictions import Restrictions
from yakusu.search.shortlist import warn_once
from yakusu.search.tokens import TokenRules


class TorchDecoder(Decoder):
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

    def searches(self, config: SearchConfig, rules: TokenRules, *, batch: int) -> Searches:
        """See `Decoder.searches`; they begin with `Searches.results`."""
        if config.shortlist:
            warn_once("torch computes all tokens: shortlists need the native engine")
        return _TorchSearches(self, config, rules, batch)

    def score(self, pairs: Sequence[IdPair], *, alternatives: int, batch: int) -> list[TargetScore]:
        """See `Decoder.score`."""
        for source, target in pairs:
            for side, ids in (("source", source), ("target", target)):
                if len(ids) > self.max_length:
                    raise too_long(len(ids), self.max_length, side=side)
        return score_targets(self.model, pairs, alternatives=alternatives, batch=batch)

    def attentions(
        self, pairs: Sequence[IdPair], roles: Collection[Role]
    ) -> list[list[dict[Role, Floats]]]:
        """See `Decoder.attentions`."""
        of_members = [
            forced_attention(member, pairs, roles)
            for member in self.members
            if isinstance(member, Seq2Seq)
        ]
        return [list(own) for own in zip(*of_members, strict=True)]


@dataclass
class _TorchSearches:
    """Searches for sentences of similar lengths together."""

    decoder: TorchDecoder
    config: SearchConfig
    rules: TokenRules
    batch: int
    queries: list[Query] = field(default_factory=list, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def submit(self, query: Query) -> None:
        """See `Searches.submit`."""
        self.queries.append(query)

    def results(self) -> list[list[Hypothesis]]:
        """See `Searches.results`."""
        found = [[NOTHING] for _ in self.queries]
        for every in _batches(self.queries, self.batch):
            rows = [row for row in every if not _is_cancelled(self.queries[row])]
            if rows:
                some = [self.queries[row] for row in rows]
                for row, best in zip(rows, self._found(some), strict=True):
                    found[row] = best
        return found

    def _found(self, queries: Sequence[Query]) -> list[list[Hypothesis]]:
        """The hypotheses of a batch."""
        model, device = self.decoder.model, self.decoder.device
        return beam_search(
            model,
            pad([[*query.source] for query in queries], model.src_pad).to(device),
            self.config,
            restrictions=[query.restrictions or Restrictions(self.rules) for query in queries],
            prefixes=[query.prefix for query in queries],
            traces=[query.trace for query in queries],
        )


def _is_cancelled(query: Query) -> bool:
    return query.cancelled is not None and query.cancelled.is_set()


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
