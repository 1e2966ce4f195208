"""LSTM encoder-decoder with attention (Luong, Pham & Manning 2015, arXiv:1508.04025), or without.

At target position t, where y is the previous token and s runs over the source positions:

    h_t = LSTM([E y; h~_t-1], h_t-1)                                section 3.3, input feeding
    a_t(s) = softmax over s of score(h_t, h_s)                      Eq. 7
    h~_t = tanh(W_c [sum over s of a_t(s) h_s; h_t])                Eq. 5

h~_t is the input of the output projection. Without attention, h~_t is h_t, nothing is fed back, and
the decoder receives only the encoder's last states, as its initial states (Sutskever et al. 2014).
With `reversed_source`, the last states of the upper encoder layers are those after the first source
word, as in that paper. E is a table that the output projection may share, so its vectors are
multiplied by sqrt(D), as in section 3.4 of "Attention Is All You Need".

`decoder = "gnmt"` selects GNMT's decoder instead, gnmt.py.

B batch, S source, T target, K beam, N layers, D width (d_model).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from yakusu.model.attention import Attends
from yakusu.model.base import Memory, Seq2Seq, models
from yakusu.model.config import RecurrentConfig, Role
from yakusu.model.dropout import Dropout
from yakusu.model.gnmt import GnmtDecoder
from yakusu.model.layers import Layers
from yakusu.model.lstm import (
    FIRST_RESIDUAL,
    Cell,
    GlobalAttention,
    LayerState,
    Projection,
    RecurrentState,
    run_layers,
)
from yakusu.model.table import Table


@dataclass(frozen=True)
class RecurrentMemory(Memory):
    """The encoder's top states (B, S, D), their mask (B, 1, 1, S), and each layer's last states."""

    states: Tensor
    mask: Tensor
    last: list[LayerState]  # (B, D) each


@models.register("recurrent")
class Recurrent(Seq2Seq[RecurrentMemory, RecurrentState]):
    """The model of Luong et al.'s Figures 2 and 4, with a bidirectional first layer.

    Args:
        config: Sizes of the model.
        src_vocab_size: Size V of the source vocabulary, including padding.
        tgt_vocab_size: Size V of the target vocabulary, including padding.
    """

    Config = RecurrentConfig
    compiles = False  # its loops depend on the length, so each length would be compiled separately

    def __init__(
        self, config: RecurrentConfig, *, src_vocab_size: int, tgt_vocab_size: int
    ) -> None:
        super().__init__(config, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
        self.encoder = RecurrentEncoder(config)
        self.decoder = GnmtDecoder(config) if config.decoder == "gnmt" else RecurrentDecoder(config)
        self.dropout = Dropout(config.dropout)

    def encode(self, src: Tensor) -> RecurrentMemory:
        """Run the encoder: a bidirectional first layer, then the layers above it."""
        real = src != self.src_pad  # (B, S)
        states, last = self.encoder(self._vectors(self.src_table, src), real)
        return RecurrentMemory(states, real[:, None, None], last)

    def hidden(self, tgt_in: Tensor, memory: RecurrentMemory) -> Tensor:
        """h~ (B, T, D), computed one position after the other: each is an input to the next."""
        state = self.start(memory, 1)
        embedded = self._vectors(self.tgt_table, tgt_in).split(1, dim=1)  # T times (B, 1, D)
        return self.dropout(torch.cat([self.decoder(x, state) for x in embedded], dim=1))  # type: ignore[no-any-return]  # (B, T, D)

    def start(self, memory: RecurrentMemory, n_beams: int) -> RecurrentState:
        """Start from the encoder's last states; keys are computed once per sentence."""
        layers = [(_beams(h, n_beams), _beams(c, n_beams)) for h, c in memory.last]
        attention = self.decoder.attention
        return RecurrentState(
            layers=layers,
            attentional=torch.zeros_like(layers[0][0]),
            memory=() if attention is None else attention.keys_and_values(memory.states),
            mask=memory.mask,
        )

    def step(self, prev_ids: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """One position for K hypotheses per sentence."""
        x = self._vectors(self.tgt_table, prev_ids)  # (B, K, D)
        return self.logits(self.dropout(self.decoder(x, state))), state

    def attention_layers(self) -> Mapping[Role, Sequence[Attends]]:
        """The decoder's attention layer, if it has one."""
        return {} if self.decoder.attention is None else {"cross": [self.decoder.attention]}

    def _vectors(self, table: Table, ids: Tensor) -> Tensor:
        return table(ids) * math.sqrt(self.config.d_model)  # type: ignore[no-any-return]


class RecurrentEncoder(nn.Module):
    """N layers: a bidirectional one of width D / 2 per direction, then unidirectional layers."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        width = config.d_model
        self.forwards = Cell(width, width // 2)
        self.backwards = Cell(width, width // 2)
        self.above = Layers(Cell(width, width) for _ in range(config.n_layers - 1))
        self.residual = config.residual
        self.reversed_source = config.reversed_source
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, real: Tensor) -> tuple[Tensor, list[LayerState]]:
        """The top states (B, S, D) and the last states of each layer, (B, D) each.

        Args:
            x: Source vectors (B, S, D).
            real: (B, S), False at padding, where layers keep their states.
        """
        x = self.dropout(x)
        right, (h_right, c_right) = _read(self.forwards, x, real, backwards=False)
        left, (h_left, c_left) = _read(self.backwards, x, real, backwards=True)
        x = torch.cat([right, left], dim=-1)  # (B, S, D)
        last = [(torch.cat([h_right, h_left], dim=-1), torch.cat([c_right, c_left], dim=-1))]
        for i, cell in enumerate(self.above, start=1):
            y, ended = _read(cell, self.dropout(x), real, backwards=self.reversed_source)
            x = x + y if self.residual and i >= FIRST_RESIDUAL else y
            last.append(ended)
        return x, last


class RecurrentDecoder(nn.Module):
    """N layers with attention above them, whose output is fed back to the first: input feeding."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        width = config.d_model
        self.attention = None if config.attention == "none" else LuongAttention(config)
        n_first = width if self.attention is None else 2 * width
        self.layers = Layers(Cell(width if i else n_first, width) for i in range(config.n_layers))
        self.residual = config.residual
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, state: RecurrentState) -> Tensor:
        """h~ (B, K, D) of one position; updates the state.

        Args:
            x: Vectors (B, K, D) of the previous tokens.
            state: The state after the previous position.
        """
        if self.attention is not None:
            x = torch.cat([x, state.attentional], dim=-1)  # (B, K, 2 D)
        x = run_layers(self.layers, x, state, residual=self.residual, dropout=self.dropout)
        if self.attention is not None:
            x = self.attention(x, state.memory, state.mask)
        state.attentional = x
        return x


class LuongAttention(GlobalAttention):
    """The context vector of h_t, combined with h_t by Eq. 5."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__(config)
        self.w_c = Projection(2 * config.d_model, config.d_model)

    def forward(self, query: Tensor, memory: tuple[Tensor, ...], mask: Tensor | None) -> Tensor:
        """h~ (B, T, D) for decoder states `query` (B, T, D); `memory` holds keys and values."""
        context = super().forward(query, memory, mask)  # (B, T, D)
        return self.w_c(torch.cat([context, query], dim=-1)).tanh()  # type: ignore[no-any-return]


def _read(cell: "Cell", x: Tensor, real: Tensor, *, backwards: bool) -> tuple[Tensor, LayerState]:
    """A layer's states (B, S, width) and its last h and c, (B, width) each."""
    h = c = x.new_zeros(len(x), cell.hidden_size)
    inputs, masks = x.unbind(1), real[:, :, None].unbind(1)  # S times (B, D), S times (B, 1)
    states, order = [h] * len(inputs), range(len(inputs))
    for s in reversed(order) if backwards else order:
        next_h, next_c = cell(inputs[s], (h, c))
        h, c = torch.where(masks[s], next_h, h), torch.where(masks[s], next_c, c)
        states[s] = h
    return torch.stack(states, dim=1), (h, c)  # (B, S, width)


def _beams(states: Tensor, n_beams: int) -> Tensor:
    """(B, D) -> (B, K, D)."""
    return states[:, None].expand(-1, n_beams, -1)
