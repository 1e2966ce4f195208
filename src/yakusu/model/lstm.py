"""LSTM layers, their states while decoding, and global attention: what LSTM decoders share.

Equations are those of Luong, Pham & Manning 2015 (arXiv:1508.04025):

    a_t(s) = softmax over s of score(h_t, h_s)                      Eq. 7
    c_t = sum over s of a_t(s) h_s                                  the context vector, section 3.1

B batch, S source, T target, K beam, D width (d_model).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from yakusu.model.attention import Attends, masked_softmax
from yakusu.model.base import DecoderState
from yakusu.model.config import RecurrentConfig
from yakusu.model.dropout import Dropout
from yakusu.model.layers import sigmoid
from yakusu.model.linear import PackedLinear

FIRST_RESIDUAL = 2  # the third layer

LayerState = tuple[Tensor, Tensor]  # h and c of a layer


@dataclass
class RecurrentState(DecoderState):
    """The LSTM states of K hypotheses per sentence, and the memory that they attend to."""

    layers: list[LayerState]  # (B, K, D) each
    attentional: Tensor  # h~ of the last position: (B, K, D)
    memory: tuple[Tensor, ...]  # keys and values, (B, S, D) each; empty without attention
    mask: Tensor  # (B, 1, 1, S)

    def reorder(self, beams: Tensor) -> None:
        """Let hypothesis k of sentence b continue hypothesis beams[b, k]."""
        index = beams[:, :, None].expand_as(self.attentional)  # (B, K, D)
        self.layers = [(h.gather(1, index), c.gather(1, index)) for h, c in self.layers]
        self.attentional = self.attentional.gather(1, index)

    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences."""
        self.layers = [(h[sentences], c[sentences]) for h, c in self.layers]
        self.attentional = self.attentional[sentences]
        self.memory = tuple(tensor[sentences] for tensor in self.memory)
        self.mask = self.mask[sentences]


def run_layers(
    layers: Iterable["Cell"],
    x: Tensor,
    state: RecurrentState,
    *,
    residual: bool,
    dropout: Dropout,
    context: Tensor | None = None,
) -> Tensor:
    """The output (B, K, D) of a stack at one position; updates the states of its layers.

    Args:
        layers: From the lowest to the highest.
        x: The input of the lowest layer (B, K, ...).
        state: The state after the previous position.
        residual: Whether layers from the third on add their input.
        dropout: Of the input of each layer.
        context: (B, K, D), a further input of every layer; None: no further input.
    """
    for i, (cell, (h, c)) in enumerate(zip(layers, state.layers, strict=True)):
        fed = x if context is None else torch.cat([x, context], dim=-1)
        rows = (dropout(fed).flatten(0, 1), (h.flatten(0, 1), c.flatten(0, 1)))  # (B K, ...)
        h, c = (new.view_as(h) for new in cell(*rows))  # (B, K, D)
        state.layers[i] = h, c
        x = x + h if residual and i >= FIRST_RESIDUAL else h
    return x


class GlobalAttention(Attends):
    """Section 3.1: the context vector of a decoder state."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.score = _SCORES[config.attention](config.d_model)

    def keys_and_values(self, states: Tensor) -> tuple[Tensor, ...]:
        """Keys and values, (B, S, D) each, computed once per sentence."""
        return self.score.keys(states), states

    def forward(self, query: Tensor, memory: tuple[Tensor, ...], mask: Tensor | None) -> Tensor:
        """(B, T, D) for decoder states `query` (B, T, D); `memory` holds keys and values."""
        return self.weights(query, memory, mask).squeeze(1) @ memory[1]  # (B, T, D)

    def weights(self, query: Tensor, memory: tuple[Tensor, ...], mask: Tensor | None) -> Tensor:
        """a_t(s), Eq. 7, as the weights of one head: (B, 1, T, S)."""
        return masked_softmax(self.score(query, memory[0])[:, None], mask)  # (B, 1, T, S)


class LuongDot(nn.Module):
    """Eq. 8, dot: h_t . h_s."""

    def __init__(self, d_model: int) -> None:
        super().__init__()

    def keys(self, states: Tensor) -> Tensor:
        """The part of the score that does not depend on the query: (B, S, D) -> (B, S, D)."""
        return states

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """(B, T, D) and (B, S, D) -> (B, T, S)."""
        return query @ keys.mT


class LuongGeneral(LuongDot):
    """Eq. 8, general: h_t . W_a h_s."""

    def __init__(self, d_model: int) -> None:
        super().__init__(d_model)
        self.w_a = Projection(d_model, d_model)

    def keys(self, states: Tensor) -> Tensor:
        """W_a h_s: (B, S, D)."""
        return self.w_a(states)  # type: ignore[no-any-return]


class LuongConcat(LuongDot):
    """Bahdanau et al. 2014: v . tanh(W_q h_t + W_k h_s), Eq. 8's concat with W_a = [W_q; W_k]."""

    def __init__(self, d_model: int) -> None:
        super().__init__(d_model)
        self.w_q, self.w_k = Projection(d_model, d_model), Projection(d_model, d_model)
        self.v = Projection(d_model, 1)

    def keys(self, states: Tensor) -> Tensor:
        """W_k h_s: (B, S, D)."""
        return self.w_k(states)  # type: ignore[no-any-return]

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """(B, T, D) and (B, S, D) -> (B, T, S)."""
        total = self.w_q(query)[:, :, None] + keys[:, None]  # (B, T, S, D)
        return self.v(total.tanh())[..., 0]  # type: ignore[no-any-return]  # (B, T, S)


_SCORES = {"dot": LuongDot, "general": LuongGeneral, "additive": LuongConcat}


class Cell(nn.LSTMCell):
    """An LSTM layer, initialised to preserve norms, with a forget-gate bias of 1.

        i, f, g, o = W x + U h + b
        c' = sigmoid(f) c + sigmoid(i) tanh(g)
        h' = sigmoid(o) tanh(c')

    On a CPU, inference computes this formula with packed weights. In all other cases, torch's fused
    kernel is used.
    """

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__(n_in, n_out)
        for of_input, of_state in zip(
            self.weight_ih.chunk(4), self.weight_hh.chunk(4), strict=True
        ):
            nn.init.xavier_uniform_(of_input)
            nn.init.orthogonal_(of_state)
        for bias in (self.bias_ih, self.bias_hh):
            nn.init.zeros_(bias)
        nn.init.ones_(self.bias_ih[n_out : 2 * n_out])  # the order of the gates is i, f, g, o
        self._of_input, self._of_state = PackedLinear(), PackedLinear()

    def forward(self, x: Tensor, state: LayerState) -> LayerState:  # type: ignore[override]
        """The next h and c (B, n_out), for inputs (B, n_in)."""
        if x.device.type != "cpu" or not torch.is_inference_mode_enabled():
            return super().forward(x, state)
        h, c = state
        gates = self._of_input(x, self.weight_ih, self.bias_ih)
        gates = gates + self._of_state(h, self.weight_hh, self.bias_hh)  # (B, 4 n_out)
        i, f, g, o = gates.chunk(4, dim=-1)
        c = sigmoid(f) * c + sigmoid(i) * g.tanh()
        return sigmoid(o) * c.tanh(), c


class Projection(nn.Linear):
    """A linear map without a bias, as in the paper."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__(n_in, n_out, bias=False)
        nn.init.xavier_uniform_(self.weight)
        self._product = PackedLinear()

    def forward(self, x: Tensor) -> Tensor:
        """(..., n_in) -> (..., n_out)."""
        return self._product(x, self.weight)
