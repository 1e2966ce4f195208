"""Beam search with the length penalty of section 6.1, independent of the architecture.

B sentences, K hypotheses per sentence (the beam), V vocabulary.

A beam has K slots. Each step fills them with the best extensions of the open hypotheses. A
hypothesis that ends with eos keeps its slot, so a sentence yields at most K translations, and a
beam of one is greedy search. A sentence is finished when no slot is open, or when no open
hypothesis can still beat those that have ended.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from pydantic import Field, model_validator
from torch import Tensor

from yakusu.config import Config
from yakusu.data.tokenizer import EOS
from yakusu.model.base import DecoderState, SearchModel
from yakusu.model.linear import MIN_ROWS


class SearchConfig(Config):
    """Section [search] of a recipe; the defaults are the paper's."""

    beam: int = Field(4, ge=1, le=256)
    alpha: float = Field(0.6, ge=0)  # exponent of the length penalty
    max_extra: int = Field(50, ge=0)  # a translation may exceed its source by this many tokens
    n_best: int = Field(1, ge=1)

    @model_validator(mode="after")
    def _beam_holds_n_best(self) -> "SearchConfig":
        if self.n_best > self.beam:
            raise ValueError(
                f"n_best = {self.n_best} exceeds beam = {self.beam}: increase beam or lower n_best"
            )
        return self


def length_penalty(length: int, alpha: float) -> float:
    """lp(Y) = ((5 + |Y|) / 6)^alpha, Wu et al. 2016; |Y| includes eos."""
    return float(((5 + length) / 6) ** alpha)


@dataclass(frozen=True)
class Hypothesis:
    """A translation as ids, without eos."""

    tokens: tuple[int, ...]
    log_prob: float  # log P(Y | X) in nats, including eos
    score: float  # log_prob / lp(Y)


class Constraint(Protocol):
    """A restriction of the tokens that may follow; reordered like a `DecoderState`."""

    def allowed(self, left: Tensor) -> Tensor:
        """A mask (B, K, V - 1), True for each token that may follow the hypothesis.

        Args:
            left: The number of tokens that may still follow, including eos: (B,).
        """

    def follow(self, beams: Tensor, ids: Tensor) -> None:
        """Let hypothesis k of sentence b be hypothesis beams[b, k], extended by ids[b, k].

        Args:
            beams: (B, K), values from 0 to K - 1.
            ids: (B, K).
        """

    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences (B',); a sentence may occur more than once."""


def beam_search(
    model: SearchModel, src: Tensor, config: SearchConfig, *, constraint: Constraint | None = None
) -> list[list[Hypothesis]]:
    """Translate a batch of sentences.

    Args:
        model: In evaluation mode.
        src: Source ids (B, S), each sentence ending with eos, padded with `model.src_pad`.
        config: Beam size, length penalty, maximum length and number of translations.
        constraint: Restricts the tokens; it is modified. It excludes tokens without changing the
            probabilities of the others.

    Returns:
        The hypotheses of each sentence, best first: at most `n_best`. If the model's logits are NaN
        or no token is allowed, an empty hypothesis with log-probability -inf.
    """
    with torch.inference_mode():
        search = _Search(model, src, config, constraint)
        while any(sentence >= 0 for sentence in search.sentences):
            search.extend()
            search.close_finished()
            search.drop_closed_rows()
        return search.best()


class _Search:
    """The state of one batch. A row is a sentence; `self.sentences` maps open rows to sentences."""

    def __init__(
        self, model: SearchModel, src: Tensor, config: SearchConfig, constraint: Constraint | None
    ) -> None:
        self.model, self.config, self.constraint = model, config, constraint
        n_sentences, k = len(src), config.beam
        self.finished: list[list[Hypothesis]] = [[] for _ in range(n_sentences)]
        # Spare rows, which repeat the first sentence, fill a small batch up to MIN_ROWS.
        n_spare = max(0, -(-MIN_ROWS // k) - n_sentences)
        self.sentences = [*range(n_sentences), *[-1] * n_spare]  # -1: closed, or spare
        rows = torch.tensor([*range(n_sentences), *[0] * n_spare], device=src.device)
        src = src[rows]
        if constraint:
            constraint.keep(rows)
        lengths = (src != model.src_pad).sum(dim=1) - 1  # without eos
        self.limits = [
            min(int(n) + config.max_extra, model.max_length - 1) + 1 for n in lengths.tolist()
        ]
        self.length = 0
        self.state: DecoderState = model.start(model.encode(src), k)
        self.log_probs = torch.full((len(src), k), -torch.inf, device=src.device)
        self.log_probs[:, 0] = 0.0  # all hypotheses start equal, so only the first is extended
        self.prev_ids = torch.full((len(src), k), model.tgt_pad, device=src.device)
        self.tokens = self.prev_ids[:, :, None][:, :, :0]  # (B, K, length)
        self.open_slots = torch.full((len(src), 1), k, device=src.device)

    def extend(self) -> None:
        """Extend each open hypothesis by its best tokens, and keep the K best of each sentence."""
        k = self.config.beam
        self.length += 1
        logits, self.state = self.model.step(self.prev_ids, self.state)  # (B, K, V - 1)
        logits = logits.float()
        # log-sum-exp, from the softmax, whose sum does not depend on the batch
        log_norm = logits.amax(-1, keepdim=True) - logits.softmax(-1).amax(-1, keepdim=True).log()
        logits = self._allowed(logits)
        best, ids = top_k(logits, min(k, logits.shape[-1]))  # (B, K, k)
        extended = self.log_probs[:, :, None] + (best - log_norm)  # (B, K, k)
        self.log_probs, places = extended.flatten(1).topk(k, dim=1)  # (B, K), best first
        rank = torch.arange(k, device=self.log_probs.device)
        self.log_probs = self.log_probs.masked_fill(rank >= self.open_slots, -torch.inf)
        beams = places.div(best.shape[-1], rounding_mode="floor")  # (B, K)
        self.prev_ids = ids.flatten(1).gather(1, places)  # (B, K)
        self.state.reorder(beams)
        if self.constraint:
            self.constraint.follow(beams, self.prev_ids)
        history = self.tokens.gather(1, beams[:, :, None].expand_as(self.tokens))
        self.tokens = torch.cat([history, self.prev_ids[:, :, None]], dim=2)

    def _allowed(self, logits: Tensor) -> Tensor:
        """Logits (B, K, V - 1), -inf for tokens that the limit or the constraint excludes."""
        for row, limit in enumerate(self.limits):
            if self.length == limit:  # only eos may follow
                logits[row, :, EOS + 1 :] = -torch.inf
        if not self.constraint:
            return logits
        left = torch.tensor(self.limits, device=logits.device) + 1 - self.length
        return logits.masked_fill(~self.constraint.allowed(left), -torch.inf)

    def close_finished(self) -> None:
        """Collect hypotheses that ended; close sentences that no open hypothesis can improve."""
        ended = (self.prev_ids == EOS) & (self.log_probs > -torch.inf)  # (B, K)
        log_probs, is_end = self.log_probs.tolist(), ended.tolist()
        self.log_probs = self.log_probs.masked_fill(ended, -torch.inf)
        self.open_slots = self.open_slots - ended.sum(dim=1, keepdim=True)
        best_open = self.log_probs.amax(dim=1).tolist()
        penalty = length_penalty(self.length, self.config.alpha)
        for row, sentence in enumerate(self.sentences):
            if sentence < 0:
                continue
            for beam, log_prob in enumerate(log_probs[row]):
                if is_end[row][beam]:
                    tokens = tuple(self.tokens[row, beam, :-1].tolist())
                    hypothesis = Hypothesis(tokens, log_prob, log_prob / penalty)
                    self.finished[sentence].append(hypothesis)
            if not self._can_improve(row, best_open[row]):
                self.sentences[row] = -1

    def _can_improve(self, row: int, best_open: float) -> bool:
        """Whether an open hypothesis can still enter the n best.

        Its log-probability can only decrease, and the penalty increases at most to that of the
        maximum length, so `best_open / lp(limit)` bounds all later scores and stopping is exact.
        """
        found = self.finished[self.sentences[row]]
        scores = sorted((hypothesis.score for hypothesis in found), reverse=True)
        n_best = self.config.n_best
        if best_open == -math.inf or len(scores) < n_best:
            return best_open > -math.inf
        bound = best_open / length_penalty(self.limits[row], self.config.alpha)
        return bool(bound > scores[n_best - 1])

    def drop_closed_rows(self) -> None:
        """Drop closed rows once an eighth of the batch is closed, but keep MIN_ROWS rows."""
        n_rows, k = self.log_probs.shape
        open_rows = [row for row, sentence in enumerate(self.sentences) if sentence >= 0]
        closed = [row for row, sentence in enumerate(self.sentences) if sentence < 0]
        n_spare = max(0, -(-MIN_ROWS // k) - len(open_rows))
        if len(closed) - n_spare < max(1, n_rows // 8):
            return
        rows = open_rows + closed[:n_spare]
        index = torch.tensor(rows, device=self.log_probs.device)
        self.state.keep(index)
        if self.constraint:
            self.constraint.keep(index)
        self.log_probs, self.prev_ids = self.log_probs[index], self.prev_ids[index]
        self.tokens, self.open_slots = self.tokens[index], self.open_slots[index]
        self.sentences = [self.sentences[row] for row in rows]
        self.limits = [self.limits[row] for row in rows]

    def best(self) -> list[list[Hypothesis]]:
        """The n best hypotheses of each sentence."""
        none = [Hypothesis((), -math.inf, -math.inf)]
        return [
            sorted(found or none, key=lambda h: -h.score)[: self.config.n_best]
            for found in self.finished
        ]


def top_k(values: Tensor, k: int, *, block: int = 128) -> tuple[Tensor, Tensor]:
    """The k largest values of the last axis and their indices, in two stages.

    The k largest values lie in the k blocks with the largest maxima, so only those are searched. On
    a CPU, this is several times faster than `Tensor.topk` over a whole vocabulary. Of equal values,
    those in earlier blocks come first.
    """
    n = values.shape[-1]
    if n < 8 * block or values.device.type != "cpu":
        return values.topk(k, dim=-1)
    n_blocks = n // block
    blocks = values[..., : n_blocks * block].unflatten(-1, (n_blocks, block))
    chosen = blocks.amax(dim=-1).topk(min(k, n_blocks), dim=-1).indices  # (..., k)
    chosen = chosen.sort(dim=-1).values
    inside = blocks.gather(-2, chosen[..., None].expand(*chosen.shape, block))
    rest = values[..., n_blocks * block :]
    candidates = torch.cat([inside.flatten(-2), rest], dim=-1)
    best, places = candidates.topk(k, dim=-1)
    offsets = chosen.gather(-1, (places // block).clamp(max=chosen.shape[-1] - 1)) * block
    in_rest = places >= chosen.shape[-1] * block
    tail = places - chosen.shape[-1] * block + n_blocks * block
    return best, torch.where(in_rest, tail, offsets + places % block)
