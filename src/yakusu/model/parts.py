"""What a Transformer is made of: its configuration, and the parts that it names.

Where a key chooses among layers, the choice is made here and nowhere else.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeVar

from pydantic import Field, model_validator
from torch import nn

from yakusu.model.attention import (
    AdditiveScore,
    DotProduct,
    MultiHeadAttention,
    ScaledDotProduct,
    Score,
)
from yakusu.model.base import UNLIMITED, ModelConfig
from yakusu.model.embedding import Embedding, LearnedPositions, Positions, SinusoidalPositions
from yakusu.model.experts import Experts
from yakusu.model.feedforward import FeedForward
from yakusu.model.mixing import CausalMixing, Mixing, Window
from yakusu.model.residual import PostNormResidual, PreNormResidual
from yakusu.model.self_attention import (
    CausalRestrictedSelfAttention,
    CausalSelfAttention,
    RestrictedSelfAttention,
    SelfAttention,
)
from yakusu.model.substitutes import (
    BidirectionalRecurrence,
    CausalConvolution,
    CausalRecurrence,
    SeparableConvolution,
)

Attention = TypeVar("Attention", bound=MultiHeadAttention)


class TransformerConfig(ModelConfig):
    """The quantities that Tables 1 to 3 vary; the defaults are the base model's."""

    name: Literal["transformer"] = "transformer"
    n_layers: int = Field(6, ge=1)  # N
    d_ff: int = Field(2048, ge=1)
    n_heads: int = Field(8, ge=1)  # h
    d_k: int = Field(64, ge=1)  # d_model / h where it is not given
    d_v: int = Field(64, ge=1)  # likewise
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    max_positions: int = Field(1024, ge=1)  # of learned positions; sinusoids have no end
    norm: Literal["post", "pre"] = "post"  # "pre" departs from the paper, docs/decisions/0001
    score: Literal["scaled", "dot", "additive"] = "scaled"  # compatibility, section 3.2.1
    # In place of self-attention, docs/decisions/0022.
    mixing: Literal["attention", "restricted", "convolution", "recurrent"] = "attention"
    neighbourhood: int = Field(32, ge=1)  # r of mixing = "restricted"
    kernel: int = Field(3, ge=1)  # k of mixing = "convolution"
    n_experts: int = Field(0, ge=0)  # of each feed-forward layer; 0: it is a plain one
    top_k: int = Field(2, ge=1)  # experts that a token goes to
    balance: float = Field(0.01, ge=0)  # weight of the experts' balance loss, a target token

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
                f"model.d_model = {d_model} does not divide into model.n_heads = {n_heads}: set "
                "model.d_k and model.d_v"
            )
        return {**values, **dict.fromkeys(missing, d_model // n_heads)}

    @model_validator(mode="after")
    def _sizes_are_of_use(self) -> "TransformerConfig":
        """A size of a layer that is not chosen is refused, for it would change nothing."""
        chosen = {
            "neighbourhood": (self.mixing == "restricted", "mixing = 'restricted'"),
            "kernel": (self.mixing == "convolution", "mixing = 'convolution'"),
            "top_k": (self.n_experts > 0, "n_experts above 0"),
            "balance": (self.n_experts > 0, "n_experts above 0"),
            "max_positions": (self.positions == "learned", "positions = 'learned'"),
        }
        for key, (used, choice) in chosen.items():
            value = getattr(self, key)
            if not used and value != type(self).model_fields[key].default:
                raise ValueError(
                    f"model.{key} = {value} is of use with model.{choice} alone: set that too"
                )
        return self

    @model_validator(mode="after")
    def _experts_suffice(self) -> "TransformerConfig":
        if 0 < self.n_experts < self.top_k:
            raise ValueError(
                f"model.top_k = {self.top_k} is more than model.n_experts = {self.n_experts}: "
                "lower the one or raise the other"
            )
        return self


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
