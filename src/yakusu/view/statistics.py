"""Statistics of each attention head: means over a corpus.

B batch, N layers, H heads, Q rows, K columns of a map; w_ij is the weight of column j in row i.

entropy      - sum_j w_ij ln w_ij, in nats: 0 if one token has all the weight, ln K if uniform
maximum      max_j w_ij
distance     sum_j w_ij |i - j|, in tokens. Cross-attention, where the sentences differ in length:
             sum_j w_ij |(i + 1/2) / Q - (j + 1/2) / K|, a fraction of the sentence
previous     w_i,i-1, over rows with i > 0
itself       w_ii; in a decoder, column i is the token read last
eos          weight of the source eos; None for decoder self-attention, which never reads eos
start        weight of the start; decoder self-attention only

Each value is a mean over all rows that are not padding, or None where it does not apply.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from yakusu.data.batches import pad
from yakusu.data.text import Pair, windows
from yakusu.errors import DataError
from yakusu.model.base import Role
from yakusu.progress import Progress, Silent
from yakusu.translator import Translator
from yakusu.view.maps import attention_model, compute_attention, token_limits

_BATCH_SIZE = 16  # pairs; all maps of a batch are in memory at once
Encoded = tuple[list[int], list[int]]


@dataclass(frozen=True)
class HeadStatistics:
    """Means of one head; the docstring of the module defines them.

    Attributes:
        role: Encoder, decoder or cross-attention.
        layer: Layer number, from 1.
        head: Head number, from 1.
    """

    role: Role
    layer: int
    head: int
    entropy: float
    maximum: float
    distance: float
    previous: float | None = None
    itself: float | None = None
    eos: float | None = None
    start: float | None = None


@dataclass(frozen=True)
class Statistics:
    """Statistics of all heads over a corpus.

    Attributes:
        n_pairs: Number of pairs used.
        n_left_out: Number of pairs with an empty sentence or more tokens than `token_limits`.
        heads: One entry per head.
        version: Version of the JSON that `yakusu view --json` writes.
    """

    n_pairs: int
    n_left_out: int
    heads: tuple[HeadStatistics, ...]
    version: int = 1


def head_statistics(
    translator: Translator, pairs: Iterable[Pair], *, progress: Progress | None = None
) -> Statistics:
    """Compute the statistics of all heads over a corpus, which is read as a stream.

    Args:
        translator: A translator with an attention model.
        pairs: Source sentences and their translations.
        progress: Progress reporter.

    Raises:
        DataError: No pair can be used.
        ModelError: The model has no attention, or is an ensemble.
    """
    model, progress = attention_model(translator), progress or Silent()
    limits, totals = token_limits(translator), dict[Role, _Totals]()
    n_read = n_pairs = 0
    with progress.track("analysing", "pairs", None) as tracker:
        for window in windows(iter(pairs), _BATCH_SIZE):
            batch = [pair for pair in _encode(translator, window) if _fits(pair, limits)]
            n_read, n_pairs = n_read + len(window), n_pairs + len(batch)
            tracker.advance(len(window))
            if not batch:
                continue
            src, tgt = [src for src, _ in batch], [tgt for _, tgt in batch]
            maps = compute_attention(model, pad(src, model.src_pad), pad(tgt, model.tgt_pad))
            n_src, n_tgt = torch.tensor(list(map(len, src))), torch.tensor(list(map(len, tgt)))
            for role, weights in maps.items():
                n_rows = n_src if role == "encoder" else n_tgt  # (B)
                n_columns = n_tgt if role == "decoder" else n_src  # (B)
                values = _row_values(role, weights.float().cpu(), n_rows, n_columns)
                totals.setdefault(role, _Totals()).add(values, n_rows)
    if not n_pairs:
        raise DataError(
            f"none of the {n_read} pairs can be used: provide pairs of at most {limits[0]} source "
            f"and {limits[1]} target tokens, including eos, with text on both sides"
        )
    heads = [head for role, total in totals.items() for head in total.heads(role)]
    return Statistics(n_pairs, n_read - n_pairs, tuple(heads))


def _encode(translator: Translator, pairs: list[Pair]) -> list[Encoded]:
    tokenizer, task = translator.tokenizer, translator.task
    sources = tokenizer.encode_source([task.preprocess_source(source) for source, _ in pairs])
    targets = tokenizer.encode_target([task.preprocess_target(target) for _, target in pairs])
    return list(zip(sources, targets, strict=True))


def _fits(pair: Encoded, limits: tuple[int, int]) -> bool:
    return all(1 < len(ids) <= limit for ids, limit in zip(pair, limits, strict=True))


def _row_values(role: Role, w: Tensor, n_rows: Tensor, n_columns: Tensor) -> dict[str, Tensor]:
    """Compute each statistic for each row of a batch of maps.

    Args:
        role: Encoder, decoder or cross-attention.
        w: Weights (B, N, H, Q, K), padded.
        n_rows: Number of rows of each map that are not padding, (B).
        n_columns: Number of columns of each map that are not padding, (B).

    Returns:
        (B, N, H, Q) for each statistic that applies to the role.
    """
    row, column = torch.arange(w.shape[-2])[:, None], torch.arange(w.shape[-1])  # (Q, 1), (K)
    values = {"entropy": torch.special.entr(w).sum(-1), "maximum": w.amax(-1)}
    if role == "cross":
        offset = (row + 0.5) / n_rows[:, None, None] - (column + 0.5) / n_columns[:, None, None]
        distance = offset.abs()  # (B, Q, K)
    else:
        distance = (row - column).abs()[None]  # (1, Q, K)
        values["itself"] = w.diagonal(dim1=-2, dim2=-1)
        values["previous"] = F.pad(w.diagonal(-1, dim1=-2, dim2=-1), (1, 0))
    values["distance"] = (w * distance[:, None, None]).sum(-1)
    if role == "decoder":
        values["start"] = w[..., 0]
    else:
        last = (n_columns - 1)[:, None, None, None, None].expand(*w.shape[:-1], 1)
        values["eos"] = w.gather(-1, last).squeeze(-1)
    return values


class _Totals:
    """Sums of the statistics of one role over all rows that are not padding."""

    def __init__(self) -> None:
        self.sums: dict[str, Tensor] = {}  # (N, H) each
        self.n_rows = self.n_sentences = 0

    def add(self, values: dict[str, Tensor], n_rows: Tensor) -> None:
        """Add the values (B, N, H, Q) of a batch; the first n_rows (B) rows are not padding."""
        self.n_rows += int(n_rows.sum())
        self.n_sentences += len(n_rows)
        for name, value in values.items():
            real = torch.arange(value.shape[-1]) < n_rows[:, None]  # (B, Q)
            total = (value * real[:, None, None]).sum((0, 3), dtype=torch.float64)  # (N, H)
            self.sums[name] = self.sums.get(name, 0) + total

    def heads(self, role: Role) -> Iterator[HeadStatistics]:
        """Yield the means of each head, layer by layer."""
        rows = dict.fromkeys(self.sums, self.n_rows)
        rows["previous"] = self.n_rows - self.n_sentences  # the first row has no previous token
        n_layers, n_heads = self.sums["entropy"].shape
        for layer in range(n_layers):
            for head in range(n_heads):
                means = {k: float(v[layer, head]) / rows[k] for k, v in self.sums.items()}
                yield HeadStatistics(role, layer + 1, head + 1, **means)
