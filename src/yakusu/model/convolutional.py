"""Convolutional sequence-to-sequence model (ConvS2S), Gehring et al. 2017 (arXiv:1705.03122).

Sections and figures are those of that paper.

Section 3.2: a block, where u is the concatenation of the k inputs of a kernel:

    GLU(W u + b) = A * sigmoid(B), where [A; B] = W u + b

Section 3.3: attention in every decoder layer, from its states h and the target embeddings g to the
encoder outputs z and the source embeddings e:

    d_i = W h_i + b + g_i,  a_ij = softmax_j(d_i . z_j),  c_i = S sqrt(1 / S) sum_j a_ij (z_j + e_j)

Section 3.4: every sum of two parts of the network is multiplied by sqrt(0.5).

B batch, S source, T target, K beam, V vocabulary, C width of the blocks (d_conv), k taps of a
kernel. Differences from the paper: docs/decisions/0023.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yakusu.model.attention import Attends, masked_softmax
from yakusu.model.base import DecoderState, Memory, Seq2Seq, models
from yakusu.model.cache import Ancestry
from yakusu.model.config import ConvolutionalConfig, Role
from yakusu.model.dropout import Dropout
from yakusu.model.layers import Embedding, Layers, LearnedPositions, sigmoid
from yakusu.model.linear import ScaledProjection
from yakusu.model.taps import TapCache, taps_of


@dataclass(frozen=True)
class ConvolutionalMemory(Memory):
    """Keys z and values z + e, concatenated (B, S, 2 d_model), and their mask (B, 1, 1, S)."""

    states: Tensor
    mask: Tensor


@models.register("convolutional")
class Convolutional(Seq2Seq[ConvolutionalMemory, "ConvolutionalState"]):
    """The model of Figure 1 of Gehring et al.

    Args:
        config: Sizes of the model.
        src_vocab_size: Size V of the source vocabulary, including padding.
        tgt_vocab_size: Size V of the target vocabulary, including padding.
    """

    Config = ConvolutionalConfig
    compiles = False  # not finished after 5 minutes on a busy machine (docs/decisions/0051)

    def __init__(
        self, config: ConvolutionalConfig, *, src_vocab_size: int, tgt_vocab_size: int
    ) -> None:
        super().__init__(config, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
        d_model, d_conv = config.d_model, config.d_conv
        self.src_embedding, self.tgt_embedding = _embedding(config), _embedding(config)
        keep = 1 - config.dropout  # dropout scales the inputs of both projections
        self.encoder_in = ScaledProjection(d_model, d_conv, gain=keep)
        self.decoder_in = ScaledProjection(d_model, d_conv, gain=keep)
        self.encoder = Layers(ConvolutionalEncoderLayer(config, i) for i in range(config.n_layers))
        self.decoder = Layers(ConvolutionalDecoderLayer(config, i) for i in range(config.n_layers))
        self.encoder_out = ScaledProjection(d_conv, d_model)
        self.decoder_out = ScaledProjection(d_conv, d_model)
        self.dropout = Dropout(config.dropout)

    def encode(self, src: Tensor) -> ConvolutionalMemory:
        """The encoder stack; padding counts as zeros, like positions outside a sentence."""
        real = src != self.src_pad  # (B, S)
        embedded = self.src_embedding(self.src_table(src))  # (B, S, d_model)
        x = self.encoder_in(embedded)  # (B, S, C)
        for layer in self.encoder:
            x = layer(x, real[:, :, None])
        # Section 3.4: each decoder layer adds two gradients here, through keys and values.
        z = scale_gradient(self.encoder_out(x), 1 / (2 * len(self.decoder)))  # (B, S, d_model)
        states = torch.cat([z, _sum(z, embedded)], dim=-1)  # (B, S, 2 d_model)
        return ConvolutionalMemory(states, real[:, None, None, :])

    def hidden(self, tgt_in: Tensor, memory: ConvolutionalMemory) -> Tensor:
        """The decoder stack; no position sees later ones."""
        embedded = self.tgt_embedding(self.tgt_table(tgt_in))  # (B, T, d_model)
        x = self.decoder_in(embedded)  # (B, T, C)
        for layer in self.decoder:
            x = layer(x, embedded, memory)
        return self.dropout(self.decoder_out(x))  # type: ignore[no-any-return]  # (B, T, d_model)

    def start(self, memory: ConvolutionalMemory, n_beams: int) -> "ConvolutionalState":
        """The state before the first target token."""
        ancestry = Ancestry(len(memory.mask), n_beams, memory.mask.device)
        inputs = [layer.convolution.cache(ancestry) for layer in self.decoder]
        return ConvolutionalState(memory, inputs, ancestry)

    def step(
        self, prev_ids: Tensor, state: "ConvolutionalState"
    ) -> tuple[Tensor, "ConvolutionalState"]:
        """One position of the decoder stack for K hypotheses per sentence."""
        # (B, K, d_model): the K hypotheses are K queries at one position
        embedded = self.tgt_embedding(self.tgt_table(prev_ids), position=state.ancestry.n_steps)
        x = self.decoder_in(embedded)  # (B, K, C)
        for layer, inputs in zip(self.decoder, state.inputs, strict=True):
            x = layer.step(x, inputs, embedded, state.memory)
        state.ancestry.grow()
        return self.logits(self.decoder_out(x)), state  # (B, K, V - 1)

    def attention_layers(self) -> Mapping[Role, Sequence[Attends]]:
        """The attention of each decoder layer; it has one head."""
        return {"cross": [layer.attention for layer in self.decoder]}


@dataclass
class ConvolutionalState(DecoderState):
    """The earlier inputs that the kernels need; reordering copies nothing (docs/decisions/0010)."""

    memory: ConvolutionalMemory
    inputs: list[TapCache]  # of each layer
    ancestry: Ancestry

    def reorder(self, beams: Tensor) -> None:
        """Let hypothesis k of sentence b continue hypothesis beams[b, k]."""
        self.ancestry.reorder(beams)

    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences."""
        self.memory = ConvolutionalMemory(
            self.memory.states[sentences], self.memory.mask[sentences]
        )
        self.ancestry.keep(sentences)
        for inputs in self.inputs:
            inputs.keep(sentences)


class ConvolutionalEncoderLayer(nn.Module):
    """Section 3.2: a centred convolution and a residual connection."""

    def __init__(self, config: ConvolutionalConfig, layer: int) -> None:
        super().__init__()
        self.convolution = GatedConvolution(
            config, kernel=config.encoder_kernel, dilation=config.dilation(layer)
        )

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """(B, S, C) -> (B, S, C), where `real` (B, S, 1) is False at padding."""
        back = (self.convolution.span + 1) // 2  # an even kernel sees one more position on the left
        return _sum(self.convolution(x * real, back), x)


class ConvolutionalDecoderLayer(nn.Module):
    """Sections 3.2 and 3.3: a causal convolution, then attention, with residual connections."""

    def __init__(self, config: ConvolutionalConfig, layer: int) -> None:
        super().__init__()
        self.convolution = GatedConvolution(
            config, kernel=config.decoder_kernel, dilation=config.dilation(layer)
        )
        self.query = ScaledProjection(config.d_conv, config.d_model)
        self.attention = DotAttention()
        self.context = ScaledProjection(config.d_model, config.d_conv)

    def forward(self, x: Tensor, embedded: Tensor, memory: ConvolutionalMemory) -> Tensor:
        """(B, T, C) -> (B, T, C), all positions at once; `embedded` (B, T, d_model) is g."""
        return self.attend(x, self.convolution(x, self.convolution.span), embedded, memory)

    def step(
        self, x: Tensor, inputs: TapCache, embedded: Tensor, memory: ConvolutionalMemory
    ) -> Tensor:
        """(B, K, C) -> (B, K, C): the K hypotheses are K queries at one position."""
        return self.attend(x, self.convolution.gate(inputs.taps(x)), embedded, memory)

    def attend(self, x: Tensor, h: Tensor, embedded: Tensor, memory: ConvolutionalMemory) -> Tensor:
        """Attention and residual connections, given x and its convolution h: (B, T, C)."""
        query = _sum(self.query(h), embedded)  # (B, T, d_model)
        context = self.attention(query, memory.states, memory.mask)  # (B, T, d_model)
        return _sum(_sum(self.context(context), h), x)  # (B, T, C)


class GatedConvolution(nn.Module):
    """Section 3.2: GLU(W u + b).

    The convolution is computed as one matrix product with the concatenated taps, both for all
    positions at once and in a step.
    """

    def __init__(self, config: ConvolutionalConfig, *, kernel: int, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.span = (kernel - 1) * dilation  # distance from the first tap to the last
        self.dropout = Dropout(config.dropout)
        width = config.d_conv
        self.taps = ScaledProjection(kernel * width, 2 * width, gain=4 * (1 - config.dropout))

    def forward(self, x: Tensor, back: int) -> Tensor:
        """(B, T, C) -> (B, T, C); `back` positions of the span are before the current one."""
        ahead = self.span - back
        return self.gate(taps_of(self.dropout(x), dilation=self.dilation, back=back, ahead=ahead))

    def cache(self, ancestry: Ancestry) -> TapCache:
        """An empty cache of its inputs in the decoder."""
        return TapCache(ancestry, span=self.span, dilation=self.dilation)

    def gate(self, taps: list[Tensor]) -> Tensor:
        """k taps (B, T, C), the earliest first -> (B, T, C)."""
        both: Tensor = self.taps(torch.cat(taps, dim=-1))  # (B, T, k C) -> (B, T, 2 C)
        if self.training or not torch.is_inference_mode_enabled():
            return F.glu(both, dim=-1)  # (B, T, C)
        a, b = both.chunk(2, dim=-1)  # (B, T, C) each
        return a * sigmoid(b)


class DotAttention(Attends):
    """Section 3.3: unscaled dot-product attention with one head, times S sqrt(1 / S)."""

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Attend from `query` (B, T, d_model) to `memory` (B, S, 2 d_model): (B, T, d_model)."""
        _, value = memory.chunk(2, dim=-1)  # (B, S, d_model)
        n_keys = mask.sum(dim=-1)  # (B, 1, 1), S without padding
        context = self.weights(query, memory, mask)[:, 0] @ value  # (B, T, d_model)
        return context * n_keys.sqrt()

    def weights(self, query: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
        """The attention weights from positions of `query` to those of `memory`: (B, 1, T, S)."""
        key, _ = memory.chunk(2, dim=-1)  # (B, S, d_model)
        return masked_softmax((query @ key.mT)[:, None], mask)  # (B, 1, T, S)


def scale_gradient(x: Tensor, scale: float) -> Tensor:
    """The identity, with the gradient multiplied by `scale`."""
    return x.detach() + scale * (x - x.detach())


def _sum(one: Tensor, other: Tensor) -> Tensor:
    """Section 3.4: a sum that keeps the variance of its terms if both have the same variance."""
    return (one + other) * math.sqrt(0.5)


def _embedding(config: ConvolutionalConfig) -> Embedding:
    """Section 3.1: embeddings and positions are initialised with the same variance."""
    std = 1 / math.sqrt(config.d_model)
    positions = LearnedPositions(config.d_model, config.max_positions, std=std)
    return Embedding(config.d_model, positions, config.dropout, scaled=False)
