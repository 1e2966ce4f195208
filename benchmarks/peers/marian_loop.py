"""Peer: Hugging Face ``MarianMTModel`` in a plain loop with the parts that ``Trainer`` uses.

As in ``Trainer``: labels padded with -100, its ``LabelSmoother``, gradients clipped to norm 1 and
fused AdamW. As in Marian: tied embeddings, fixed sinusoidal positions, post-norm layers, and a
decoder that starts from the padding symbol. Its dropout acts on the embeddings and sublayers only
(the attention and activation dropouts keep their default, 0), which makes it cheaper.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from transformers import GenerationConfig, MarianConfig, MarianMTModel
from transformers.trainer_pt_utils import LabelSmoother

from .common import (
    EOS,
    LABEL_SMOOTHING,
    Pair,
    Sizes,
    Stopwatch,
    Throughput,
    endless_batches,
    pad_rows,
)

IGNORED = -100


@dataclass(frozen=True)
class Translations:
    """Token ids without padding and start symbol, in input order, and the seconds taken."""

    outputs: list[list[int]]
    seconds: float


def build_model(sizes: Sizes) -> MarianMTModel:
    """Return an untrained fp32 model of the given sizes."""
    config = MarianConfig(
        vocab_size=sizes.vocab_size,
        d_model=sizes.d_model,
        encoder_layers=sizes.n_layers,
        decoder_layers=sizes.n_layers,
        encoder_ffn_dim=sizes.d_ff,
        decoder_ffn_dim=sizes.d_ff,
        encoder_attention_heads=sizes.n_heads,
        decoder_attention_heads=sizes.n_heads,
        dropout=sizes.dropout,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=sizes.pad,
        decoder_start_token_id=sizes.pad,
        eos_token_id=EOS,
        forced_eos_token_id=EOS,
    )
    return MarianMTModel(config)


def collate(pairs: list[Pair], pad: int) -> tuple[Tensor, Tensor]:
    """Return source ids and labels, the latter padded with -100."""
    source = pad_rows([source for source, _ in pairs], pad)
    return source, pad_rows([target for _, target in pairs], IGNORED)


def train_tokens_per_second(
    pairs: list[Pair],
    sizes: Sizes,
    *,
    tokens_per_batch: int,
    seconds: float,
    seed: int,
    batches: list[list[int]] | None = None,
    rates: Sequence[float] = (),
) -> Throughput:
    """Train for about ``seconds``, or for given ``rates``; see ``common`` for batches."""
    torch.manual_seed(seed)
    pad = sizes.pad
    model = build_model(sizes).train()
    smoother = LabelSmoother(epsilon=LABEL_SMOOTHING)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0, fused=True
    )
    padded = partial(collate, pad=pad)
    stream = endless_batches(
        pairs, padded, tokens_per_batch=tokens_per_batch, seed=seed, batches=batches
    )
    watch = Stopwatch(seconds, rates)
    for source, labels in stream:
        watch.set_rate(optimizer)
        # With label smoothing Trainer keeps the labels from the model, which needs them shifted.
        decoder_input = model.prepare_decoder_input_ids_from_labels(labels)
        output = model(
            input_ids=source, attention_mask=(source != pad).long(), decoder_input_ids=decoder_input
        )
        loss = smoother(output, labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        watch.add_loss(output.logits, labels, IGNORED)
        if watch.step_done(source, labels.masked_fill(labels == IGNORED, pad), pad):
            break
    return watch.result()


def translate(
    model: MarianMTModel,
    sources: list[list[int]],
    *,
    max_new_tokens: int,
    num_beams: int = 4,
    length_penalty: float = 0.6,
    batch_size: int = 64,
    force_length: bool = False,
) -> Translations:
    """Translate with HF ``generate`` in fp32, in batches of consecutive sources.

    ``force_length`` makes every output exactly ``max_new_tokens`` long, the final end of sentence
    included, so that two toolkits compared by speed do the same number of steps. HF divides a
    score by length ** ``length_penalty``, which is similar but not equal to GNMT's penalty.
    """
    model.eval()
    pad = int(model.config.decoder_start_token_id)
    settings = GenerationConfig(
        num_beams=num_beams,
        length_penalty=length_penalty,
        max_new_tokens=max_new_tokens,
        min_new_tokens=max_new_tokens if force_length else None,
        pad_token_id=pad,
        eos_token_id=EOS,
        forced_eos_token_id=EOS,
        decoder_start_token_id=pad,
        bad_words_ids=[[pad]],  # as in Marian's released models: padding is never an output
    )
    outputs: list[list[int]] = []
    start = time.perf_counter()
    with torch.inference_mode():
        for first in range(0, len(sources), batch_size):
            source = pad_rows(sources[first : first + batch_size], pad)
            mask = (source != pad).long()
            ids = model.generate(source, attention_mask=mask, generation_config=settings)
            outputs += [[token for token in row if token != pad] for row in ids.tolist()]
    return Translations(outputs, time.perf_counter() - start)
