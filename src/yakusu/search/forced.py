"""Given targets, decoded by torch: their log-probabilities, and attention weights.

    log P(Y | X) = sum_t log P(y_t | y_<t, X)

Y ends with eos, which counts as a token. All positions are computed at once, by `decode`.

B batch, S source, T target, N layers, H heads, V vocabulary, n alternatives per position.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from yakusu.arrays import Floats
from yakusu.data.batches import pad
from yakusu.data.files.text import windows
from yakusu.model.base import SearchModel, Seq2Seq, shift_right
from yakusu.model.config import Role
from yakusu.model.linear import MIN_SENTENCES, SOURCE_MULTIPLE, padded_length
from yakusu.search.decoder import IdPair, TargetScore

_MAX_LOGITS = 2**25  # in one batch; the log-probabilities need as much memory again
_MAX_WEIGHTS = 2**20  # attention weights of a batch, in one head of one layer


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
    model: SearchModel, pairs: Sequence[IdPair], *, alternatives: int = 0, batch: int = 64
) -> list[TargetScore]:
    """Score the target of each pair.

    All sources of a batch have the same padded length, and so do all targets, so that a score does
    not depend on the other pairs (docs/decisions/0027).

    Args:
        model: In evaluation mode.
        pairs: Source and target ids of at most `model.max_length` tokens.
        alternatives: Number of most probable tokens to return for each position.
        batch: Maximum number of pairs scored together; fewer if their logits need too much memory.
    """
    scores: dict[int, TargetScore] = {}
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row, (source, target) in enumerate(pairs):
        groups[padded_length(len(source)), padded_length(len(target))].append(row)
    for (_, length), rows in groups.items():
        most = max(1, min(batch, _MAX_LOGITS // (length * model.tgt_vocab_size)))
        for part in windows(iter(rows), most):
            some = [pairs[row] for row in part]
            scores |= zip(part, _score_batch(model, some, alternatives), strict=True)
    return [scores[row] for row in range(len(pairs))]


def _score_batch(model: SearchModel, pairs: list[IdPair], alternatives: int) -> list[TargetScore]:
    """Score pairs of equal padded lengths; repeat the first pair if there are too few."""
    device = next(model.parameters()).device
    filled = pairs + pairs[:1] * (MIN_SENTENCES - len(pairs))
    src = pad([[*source] for source, _ in filled], model.src_pad, multiple=SOURCE_MULTIPLE)
    tgt = pad([[*target] for _, target in filled], model.tgt_pad, multiple=SOURCE_MULTIPLE)
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


def forced_attention(
    model: Seq2Seq, pairs: Sequence[IdPair], roles: Collection[Role]
) -> list[dict[Role, Floats]]:
    """The attention weights of each pair when its target is predicted from its source.

    Only pairs of equal lengths are computed together, so that the weights of a pair do not depend
    on the others.

    Args:
        model: In evaluation mode.
        pairs: Source and target ids.
        roles: The roles to compute.

    Returns:
        (N, H, rows, columns) for each of these roles that the model has.
    """
    found: dict[int, dict[Role, Floats]] = {}
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row, (source, target) in enumerate(pairs):
        groups[len(source), len(target)].append(row)
    for (n_source, n_target), rows in groups.items():
        most = max(MIN_SENTENCES, _MAX_WEIGHTS // (n_source * n_target))
        for part in windows(iter(rows), most):
            some = [pairs[row] for row in part]
            found |= zip(part, _weights_of_equal_length(model, some, roles), strict=True)
    return [found[row] for row in range(len(pairs))]


@torch.inference_mode()
def _weights_of_equal_length(
    model: Seq2Seq, pairs: list[IdPair], roles: Collection[Role]
) -> list[dict[Role, Floats]]:
    device = next(model.parameters()).device
    filled = pairs + pairs[:1] * (MIN_SENTENCES - len(pairs))
    src, tgt = (torch.tensor([[*pair[i]] for pair in filled], device=device) for i in (0, 1))
    maps = {
        role: weights.float().cpu().numpy()
        for role, weights in model.attentions(src, tgt, roles=roles).items()
    }
    return [{role: weights[row] for role, weights in maps.items()} for row in range(len(pairs))]
