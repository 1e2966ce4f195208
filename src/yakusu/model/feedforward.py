"""Section 3.3: position-wise feed-forward networks.

N positions of all sentences, E experts.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from yakusu.model.product import Product


class FeedForward(nn.Module):
    """Position-wise feed-forward network, section 3.3, Eq. 2: max(0, x W_1 + b_1) W_2 + b_2."""

    def __init__(self, *, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        self._first, self._second = Product(), Product()

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_model) -> (..., d_model)."""
        inner = self._first(x, self.inner.weight, self.inner.bias)
        return self._second(F.relu(inner), self.outer.weight, self.outer.bias)  # type: ignore[no-any-return]
