"""Peer: ``torch.nn.Transformer`` in the training loop of PyTorch's own translation tutorial.

As in the tutorial: embeddings times sqrt(d_model), sinusoidal positions, layers with ReLU, Xavier
initialisation, Adam(0.9, 0.98, 1e-9), logits for every position, padded or not, and dropout also on
the attention weights and inside the feed-forward block, because the ``dropout`` argument of
``nn.Transformer`` sets all of them; post-norm, unless ``Sizes.pre_norm``. Added: label smoothing,
``batch_first=True``, and, unless ``tied=False``, one matrix for both embeddings and the generator,
so that the model has as many weights as the other peers. The tutorial itself has three matrices
(``tied=False``).
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from .common import LABEL_SMOOTHING, Pair, Sizes, Stopwatch, Throughput, endless_batches, pad_rows


class PositionalEncoding(nn.Module):
    """Adds sinusoidal positions to embeddings of shape (batch, length, d_model)."""

    def __init__(self, d_model: int, dropout: float, max_length: int = 5000) -> None:
        super().__init__()
        steps = torch.exp(-torch.arange(0, d_model, 2) * math.log(10000) / d_model)
        angles = torch.arange(max_length).unsqueeze(1) * steps
        table = torch.stack((angles.sin(), angles.cos()), dim=2).flatten(1)
        self.register_buffer("table", table, persistent=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, embedded: Tensor) -> Tensor:
        """Add the positions, then apply dropout."""
        table = self.get_buffer("table")
        summed: Tensor = self.dropout(embedded + table[: embedded.size(1)])
        return summed


class Seq2SeqTransformer(nn.Module):
    """The tutorial's model: embeddings, ``nn.Transformer`` and a linear generator."""

    def __init__(self, sizes: Sizes, *, tied: bool) -> None:
        super().__init__()
        self.pad = sizes.pad
        self.scale = math.sqrt(sizes.d_model)
        self.source_embedding = nn.Embedding(sizes.vocab_size, sizes.d_model)
        self.target_embedding = nn.Embedding(sizes.vocab_size, sizes.d_model)
        self.positions = PositionalEncoding(sizes.d_model, sizes.dropout)
        self.transformer = nn.Transformer(
            d_model=sizes.d_model,
            nhead=sizes.n_heads,
            num_encoder_layers=sizes.n_layers,
            num_decoder_layers=sizes.n_layers,
            dim_feedforward=sizes.d_ff,
            dropout=sizes.dropout,
            batch_first=True,
            norm_first=sizes.pre_norm,
        )
        self.generator = nn.Linear(sizes.d_model, sizes.vocab_size)
        if tied:
            self.source_embedding.weight = self.generator.weight
            self.target_embedding.weight = self.generator.weight
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def forward(self, source: Tensor, target_in: Tensor, target_padding: Tensor) -> Tensor:
        """Logits for each target position."""
        length = target_in.size(1)
        source_padding = source == self.pad
        causal = torch.ones(length, length, dtype=torch.bool, device=source.device).triu(1)
        decoded = self.transformer(
            self.positions(self.source_embedding(source) * self.scale),
            self.positions(self.target_embedding(target_in) * self.scale),
            tgt_mask=causal,
            src_key_padding_mask=source_padding,
            tgt_key_padding_mask=target_padding,
            memory_key_padding_mask=source_padding,
        )
        logits: Tensor = self.generator(decoded)
        return logits


def collate(pairs: list[Pair], pad: int) -> tuple[Tensor, Tensor, Tensor]:
    """Source, decoder input and labels; the decoder starts from the padding symbol."""
    source = pad_rows([source for source, _ in pairs], pad)
    target_in = pad_rows([[pad, *target[:-1]] for _, target in pairs], pad)
    return source, target_in, pad_rows([target for _, target in pairs], pad)


def train_tokens_per_second(
    pairs: list[Pair],
    sizes: Sizes,
    *,
    tokens_per_batch: int,
    seconds: float,
    seed: int,
    batches: list[list[int]] | None = None,
    tied: bool = True,
    rates: Sequence[float] = (),
    weights: Mapping[str, Tensor] | None = None,
) -> Throughput:
    """Train for ``seconds`` or ``rates``, from random or given ``weights``; batches: ``common``."""
    torch.manual_seed(seed)
    pad = sizes.pad
    model = Seq2SeqTransformer(sizes, tied=tied).train()
    model.load_state_dict({**model.state_dict(), **(weights or {})})
    criterion = nn.CrossEntropyLoss(ignore_index=pad, label_smoothing=LABEL_SMOOTHING)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    padded = partial(collate, pad=pad)
    stream = endless_batches(
        pairs, padded, tokens_per_batch=tokens_per_batch, seed=seed, batches=batches
    )
    watch = Stopwatch(seconds, rates)
    total_loss = 0.0
    for source, target_in, labels in stream:
        watch.set_rate(optimizer)
        logits = model(source, target_in, labels == pad)
        optimizer.zero_grad()
        loss = criterion(logits.flatten(0, 1), labels.flatten())
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
        watch.add_loss(logits, labels, pad)
        if watch.step_done(source, labels, pad):
            break
    return watch.result()
