"""Statistics of each attention head: means over a corpus.

N layers, H heads, Q rows, K columns of a map; w_ij is the weight of column j in row i.

entropy      - sum_j w_ij ln w_ij, in nats: 0 if one token has all the weight, ln K if uniform
maximum      max_j w_ij
distance     sum_j w_ij |i - j|, in tokens. Cross-attention, where the sentences differ in length:
             sum_j w_ij |(i + 1/2) / Q - (j + 1/2) / K|, a fraction of the sentence
previous     w_i,i-1, over rows with i > 0
itself       w_ii; in a decoder, column i is the token read last
eos          weight of the source eos; None for decoder self-attention, which never reads eos
start        weight of the start; decoder self-attention only

Each value is a mean over all rows, or None where it does not apply.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from yakusu.arrays import Floats
from yakusu.data.files.text import Pair, windows
from yakusu.errors import DataError
from yakusu.model.config import Role
from yakusu.progress import Progress, Silent
from yakusu.translator import Translator
from yakusu.view.maps import attention_roles, token_limits

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
        ModelError: The model has no attention, or is an ensemble, or has no default among several
            target languages.
    """
    translator.require_target()
    roles, progress = attention_roles(translator), progress or Silent()
    limits, totals = token_limits(translator), dict[Role, _Totals]()
    n_read = n_pairs = 0
    with progress.track("analysing", "pairs", None) as tracker:
        for window in windows(iter(pairs), _BATCH_SIZE):
            batch = [pair for pair in _encode(translator, window) if _fits(pair, limits)]
            n_read, n_pairs = n_read + len(window), n_pairs + len(batch)
            tracker.advance(len(window))
            for (maps,) in translator.decoder.attentions(batch, roles):
                for role, weights in maps.items():
                    totals.setdefault(role, _Totals()).add(_row_values(role, weights))
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


def _row_values(role: Role, w: Floats) -> dict[str, NDArray[np.float64]]:
    """Compute each statistic for each row of the maps (N, H, Q, K) of a sentence.

    Returns:
        (N, H, Q) for each statistic that applies to the role.
    """
    weights = w.astype(np.float64)
    row, column = np.ogrid[: w.shape[-2], : w.shape[-1]]  # (Q, 1), (1, K)
    logs = np.log(weights, where=weights > 0, out=np.zeros_like(weights))
    values = {"entropy": -(weights * logs).sum(-1), "maximum": weights.max(-1)}
    if role == "cross":
        distance = np.abs((row + 0.5) / w.shape[-2] - (column + 0.5) / w.shape[-1])  # (Q, K)
    else:
        distance = np.abs(row - column)
        values["itself"] = weights.diagonal(axis1=-2, axis2=-1)
        previous = weights.diagonal(-1, axis1=-2, axis2=-1)
        values["previous"] = np.pad(previous, [(0, 0), (0, 0), (1, 0)])
    values["distance"] = (weights * distance).sum(-1)
    if role == "decoder":
        values["start"] = weights[..., 0]
    else:
        values["eos"] = weights[..., -1]
    return values


class _Totals:
    """Sums of the statistics of one role over all rows."""

    def __init__(self) -> None:
        self.sums: dict[str, NDArray[np.float64]] = {}  # (N, H) each
        self.n_rows = self.n_sentences = 0

    def add(self, values: dict[str, NDArray[np.float64]]) -> None:
        """Add the values (N, H, Q) of a sentence."""
        self.n_rows += values["entropy"].shape[-1]
        self.n_sentences += 1
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value.sum(axis=-1)

    def heads(self, role: Role) -> Iterator[HeadStatistics]:
        """Yield the means of each head, layer by layer."""
        rows = dict.fromkeys(self.sums, self.n_rows)
        rows["previous"] = self.n_rows - self.n_sentences  # the first row has no previous token
        n_layers, n_heads = self.sums["entropy"].shape
        for layer in range(n_layers):
            for head in range(n_heads):
                means = {k: float(v[layer, head]) / rows[k] for k, v in self.sums.items()}
                yield HeadStatistics(role, layer + 1, head + 1, **means)
