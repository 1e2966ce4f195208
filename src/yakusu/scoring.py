"""The log-probability that a model assigns to a given translation.

    log P(Y | X) = sum_t log P(y_t | y_<t, X)

Y ends with eos, which counts as a token. All positions are computed at once, by `decode`.

B batch, S source, T target, V vocabulary, n alternatives per position.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from yakusu.data.batches import pad
from yakusu.data.text import Pair
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import DataError
from yakusu.model.base import SearchModel, shift_right
from yakusu.model.linear import MIN_SENTENCES, SOURCE_MULTIPLE, padded_length

_MAX_LOGITS = 2**25  # in one batch; the log-probabilities need as much memory again

Alternative = tuple[int, float]  # a token id and its log-probability


@dataclass(frozen=True)
class TokenScores:
    """Log-probabilities of the target tokens of a batch, in nats.

    Attributes:
        log_probs: (B, T), log P(y_t | y_<t, X); 0 at padding.
        best_ids: (B, T, n), the most probable tokens of each position, best first.
        best_log_probs: (B, T, n), their log-probabilities.
    """

    log_probs: Tensor
    best_ids: Tensor
    best_log_probs: Tensor


@dataclass(frozen=True)
class Scored:
    """The log-probability of a given translation of a sentence, in nats."""

    log_prob: float  # log P(Y | X), including eos
    score: float  # log_prob / length penalty
    n_tokens: int  # including eos
    tokens: tuple[str, ...]  # as text, ending with eos; unknown characters are unchanged
    token_log_probs: tuple[float, ...]  # of each token
    alternatives: tuple[tuple[tuple[str, float], ...], ...]  # of each position, best first


@dataclass(frozen=True)
class TargetScore:
    """The log-probabilities of the tokens of one target, in nats."""

    token_log_probs: tuple[float, ...]  # of each token, including eos
    alternatives: tuple[tuple[Alternative, ...], ...]  # of each position, most probable first

    @property
    def log_prob(self) -> float:
        """log P(Y | X), summed in double precision."""
        return math.fsum(self.token_log_probs)


def token_log_probs(
    model: SearchModel, src: Tensor, tgt: Tensor, *, alternatives: int = 0
) -> TokenScores:
    """Compute the log-probability of each target token, given the tokens before it.

    Args:
        model: In evaluation mode.
        src: Source ids (B, S), each sentence ending with eos, padded with `model.src_pad`.
        tgt: Target ids (B, T), each sentence ending with eos, padded with `model.tgt_pad`.
        alternatives: The number n of most probable tokens to return for each position.
    """
    with torch.inference_mode():
        logits = model.decode(shift_right(tgt, model.tgt_pad), model.encode(src))  # (B, T, V - 1)
        log_probs = logits.float().log_softmax(dim=-1)  # subtracts the maximum before exp
        real = tgt != model.tgt_pad
        ids = tgt.where(real, 0)[:, :, None]  # (B, T, 1)
        own = log_probs.gather(2, ids)[:, :, 0].where(real, 0.0)  # (B, T)
        n = min(alternatives, log_probs.shape[-1])
        best, best_ids = log_probs.topk(n, dim=-1)  # (B, T, n)
        return TokenScores(own, best_ids, best)


def score_targets(
    model: SearchModel,
    sources: Sequence[list[int]],
    targets: Sequence[list[int]],
    *,
    alternatives: int = 0,
    batch: int = 64,
) -> list[TargetScore]:
    """Score the target of each source.

    All sources of a batch have the same padded length, and so do all targets, so that a score does
    not depend on the other pairs (docs/decisions/0027).

    Args:
        model: In evaluation mode.
        sources: Source ids of each sentence, ending with eos, at most `model.max_length`.
        targets: Target ids of each sentence, ending with eos, at most `model.max_length`.
        alternatives: Number of most probable tokens to return for each position.
        batch: Maximum number of pairs scored together; fewer if their logits need too much memory.
    """
    scores: dict[int, TargetScore] = {}
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        lengths = padded_length(len(source)), padded_length(len(target))
        groups[lengths].append(row)
    for (_, length), rows in groups.items():
        most = max(1, min(batch, _MAX_LOGITS // (length * model.tgt_vocab_size)))
        for first in range(0, len(rows), most):
            part = rows[first : first + most]
            pairs = [(sources[row], targets[row]) for row in part]
            scores |= zip(part, _score_batch(model, pairs, alternatives), strict=True)
    return [scores[row] for row in range(len(sources))]


def _score_batch(
    model: SearchModel, pairs: list[tuple[list[int], list[int]]], alternatives: int
) -> list[TargetScore]:
    """Score pairs of equal padded lengths; repeat the first pair if there are too few."""
    device = next(model.parameters()).device
    filled = pairs + pairs[:1] * (MIN_SENTENCES - len(pairs))
    src = pad([source for source, _ in filled], model.src_pad, multiple=SOURCE_MULTIPLE)
    tgt = pad([target for _, target in filled], model.tgt_pad, multiple=SOURCE_MULTIPLE)
    src, tgt = (ids[:, : model.max_length].to(device) for ids in (src, tgt))  # (B, S), (B, T)
    found = token_log_probs(model, src, tgt, alternatives=alternatives)
    own, ids, best = (
        tensor.tolist() for tensor in (found.log_probs, found.best_ids, found.best_log_probs)
    )
    return [
        TargetScore(
            tuple(own[row][: len(target)]),
            tuple(tuple(zip(ids[row][t], best[row][t], strict=True)) for t in range(len(target))),
        )
        for row, (_, target) in enumerate(pairs)
    ]


@dataclass(frozen=True)
class Scorer:
    """Scores targets that are given as text.

    Attributes:
        model: In evaluation mode.
        tokenizer: The tokenizer that the model was trained with.
        max_tokens: Maximum numbers of source and target tokens, including eos; the `max_length` of
            the model applies as well.
        penalty: Returns the length penalty for a number of target tokens, including eos.
    """

    model: SearchModel
    tokenizer: Tokenizer
    max_tokens: tuple[int, int]
    penalty: Callable[[int], float]

    def score(
        self, pairs: Sequence[Pair], first: int, *, alternatives: int, batch: int
    ) -> Iterator[Scored]:
        """Score pairs of texts; see `score_targets`. `first` is the line number of the first pair.

        Raises:
            DataError: A text has too many tokens.
        """
        src = self.tokenizer.encode_source([source for source, _ in pairs])
        tgt = self.tokenizer.encode_target([target for _, target in pairs])
        for number, both in enumerate(zip(src, tgt, strict=True), start=first):
            for side, ids, most in zip(("source", "target"), both, self.max_tokens, strict=True):
                _refuse_longer(number, side, len(ids), min(most, self.model.max_length))
        found = score_targets(self.model, src, tgt, alternatives=alternatives, batch=batch)
        for (_, target), one in zip(pairs, found, strict=True):
            n_tokens = len(one.token_log_probs)
            yield Scored(
                log_prob=one.log_prob,
                score=one.log_prob / self.penalty(n_tokens),
                n_tokens=n_tokens,
                tokens=tuple(self.tokenizer.target_surfaces(target)),
                token_log_probs=one.token_log_probs,
                alternatives=tuple(map(self._pieces, one.alternatives)),
            )

    def _pieces(self, alternatives: Sequence[Alternative]) -> tuple[tuple[str, float], ...]:
        pieces = self.tokenizer.target_pieces([token for token, _ in alternatives])
        return tuple(zip(pieces, (log_prob for _, log_prob in alternatives), strict=True))


def _refuse_longer(number: int, side: str, n_tokens: int, most: int) -> None:
    if n_tokens > most:
        raise DataError(
            f"line {number}: the {side} has {n_tokens:,} tokens, more than the maximum of "
            f"{most:,}: split the sentence"
        )
