"""The decoder of GNMT (Wu et al. 2016, arXiv:1609.08144), section 3.

At target position t, where y is the previous token, h^1 the output of the lowest layer and s runs
over the source positions:

    a_t(s) = softmax over s of score(h^1_(t-1), h_s)                Eq. 4
    c_t = sum over s of a_t(s) h_s                                  Eq. 4
    h^1_t = LSTM_1([E y; c_t], h^1_(t-1))
    h^i_t = LSTM_i([x^i_t; c_t], h^i_(t-1)),    x^i_t = h^(i-1)_t, or x^(i-1)_t + h^(i-1)_t, Eq. 6

The context vector is an input of every layer. Layers from the third on have residual connections
if `residual` is set (section 3.1). The output projection reads the output of the highest layer.
`attention = "additive"` is the paper's score, a network with one hidden layer. Differences from the
paper: docs/decisions/0045.

B batch, S source, K beam, D width (d_model).
"""

from torch import Tensor, nn

from yakusu.model.config import RecurrentConfig
from yakusu.model.dropout import Dropout
from yakusu.model.layers import Layers
from yakusu.model.lstm import Cell, GlobalAttention, RecurrentState, run_layers


class GnmtDecoder(nn.Module):
    """N layers that all read the context of the lowest layer's previous output."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        width = config.d_model
        self.attention = GlobalAttention(config)
        self.layers = Layers(Cell(2 * width, width) for _ in range(config.n_layers))
        self.residual = config.residual
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, state: RecurrentState) -> Tensor:
        """The output (B, K, D) of the highest layer at one position; updates the state.

        Args:
            x: Vectors (B, K, D) of the previous tokens.
            state: The state after the previous position.
        """
        lowest, _ = state.layers[0]  # (B, K, D); at the first position, of the encoder
        context = self.attention(lowest, state.memory, state.mask)  # (B, K, D)
        return run_layers(
            self.layers,
            x,
            state,
            residual=self.residual,
            dropout=self.dropout,
            context=context,
        )
