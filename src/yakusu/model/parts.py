"""What a Transformer is made of: its configuration, and the parts that it names.

Where a key chooses among layers, the choice is made here and nowhere else.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from torch import nn

from yakusu.model.attention import (
    AdditiveScore,
    DotProduct,
    MultiHeadAttention,
    ScaledDotProduct,
    Score,
)
from yakusu.model.cache import CausalMixing, Mixing, Window
from yakusu.model.config import TransformerConfig
from yakusu.model.experts import Experts
from yakusu.model.layers import (
    Embedding,
    FeedForward,
    LearnedPositions,
    Positions,
    PostNormResidual,
    PreNormResidual,
    SinusoidalPositions,
)
from yakusu.model.self_attention import (
    CausalRestrictedSelfAttention,
    CausalSelfAttention,
    RestrictedSelfAttention,
    SelfAttention,
)
from yakusu.model.variants import (
    BidirectionalRecurrence,
    CausalConvolution,
    CausalRecurrence,
    SeparableConvolution,
)

Attention = TypeVar("Attention", bound=MultiHeadAttention)


def embedding(config: TransformerConfig) -> Embedding:
    """Sections 3.4 and 3.5: how vectors of ids enter a stack."""
    positions: Positions = (
        LearnedPositions(config.d_model, config.max_positions)
        if config.positions == "learned"
        else SinusoidalPositions(config.d_model)
    )
    return Embedding(config.d_model, positions, config.dropout)


def encoder_mixing(config: TransformerConfig) -> Mixing:
    """Self-attention of an encoder layer, or what stands in its place."""
    match config.mixing:
        case "attention":
            return attention_of(SelfAttention, config)
        case "restricted":
            window = Window.around(config.neighbourhood)
            return attention_of(partial(RestrictedSelfAttention, window=window), config)
        case "convolution":
            return SeparableConvolution(d_model=config.d_model, window=Window.around(config.kernel))
        case "recurrent":
            return BidirectionalRecurrence(d_model=config.d_model)


def decoder_mixing(config: TransformerConfig) -> CausalMixing:
    """Self-attention of a decoder layer, or what stands in its place."""
    match config.mixing:
        case "attention":
            return attention_of(CausalSelfAttention, config)
        case "restricted":
            window = Window.until(config.neighbourhood)
            return attention_of(partial(CausalRestrictedSelfAttention, window=window), config)
        case "convolution":
            return CausalConvolution(d_model=config.d_model, window=Window.until(config.kernel))
        case "recurrent":
            return CausalRecurrence(d_model=config.d_model)


def attention_of(kind: Callable[..., Attention], config: TransformerConfig) -> Attention:
    """Multi-head attention of some kind in the configured sizes."""
    return kind(
        d_model=config.d_model,
        n_heads=config.n_heads,
        d_k=config.d_k,
        d_v=config.d_v,
        score=_score(config),
    )


def _score(config: TransformerConfig) -> Score:
    match config.score:
        case "scaled":
            return ScaledDotProduct()
        case "dot":
            return DotProduct()
        case "additive":
            return AdditiveScore(n_heads=config.n_heads, d_k=config.d_k)


def feed_forward(config: TransformerConfig) -> FeedForward | Experts:
    """Section 3.3, or its mixture of experts."""
    if not config.n_experts:
        return FeedForward(d_model=config.d_model, d_ff=config.d_ff)
    return Experts(
        d_model=config.d_model,
        d_ff=config.d_ff,
        n_experts=config.n_experts,
        top_k=config.top_k,
        balance=config.balance,
    )


def residuals(config: TransformerConfig, n: int) -> nn.ModuleList:
    """What stands around each of n sublayers."""
    residual = PreNormResidual if config.norm == "pre" else PostNormResidual
    return nn.ModuleList(residual(config.d_model, config.dropout) for _ in range(n))


def last_norm(config: TransformerConfig) -> nn.Module:
    """What ends a stack: post-norm layers end in a LayerNorm already."""
    return nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()
