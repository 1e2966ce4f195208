"""LSTM encoder-decoder with attention (Luong, Pham & Manning 2015, arXiv:1508.04025), or without.

At target position t, where y is the previous token and s runs over the source positions:

    h_t = LSTM([E y; h~_t-1], h_t-1)                                section 3.3, input feeding
    a_t(s) = softmax over s of score(h_t, h_s)                      Eq. 7
    h~_t = tanh(W_c [sum over s of a_t(s) h_s; h_t])                Eq. 5

h~_t is the input of the output projection. Without attention, h~_t is h_t, nothing is fed back, and
the decoder receives only the encoder's last states, as its initial states (Sutskever et al. 2014,
but without reversing the source). E is a table that the output projection may share, so its
vectors are multiplied by sqrt(D), as in section 3.4 of "Attention Is All You Need".

B batch, S source, T target, K beam, N layers, D width (d_model).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from yakusu.model.attention import Attends, masked_softmax
from yakusu.model.base import DecoderState, Memory, Seq2Seq, models
from yakusu.model.config import RecurrentConfig, Role
from yakusu.model.layers import Layers, sigmoid
from yakusu.model.linear import PackedLinear
from yakusu.model.table import Table

_FIRST_RESIDUAL = 2  # the third layer

LayerState = tuple[Tensor, Tensor]  # h and c of a layer


@dataclass(frozen=True)
class RecurrentMemory(Memory):
    """The encoder's top states (B, S, D), their mask (B, 1, 1, S), and each layer's last states."""

    states: Tensor
    mask: Tensor
    last: list[LayerState]  # (B, D) each


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
        self.encoder, self.decoder = Encoder(config), Decoder(config)
        self.dropout = nn.Dropout(config.dropout)

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


class Encoder(nn.Module):
    """N layers: a bidirectional one of width D / 2 per direction, then forward layers."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        width = config.d_model
        self.forwards = Cell(width, width // 2)
        self.backwards = Cell(width, width // 2)
        self.above = Layers(Cell(width, width) for _ in range(config.n_layers - 1))
        self.residual = config.residual
        self.dropout = nn.Dropout(config.dropout)

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
            y, ended = _read(cell, self.dropout(x), real, backwards=False)
            x = x + y if self.residual and i >= _FIRST_RESIDUAL else y
            last.append(ended)
        return x, last


class Decoder(nn.Module):
    """N layers with attention above them, whose output is fed back to the first (input feeding)."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        width = config.d_model
        self.attention = None if config.attention == "none" else LuongAttention(config)
        n_first = width if self.attention is None else 2 * width
        self.layers = Layers(Cell(width if i else n_first, width) for i in range(config.n_layers))
        self.residual = config.residual
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, state: RecurrentState) -> Tensor:
        """h~ (B, K, D) of one position; updates the state.

        Args:
            x: Vectors (B, K, D) of the previous tokens.
            state: The state after the previous position.
        """
        if self.attention is not None:
            x = torch.cat([x, state.attentional], dim=-1)  # (B, K, 2 D)
        for i, (cell, (h, c)) in enumerate(zip(self.layers, state.layers, strict=True)):
            rows = (self.dropout(x).flatten(0, 1), (h.flatten(0, 1), c.flatten(0, 1)))  # (B K, ...)
            h, c = (new.view_as(h) for new in cell(*rows))  # (B, K, D)
            state.layers[i] = h, c
            x = x + h if self.residual and i >= _FIRST_RESIDUAL else h
        if self.attention is not None:
            x = self.attention(x, state.memory, state.mask)
        state.attentional = x
        return x


class LuongAttention(Attends):
    """Global attention, section 3.1: the context vector of h_t, combined with h_t by Eq. 5."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.score = _SCORES[config.attention](config.d_model)
        self.w_c = Projection(2 * config.d_model, config.d_model)

    def keys_and_values(self, states: Tensor) -> tuple[Tensor, ...]:
        """Keys and values, (B, S, D) each, computed once per sentence."""
        return self.score.keys(states), states

    def forward(self, query: Tensor, memory: tuple[Tensor, ...], mask: Tensor | None) -> Tensor:
        """h~ (B, T, D) for decoder states `query` (B, T, D); `memory` holds keys and values."""
        context = self.weights(query, memory, mask).squeeze(1) @ memory[1]  # (B, T, D)
        return self.w_c(torch.cat([context, query], dim=-1)).tanh()  # type: ignore[no-any-return]

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
