"""Cross-entropy with label smoothing, section 5.4.

    q = (1 - epsilon) onehot(y) + epsilon / (V - 1)      smoothed target
    loss = - sum over outputs of q log p                 with p = softmax(W h + b)
    d loss / d (W h + b) = p - q

It is computed in chunks of tokens, so that the logits are never in memory all at once.

N target tokens (no padding), n tokens of a chunk, D width of the hidden states, V vocabulary, whose
last id is padding.
"""

import math
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from yakusu.training.r_drop import divergence

# A chunk has few tokens on a CPU, because of its caches, and enough to keep a GPU busy.
_CHUNK, _CHUNK_LOGITS, _CHUNK_LOGITS_GPU = 256, 2**24, 2**27


class Loss(NamedTuple):
    """Sums over N tokens, in nats."""

    smoothed: Tensor  # minimised by training
    nll: Tensor  # -log p(y); exp(nll / N) is the perplexity


def smoothed_loss(
    hidden: Tensor,
    weight: Tensor,
    target: Tensor,
    *,
    epsilon: float,
    bias: Tensor | None = None,
    r_drop: float = 0.0,
) -> Loss:
    """Compute the sum of the cross-entropy with smoothed targets over N tokens.

    `smoothed` equals `torch.nn.functional.cross_entropy(hidden @ weight[:-1].T + bias, target,
    reduction="sum", label_smoothing=epsilon)`; only `smoothed` has a gradient. Under autocast,
    matrix products use its data type; all sums are in float32.

    Args:
        hidden: Hidden states (N, D).
        weight: Output projection (V, D).
        target: Token ids (N,) below V - 1.
        epsilon: The paper's epsilon_ls.
        bias: Bias of the logits (V - 1,); None: no bias.
        r_drop: alpha of R-Drop, for rows in pairs (`training/r_drop.py`); 0: no R-Drop.
    """
    device = hidden.device.type
    if torch.is_autocast_enabled(device):
        hidden = hidden.to(torch.get_autocast_dtype(device))
    if bias is not None:
        hidden, weight = _with_bias(hidden, weight, bias)
    with torch.autocast(device, enabled=False):
        smoothed, nll = _ChunkedLoss.apply(hidden, weight, target, epsilon, r_drop)  # type: ignore[no-untyped-call]
    return Loss(smoothed, nll)


def _with_bias(hidden: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Hidden states and weights, D + 8 wide, whose product includes the bias.

    Eight more columns instead of one keep the rows aligned, as matrix products need for speed.
    """
    ones = F.pad(hidden.new_ones(len(hidden), 1), (0, 7))  # (N, 8)
    column = F.pad(bias[:, None], (0, 7, 0, 1))  # (V, 8)
    return torch.cat([hidden, ones], dim=1), torch.cat([weight, column.to(weight)], dim=1)


def zero_point(n_outputs: int, epsilon: float) -> float:
    """Return the lowest possible smoothed loss per token: the entropy of q, in nats.

    Args:
        n_outputs: V - 1.
        epsilon: The paper's epsilon_ls.
    """
    q_target = 1 - epsilon + epsilon / n_outputs
    q_other = epsilon / n_outputs
    rest = (n_outputs - 1) * q_other * math.log(q_other) if epsilon else 0.0
    return abs(q_target * math.log(q_target) + rest)  # `abs` turns -0.0 into 0.0


def _chunk(n_vocab: int, device: str, *, pairs: bool) -> int:
    """Return the number of tokens per chunk for a vocabulary of V = n_vocab.

    With `pairs`, it is even, so that the two rows of a pair are in the same chunk.
    """
    n_logits = _CHUNK_LOGITS_GPU
    if device == "cpu":
        n_logits = min(_CHUNK * n_vocab, _CHUNK_LOGITS)
    rows = 2 if pairs else 1
    return rows * max(1, n_logits // n_vocab // rows)


class _ChunkedLoss(torch.autograd.Function):
    """The loss and, if needed, its gradients, in one pass over chunks of tokens.

    With z = W h, the gradient is dz = p - q. The term epsilon / (V - 1) of q is the same for all
    outputs, so it is subtracted from the products with dz instead of from dz itself.
    The product includes the row of the padding id, because an even number of rows is faster; its z
    is set to minus infinity.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, target: Tensor, epsilon: float, r_drop: float
    ) -> tuple[Tensor, Tensor]:
        n_outputs = len(weight) - 1
        needs_grad = any(ctx.needs_input_grad)
        d_hidden = torch.empty_like(hidden) if needs_grad else None
        d_weight = torch.zeros_like(weight) if needs_grad else None
        matrix = weight.to(hidden.dtype)
        column_sum = matrix[:-1].float().sum(dim=0)  # (D,)
        nll = hidden.new_zeros((), dtype=torch.float32)
        smoothed = hidden.new_zeros((), dtype=torch.float32)
        chunk = _chunk(len(weight), hidden.device.type, pairs=r_drop > 0)
        for begin in range(0, len(hidden), chunk):
            h, y = hidden[begin : begin + chunk], target[begin : begin + chunk, None]
            z = (h @ matrix.T).float()  # (n, V)
            z[:, -1] = -torch.inf
            z_y, z_max = z.gather(1, y), z.amax(dim=1, keepdim=True)
            p = z.softmax(dim=1)
            log_norm = z_max - p.amax(dim=1, keepdim=True).log()  # (n, 1)
            nll += (log_norm - z_y).sum()
            uniform = log_norm.sum() - (h.float() @ column_sum).sum() / n_outputs
            smoothed += (1 - epsilon) * (log_norm - z_y).sum() + epsilon * uniform
            divergences, d_divergences = divergence(z, p) if r_drop else (0.0, 0.0)
            smoothed += r_drop / 2 * divergences
            if d_hidden is not None and d_weight is not None:
                dz = p.scatter_add_(1, y, p.new_full((1, 1), epsilon - 1).expand_as(y))
                dz = (dz.add_(d_divergences, alpha=r_drop / 2) if r_drop else dz).to(hidden.dtype)
                d_hidden[begin : begin + chunk] = dz @ matrix - (
                    column_sum * (epsilon / n_outputs)
                ).to(hidden.dtype)
                d_weight.addmm_(dz.T, h) if d_weight.dtype == h.dtype else d_weight.add_(dz.T @ h)
        if d_weight is not None:
            d_weight[:-1] -= hidden.float().sum(dim=0) * (epsilon / n_outputs)
        ctx.save_for_backward(d_hidden, d_weight)
        ctx.mark_non_differentiable(nll)
        return smoothed, nll

    @staticmethod
    def backward(ctx: Any, d_smoothed: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        d_hidden, d_weight = ctx.saved_tensors
        return d_hidden * d_smoothed, d_weight * d_smoothed, None, None, None
