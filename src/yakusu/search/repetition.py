"""Limits on repetition.

B sentences, K hypotheses per sentence, P periods, L tokens so far, V vocabulary.

A sequence ends in a loop of period p if its last m tokens equal the tokens p positions before
them. Its last p tokens then occur 1 + m // p times in a row.
"""

import copy
from collections.abc import Sequence
from typing import Protocol, Self

import torch
from torch import Tensor

from yakusu.data.vocabulary import UNK
from yakusu.model.base import SearchModel
from yakusu.search.config import SearchConfig

MAX_PERIOD = 64  # longest n-gram whose repetitions are counted, in tokens


class Limit(Protocol):
    """Excludes tokens that would repeat too much. It tracks the hypotheses of all sentences."""

    def restrict(self, logits: Tensor) -> None:
        """Set the logits (B, K, V - 1) of tokens that may not follow to -inf, in place."""

    def follow(self, beams: Tensor, ids: Tensor) -> None:
        """Let hypothesis k of sentence b be hypothesis beams[b, k], extended by ids[b, k]."""

    def keep(self, sentences: Tensor) -> Self:
        """The limit of these sentences (B',); a sentence may occur more than once."""


class LoopLimit:
    """Limits how often an n-gram occurs in a row: to `most` times, or more if the source has more.

    Args:
        src: Source ids (B, S), padded.
        pad: The padding id of the source.
        n_beams: K.
        most: Number of occurrences in a row that are always allowed.
    """

    def __init__(self, src: Tensor, pad: int, *, n_beams: int, most: int) -> None:
        self.periods = torch.arange(1, MAX_PERIOD + 1, device=src.device)  # (P,)
        self.allowed = repetitions(src, pad).clamp(min=most)[:, None, None]  # (B, 1, 1)
        shape = (len(src), n_beams, MAX_PERIOD)
        self.earlier = torch.full(shape, -1, device=src.device)  # the token p positions back
        self.matches = torch.zeros(shape, dtype=torch.long, device=src.device)  # m

    def restrict(self, logits: Tensor) -> None:
        """Exclude tokens that would complete an occurrence too many."""
        excess = self.matches + 1 >= self.allowed * self.periods  # (B, K, P)
        looping = excess & (self.earlier >= 0)
        _exclude(logits, self.earlier, looping)

    def follow(self, beams: Tensor, ids: Tensor) -> None:
        """Let hypothesis k of sentence b be hypothesis beams[b, k], extended by ids[b, k]."""
        index = beams[:, :, None].expand_as(self.earlier)
        earlier, matches = self.earlier.gather(1, index), self.matches.gather(1, index)
        self.matches = (matches + 1).where(earlier == ids[:, :, None], 0)
        self.earlier = torch.cat([ids[:, :, None], earlier[:, :, :-1]], dim=2)

    def keep(self, sentences: Tensor) -> Self:
        """The limit of these sentences."""
        other = copy.copy(self)
        other.allowed = self.allowed[sentences]
        other.earlier, other.matches = self.earlier[sentences], self.matches[sentences]
        return other


def _exclude(logits: Tensor, ids: Tensor, chosen: Tensor) -> None:
    """Set the logits (B, K, V - 1) of the chosen ids (B, K, n) to -inf, in place; UNK is exempt."""
    unknown = logits[:, :, UNK].clone()
    logits.scatter_(2, ids.where(chosen, UNK), -torch.inf)
    logits[:, :, UNK] = unknown


def repetitions(src: Tensor, pad: int) -> Tensor:
    """How often any n-gram of at most MAX_PERIOD tokens occurs in a row in each sentence: (B,).

    Args:
        src: Ids (B, S), padded.
        pad: The padding id.
    """
    most = torch.ones(len(src), dtype=torch.long, device=src.device)
    for period in range(1, min(MAX_PERIOD, src.shape[1] // 2) + 1):
        equal = (src[:, period:] == src[:, :-period]) & (src[:, period:] != pad)
        n_equal = equal.cumsum(dim=1)
        longest = (n_equal - n_equal.where(~equal, 0).cummax(dim=1).values).amax(dim=1)
        most = torch.maximum(most, 1 + longest // period)
    return most


class NoRepeatedNgram:
    """Excludes every token that would make an n-gram of n tokens occur twice.

    Args:
        n_sentences: B.
        n_beams: K.
        n: Number of tokens.
        device: Device of the search.
    """

    def __init__(self, n_sentences: int, n_beams: int, *, n: int, device: torch.device) -> None:
        self.n = n
        self.tokens = torch.zeros(n_sentences, n_beams, 0, dtype=torch.long, device=device)

    def restrict(self, logits: Tensor) -> None:
        """Exclude the last token of each n-gram whose first n - 1 tokens were just repeated."""
        if self.tokens.shape[2] < self.n:
            return
        ngrams = self.tokens.unfold(2, self.n, 1)  # (B, K, L - n + 1, n)
        last = self.tokens[:, :, None, self.tokens.shape[2] - self.n + 1 :]  # (B, K, 1, n - 1)
        begun = (ngrams[..., :-1] == last).all(dim=-1)  # (B, K, L - n + 1)
        _exclude(logits, ngrams[..., -1], begun)

    def follow(self, beams: Tensor, ids: Tensor) -> None:
        """Let hypothesis k of sentence b be hypothesis beams[b, k], extended by ids[b, k]."""
        history = self.tokens.gather(1, beams[:, :, None].expand_as(self.tokens))
        self.tokens = torch.cat([history, ids[:, :, None]], dim=2)

    def keep(self, sentences: Tensor) -> Self:
        """The limit of these sentences."""
        other = copy.copy(self)
        other.tokens = self.tokens[sentences]
        return other


def limits_on_repetition(model: SearchModel, src: Tensor, config: SearchConfig) -> list[Limit]:
    """The limits that the settings ask for."""
    limits: list[Limit] = []
    if config.max_repeats:
        loops = LoopLimit(src, model.src_pad, n_beams=config.n_slots, most=config.max_repeats)
        limits.append(loops)
    if config.no_repeat_ngram:
        n = config.no_repeat_ngram
        limits.append(NoRepeatedNgram(len(src), config.n_slots, n=n, device=src.device))
    return limits


def restrict(logits: Tensor, limits: Sequence[Limit], *, goals: Sequence[int]) -> None:
    """Apply limits to logits (B, K, V - 1) in place.

    Args:
        logits: Of all hypotheses.
        limits: All limits of the search.
        goals: Rows of sentences that must generate certain tokens. A hypothesis of theirs is not
            limited where no token would remain.
    """
    rows = torch.tensor(goals, dtype=torch.long, device=logits.device)
    unlimited = logits[rows]  # a copy
    for limit in limits:
        limit.restrict(logits)
    stuck = logits[rows].amax(dim=-1, keepdim=True) == -torch.inf
    if stuck.any():
        logits[rows] = unlimited.where(stuck, logits[rows])
