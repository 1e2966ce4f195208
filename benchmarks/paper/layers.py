"""The layer types of Table 1, each with the complexity that the paper states."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch.nn.functional as F
from torch import Tensor, nn

from yakusu.model.attention import SelfAttention, attention
from yakusu.model.config import TransformerConfig
from yakusu.model.layers import FeedForward
from yakusu.model.transformer import DecoderLayer, EncoderLayer


@dataclass(frozen=True)
class Size:
    """Sizes of a layer and its input."""

    n: int = 256  # positions
    d: int = 64  # width
    k: int = 3  # kernel
    r: int = 32  # neighbourhood


def mixing(kind: str, size: Size) -> nn.Module:
    """Return the layer that a Transformer uses for `mixing`, with one head."""
    own = {"restricted": {"neighbourhood": size.r}, "convolution": {"kernel": size.k}}
    config = TransformerConfig.model_validate(
        {"d_model": size.d, "n_heads": 1, "mixing": kind, **own.get(kind, {})}
    )
    # The paper's recurrent layer runs in one direction.
    layer = DecoderLayer(config) if kind == "recurrent" else EncoderLayer(config)
    return layer.self_attention


class Unmasked(nn.Module):
    """A layer of a stack, applied to sequences without padding."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        """(B, n, d) -> (B, n, d)."""
        return self.layer(x, None)  # type: ignore[no-any-return]


class AsWritten(nn.Module):
    """Self-attention computed literally by Eq. 1, with the matrix (n, n) in memory."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        assert isinstance(layer, SelfAttention)
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        """(B, n, d) -> (B, n, d)."""
        return self.layer.combine(attention(*self.layer.project(x)))


class Convolution(nn.Module):
    """A convolution over the preceding positions; ByteNet's if dilated.

    Args:
        size: Width and kernel.
        dilation: Distance between the taps.
    """

    def __init__(self, size: Size, dilation: int = 1) -> None:
        super().__init__()
        self.before = (size.k - 1) * dilation
        self.convolution = nn.Conv1d(size.d, size.d, size.k, dilation=dilation)

    def forward(self, x: Tensor) -> Tensor:
        """(B, n, d) -> (B, n, d)."""
        padded = F.pad(x.mT, (self.before, 0))  # (B, d, n + before)
        return self.convolution(padded).mT  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Layer:
    """A row of Table 1.

    build: Makes the layer of a size, and with a place in the stack.
    complexity: As stated.
    stated: Its exponents.
    sequential: Sequential operations, as stated.
    path: Maximum path length, as stated.
    varied: Sizes by the quantity that varies, in addition to n.
    """

    build: Callable[[Size, int], nn.Module]
    complexity: str
    stated: dict[str, float]
    sequential: str
    path: str
    varied: dict[str, Sequence[Size]]


def sizes(base: Size, name: str, *values: int) -> list[Size]:
    """Return a size with each value of one quantity."""
    return [replace(base, **{name: value}) for value in values]


LAYERS = {
    "self-attention": Layer(
        lambda size, _: Unmasked(mixing("attention", size)),
        "n^2 d", {"n": 2, "d": 1}, "1", "1",
        {"d": sizes(Size(n=4096), "d", 32, 64, 128)},
    ),
    "the same, as written": Layer(
        lambda size, _: AsWritten(mixing("attention", size)),
        "n^2 d", {"n": 2, "d": 1}, "1", "1",
        {"d": sizes(Size(n=2048), "d", 32, 64, 128)},
    ),
    "self-attention, restricted": Layer(
        lambda size, _: Unmasked(mixing("restricted", size)),
        "r n d", {"n": 1, "d": 1, "r": 1}, "1", "n / r",
        {"d": sizes(Size(n=4096, r=512), "d", 32, 64, 128),
         "r": sizes(Size(n=4096, d=32), "r", 128, 256, 512)},
    ),
    "recurrent": Layer(
        lambda size, _: Unmasked(mixing("recurrent", size)),
        "n d^2", {"n": 1, "d": 2}, "n", "n",
        {"d": sizes(Size(n=64), "d", 256, 512, 1024)},
    ),
    "convolution": Layer(
        lambda size, _: Convolution(size),
        "k n d^2", {"n": 1, "d": 2, "k": 1}, "1", "n / k",
        {"d": sizes(Size(n=512), "d", 128, 256, 512),
         "k": sizes(Size(n=512, d=128), "k", 5, 9, 17)},
    ),
    "convolution, dilated": Layer(
        lambda size, i: Convolution(size, dilation=size.k**i),
        "k n d^2", {"n": 1, "d": 2, "k": 1}, "1", "log_k n",
        {"d": sizes(Size(n=512), "d", 128, 256, 512),
         "k": sizes(Size(n=512, d=128), "k", 5, 9, 17)},
    ),
    "convolution, separable": Layer(
        lambda size, _: Unmasked(mixing("convolution", size)),
        "k n d + n d^2", {"n": 1, "d": 2, "k": 1}, "1", "n / k",
        {"d": sizes(Size(n=512), "d", 256, 512, 1024),
         "k": sizes(Size(n=1024, d=16), "k", 129, 257, 513)},
    ),
    "feed-forward": Layer(
        lambda size, _: FeedForward(d_model=size.d, d_ff=4 * size.d),
        "n d^2", {"n": 1, "d": 2}, "1", "",
        {"d": sizes(Size(n=512), "d", 128, 256, 512)},
    ),
}  # fmt: skip
BY_N = sizes(Size(), "n", 256, 512, 1024, 2048, 4096)  # the same for all layers
