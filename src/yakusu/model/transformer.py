"""Section 3: the Transformer of Figure 1.

B batch, S source, T target, K beam, H heads, V vocabulary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from yakusu.errors import RecipeError
from yakusu.model.attention import (
    Attends,
    CausalSelfAttention,
    Compatibility,
    CrossAttention,
    SelfAttention,
)
from yakusu.model.base import DecoderState, Memory, Routes, Seq2Seq, Side, models, shift_right
from yakusu.model.cache import Ancestry, Cache, CausalMixing, Mixing
from yakusu.model.config import Role, TransformerConfig
from yakusu.model.experts import Experts
from yakusu.model.layers import (
    Embedding,
    FeedForward,
    Layers,
    LearnedPositions,
    Positions,
    Residual,
    SinusoidalPositions,
    WordPositions,
)
from yakusu.model.rows import TokenRows
from yakusu.model.variants import (
    AdditiveCompatibility,
    BidirectionalRecurrence,
    CausalConvolution,
    CausalRecurrence,
    CausalRestrictedSelfAttention,
    DotProduct,
    RestrictedSelfAttention,
    SeparableConvolution,
    Window,
)


@dataclass(frozen=True)
class TransformerMemory(Memory):
    """The encoder's output (B, S, d_model), or (N, d_model) with `rows`; its mask (B, 1, 1, S)."""

    states: Tensor
    mask: Tensor
    rows: TokenRows | None = None


@dataclass
class TransformerState(DecoderState):
    """Keys and values of the memory, and each layer's cache of the target tokens so far."""

    memory_mask: Tensor  # (B, 1, 1, S)
    cross: list[tuple[Tensor, Tensor]]  # per layer: keys (B, H, d_k, S) and values (B, H, S, d_v)
    caches: list[Cache]  # per layer
    ancestry: Ancestry
    words: Tensor | None  # (B, K): number of words so far, if positions depend on it

    def reorder(self, beams: Tensor) -> None:
        """Let hypothesis k of sentence b continue hypothesis beams[b, k]."""
        self.ancestry.reorder(beams)
        if self.words is not None:
            self.words = self.words.gather(1, beams)
        for cache in self.caches:
            cache.reorder(beams)

    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences."""
        self.memory_mask = self.memory_mask[sentences]
        self.cross = [(keys[sentences], values[sentences]) for keys, values in self.cross]
        self.ancestry.keep(sentences)
        if self.words is not None:
            self.words = self.words[sentences]
        for cache in self.caches:
            cache.keep(sentences)


@models.register("transformer")
class Transformer(Seq2Seq[TransformerMemory, TransformerState]):
    """The model of Figure 1.

    Args:
        config: Sizes of the model.
        src_vocab_size: Size V of the source vocabulary, including padding.
        tgt_vocab_size: Size V of the target vocabulary, including padding.

    Raises:
        RecipeError: Three-way tying is set, but the vocabularies differ in size; or `start_id` is
            not a token.
    """

    Config = TransformerConfig
    src_words: Tensor
    tgt_words: Tensor

    def __init__(
        self, config: TransformerConfig, *, src_vocab_size: int, tgt_vocab_size: int
    ) -> None:
        super().__init__(config, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
        self.start_id, self.source_eos = config.start_id, config.source_eos
        if config.start_id is not None and config.start_id >= self.tgt_pad:
            raise RecipeError(
                f"model.start_id = {config.start_id} is not among the ids 0 to {self.tgt_pad - 1} "
                "of the target vocabulary: choose one of them"
            )
        if config.output_bias:
            self.output_bias = nn.Parameter(torch.zeros(tgt_vocab_size - 1))
        self.counts_words = config.counts_words
        if self.counts_words:  # 1 for tokens that begin a word
            self.register_buffer("src_words", torch.zeros(src_vocab_size))
            self.register_buffer("tgt_words", torch.zeros(tgt_vocab_size))
        three_way = config.tied == "three-way"
        self.tgt_embedding = _embedding(config)
        self.src_embedding = self.tgt_embedding if three_way else _embedding(config)
        n_encoder, n_decoder = config.depths
        self.encoder = Layers(EncoderLayer(config) for _ in range(n_encoder))
        self.decoder = Layers(DecoderLayer(config) for _ in range(n_decoder))
        # Post-norm layers end with a LayerNorm of their own.
        pre_norm, width = config.norm == "pre", config.d_model
        self.encoder_norm = nn.LayerNorm(width) if pre_norm else nn.Identity()
        self.decoder_norm = nn.LayerNorm(width) if pre_norm else nn.Identity()

    def weights(self) -> dict[str, Tensor]:
        """The parameters by name, and the tokens that begin words."""
        own = super().weights()
        if self.counts_words:
            own |= {"src_words": self.src_words, "tgt_words": self.tgt_words}
        return own

    @property
    def compiles(self) -> bool:
        """False with LSTMs, whose loops torch does not trace, or experts, whose load varies."""
        return not any(isinstance(part, (nn.LSTM, Experts)) for part in self.modules())

    def token_states(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Hidden states (N, D) of the target tokens; on a CPU, padding is not computed."""
        if not self.config.packs or src.device.type != "cpu":
            return super().token_states(src, tgt)
        memory = self.encode(src, TokenRows(src != self.src_pad))
        return self.hidden(shift_right(tgt, self.tgt_pad), memory, TokenRows(tgt != self.tgt_pad))

    def encode(self, src: Tensor, rows: TokenRows | None = None) -> TransformerMemory:
        """The encoder stack, section 3.1; every position attends to every position."""
        mask = self._visible(src)[:, None, None, :]  # (B, 1, 1, S)
        words = None
        if self.counts_words:
            words = (self._begun(self.src_words, src) - 1).clamp(min=0)  # those before the word
        x = self.src_embedding(self.src_table(src), words=words)  # (B, S, d_model)
        x = rows.pack(x) if rows else x
        for layer in self.encoder:
            x = layer(x, mask, rows)
        return TransformerMemory(self.encoder_norm(x), mask, rows)

    def _visible(self, src: Tensor) -> Tensor:
        """Whether each token may be attended to: (B, S). An eos that is alone stays."""
        tokens = src != self.src_pad
        if self.source_eos:
            return tokens
        before_eos = F.pad(tokens[:, 1:], (0, 1))  # the last token is eos
        return torch.where(before_eos.any(dim=1, keepdim=True), before_eos, tokens)

    def hidden(
        self, tgt_in: Tensor, memory: TransformerMemory, rows: TokenRows | None = None
    ) -> Tensor:
        """The decoder stack, section 3.1; each position attends to all positions up to itself."""
        words = self._begun(self.tgt_words, tgt_in) if self.counts_words else None
        x: Tensor = self.tgt_embedding(self._vectors(tgt_in), words=words)  # (B, T, d_model)
        x = rows.pack(x) if rows else x
        for layer in self.decoder:
            x = layer(x, memory, rows)
        x = self.decoder_norm(x)
        return x

    def start(self, memory: TransformerMemory, n_beams: int) -> TransformerState:
        """Project the memory to keys and values, once per sentence for all its hypotheses."""
        mask, words = memory.mask, None
        ancestry = Ancestry(len(mask), n_beams, mask.device)
        if self.counts_words:
            words = torch.zeros(len(mask), n_beams, dtype=torch.long, device=mask.device)
        return TransformerState(
            memory_mask=mask,
            cross=[layer.cross_attention.prepare(memory.states) for layer in self.decoder],
            caches=[layer.self_attention.cache(ancestry) for layer in self.decoder],
            ancestry=ancestry,
            words=words,
        )

    def step(self, prev_ids: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        """One position of the decoder stack for K hypotheses per sentence."""
        vectors = self._vectors(prev_ids)  # (B, K, d_model)
        if state.words is not None:
            state.words = state.words + (self.tgt_words[prev_ids] > 0.5)
        x = self.tgt_embedding(vectors, position=state.ancestry.n_steps, words=state.words)
        state.ancestry.grow()
        for layer, cache, cross in zip(self.decoder, state.caches, state.cross, strict=True):
            x = layer.step(x, cache, cross, state.memory_mask)
        return self.logits(self.decoder_norm(x)), state  # (B, K, V - 1)

    @staticmethod
    def _begun(begins: Tensor, ids: Tensor) -> Tensor:
        """The number of words that tokens (B, T) have begun, each included."""
        return (begins[ids] > 0.5).cumsum(1)

    def _vectors(self, tgt_in: Tensor) -> Tensor:
        """The vectors of decoder inputs; `start_id` takes the place of the padding id."""
        if self.start_id is not None:
            tgt_in = tgt_in.masked_fill(tgt_in == self.tgt_pad, self.start_id)
        vectors: Tensor = self.tgt_table(tgt_in)  # (..., d_model)
        return vectors

    def attention_layers(self) -> Mapping[Role, Sequence[Attends]]:
        """Self-attention of both stacks, if there is any, and the decoder's cross-attention."""
        encoder = [layer.self_attention for layer in self.encoder]
        decoder = [layer.self_attention for layer in self.decoder]
        roles: dict[Role, list[Attends]] = {
            "encoder": [layer for layer in encoder if isinstance(layer, Attends)],
            "decoder": [layer for layer in decoder if isinstance(layer, Attends)],
            "cross": [layer.cross_attention for layer in self.decoder],
        }
        return {role: layers for role, layers in roles.items() if layers}

    def routing_layers(self) -> Mapping[Side, Sequence[Routes]]:
        """The mixture-of-experts layers of both stacks, if there are any."""
        encoder = [layer.feed_forward for layer in self.encoder]
        decoder = [layer.feed_forward for layer in self.decoder]
        return {
            "source": [layer for layer in encoder if isinstance(layer, Routes)],
            "target": [layer for layer in decoder if isinstance(layer, Routes)],
        }


class EncoderLayer(nn.Module):
    """Section 3.1: self-attention and a feed-forward network, each with a residual connection."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = _encoder_mixing(config)
        self.feed_forward = _feed_forward(config)
        self.residuals = _residuals(config, 2)

    def forward(self, x: Tensor, mask: Tensor, rows: TokenRows | None = None) -> Tensor:
        """(B, S, d_model) -> (B, S, d_model), or (N, d_model) -> (N, d_model)."""
        first, second = self.residuals
        x = first.add(x, self.self_attention(first.input(x), mask, rows=rows))
        return second.add(x, self.feed_forward(second.input(x)))


class DecoderLayer(nn.Module):
    """Section 3.1: masked self-attention, attention to the memory, and a feed-forward network."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = _decoder_mixing(config)
        self.cross_attention = CrossAttention(config, _compatibility(config))
        self.feed_forward = _feed_forward(config)
        self.residuals = _residuals(config, 3)

    def forward(
        self, x: Tensor, memory: TransformerMemory, rows: TokenRows | None = None
    ) -> Tensor:
        """(B, T, d_model) -> (B, T, d_model), or (N, d_model) -> (N, d_model), all at once."""
        first, second, third = self.residuals
        x = first.add(x, self.self_attention(first.input(x), None, rows=rows))
        own = {"rows": rows, "memory_rows": memory.rows}
        x = second.add(x, self.cross_attention(second.input(x), memory.states, memory.mask, **own))
        return third.add(x, self.feed_forward(third.input(x)))

    def step(
        self, x: Tensor, cache: Cache, cross: tuple[Tensor, Tensor], memory_mask: Tensor
    ) -> Tensor:
        """(B, K, d_model) -> (B, K, d_model): the K hypotheses are K queries at one position."""
        first, second, third = self.residuals
        x = first.add(x, self.self_attention.step(first.input(x), cache))
        x = second.add(x, self.cross_attention.step(second.input(x), cross, memory_mask))
        return third.add(x, self.feed_forward(third.input(x)))


# ---- layers chosen by a key of the recipe --------------------------------------------------------


def _embedding(config: TransformerConfig) -> Embedding:
    """`model.positions`, section 3.5, and `model.scale_embeddings`, section 3.4."""
    d_model = config.d_model
    positions: Positions
    match config.positions:
        case "learned":
            positions = LearnedPositions(d_model, config.max_positions)
        case "words":
            positions = WordPositions(d_model)
        case _:
            positions = SinusoidalPositions(d_model, config.position_divisor)
    return Embedding(d_model, positions, config.dropout, scaled=config.scale_embeddings)


def _encoder_mixing(config: TransformerConfig) -> Mixing:
    """`model.mixing`: self-attention, or another layer of Table 1 in its place."""
    match config.mixing:
        case "attention":
            return SelfAttention(config, _compatibility(config))
        case "restricted":
            window = Window.around(config.neighbourhood)
            return RestrictedSelfAttention(config, _compatibility(config), window)
        case "convolution":
            return SeparableConvolution(d_model=config.d_model, window=Window.around(config.kernel))
        case "recurrent":
            return BidirectionalRecurrence(d_model=config.d_model)


def _decoder_mixing(config: TransformerConfig) -> CausalMixing:
    """`model.mixing` in the decoder, in which no position sees later ones."""
    match config.mixing:
        case "attention":
            return CausalSelfAttention(config, _compatibility(config))
        case "restricted":
            window = Window.until(config.neighbourhood)
            return CausalRestrictedSelfAttention(config, _compatibility(config), window)
        case "convolution":
            return CausalConvolution(d_model=config.d_model, window=Window.until(config.kernel))
        case "recurrent":
            return CausalRecurrence(d_model=config.d_model)


def _compatibility(config: TransformerConfig) -> Compatibility | None:
    """`model.score`, section 3.2.1; None: Eq. 1."""
    match config.score:
        case "scaled":
            return None
        case "dot":
            return DotProduct()
        case "additive":
            return AdditiveCompatibility(n_heads=config.n_heads, d_k=config.d_k)


def _feed_forward(config: TransformerConfig) -> FeedForward | Experts:
    """`model.n_experts` and `model.activation`: section 3.3, or a mixture of experts."""
    if config.n_experts:
        return Experts(config)
    return FeedForward(
        config.d_model,
        config.d_ff,
        activation=config.activation,
        dropout=config.activation_dropout,
    )


def _residuals(config: TransformerConfig, n: int) -> Layers[Residual]:
    """`model.norm`: the residual connections around n sublayers."""
    pre_norm = config.norm == "pre"
    return Layers(Residual(config.d_model, config.dropout, pre_norm=pre_norm) for _ in range(n))
