"""Mixture of experts (Shazeer et al. 2017) in place of a feed-forward network.

N positions of a batch, E experts, k of them chosen for each position, d width of the states.

    y = sum over the chosen e of softmax(the k largest of x W)_e FeedForward_e(x)

The experts of a position do not depend on the rest of the batch: there is no noise, and the load
of an expert is not limited (docs/decisions/0022).
"""

import torch
from torch import Tensor, nn

from yakusu.model.base import Routes
from yakusu.model.config import TransformerConfig
from yakusu.model.layers import FeedForward, Layers
from yakusu.model.linear import PackedLinear


class Experts(Routes):
    """Sparsely gated feed-forward networks, section 2 of Shazeer et al. 2017.

    Args:
        config: The sizes d_model and d_ff, `activation`, `activation_dropout`, n_experts, top_k,
            and `balance`, the weight of the auxiliary loss.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.top_k, self.balance = config.top_k, config.balance
        self.router = nn.Linear(config.d_model, config.n_experts, bias=False)
        nn.init.xavier_uniform_(self.router.weight)
        self.experts = Layers(
            FeedForward(
                config.d_model,
                config.d_ff,
                activation=config.activation,
                dropout=config.activation_dropout,
            )
            for _ in range(config.n_experts)
        )
        self._product = PackedLinear()
        self._routed: tuple[Tensor, Tensor] | None = None

    def forward(self, x: Tensor) -> Tensor:
        """(..., d) -> (..., d)."""
        rows = x.flatten(0, -2)  # (N, d)
        with torch.autocast(rows.device.type, enabled=False):  # the same choice as in inference
            rows_in = rows.to(self.router.weight.dtype)
            logits = self._product(rows_in, self.router.weight)  # (N, E)
        best, chosen = logits.topk(self.top_k)  # (N, k)
        self._routed = (logits, chosen) if self.training else None
        y = self._apply_experts(rows, chosen)  # (N, k, d)
        mixed: Tensor = (best.softmax(-1)[..., None] * y).sum(1)  # (N, d)
        return mixed.to(x.dtype).view_as(x)

    def _apply_experts(self, rows: Tensor, chosen: Tensor) -> Tensor:
        """Apply to each row of `rows` (N, d) its chosen experts (N, k): (N, k, d).

        Rows are sorted by expert and their results sorted back, so that no sum depends on their
        order. An expert that no row chose is applied to an empty batch and gets a gradient of
        zeros, which distributed training needs to sum the gradients of all processes.
        """
        copies = rows[:, None].expand(-1, self.top_k, -1).flatten(0, 1)  # (N k, d)
        order = chosen.flatten().argsort(stable=True)  # (N k)
        counts = chosen.flatten().bincount(minlength=len(self.experts)).tolist()
        parts = copies.index_select(0, order).split(counts)
        y = torch.cat([expert(part) for expert, part in zip(self.experts, parts, strict=True)])
        y = y.index_select(0, order.argsort())  # (N k, d)
        return y.view(len(rows), self.top_k, -1)  # (N, k, d)

    def balance_loss(self, real: Tensor) -> Tensor:
        """`balance` times E sum_e f_e p_e for the last training pass; 0 in evaluation mode.

        f_e is the share of all choices that fall on expert e, and p_e its mean probability among
        all experts. E sum_e f_e p_e is 1 when experts are chosen evenly (Fedus et al. 2021, Eq. 4,
        whose f counts only the first choices).

        Args:
            real: (B, n), True at tokens, False at padding.
        """
        if self._routed is None:
            return self.router.weight.new_zeros(())
        logits, chosen = self._routed
        n_experts, real = len(self.experts), real.flatten()
        mean = logits[real].softmax(-1).mean(0)  # (E)
        share = chosen[real].flatten().bincount(minlength=n_experts) / (real.sum() * self.top_k)
        return self.balance * n_experts * (share * mean).sum()

    def forget(self) -> None:
        """Release the tensors of the last forward pass."""
        self._routed = None
