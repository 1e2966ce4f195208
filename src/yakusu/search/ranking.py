"""The best candidates of a step.

B sentences, K hypotheses per sentence, V vocabulary.
"""

import torch
from torch import Tensor


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

    First the best candidate of each stage, then the second best of each, and so on; within a
    round, by log-probability.

    Args:
        log_probs: (B, N).
        progress: The stage of each candidate (B, N).

    Returns:
        Indices (B, N).
    """
    order = log_probs.argsort(dim=1, descending=True, stable=True)
    stage, possible = progress.gather(1, order), log_probs.gather(1, order) > -torch.inf
    same = (stage[:, :, None] == stage[:, None]).tril(-1)  # (B, N, N): an earlier one of the stage
    place = same.sum(dim=2).masked_fill(~possible, log_probs.shape[1])
    return order.gather(1, place.argsort(dim=1, stable=True))
