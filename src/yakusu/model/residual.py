"""Sections 3.1 and 5.4: what stands around each sublayer."""

from collections.abc import Callable

from torch import Tensor, nn

Sublayer = Callable[[Tensor], Tensor]


class PostNormResidual(nn.Module):
    """Sections 3.1 and 5.4: LayerNorm(x + Dropout(Sublayer(x)))."""

    def __init__(self, d_model: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """(..., d_model) -> (..., d_model)."""
        return self.norm(x + self.dropout(sublayer(x)))  # type: ignore[no-any-return]


class PreNormResidual(PostNormResidual):
    """x + Dropout(Sublayer(LayerNorm(x))): not the paper's, docs/decisions/0001."""

    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        """(..., d_model) -> (..., d_model)."""
        return x + self.dropout(sublayer(self.norm(x)))  # type: ignore[no-any-return]
