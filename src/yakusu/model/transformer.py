"""Sections 3.1 and 3.3: the Transformer of Figure 1.

B batch, S source, T target, K beam, H heads, V vocabulary.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from torch import Tensor, nn

from yakusu.model.attention import Attends, CrossAttention
from yakusu.model.base import DecoderState, Memory, Role, Routes, Seq2Seq, Side, models
from yakusu.model.cache import Ancestry, Cache
from yakusu.model.config import TransformerConfig
from yakusu.model.experts import Experts
from yakusu.model.layers import Sublayer
from yakusu.model.parts import (
    attention_of,
    decoder_mixing,
    embedding,
    encoder_mixing,
    feed_forward,
    last_norm,
    residuals,
)

Layer = TypeVar("Layer", bound=nn.Module)


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
        self.tgt_embedding = embedding(config)
        three_way = config.tied == "three-way"
        self.src_embedding = self.tgt_embedding if three_way else embedding(config)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_layers))
        self.encoder_norm, self.decoder_norm = last_norm(config), last_norm(config)

    @property
    def compiles(self) -> bool:
        """An LSTM and experts leave the graph: torch has its own loop, or shapes are data."""
        return not any(isinstance(part, (nn.LSTM, Experts)) for part in self.modules())

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
        x = self.tgt_embedding(self.tgt_table(tgt_in))  # (B, T, d_model)
        for layer in self.decoder:
            x = layer(x, memory)
        return self.decoder_norm(x)  # type: ignore[no-any-return]

    def start(self, memory: Memory, n_beams: int) -> "TransformerState":
        """Project the memory to keys and values, once a sentence for all its hypotheses."""
        assert isinstance(memory, TransformerMemory)
        ancestry = Ancestry(len(memory.mask), n_beams, memory.mask.device)
        return TransformerState(
            memory_mask=memory.mask,
            cross=[
                _laid_out(*layer.cross_attention.project_key_value(memory.states))
                for layer in self._decoder_layers()
            ],
            caches=[layer.self_attention.cache(ancestry) for layer in self._decoder_layers()],
            ancestry=ancestry,
        )

    def step(self, prev_ids: Tensor, state: DecoderState) -> tuple[Tensor, "TransformerState"]:
        """One position of the decoder stack for K hypotheses a sentence."""
        assert isinstance(state, TransformerState)
        vectors = self.tgt_table(prev_ids)  # (B, K, d_model)
        x = self.tgt_embedding(vectors, position=state.ancestry.n_steps)
        state.ancestry.grow()
        layers = zip(self._decoder_layers(), state.caches, state.cross, strict=True)
        for layer, cache, cross in layers:
            x = layer.step(x, cache, cross, state.memory_mask)
        return self.logits(self.decoder_norm(x)), state  # (B, K, V - 1)

    def attention_layers(self) -> Mapping[Role, Sequence[Attends]]:
        """Self-attention of both stacks where it is there, and the decoder's to the memory."""
        encoder = [layer.self_attention for layer in self._encoder_layers()]
        decoder = [layer.self_attention for layer in self._decoder_layers()]
        roles: dict[Role, list[Attends]] = {
            "encoder": [layer for layer in encoder if isinstance(layer, Attends)],
            "decoder": [layer for layer in decoder if isinstance(layer, Attends)],
            "cross": [layer.cross_attention for layer in self._decoder_layers()],
        }
        return {role: layers for role, layers in roles.items() if layers}

    def routing_layers(self) -> Mapping[Side, Sequence[Routes]]:
        """The experts of both stacks, where there are some."""
        encoder = [layer.feed_forward for layer in self._encoder_layers()]
        decoder = [layer.feed_forward for layer in self._decoder_layers()]
        return {
            "source": [layer for layer in encoder if isinstance(layer, Routes)],
            "target": [layer for layer in decoder if isinstance(layer, Routes)],
        }

    def _encoder_layers(self) -> Iterator["EncoderLayer"]:
        return _each(self.encoder, EncoderLayer)

    def _decoder_layers(self) -> Iterator["DecoderLayer"]:
        return _each(self.decoder, DecoderLayer)


@dataclass
class TransformerState(DecoderState):
    """Keys and values of the memory, and what each layer remembers of the target so far."""

    memory_mask: Tensor  # (B, 1, 1, S)
    cross: list[tuple[Tensor, ...]]  # a layer: keys (B, H, d_k, S) and values (B, H, S, d_v)
    caches: list[Cache]
    ancestry: Ancestry

    def reorder(self, beams: Tensor) -> None:
        """Hypotheses inherit their ancestors, and what layers let them carry."""
        self.ancestry.reorder(beams)
        for cache in self.caches:
            cache.reorder(beams)

    def keep(self, sentences: Tensor) -> None:
        """Forget all sentences but these."""
        self.memory_mask = self.memory_mask[sentences]
        self.cross = [tuple(tensor[sentences] for tensor in pair) for pair in self.cross]
        self.ancestry.keep(sentences)
        for cache in self.caches:
            cache.keep(sentences)


class EncoderLayer(nn.Module):
    """Section 3.1: self-attention and a feed-forward network, each within a residual."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = encoder_mixing(config)  # or what stands in its place
        self.feed_forward = feed_forward(config)
        self.residuals = residuals(config, 2)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(B, S, d_model) -> (B, S, d_model)."""
        attend, feed = self.residuals
        x = attend(x, lambda x: self.self_attention(x, mask))
        return feed(x, self.feed_forward)  # type: ignore[no-any-return]


class DecoderLayer(nn.Module):
    """Section 3.1: masked self-attention, attention to the memory, a feed-forward network."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = decoder_mixing(config)  # or what stands in its place
        self.cross_attention = attention_of(CrossAttention, config)
        self.feed_forward = feed_forward(config)
        self.residuals = residuals(config, 3)

    def forward(self, x: Tensor, memory: TransformerMemory) -> Tensor:
        """(B, T, d_model) -> (B, T, d_model), all positions at once."""
        return self._sublayers(
            x,
            lambda x: self.self_attention(x, None),
            lambda x: self.cross_attention(x, memory.states, memory.mask),
        )

    def step(
        self, x: Tensor, cache: Cache, cross: tuple[Tensor, ...], memory_mask: Tensor
    ) -> Tensor:
        """(B, K, d_model) -> (B, K, d_model): K hypotheses are K queries at one position."""
        attend, (key, value) = self.cross_attention, cross

        def attend_memory(x: Tensor) -> Tensor:
            query = attend.project_query(x)
            return attend.combine(attend.score.attention(query, key.mT, value, memory_mask))

        return self._sublayers(x, lambda x: self.self_attention.step(x, cache), attend_memory)

    def _sublayers(self, x: Tensor, attend_self: Sublayer, attend_memory: Sublayer) -> Tensor:
        first, second, third = self.residuals
        return third(second(first(x, attend_self), attend_memory), self.feed_forward)  # type: ignore[no-any-return]


def _laid_out(key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
    """Keys transposed and values as the products of each step read them, which else would copy."""
    return key.mT.contiguous(), value.contiguous()


def _each(layers: nn.ModuleList, kind: type[Layer]) -> Iterator[Layer]:
    for layer in layers:
        assert isinstance(layer, kind)
        yield layer
