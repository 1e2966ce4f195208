"""The best candidates of a step.

B sentences, K hypotheses per sentence, V vocabulary.
"""

import torch
from torch import Tensor

BONUS = 6.0  # of `alternate`, in nats


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


def alternate(log_probs: Tensor, progress: Tensor) -> Tensor:
    """The order of candidates that gives each stage of progress the same number of places.

    First the best candidate of each stage, then the second best of each, and so on. Within a round,
    candidates are sorted by log-probability plus BONUS for each token of progress, because tokens
    that are still missing will lower the log-probability later.

    Args:
        log_probs: (B, N).
        progress: The stage of each candidate (B, N).

    Returns:
        Indices (B, N).
    """
    estimate = log_probs + BONUS * progress
    order = estimate.argsort(dim=1, descending=True, stable=True)
    stage = progress.gather(1, order)
    by_stage = stage.argsort(dim=1, stable=True)
    grouped = stage.gather(1, by_stage)
    places = torch.arange(grouped.shape[1], device=grouped.device).expand_as(grouped)
    first = torch.ones_like(grouped, dtype=torch.bool)
    first[:, 1:] = grouped[:, 1:] != grouped[:, :-1]
    in_stage = places - places.where(first, 0).cummax(dim=1).values
    round_ = torch.empty_like(places).scatter(1, by_stage, in_stage)
    impossible = log_probs.gather(1, order) == -torch.inf
    round_ = round_.masked_fill(impossible, log_probs.shape[1])
    return order.gather(1, round_.argsort(dim=1, stable=True))


def with_proposals(
    values: Tensor, ids: Tensor, logits: Tensor, proposals: Tensor
) -> tuple[Tensor, Tensor]:
    """Add proposed tokens (B, K, m) to the best tokens (B, K, n): (B, K, n + m) each."""
    extra = logits.gather(2, proposals.clamp(min=0))
    known = (proposals[..., None] == ids[:, :, None]).any(dim=-1)
    extra = extra.masked_fill(known | (proposals < 0), -torch.inf)
    return torch.cat([values, extra], dim=2), torch.cat([ids, proposals.clamp(min=0)], dim=2)
