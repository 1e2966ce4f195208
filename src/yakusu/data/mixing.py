"""How often the pairs of each corpus are used in an epoch.

    r_i = n_i^(1/T - 1)                      n_i: number of pairs of direction i
    w_i = r_i * sum_j n_j / sum_j n_j r_j    uses of each of its pairs: n_i w_i ~ n_i^(1/T)

With temperature T = 1, every pair is used once per epoch. With a higher one, small corpora are used
more often and large ones less often; the number of pairs per epoch does not change. If a direction
has several corpora with weights, a pair is used as often as this says, times the weight of its
corpus.
"""

from collections.abc import Sequence

from yakusu.data.corpus import ExtraCorpus
from yakusu.data.pairs import CorpusPart


def mixed(sizes: Sequence[int], temperature: float) -> list[CorpusPart]:
    """Weigh the corpora of several directions.

    Args:
        sizes: Number of pairs of each direction.
        temperature: T, at least 1.
    """
    uses = [max(n, 1) ** (1 / temperature - 1) for n in sizes]  # r; exactly 1 for T = 1
    total = sum(n * r for n, r in zip(sizes, uses, strict=True))
    return [
        CorpusPart(n_pairs=n, weight=r * sum(sizes) / total)
        for n, r in zip(sizes, uses, strict=True)
    ]


def weighted(part: CorpusPart, sizes: Sequence[int], weights: Sequence[float]) -> list[CorpusPart]:
    """Divide the pairs of a direction into those of its corpora.

    Args:
        part: All pairs of the direction.
        sizes: Number of pairs of each corpus.
        weights: Weight of each corpus.
    """
    return [
        CorpusPart(n_pairs=n, weight=part.weight * w) for n, w in zip(sizes, weights, strict=True)
    ]


def extra_part(n_pairs: int, corpus: ExtraCorpus, n_others: int) -> CorpusPart:
    """Weigh the extra corpus.

    Args:
        n_pairs: Number of its pairs.
        corpus: Its weight or its share of the training pairs.
        n_others: Number of the other training pairs of an epoch.
    """
    if corpus.share is None or not n_pairs:
        return CorpusPart(n_pairs=n_pairs, weight=corpus.weight)
    return CorpusPart(
        n_pairs=n_pairs, weight=corpus.share / (1 - corpus.share) * n_others / n_pairs
    )
