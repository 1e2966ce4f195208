"""Greedy and beam search, section 6.1; knows no architecture.

B sentences, K hypotheses a sentence (the beam), V vocabulary.

A beam has K places. Each step fills them with the best extensions of the open hypotheses; one that
ends in eos keeps its place for good, so a sentence yields at most K translations and a beam of one
is greedy search. A sentence leaves the batch when no place is open, or when nothing open can still
beat what has ended.
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
    """How translations are searched for; the defaults are the paper's."""

    beam: int = Field(4, ge=1, le=256)
    alpha: float = Field(0.6, ge=0)  # of the length penalty
    max_extra: int = Field(50, ge=0)  # tokens that a translation may be longer than its source
    n_best: int = Field(1, ge=1)

    @model_validator(mode="after")
    def _best_are_in_the_beam(self) -> "SearchConfig":
        if self.n_best > self.beam:
            raise ValueError(
                f"n_best = {self.n_best} is more than beam = {self.beam} can give: widen the beam"
            )
        return self


@dataclass(frozen=True)
class LengthPenalty:
    """lp(Y) = ((5 + |Y|) / 6)^alpha, Wu et al. 2016; |Y| counts eos."""

    alpha: float

    def __call__(self, length: int) -> float:
        return float(((5 + length) / 6) ** self.alpha)


@dataclass(frozen=True)
class Hypothesis:
    """A translation in ids, without eos."""

    tokens: tuple[int, ...]
    log_prob: float  # log P(Y | X) in nats, of eos too
    score: float  # log_prob / lp(Y)


class Constraint(Protocol):
    """What hypotheses may say next; it moves with them as a `DecoderState` does, batch first."""

    def allowed(self, left: Tensor) -> Tensor:
        """True for each token that a hypothesis may say next (B, K, V - 1).

        Args:
            left: How many tokens may still be said, that one and eos counted (B,).
        """

    def follow(self, beams: Tensor, ids: Tensor) -> None:
        """Let hypothesis k of sentence b be hypothesis beams[b, k] with ids[b, k] added (B, K)."""

    def keep(self, sentences: Tensor) -> None:
        """Forget all sentences but these (B',); one may be kept more than once."""


def greedy_search(model: SearchModel, src: Tensor, *, max_extra: int = 50) -> list[Hypothesis]:
    """The likeliest token at each position: a beam of one."""
    config = SearchConfig(beam=1, alpha=0, max_extra=max_extra)
    return [hypotheses[0] for hypotheses in beam_search(model, src, config)]


def beam_search(
    model: SearchModel, src: Tensor, config: SearchConfig, *, constraint: Constraint | None = None
) -> list[list[Hypothesis]]:
    """Translate a batch of sentences.

    Args:
        model: In evaluation mode.
        src: Source ids (B, S), each sentence ending in eos, padded by `model.src_pad`.
        config: Beam, length penalty, greatest length.
        constraint: What translations may be, at their beginning; it is used up. Probabilities stay
            the model's own: what is not allowed is left out, what is allowed gains nothing.

    Returns:
        For each sentence its hypotheses, best first: `n_best` of them, or all that there are. Where
        the model's logits are NaN or nothing is allowed, an empty one of log-probability -inf.
    """
    with torch.inference_mode():
        return _Search(model, src, config, constraint).run()


class _Search:
    """One batch under way. Rows are the sentences still open, in the order of `self.sentences`."""

    def __init__(
        self, model: SearchModel, src: Tensor, config: SearchConfig, constraint: Constraint | None
    ) -> None:
        self.model, self.config, self.constraint = model, config, constraint
        self.penalty = LengthPenalty(config.alpha)
        n_sentences, k = len(src), config.beam
        self.finished: list[list[Hypothesis]] = [[] for _ in range(n_sentences)]
        # Rows beyond the sentences repeat the first one, see MIN_ROWS; their results are dropped.
        spare = max(0, -(-MIN_ROWS // k) - n_sentences)
        rows = torch.cat([torch.arange(n_sentences), torch.zeros(spare, dtype=torch.long)])
        self.sentences = [*range(n_sentences), *[-1] * spare]
        rows = rows.to(src.device)
        src = src[rows]
        if constraint:
            constraint.keep(rows)
        lengths = (src != model.src_pad).sum(dim=1) - 1  # without eos
        self.limits = [
            min(int(n) + config.max_extra, model.max_length - 1) + 1 for n in lengths.tolist()
        ]
        self.state: DecoderState = model.start(model.encode(src), k)
        self.log_probs = torch.full((len(src), k), -torch.inf, device=src.device)
        self.log_probs[:, 0] = 0.0  # all hypotheses are equal at first: go on from one
        self.prev_ids = torch.full((len(src), k), model.tgt_pad, device=src.device)
        self.tokens = self.prev_ids[:, :, None][:, :, :0]  # (B, K, length)
        self.room = torch.full((len(src), 1), k, device=src.device)  # places not taken by an end

    def run(self) -> list[list[Hypothesis]]:
        """Step until every sentence is closed."""
        length = 0
        while any(sentence >= 0 for sentence in self.sentences):
            length += 1
            self._step(length)
            self._close(length)
        silence = [Hypothesis((), -math.inf, -math.inf)]
        return [
            sorted(found or silence, key=lambda h: -h.score)[: self.config.n_best]
            for found in self.finished
        ]

    def _step(self, length: int) -> None:
        """Extend each open hypothesis by its best tokens and keep the K best of a sentence."""
        k = self.config.beam
        logits, self.state = self.model.step(self.prev_ids, self.state)  # (B, K, V - 1)
        logits = logits.float()
        log_norm = logits.amax(-1, keepdim=True) - logits.softmax(-1).amax(-1, keepdim=True).log()
        for row, limit in enumerate(self.limits):
            if length == limit:  # nothing but eos is left to say
                logits[row, :, EOS + 1 :] = -torch.inf
        if self.constraint:
            left = torch.tensor(self.limits, device=logits.device) + 1 - length
            logits = logits.masked_fill(~self.constraint.allowed(left), -torch.inf)
        best, ids = top_k(logits, min(k, logits.shape[-1]))  # (B, K, k)
        extended = self.log_probs[:, :, None] + (best - log_norm)
        self.log_probs, places = extended.flatten(1).topk(k, dim=1)  # (B, K), best first
        rank = torch.arange(k, device=self.log_probs.device)
        self.log_probs = self.log_probs.masked_fill(rank >= self.room, -torch.inf)
        beams = places.div(best.shape[-1], rounding_mode="floor")  # (B, K)
        self.prev_ids = ids.flatten(1).gather(1, places)  # (B, K)
        self.state.reorder(beams)
        if self.constraint:
            self.constraint.follow(beams, self.prev_ids)
        history = self.tokens.gather(1, beams[:, :, None].expand_as(self.tokens))
        self.tokens = torch.cat([history, self.prev_ids[:, :, None]], dim=2)

    def _close(self, length: int) -> None:
        """Collect the hypotheses that ended; let go of sentences with nothing left to find."""
        ended = (self.prev_ids == EOS) & (self.log_probs > -torch.inf)  # (B, K)
        log_probs, is_end = self.log_probs.tolist(), ended.tolist()
        self.log_probs = self.log_probs.masked_fill(ended, -torch.inf)
        self.room = self.room - ended.sum(dim=1, keepdim=True)
        best_open = self.log_probs.amax(dim=1).tolist()
        for row, sentence in enumerate(self.sentences):
            if sentence < 0:
                continue
            for beam, log_prob in enumerate(log_probs[row]):
                if is_end[row][beam]:
                    self._finish(row, beam, log_prob, length)
            if not self._can_improve(row, best_open[row]):
                self.sentences[row] = -1
        self._compact()

    def _finish(self, row: int, beam: int, log_prob: float, length: int) -> None:
        tokens = tuple(self.tokens[row, beam, :-1].tolist())
        hypothesis = Hypothesis(tokens, log_prob, log_prob / self.penalty(length))
        self.finished[self.sentences[row]].append(hypothesis)

    def _can_improve(self, row: int, best_open: float) -> bool:
        """Whether an open hypothesis could still enter the n best.

        Its log-probability can only fall and the penalty only grow up to the greatest length, so
        `best_open / lp(limit)` bounds every score to come: stopping by it changes no result.
        """
        found = self.finished[self.sentences[row]]
        scores = sorted((hypothesis.score for hypothesis in found), reverse=True)
        wanted = self.config.n_best
        if best_open == -math.inf or len(scores) < wanted:
            return best_open > -math.inf
        bound = best_open / self.penalty(self.limits[row])
        return bool(bound > scores[wanted - 1])

    def _compact(self) -> None:
        """Drop closed rows once an eighth of the batch is closed, down to MIN_ROWS."""
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
        self.tokens, self.room = self.tokens[index], self.room[index]
        self.sentences = [self.sentences[row] for row in rows]
        self.limits = [self.limits[row] for row in rows]


def top_k(values: Tensor, k: int, *, block: int = 128) -> tuple[Tensor, Tensor]:
    """The k largest of the last axis and where they are, like `Tensor.topk` but in two stages.

    The k largest lie in the k blocks with the largest maxima, so only those are sorted: several
    times faster on a CPU for a whole vocabulary. Among equal values it prefers the first block.
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
