"""R-Drop (Liang et al. 2021): two passes with different dropout should agree.

    loss = CE_1 + CE_2 + alpha / 2 (KL(p_1 || p_2) + KL(p_2 || p_1))       Eq. 4, per target token

With the logits z, let d = z_1 - z_2, m_1 = p_1 . d and m_2 = p_2 . d. Then

    KL(p_1 || p_2) + KL(p_2 || p_1) = m_1 - m_2
    gradient with respect to z_1: p_1 (d - m_1) + p_1 - p_2
    gradient with respect to z_2: p_2 (m_2 - d) + p_2 - p_1

N target tokens, V vocabulary. Rows 2i and 2i + 1 are the two passes of target token i.
"""

import torch
from torch import Tensor


def interleaved(rows: Tensor) -> Tensor:
    """Put the rows of two passes, one after the other, next to each other: (2 N, ...)."""
    return torch.stack(rows.chunk(2), dim=1).flatten(0, 1)


def divergence(z: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sum of both divergences over all pairs of rows, and its gradient (2 N, V).

    The gradient is with respect to the logits.

    Args:
        z: The logits (2 N, V); minus infinity in the padding column, which is the last one.
        p: Their softmax (2 N, V).
    """
    p_1, p_2 = p[0::2], p[1::2]  # (N, V)
    d = z[0::2] - z[1::2]  # (N, V)
    d[:, -1] = 0  # padding, whose probability is 0
    m_1, m_2 = ((p_i[:, None] @ d[..., None])[:, 0] for p_i in (p_1, p_2))  # (N, 1)
    gradient = torch.empty_like(p)
    torch.addcmul(p_1 * (1 - m_1) - p_2, p_1, d, out=gradient[0::2])
    torch.addcmul(p_2 * (1 + m_2) - p_1, p_2, d, value=-1, out=gradient[1::2])
    return (m_1 - m_2).sum(), gradient
