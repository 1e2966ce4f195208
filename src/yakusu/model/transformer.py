"""Sections 3.1 and 3.3: the Transformer of Figure 1.

B batch, S source, T target, K beam, H heads, V vocabulary.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from yakusu.model.attention import Attends, MultiHeadAttention, attention, causal_mask
from yakusu.model.base import (
    UNLIMITED,
    DecoderState,
    Memory,
    ModelConfig,
    Role,
    Seq2Seq,
    models,
)
from yakusu.model.embedding import Embedding, LearnedPositions, Positions, SinusoidalPositions
from yakusu.model.product import Product

Sublayer = Callable[[Tensor], Tensor]
Layer = TypeVar("Layer", bound=nn.Module)


class TransformerConfig(ModelConfig):
    """The quantities that Table 3 varies; the defaults are the base model's."""

    name: Literal["transformer"] = "transformer"
    n_layers: int = Field(6, ge=1)  # N
    d_ff: int = Field(2048, ge=1)
    n_heads: int = Field(8, ge=1)  # h
    d_k: int = Field(64, ge=1)  # d_model / h where it is not given
    d_v: int = Field(64, ge=1)  # likewise
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    max_positions: int = Field(1024, ge=1)  # of learned positions; sinusoids have no end
    norm: Literal["post", "pre"] = "post"  # "pre" departs from the paper, docs/decisions/0001

    @property
    def max_length(self) -> int:
        """Sinusoids reach any length; learned positions end."""
        return self.max_positions if self.positions == "learned" else UNLIMITED

    @model_validator(mode="before")
    @classmethod
    def _split_width_among_heads(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        d_model, n_heads = values.get("d_model", 512), values.get("n_heads", 8)
        if not (isinstance(d_model, int) and isinstance(n_heads, int) and n_heads > 0):
            return values  # the fields' own rules say what is wrong
        missing = {"d_k", "d_v"} - values.keys()
        if missing and d_model % n_heads:
            raise ValueError(
                f"d_model = {d_model} does not divide into n_heads = {n_heads}: set d_k and d_v"
            )
        return {**values, **dict.fromkeys(missing, d_model // n_heads)}


@dataclass(frozen=True)
class TransformerMemory(Memory):
    """The encoder's output (B, S, d_model) and its mask (B, 1, 1, S)."""

    states: Tensor
    mask: Tensor


@models.register("transformer")
class Transformer(Seq2Seq):
    """The model of Figure 1.

    Args:
        config: Its sizes.
        src_vocab_size: V of the source side, pad included.
        tgt_vocab_size: V of the target side, pad included.
    """

    Config = TransformerConfig

    def __init__(
        self, config: TransformerConfig, *, src_vocab_size: int, tgt_vocab_size: int
    ) -> None:
        super().__init__(config, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
        self.tgt_embedding = _embedding(config)
        three_way = config.tied == "three-way"
        self.src_embedding = self.tgt_embedding if three_way else _embedding(config)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_layers))
        # Post-norm layers end in a LayerNorm already.
        last = nn.LayerNorm if config.norm == "pre" else _identity
        self.encoder_norm, self.decoder_norm = last(config.d_model), last(config.d_model)

    def encode(self, src: Tensor) -> TransformerMemory:
        """The encoder stack, section 3.1; every position attends to every position."""
        mask = (src != self.src_pad)[:, None, None, :]  # (B, 1, 1, S)
        x = self.src_embedding(self.src_table(src))  # (B, S, d_model)
        for layer in self.encoder:
            x = layer(x, mask)
        return TransformerMemory(self.encoder_norm(x), mask)

    def hidden(self, tgt_in: Tensor, memory: Memory) -> Tensor:
        """The decoder stack, section 3.1; each position sees those before it."""
        assert isinstance(memory, TransformerMemory)
        mask = causal_mask(tgt_in.shape[1], tgt_in.device)  # (T, T)
        x = self.tgt_embedding(self.tgt_table(tgt_in))  # (B, T, d_model)
        for layer in self.decoder:
            x = layer(x, mask, memory)
        return self.decoder_norm(x)  # type: ignore[no-any-return]

    def start(self, memory: Memory, n_beams: int) -> "TransformerState":
        """Project the memory to keys and values, once a sentence for all its hypotheses."""
        assert isinstance(memory, TransformerMemory)
        return TransformerState(
            memory_mask=memory.mask,
            cross=[
                _laid_out(*layer.cross_attention.project_key_value(memory.states))
                for layer in self._decoder_layers()
            ],
            caches=[SelfCache() for _ in self.decoder],
            ancestors=memory.mask.new_zeros(len(memory.mask), n_beams, 0),
        )

    def step(self, prev_ids: Tensor, state: DecoderState) -> tuple[Tensor, "TransformerState"]:
        """One position of the decoder stack for K hypotheses a sentence."""
        assert isinstance(state, TransformerState)
        x = self.tgt_embedding(self.tgt_table(prev_ids), position=state.n_steps)  # (B, K, d_model)
        state.grow()
        layers = zip(self._decoder_layers(), state.caches, state.cross, strict=True)
        for layer, cache, cross in layers:
            x = layer.step(x, cache, state.ancestors[:, None], cross, state.memory_mask)
        return self.logits(self.decoder_norm(x)), state  # (B, K, V - 1)

    def attention_layers(self) -> Mapping[Role, Sequence[Attends]]:
        """Self-attention of both stacks, and the decoder's attention to the memory."""
        encoder, decoder = _each(self.encoder, EncoderLayer), [*self._decoder_layers()]
        return {
            "encoder": [layer.self_attention for layer in encoder],
            "decoder": [layer.self_attention for layer in decoder],
            "cross": [layer.cross_attention for layer in decoder],
        }

    def _decoder_layers(self) -> Iterator["DecoderLayer"]:
        return _each(self.decoder, DecoderLayer)


class SelfCache:
    """Keys and values of all positions of all hypotheses of one layer, (B, H, T K, d).

    Nothing moves when beams are reordered: a hypothesis finds its ancestors through a mask.
    """

    def __init__(self) -> None:
        self._buffers: list[Tensor] = []
        self._used = 0

    def append(self, *new: Tensor) -> list[Tensor]:
        """Add keys and values (B, H, K, d) of the newest position; return those of all."""
        end = self._used + new[0].shape[2]
        if not self._buffers or end > self._buffers[0].shape[2]:
            self._buffers = [self._enlarged(i, tensor) for i, tensor in enumerate(new)]
        for buffer, tensor in zip(self._buffers, new, strict=True):
            buffer[:, :, self._used : end] = tensor
        self._used = end
        return [buffer[:, :, :end] for buffer in self._buffers]

    def _enlarged(self, i: int, new: Tensor) -> Tensor:
        n_batch, n_heads, n_new, width = new.shape
        buffer = new.new_empty(n_batch, n_heads, 2 * self._used + 16 * n_new, width)
        if self._used:
            buffer[:, :, : self._used] = self._buffers[i][:, :, : self._used]
        return buffer

    def keep(self, sentences: Tensor) -> None:
        """Forget all sentences but these."""
        self._buffers = [buffer[:, :, : self._used][sentences] for buffer in self._buffers]


@dataclass
class TransformerState(DecoderState):
    """Keys and values of the memory and of the target so far; docs/decisions/0010.

    ancestors[b, k, t K + j] is True where hypothesis k of sentence b went through place j at
    position t.
    """

    memory_mask: Tensor  # (B, 1, 1, S)
    cross: list[tuple[Tensor, ...]]  # a layer: keys (B, H, d_k, S) and values (B, H, S, d_v)
    caches: list[SelfCache]
    ancestors: Tensor  # (B, K, T K), boolean

    @property
    def n_steps(self) -> int:
        """T, the number of positions decoded."""
        return self.ancestors.shape[2] // self.ancestors.shape[1]

    def grow(self) -> None:
        """Open the next position: each hypothesis sees its own place in it."""
        n_batch, n_beams, _ = self.ancestors.shape
        own = torch.eye(n_beams, dtype=torch.bool, device=self.ancestors.device)
        self.ancestors = torch.cat([self.ancestors, own.expand(n_batch, -1, -1)], dim=2)

    def reorder(self, beams: Tensor) -> None:
        """Hypotheses inherit their ancestors; keys and values stay where they are."""
        index = beams[:, :, None].expand_as(self.ancestors)
        self.ancestors = self.ancestors.gather(1, index)

    def keep(self, sentences: Tensor) -> None:
        """Forget all sentences but these."""
        self.memory_mask = self.memory_mask[sentences]
        self.ancestors = self.ancestors[sentences]
        self.cross = [tuple(tensor[sentences] for tensor in pair) for pair in self.cross]
        for cache in self.caches:
            cache.keep(sentences)


class EncoderLayer(nn.Module):
    """Section 3.1: self-attention and a feed-forward network, each within a residual."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = _attention(config)
        self.feed_forward = FeedForward(config)
        self.residuals = _residuals(config, 2)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, S, d_model) -> (B, S, d_model)."""
        attend, feed = self.residuals
        x = attend(x, lambda x: self.self_attention(x, x, mask))
        return feed(x, self.feed_forward)  # type: ignore[no-any-return]


class DecoderLayer(nn.Module):
    """Section 3.1: masked self-attention, attention to the memory, a feed-forward network."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = _attention(config)
        self.cross_attention = _attention(config)
        self.feed_forward = FeedForward(config)
        self.residuals = _residuals(config, 3)

    def forward(self, x: Tensor, mask: Tensor, memory: TransformerMemory) -> Tensor:
        """(B, T, d_model) -> (B, T, d_model), all positions at once."""
        return self._sublayers(
            x,
            lambda x: self.self_attention(x, x, mask),
            lambda x: self.cross_attention(x, memory.states, memory.mask),
        )

    def step(
        self,
        x: Tensor,
        cache: SelfCache,
        ancestors: Tensor,
        cross: tuple[Tensor, ...],
        memory_mask: Tensor,
    ) -> Tensor:
        """(B, K, d_model) -> (B, K, d_model): K hypotheses are K queries at one position."""

        def attend_self(x: Tensor) -> Tensor:
            query, *new = self.self_attention.project(x)
            key, value = cache.append(*new)
            return self.self_attention.combine(attention(query, key, value, ancestors))

        def attend_memory(x: Tensor) -> Tensor:
            query, (key, value) = self.cross_attention.project_query(x), cross
            return self.cross_attention.combine(attention(query, key.mT, value, memory_mask))

        return self._sublayers(x, attend_self, attend_memory)

    def _sublayers(self, x: Tensor, attend_self: Sublayer, attend_memory: Sublayer) -> Tensor:
        first, second, third = self.residuals
        return third(second(first(x, attend_self), attend_memory), self.feed_forward)  # type: ignore[no-any-return]


class FeedForward(nn.Module):
    """Position-wise feed-forward network, section 3.3, Eq. 2: max(0, x W_1 + b_1) W_2 + b_2."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.outer = nn.Linear(config.d_ff, config.d_model)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        self._first, self._second = Product(), Product()

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_model) -> (..., d_model)."""
        inner = self._first(x, self.inner.weight, self.inner.bias)
        return self._second(F.relu(inner), self.outer.weight, self.outer.bias)  # type: ignore[no-any-return]


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


def _embedding(config: TransformerConfig) -> Embedding:
    positions: Positions = (
        LearnedPositions(config.d_model, config.max_positions)
        if config.positions == "learned"
        else SinusoidalPositions(config.d_model)
    )
    return Embedding(config.d_model, positions, config.dropout)


def _laid_out(key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
    """Keys transposed and values as the products of each step read them, which else would copy."""
    return key.mT.contiguous(), value.contiguous()


def _attention(config: TransformerConfig) -> MultiHeadAttention:
    return MultiHeadAttention(
        d_model=config.d_model, n_heads=config.n_heads, d_k=config.d_k, d_v=config.d_v
    )


def _each(layers: nn.ModuleList, kind: type[Layer]) -> Iterator[Layer]:
    for layer in layers:
        assert isinstance(layer, kind)
        yield layer


def _residuals(config: TransformerConfig, n: int) -> nn.ModuleList:
    residual = PreNormResidual if config.norm == "pre" else PostNormResidual
    return nn.ModuleList(residual(config.d_model, config.dropout) for _ in range(n))


def _identity(d_model: int) -> nn.Module:
    return nn.Identity()
