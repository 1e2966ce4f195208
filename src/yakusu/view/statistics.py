"""What each head of a model does, in means over a corpus.

B batch, N layers, H heads, Q rows, K columns of a map; w_ij is how much row i attends to column j.

entropy      - sum_j w_ij ln w_ij, in nats: 0 where one token has it all, ln K where all have alike
maximum      max_j w_ij
distance     sum_j w_ij |i - j|, in tokens; of cross-attention, whose sides differ in length,
             sum_j w_ij |(i + 1/2) / Q - (j + 1/2) / K|, a share of the sentence
previous     w_i,i-1, over rows that have a token before them
itself       w_ii; in a decoder that is the token just read
eos, start   the weight on the source's eos; in a decoder, which never reads eos, on the start

Each is a mean over all rows that hold a token. What a measure does not apply to is None.
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
from yakusu.view.maps import attentions, attentive, limits

_BATCH = 16  # pairs; all maps of a batch are in memory at once
Encoded = tuple[list[int], list[int]]


@dataclass(frozen=True)
class HeadStatistics:
    """The means of one head; the module's legend says of what."""

    role: Role
    layer: int  # from 1
    head: int  # from 1
    entropy: float
    maximum: float
    distance: float
    previous: float | None = None
    itself: float | None = None
    eos: float | None = None
    start: float | None = None


@dataclass(frozen=True)
class Statistics:
    """What the heads of a model do over a corpus."""

    n_pairs: int
    n_left_out: int  # pairs with an empty side, or with more tokens than `maps.limits` on one
    heads: tuple[HeadStatistics, ...]


def head_statistics(
    translator: Translator, pairs: Iterable[Pair], *, progress: Progress | None = None
) -> Statistics:
    """Means over all tokens of a corpus, which is read as it comes and never held.

    Args:
        translator: Its model must be one that attends.
        pairs: Sentences and their translations.
        progress: Watches.

    Raises:
        DataError: No pair can be looked at.
        ModelError: The model does not attend.
    """
    model, progress = attentive(translator), progress or Silent()
    most, totals = limits(translator), dict[Role, _Totals]()
    n_read = n_pairs = 0
    with progress.track("looking", "pairs", None) as tracker:
        for window in windows(iter(pairs), _BATCH):
            batch = [pair for pair in _encode(translator, window) if _fits(pair, most)]
            n_read, n_pairs = n_read + len(window), n_pairs + len(batch)
            tracker.advance(len(window))
            if not batch:
                continue
            src, tgt = ([pair[side] for pair in batch] for side in (0, 1))
            seen = attentions(model, pad(src, model.src_pad), pad(tgt, model.tgt_pad))
            n_src, n_tgt = (torch.tensor([len(ids) for ids in side]) for side in (src, tgt))
            for role, weights in seen.items():
                n_rows = n_src if role == "encoder" else n_tgt  # (B)
                n_columns = n_tgt if role == "decoder" else n_src  # (B)
                measures = _measures(role, weights.float().cpu(), n_rows, n_columns)
                totals.setdefault(role, _Totals()).add(measures, n_rows)
    if not n_pairs:
        raise DataError(
            f"none of {n_read} pairs can be looked at: give sentences on both sides, of at most "
            f"{min(most)} tokens, eos counted"
        )
    heads = [head for role, total in totals.items() for head in total.heads(role)]
    return Statistics(n_pairs, n_read - n_pairs, tuple(heads))


def _encode(translator: Translator, pairs: list[Pair]) -> list[Encoded]:
    tokenizer, task = translator.tokenizer, translator.task
    sources = tokenizer.encode_source([task.preprocess_source(source) for source, _ in pairs])
    targets = tokenizer.encode_target([task.preprocess_target(target) for _, target in pairs])
    return list(zip(sources, targets, strict=True))


def _fits(pair: Encoded, most: tuple[int, int]) -> bool:
    return all(1 < len(ids) <= limit for ids, limit in zip(pair, most, strict=True))


def _measures(role: Role, w: Tensor, n_rows: Tensor, n_columns: Tensor) -> dict[str, Tensor]:
    """Each measure of every row, (B, N, H, Q), of maps (B, N, H, Q, K) with padding."""
    row, column = torch.arange(w.shape[-2])[:, None], torch.arange(w.shape[-1])  # (Q, 1), (K)
    measures = {"entropy": torch.special.entr(w).sum(-1), "maximum": w.amax(-1)}
    if role == "cross":
        share = (row + 0.5) / n_rows[:, None, None] - (column + 0.5) / n_columns[:, None, None]
        distance = share.abs()  # (B, Q, K)
    else:
        distance = (row - column).abs()[None]  # (1, Q, K)
        measures["itself"] = w.diagonal(dim1=-2, dim2=-1)
        measures["previous"] = F.pad(w.diagonal(-1, dim1=-2, dim2=-1), (1, 0))
    measures["distance"] = (w * distance[:, None, None]).sum(-1)
    if role == "decoder":
        measures["start"] = w[..., 0]
    else:
        last = (n_columns - 1)[:, None, None, None, None].expand(*w.shape[:-1], 1)
        measures["eos"] = w.gather(-1, last).squeeze(-1)
    return measures


class _Totals:
    """Sums of measures over rows that hold a token."""

    def __init__(self) -> None:
        self.sums: dict[str, Tensor] = {}  # (N, H) each
        self.n_rows = self.n_sentences = 0

    def add(self, measures: dict[str, Tensor], n_rows: Tensor) -> None:
        """Count the rows (B, N, H, Q) of a batch, of which the first n_rows (B) hold tokens."""
        self.n_rows, self.n_sentences = (
            self.n_rows + int(n_rows.sum()),
            self.n_sentences + len(n_rows),
        )
        for name, values in measures.items():
            real = torch.arange(values.shape[-1]) < n_rows[:, None]  # (B, Q)
            total = (values * real[:, None, None]).sum((0, 3), dtype=torch.float64)  # (N, H)
            self.sums[name] = self.sums.get(name, 0) + total

    def heads(self, role: Role) -> Iterator[HeadStatistics]:
        """The means of each head, layer by layer."""
        rows = dict.fromkeys(self.sums, self.n_rows)
        rows["previous"] = self.n_rows - self.n_sentences  # the first token has none before it
        n_layers, n_heads = self.sums["entropy"].shape
        for layer in range(n_layers):
            for head in range(n_heads):
                means = {k: float(v[layer, head]) / rows[k] for k, v in self.sums.items()}
                yield HeadStatistics(role, layer + 1, head + 1, **means)
