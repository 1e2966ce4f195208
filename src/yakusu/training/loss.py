"""Section 5.4: label smoothing, computed in chunks so that the logits never exist all at once.

N target tokens (no padding), D width of the hidden states, V vocabulary, of which the last is pad.
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

# Logits held at a time: what a CPU's caches hold, or what fills a GPU.
_CHUNK_LOGITS, _CHUNK_LOGITS_GPU = 2**22, 2**27


class Loss(NamedTuple):
    """Sums over N tokens, in nats."""

    smoothed: Tensor  # what training minimises
    nll: Tensor  # -log p(y): exp(nll / N) is the plain perplexity


def smoothed_loss(hidden: Tensor, weight: Tensor, target: Tensor, *, epsilon: float) -> Loss:
    """Cross-entropy with the smoothed targets (1 - epsilon) onehot(y) + epsilon / (V - 1).

    Equals `torch.nn.functional.cross_entropy(hidden @ weight[:-1].T, target, reduction="sum",
    label_smoothing=epsilon)`, and is differentiated through `smoothed` alone. Under autocast the
    products are in its type; all sums are in float32.

    Args:
        hidden: (N, D).
        weight: The pre-softmax matrix (V, D).
        target: (N,), ids below V - 1.
        epsilon: The paper's epsilon_ls.
    """
    device = hidden.device.type
    if torch.is_autocast_enabled(device):
        hidden = hidden.to(torch.get_autocast_dtype(device))
    with torch.autocast(device, enabled=False):
        smoothed, nll = _ChunkedLoss.apply(hidden, weight, target, epsilon)  # type: ignore[no-untyped-call]
    return Loss(smoothed, nll)


def zero_point(n_outputs: int, epsilon: float) -> float:
    """The least value that the smoothed loss can have, a token: the targets' entropy in nats."""
    likely = 1 - epsilon + epsilon / n_outputs
    unlikely = epsilon / n_outputs
    rest = (n_outputs - 1) * unlikely * math.log(unlikely) if epsilon else 0.0
    return abs(likely * math.log(likely) + rest)  # and not -0.0


class _ChunkedLoss(torch.autograd.Function):
    """The loss and, where wanted, its gradients in one pass over chunks of tokens.

    With z = W h, p = softmax(z) and the smoothed target q, the gradient is dz = p - q. The part
    epsilon / (V - 1) of q is the same for all outputs, so it is taken off the products, not off dz.
    The product takes pad along, since an even number of rows is faster; its z is minus infinity.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, target: Tensor, epsilon: float
    ) -> tuple[Tensor, Tensor]:
        n_outputs = len(weight) - 1
        wanted = any(ctx.needs_input_grad)
        d_hidden = torch.empty_like(hidden) if wanted else None
        d_weight = torch.zeros_like(weight) if wanted else None
        matrix = weight.to(hidden.dtype)
        column_sum = matrix[:-1].float().sum(dim=0)  # (D,)
        nll = hidden.new_zeros((), dtype=torch.float32)
        smoothed = hidden.new_zeros((), dtype=torch.float32)
        n_logits = _CHUNK_LOGITS if hidden.device.type == "cpu" else _CHUNK_LOGITS_GPU
        chunk = max(1, n_logits // len(weight))
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
            if d_hidden is not None and d_weight is not None:
                dz = p.scatter_add_(1, y, p.new_full((1, 1), epsilon - 1).expand_as(y))
                dz = dz.to(hidden.dtype)
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
    def backward(ctx: Any, d_smoothed: Tensor, _: Tensor) -> tuple[Tensor, Tensor, None, None]:
        d_hidden, d_weight = ctx.saved_tensors
        return d_hidden * d_smoothed, d_weight * d_smoothed, None, None
