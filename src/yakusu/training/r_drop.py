"""R-Drop (Liang et al. 2021): two passes with different dropout should agree.

    loss = CE_1 + CE_2 + alpha / 2 (KL(p_1 || p_2) + KL(p_2 || p_1))       Eq. 4, per target token
    with d = p_1 - p_2 and r = log p_1 - log p_2, both KLs together are sum d r
    d (sum d r) / d z_1 = p_1 (r - KL(p_1 || p_2)) + d, and likewise for z_2

N target tokens, V vocabulary. Rows 2i and 2i + 1 are the two passes of target token i.
"""

import torch
from torch import Tensor


def interleaved(hidden: Tensor, is_token: Tensor) -> Tensor:
    """Pair the hidden states of two passes: (2 B, T, D) and (B, T) -> (2 N, D)."""
    first, second = hidden.chunk(2)  # (B, T, D)
    return torch.stack([first[is_token], second[is_token]], dim=1).flatten(0, 1)  # (2 N, D)


def divergence(log_p: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sum of both divergences over all pairs of rows, and its gradient (2 N, V).

    The gradient is with respect to the logits.

    Args:
        log_p: Logarithms of the probabilities (2 N, V); minus infinity in the padding column.
        p: The probabilities (2 N, V).
    """
    p_1, p_2 = p[0::2], p[1::2]  # (N, V)
    r = log_p[0::2] - log_p[1::2]  # (N, V)
    r[:, -1] = 0  # padding, which has no probability
    d = p_1 - p_2  # (N, V)
    kl_1 = (p_1 * r).sum(dim=1, keepdim=True)  # (N, 1)
    kl_2 = -(p_2 * r).sum(dim=1, keepdim=True)  # (N, 1)
    gradient = torch.empty_like(p)
    gradient[0::2] = p_1 * (r - kl_1) + d
    gradient[1::2] = p_2 * (-r - kl_2) - d
    return kl_1.sum() + kl_2.sum(), gradient
