"""The three graphs of an ONNX model: the network's own layers, with caches as inputs and outputs.

    Encoder            source ids                               -> memory
    Decoder            all target ids, memory                   -> logits, caches
    DecoderWithPast    the last target ids, caches              -> logits, longer caches

B batch, S source, T target, P earlier target positions, H heads, V vocabulary.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from yakusu.model.attention import SelfAttention
from yakusu.model.experts import Experts
from yakusu.model.layers import Embedding, FeedForward, LearnedPositions, sinusoids
from yakusu.model.transformer import DecoderLayer, EncoderLayer, Transformer
from yakusu.model.variants import RestrictedSelfAttention, Window

# The library processes sentences of up to 1,024 tokens, whose translations may be longer.
N_SINUSOIDS = 2048
KeysValues = tuple[Tensor, Tensor]  # (B, H, n, d_k), (B, H, n, d_v)
LayerCache = tuple[Tensor, Tensor, Tensor, Tensor]  # of a layer: of the target, then of the memory


class EncoderGraph(nn.Module):
    """The encoder stack; what is padding is an input.

    Args:
        network: In evaluation mode.
    """

    def __init__(self, network: Transformer) -> None:
        super().__init__()
        self.table, self.layers = network.src_table, network.encoder
        self.norm = network.encoder_norm
        self.positions = _Positions(network.src_embedding)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Source ids (B, S), and 1 at tokens and 0 at padding (B, S) -> (B, S, d_model)."""
        real = attention_mask.bool()[:, None, None, :]  # (B, 1, 1, S)
        distance = _distance(0, input_ids.shape[1])  # (S, S)
        x = self.positions(self.table(input_ids), 0)  # (B, S, d_model)
        for layer in self.layers:
            first, second = layer.residuals
            own, window = _self_attention(layer)
            q, k, v = own.project(first.input(x))
            visible = real
            if window:
                near = (-window.before <= distance) & (distance <= window.after)
                visible = (real & near) | (distance == 0)  # padding may have no other key
            x = first.add(x, own.combine(own.attention(q, k, v, visible)))
            x = second.add(x, _feed_forward(layer.feed_forward, second.input(x)))
        memory: Tensor = self.norm(x)
        return memory


class DecoderGraph(nn.Module):
    """The decoder stack for all target positions at once.

    Args:
        network: In evaluation mode.
    """

    def __init__(self, network: Transformer) -> None:
        super().__init__()
        self.stack = _Stack(network)

    def forward(
        self, input_ids: Tensor, encoder_hidden_states: Tensor, encoder_attention_mask: Tensor
    ) -> tuple[Tensor, list[LayerCache]]:
        """Compute the logits and the caches.

        Args:
            input_ids: Target ids (B, T), the first of which is the start id.
            encoder_hidden_states: The memory (B, S, d_model).
            encoder_attention_mask: (B, S), 1 at tokens and 0 at padding.

        Returns:
            Logits (B, T, V - 1), and the cache of each layer.
        """
        crosses = [
            layer.cross_attention.project_key_value(encoder_hidden_states)
            for layer in self.stack.layers
        ]
        logits, own = self.stack(input_ids, [None] * len(crosses), crosses, encoder_attention_mask)
        return logits, [(*new, *cross) for new, cross in zip(own, crosses, strict=True)]


class DecoderWithPastGraph(nn.Module):
    """The decoder stack for one target position after those in the caches.

    Args:
        network: In evaluation mode.
    """

    def __init__(self, network: Transformer) -> None:
        super().__init__()
        self.stack = _Stack(network)

    def forward(
        self,
        input_ids: Tensor,
        encoder_attention_mask: Tensor,
        past_key_values: Sequence[LayerCache],
    ) -> tuple[Tensor, list[KeysValues]]:
        """Compute the logits and the caches.

        Args:
            input_ids: The last target ids (B, 1).
            encoder_attention_mask: (B, S), 1 at tokens and 0 at padding.
            past_key_values: The cache of each layer: P target positions and S source positions.

        Returns:
            Logits (B, 1, V - 1), and each layer's keys and values of P + 1 target positions.
        """
        past = [(cache[0], cache[1]) for cache in past_key_values]
        crosses = [(cache[2], cache[3]) for cache in past_key_values]
        logits, own = self.stack(input_ids, past, crosses, encoder_attention_mask)
        return logits, own


# ---- parts ---------------------------------------------------------------------------------------


class _Stack(nn.Module):
    """The decoder layers, between the target ids and the logits."""

    def __init__(self, network: Transformer) -> None:
        super().__init__()
        self.network = network
        self.layers = network.decoder
        self.positions = _Positions(network.tgt_embedding)

    def forward(
        self,
        tgt_in: Tensor,
        pasts: Sequence[KeysValues | None],
        crosses: Sequence[KeysValues],
        memory_mask: Tensor,
    ) -> tuple[Tensor, list[KeysValues]]:
        """The logits (B, T, V - 1), and each layer's keys and values of P + T positions."""
        n_past = 0 if pasts[0] is None else pasts[0][0].shape[2]
        n_all = n_past + tgt_in.shape[1]
        memory_mask = memory_mask.bool()[:, None, None, :]  # (B, 1, 1, S)
        x = self.positions(self.network.tgt_table(tgt_in), n_past)  # (B, T, d_model)
        found = []
        for layer, past, cross in zip(self.layers, pasts, crosses, strict=True):
            distance = _distance(n_past, n_all)  # (T, P + T)
            visible = distance <= 0
            if window := _self_attention(layer)[1]:
                visible &= distance >= -window.before
            x, own = _decoder_layer(layer, x, past, cross, (visible, memory_mask))
            found.append(own)
        return self.network.logits(self.network.decoder_norm(x)), found


def _decoder_layer(
    layer: DecoderLayer,
    x: Tensor,
    past: KeysValues | None,
    cross: KeysValues,
    masks: tuple[Tensor, Tensor],
) -> tuple[Tensor, KeysValues]:
    """A layer: (B, T, d_model), and its keys and values of P + T positions."""
    first, second, third = layer.residuals
    (own, _), other = _self_attention(layer), layer.cross_attention
    q, k, v = own.project(first.input(x))
    if past is not None:
        k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)  # (B, H, P + T, d)
    x = first.add(x, own.combine(own.attention(q, k, v, masks[0])))
    q = other.project_query(second.input(x))
    x = second.add(x, other.combine(other.attention(q, *cross, masks[1])))
    return third.add(x, _feed_forward(layer.feed_forward, third.input(x))), (k, v)


class _Positions(nn.Module):
    """Adds positions to scaled embeddings.

    They are looked up by index, so that a position outside the table is an error at run time.
    """

    table: Tensor

    def __init__(self, embedding: Embedding) -> None:
        super().__init__()
        own = embedding.positions
        table = (
            own.table.detach()
            if isinstance(own, LearnedPositions)
            else sinusoids(N_SINUSOIDS, own.d_model, own.divisor)
        )
        self.register_buffer("table", table)
        self.scale = embedding.scale

    def forward(self, vectors: Tensor, first: int) -> Tensor:
        """(B, T, d_model), at positions `first` to `first + T - 1`."""
        index = torch.arange(first, first + vectors.shape[1])
        return vectors * self.scale + self.table.index_select(0, index)


def _distance(n_past: int, n_all: int) -> Tensor:
    """How far each key lies behind each query: (n_all - n_past, n_all)."""
    return torch.arange(n_all) - torch.arange(n_past, n_all)[:, None]


def _self_attention(layer: EncoderLayer | DecoderLayer) -> tuple[SelfAttention, Window | None]:
    """The self-attention of a layer, and its neighbourhood; None: all positions."""
    own = layer.self_attention
    assert isinstance(own, SelfAttention), "the format has no other layers"
    return own, own.window if isinstance(own, RestrictedSelfAttention) else None


def _feed_forward(layer: FeedForward | Experts, x: Tensor) -> Tensor:
    """A feed-forward network, or all experts, of which those not chosen count nothing."""
    if isinstance(layer, FeedForward):
        y: Tensor = layer(x)
        return y
    logits = layer.router(x)  # (..., E)
    best, chosen = logits.topk(layer.top_k)  # (..., k)
    shares = torch.zeros_like(logits).scatter(-1, chosen, best.softmax(-1))  # (..., E)
    each: Iterable[Tensor] = (expert(x) for expert in layer.experts)
    return sum((shares[..., i, None] * y for i, y in enumerate(each)), torch.zeros_like(x))
