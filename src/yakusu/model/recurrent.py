"""LSTM encoder-decoder with attention (Luong, Pham & Manning 2015, arXiv:1508.04025), or without.

At a target position t, with y the token before it and s every source position:

    h_t = LSTM([E y; h~_t-1], h_t-1)                                section 3.3, input feeding
    a_t(s) = softmax over s of score(h_t, h_s)                      Eq. 7
    h~_t = tanh(W_c [sum over s of a_t(s) h_s; h_t])                Eq. 5

h~_t goes to the output matrix. Without attention h~_t is h_t, nothing is fed, and the decoder knows
of the source only the encoder's last states, in which it begins (Sutskever et al. 2014, whose
reversal of the source is left out). E is a table that the output matrix may share, so its vectors
are multiplied by sqrt(D), as in section 3.4 of "Attention Is All You Need".

B batch, S source, T target, K beam, N layers, D width (d_model).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from yakusu.model.attention import Attends, masked_softmax
from yakusu.model.base import DecoderState, Memory, Role, Seq2Seq, models
from yakusu.model.config import RecurrentConfig
from yakusu.model.linear import MIN_ROWS
from yakusu.model.table import Table

_FIRST_RESIDUAL = 2  # the third layer

LayerState = tuple[Tensor, Tensor]  # h and c of a layer


@dataclass(frozen=True)
class RecurrentMemory(Memory):
    """The encoder's top states (B, S, D), their mask (B, 1, 1, S), and how each layer ended."""

    states: Tensor
    mask: Tensor
    last: list[LayerState]  # (B, D) each


@dataclass
class RecurrentState(DecoderState):
    """Where each of K hypotheses is, and what all K of a sentence attend to."""

    layers: list[LayerState]  # (B, K, D) each
    attentional: Tensor  # h~ of the last position: (B, K, D)
    memory: tuple[Tensor, ...]  # keys and values, (B, S, D) each; nothing without attention
    mask: Tensor  # (B, 1, 1, S)

    def reorder(self, beams: Tensor) -> None:
        """Hypotheses take over the states of those they go on from."""
        index = beams[:, :, None].expand_as(self.attentional)  # (B, K, D)
        self.layers = [(h.gather(1, index), c.gather(1, index)) for h, c in self.layers]
        self.attentional = self.attentional.gather(1, index)

    def keep(self, sentences: Tensor) -> None:
        """Forget all sentences but these."""
        self.layers = [(h[sentences], c[sentences]) for h, c in self.layers]
        self.attentional = self.attentional[sentences]
        self.memory = tuple(tensor[sentences] for tensor in self.memory)
        self.mask = self.mask[sentences]


@models.register("recurrent")
class Recurrent(Seq2Seq):
    """The model of Luong et al.'s Figures 2 and 4, with a bidirectional first layer.

    Args:
        config: Its sizes.
        src_vocab_size: V of the source side, pad included.
        tgt_vocab_size: V of the target side, pad included.
    """

    Config = RecurrentConfig
    compiles = False  # its loops are as long as each batch, and would be compiled for each length

    def __init__(
        self, config: RecurrentConfig, *, src_vocab_size: int, tgt_vocab_size: int
    ) -> None:
        super().__init__(config, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
        self.encoder, self.decoder = Encoder(config), Decoder(config)
        self.dropout = nn.Dropout(config.dropout)

    def encode(self, src: Tensor) -> RecurrentMemory:
        """Read the source in both directions, then upwards.

        In evaluation a few sentences are read as `MIN_ROWS` rows, so that their states do not
        depend on how many they are: docs/decisions/0015.
        """
        n = len(src)
        if not self.training and n < MIN_ROWS:
            src = torch.cat([src, src[:1].expand(MIN_ROWS - n, -1)])  # (MIN_ROWS, S)
        real = src != self.src_pad  # (B, S)
        states, last = self.encoder(self._vectors(self.src_table, src), real)
        mask = real[:n, None, None]  # (B, 1, 1, S)
        return RecurrentMemory(states[:n], mask, [(h[:n], c[:n]) for h, c in last])

    def hidden(self, tgt_in: Tensor, memory: Memory) -> Tensor:
        """h~ of all positions, one after the other: each is fed to the next."""
        state = self.start(memory, 1)
        embedded = self._vectors(self.tgt_table, tgt_in).split(1, dim=1)  # T times (B, 1, D)
        return self.dropout(torch.cat([self.decoder(x, state) for x in embedded], dim=1))  # type: ignore[no-any-return]  # (B, T, D)

    def start(self, memory: Memory, n_beams: int) -> RecurrentState:
        """Begin in the encoder's last states; keys are made once a sentence."""
        assert isinstance(memory, RecurrentMemory)
        layers = [(_beams(h, n_beams), _beams(c, n_beams)) for h, c in memory.last]
        attention = self.decoder.attention
        return RecurrentState(
            layers=layers,
            attentional=torch.zeros_like(layers[0][0]),
            memory=() if attention is None else attention.keys_and_values(memory.states),
            mask=memory.mask,
        )

    def step(self, prev_ids: Tensor, state: DecoderState) -> tuple[Tensor, RecurrentState]:
        """One position for K hypotheses a sentence."""
        assert isinstance(state, RecurrentState)
        x = self._vectors(self.tgt_table, prev_ids)  # (B, K, D)
        return self.logits(self.dropout(self.decoder(x, state))), state

    def attention_layers(self) -> Mapping[Role, Sequence[Attends]]:
        """The decoder's one layer of attention to the source, if it has one."""
        return {} if self.decoder.attention is None else {"cross": [self.decoder.attention]}

    def _vectors(self, table: Table, ids: Tensor) -> Tensor:
        return table(ids) * math.sqrt(self.config.d_model)  # type: ignore[no-any-return]


class Encoder(nn.Module):
    """N layers: the first reads in both directions, each D / 2 wide, those above it forwards."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        width = config.d_model
        self.forwards = _cell(width, width // 2)
        self.backwards = _cell(width, width // 2)
        self.above = nn.ModuleList(_cell(width, width) for _ in range(config.n_layers - 1))
        self.residual = config.residual
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, real: Tensor) -> tuple[Tensor, list[LayerState]]:
        """The top states (B, S, D) and how each layer ended, (B, D) each.

        Args:
            x: Source vectors (B, S, D).
            real: Where they are not padding (B, S); there layers stay in the state they are in.
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
    """N layers, and attention above them whose outcome is fed to the first."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        width = config.d_model
        self.attention = None if config.attention == "none" else LuongAttention(config)
        n_first = width if self.attention is None else 2 * width
        self.layers = nn.ModuleList(
            _cell(width if i else n_first, width) for i in range(config.n_layers)
        )
        self.residual = config.residual
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, state: RecurrentState) -> Tensor:
        """h~ (B, K, D) of one position, whose state takes the place of the last one's.

        Args:
            x: Vectors (B, K, D) of the tokens before it.
            state: After the position before it.
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
    """Global attention, section 3.1: the context of h_t, joined to it by Eq. 5."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.score = _SCORES[config.attention](config.d_model)
        self.w_c = _linear(2 * config.d_model, config.d_model)

    def keys_and_values(self, states: Tensor) -> tuple[Tensor, ...]:
        """What queries meet and what they bring home, (B, S, D) each, once a sentence."""
        return self.score.keys(states), states

    def forward(self, query: Tensor, memory: tuple[Tensor, ...], mask: Tensor | None) -> Tensor:
        """h~ (B, T, D) of `query` (B, T, D), the decoder's h; `memory` is keys and values."""
        context = self.weights(query, memory, mask).squeeze(1) @ memory[1]  # (B, T, D)
        return self.w_c(torch.cat([context, query], dim=-1)).tanh()  # type: ignore[no-any-return]

    def weights(self, query: Tensor, memory: tuple[Tensor, ...], mask: Tensor | None) -> Tensor:
        """a_t(s), Eq. 7: (B, 1, T, S), for it is one head."""
        return masked_softmax(self.score(query, memory[0])[:, None], mask)  # (B, 1, T, S)


class LuongDot(nn.Module):
    """Eq. 8, dot: h_t . h_s."""

    def __init__(self, d_model: int) -> None:
        super().__init__()

    def keys(self, states: Tensor) -> Tensor:
        """What of the source states (B, S, D) does not depend on the query: (B, S, D)."""
        return states

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """(B, T, D) and (B, S, D) -> (B, T, S)."""
        return query @ keys.mT


class LuongGeneral(LuongDot):
    """Eq. 8, general: h_t . W_a h_s."""

    def __init__(self, d_model: int) -> None:
        super().__init__(d_model)
        self.w_a = _linear(d_model, d_model)

    def keys(self, states: Tensor) -> Tensor:
        """W_a h_s: (B, S, D)."""
        return self.w_a(states)  # type: ignore[no-any-return]


class LuongConcat(LuongDot):
    """Bahdanau et al. 2014: v . tanh(W_q h_t + W_k h_s), Eq. 8's concat with W_a in halves."""

    def __init__(self, d_model: int) -> None:
        super().__init__(d_model)
        self.w_q, self.w_k = _linear(d_model, d_model), _linear(d_model, d_model)
        self.v = _linear(d_model, 1)

    def keys(self, states: Tensor) -> Tensor:
        """W_k h_s: (B, S, D)."""
        return self.w_k(states)  # type: ignore[no-any-return]

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """(B, T, D) and (B, S, D) -> (B, T, S)."""
        met = self.w_q(query)[:, :, None] + keys[:, None]  # (B, T, S, D)
        return self.v(met.tanh())[..., 0]  # type: ignore[no-any-return]  # (B, T, S)


_SCORES = {"dot": LuongDot, "general": LuongGeneral, "additive": LuongConcat}


def _read(
    cell: nn.Module, x: Tensor, real: Tensor, *, backwards: bool
) -> tuple[Tensor, LayerState]:
    """A layer's states (B, S, width) and its last h and c, (B, width) each."""
    assert isinstance(cell, nn.LSTMCell)
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


def _cell(n_in: int, n_out: int) -> nn.LSTMCell:
    """An LSTM layer that at first keeps norms and forgets little: its forget gate has bias 1."""
    cell = nn.LSTMCell(n_in, n_out)
    for of_input, of_state in zip(cell.weight_ih.chunk(4), cell.weight_hh.chunk(4), strict=True):
        nn.init.xavier_uniform_(of_input)
        nn.init.orthogonal_(of_state)
    for bias in (cell.bias_ih, cell.bias_hh):
        nn.init.zeros_(bias)
    nn.init.ones_(cell.bias_ih[n_out : 2 * n_out])  # gates stand in the order i, f, g, o
    return cell


def _linear(n_in: int, n_out: int) -> nn.Linear:
    """A matrix without a bias, as in the paper."""
    linear = nn.Linear(n_in, n_out, bias=False)
    nn.init.xavier_uniform_(linear.weight)
    return linear
