"""ByteNet (Kalchbrenner et al. 2016, "Neural Machine Translation in Linear Time", 1610.10099).

Sections and figures are those of that paper.

Figure 3, left: a residual block of width 2d, whose dilated convolution has width d:

    a = ReLU(LayerNorm(W_1 ReLU(LayerNorm(x)) + b_1))                          2d -> d
    x' = x + W_3 ReLU(LayerNorm(W_2 [taps of a] + b_2)) + b_3                  k d -> d -> 2d

In sets of five blocks, the dilations are 1, 2, 4, 8 and 16 (section 3.5). The taps of the encoder
are centred on a position; those of the decoder are masked (section 3.4): they look back.

Sections 3.1 and 3.2: the decoder is stacked on the encoder and unfolds dynamically. The encoder
computes s_1 to s_L, where L = a |X| is an upper bound on |Y|; inputs after X are zero. The decoder
reads s_t with the previous token at position t, and goes on without a source after L, until eos:

    x_t = E y_(t-1) + s_t,    s_t = 0 for t > L

There is no attention. After the last block, a convolution of width 1 and a ReLU precede the output
projection. Differences from the paper: docs/decisions/0045.

B batch, S source, L representation of the source, T target, K beam, D width (d_model = 2d), k taps
of a kernel.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yakusu.model.base import DecoderState, Memory, Seq2Seq, models
from yakusu.model.cache import Ancestry
from yakusu.model.config import ByteNetConfig
from yakusu.model.dropout import Dropout
from yakusu.model.layers import Layers
from yakusu.model.linear import ScaledProjection
from yakusu.model.table import Table
from yakusu.model.taps import TapCache, taps_of


@dataclass(frozen=True)
class ByteNetMemory(Memory):
    """The representation s of each source: (B, L, D), zero after its own length."""

    states: Tensor


@dataclass
class ByteNetState(DecoderState):
    """The earlier inputs that the kernels need; reordering copies nothing (docs/decisions/0010)."""

    states: Tensor  # (B, L, D)
    inputs: list[TapCache]  # of each block
    ancestry: Ancestry

    def reorder(self, beams: Tensor) -> None:
        """Let hypothesis k of sentence b continue hypothesis beams[b, k]."""
        self.ancestry.reorder(beams)

    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences."""
        self.states = self.states[sentences]
        self.ancestry.keep(sentences)
        for inputs in self.inputs:
            inputs.keep(sentences)


@models.register("bytenet")
class ByteNet(Seq2Seq[ByteNetMemory, ByteNetState]):
    """The model of Figure 1 of Kalchbrenner et al.

    Args:
        config: Sizes of the model.
        src_vocab_size: Size V of the source vocabulary, including padding.
        tgt_vocab_size: Size V of the target vocabulary, including padding.
    """

    Config = ByteNetConfig

    def __init__(self, config: ByteNetConfig, *, src_vocab_size: int, tgt_vocab_size: int) -> None:
        super().__init__(config, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
        self.unfolding = config.unfolding
        self.encoder = Layers(ResidualBlock(config, i) for i in range(config.n_layers))
        self.decoder = Layers(ResidualBlock(config, i) for i in range(config.n_layers))
        self.last = ScaledProjection(config.d_model, config.d_model)
        self.dropout = Dropout(config.dropout)

    def encode(self, src: Tensor) -> ByteNetMemory:
        """Section 3.2: the representation of a source of n tokens has a n positions, rounded up."""
        length = math.ceil(self.unfolding * src.shape[1])
        n_own = (src != self.src_pad).sum(dim=1, keepdim=True)  # (B, 1)
        real = torch.arange(length, device=src.device) < (self.unfolding * n_own.double()).ceil()
        real = real[:, :, None]  # (B, L, 1)
        src = F.pad(src, (0, length - src.shape[1]), value=self.src_pad)  # (B, L)
        x = self._vectors(self.src_table, src)  # (B, L, D), zero after the source
        for block in self.encoder:
            x = block.around(x, real)
        return ByteNetMemory(x * real)

    def hidden(self, tgt_in: Tensor, memory: ByteNetMemory) -> Tensor:
        """The decoder stack; no position sees later ones."""
        x = self._vectors(self.tgt_table, tgt_in)  # (B, T, D)
        # Padded or cut to the length of the target: (B, T, D).
        x = x + F.pad(memory.states, (0, 0, 0, x.shape[1] - memory.states.shape[1]))
        for block in self.decoder:
            x = block(x)
        return self._output(x)  # (B, T, D)

    def start(self, memory: ByteNetMemory, n_beams: int) -> ByteNetState:
        """The state before the first target token."""
        ancestry = Ancestry(len(memory.states), n_beams, memory.states.device)
        return ByteNetState(
            memory.states, [block.cache(ancestry) for block in self.decoder], ancestry
        )

    def step(self, prev_ids: Tensor, state: ByteNetState) -> tuple[Tensor, ByteNetState]:
        """One position of the decoder stack for K hypotheses per sentence."""
        x = self._vectors(self.tgt_table, prev_ids)  # (B, K, D)
        t = state.ancestry.n_steps
        x = x + state.states[:, t : t + 1].sum(dim=1, keepdim=True)  # zero after L positions
        for block, inputs in zip(self.decoder, state.inputs, strict=True):
            x = block.step(x, inputs)
        state.ancestry.grow()
        return self.logits(self._output(x)), state  # (B, K, V - 1)

    def _vectors(self, table: Table, ids: Tensor) -> Tensor:
        return self.dropout(table(ids) * math.sqrt(self.config.d_model))  # type: ignore[no-any-return]

    def _output(self, x: Tensor) -> Tensor:
        """The input of the output projection: (..., D)."""
        return self.dropout(self.last(x).relu())  # type: ignore[no-any-return]


class ResidualBlock(nn.Module):
    """Figure 3, left: a block with ReLUs, of the encoder (`around`) or of the decoder.

    Args:
        config: Sizes of the model.
        layer: The number of the block in its stack, from 0; it determines the dilation.
    """

    def __init__(self, config: ByteNetConfig, layer: int) -> None:
        super().__init__()
        width, inner = config.d_model, config.d_model // 2
        self.dilation = config.dilation(layer)
        self.span = (config.kernel - 1) * self.dilation  # distance from the first tap to the last
        self.norms = Layers(nn.LayerNorm(size) for size in (width, inner, inner))
        # A ReLU halves the mean square of its input. Each block adds 1 / n_layers to that of x.
        self.w_1 = ScaledProjection(width, inner, gain=2)
        self.w_2 = ScaledProjection(config.kernel * inner, inner, gain=2)
        self.w_3 = ScaledProjection(inner, width, gain=2 / config.n_layers)
        self.dropout = Dropout(config.dropout)

    def around(self, x: Tensor, real: Tensor) -> Tensor:
        """(B, L, D) -> (B, L, D), where `real` (B, L, 1) is False at padding."""
        a, half = self.inner(x) * real, self.span // 2
        return self.outer(x, taps_of(a, dilation=self.dilation, back=half, ahead=half))

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D), with a masked convolution."""
        return self.outer(x, taps_of(self.inner(x), dilation=self.dilation, back=self.span))

    def step(self, x: Tensor, inputs: TapCache) -> Tensor:
        """(B, K, D) -> (B, K, D): K hypotheses at one position."""
        return self.outer(x, inputs.taps(self.inner(x)))

    def cache(self, ancestry: Ancestry) -> TapCache:
        """An empty cache of the inputs of the convolution."""
        return TapCache(ancestry, span=self.span, dilation=self.dilation)

    def inner(self, x: Tensor) -> Tensor:
        """The input a of the dilated convolution: (..., D) -> (..., D / 2)."""
        first, second, _ = self.norms
        return second(self.w_1(first(x).relu())).relu()  # type: ignore[no-any-return]

    def outer(self, x: Tensor, taps: list[Tensor]) -> Tensor:
        """The dilated convolution of k taps (..., D / 2), and the residual connection: (..., D)."""
        *_, third = self.norms
        u = self.w_2(torch.cat(taps, dim=-1))  # (..., k D / 2) -> (..., D / 2)
        return x + self.dropout(self.w_3(third(u).relu()))  # type: ignore[no-any-return]
