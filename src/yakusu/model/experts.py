"""Mixture of experts (Shazeer et al. 2017), the feed-forward layer of Table 2's MoE.

N positions of a batch, E experts, k of them chosen for each position, d width of the states.

    y = sum over the chosen e of softmax(the k largest of x W)_e FeedForward_e(x)

Each position goes to its own experts, whatever the rest of the batch does: no noise, and no limit
to what an expert takes (docs/decisions/0022).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yakusu.model.base import Routes
from yakusu.model.layers import FeedForward
from yakusu.model.linear import MIN_ROWS


class Experts(Routes):
    """Sparsely gated feed-forward networks, section 2 of Shazeer et al. 2017.

    Args:
        d_model: d.
        d_ff: Width within each expert.
        n_experts: E.
        top_k: k.
        balance: Weight of the balance loss.
    """

    def __init__(
        self, *, d_model: int, d_ff: int, n_experts: int, top_k: int, balance: float
    ) -> None:
        super().__init__()
        self.top_k, self.balance = top_k, balance
        self.router = nn.Linear(d_model, n_experts, bias=False)
        nn.init.xavier_uniform_(self.router.weight)
        self.experts = nn.ModuleList(
            FeedForward(d_model=d_model, d_ff=d_ff) for _ in range(n_experts)
        )
        self._routed: tuple[Tensor, Tensor] | None = None

    def forward(self, x: Tensor) -> Tensor:
        """(..., d) -> (..., d)."""
        rows = x.flatten(0, -2)  # (N, d)
        with torch.autocast(rows.device.type, enabled=False):  # inference must choose alike
            logits = self.router(rows.to(self.router.weight.dtype))  # (N, E)
        best, chosen = logits.topk(self.top_k)  # (N, k)
        self._routed = (logits, chosen) if self.training else None
        y = self._each_by_its_experts(rows, chosen)  # (N, k, d)
        mixed = (best.softmax(-1)[..., None] * y).sum(1)  # (N, d)
        return mixed.to(x.dtype).view_as(x)  # type: ignore[no-any-return]

    def _each_by_its_experts(self, rows: Tensor, chosen: Tensor) -> Tensor:
        """Rows (N, d) by their experts (N, k): (N, k, d). An expert computes its rows alone.

        Rows are sorted by expert and sorted back, so that no sum depends on their order. An expert
        that nobody chose is given no row, and so gets a gradient of zeros as processes that add up
        their gradients need it.
        """
        copies = rows[:, None].expand(-1, self.top_k, -1).flatten(0, 1)  # (N k, d)
        order = chosen.flatten().argsort(stable=True)  # (N k)
        counts = chosen.flatten().bincount(minlength=len(self.experts)).tolist()
        parts = copies.index_select(0, order).split(counts)
        y = torch.cat([_by(*both) for both in zip(self.experts, parts, strict=True)])
        y = y.index_select(0, order.argsort())  # (N k, d)
        return y.view(len(rows), self.top_k, -1)  # (N, k, d)

    def balance_loss(self, real: Tensor) -> Tensor:
        """Weight x E sum_e f_e p_e in the last pass of training; 0 in evaluation.

        f_e is the share of choices that fell on expert e and p_e its mean probability among all
        experts; the sum is 1 where experts are chosen evenly (Fedus et al. 2021, Eq. 4, whose f is
        of the first choices).

        Args:
            real: (B, n), True at positions that are no padding.
        """
        if self._routed is None:
            return self.router.weight.new_zeros(())
        logits, chosen = self._routed
        n_experts, real = len(self.experts), real.flatten()
        mean = logits[real].softmax(-1).mean(0)  # (E)
        share = chosen[real].flatten().bincount(minlength=n_experts) / (real.sum() * self.top_k)
        return self.balance * n_experts * (share * mean).sum()

    def forget(self) -> None:
        """Let go of the last pass."""
        self._routed = None


def _by(expert: nn.Module, rows: Tensor) -> Tensor:
    """Rows by one expert, filled up with zeros to the fewest that keep their bits."""
    n_missing = MIN_ROWS - len(rows)
    if expert.training or not 0 < n_missing < MIN_ROWS:
        return expert(rows)  # type: ignore[no-any-return]
    return expert(F.pad(rows, (0, 0, 0, n_missing)))[: len(rows)]  # type: ignore[no-any-return]
