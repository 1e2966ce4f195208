"""How often the pairs of each corpus are used in an epoch.

    p_i = n_i^(1/T) / sum_j n_j^(1/T)    share of direction i, which has n_i pairs
    w_i = p_i * sum_j n_j / n_i          number of uses of each of its pairs

With temperature T = 1, every pair is used once; with a higher one, small corpora are used more
often and large ones less often, and an epoch has the same number of pairs.
"""

from collections.abc import Sequence

from yakusu.data.corpus import ExtraCorpus
from yakusu.data.pairs import Part


def mixed(sizes: Sequence[int], temperature: float) -> list[Part]:
    """Weigh the corpora of several directions.

    Args:
        sizes: Number of pairs of each.
        temperature: T, at least 1.
    """
    powers = [n ** (1 / temperature) for n in sizes]
    shares = [power / sum(powers) for power in powers]  # p
    return [Part(n, p * sum(sizes) / n if n else 1.0) for n, p in zip(sizes, shares, strict=True)]


def extra_part(n_pairs: int, corpus: ExtraCorpus, n_others: int) -> Part:
    """Weigh the extra corpus.

    Args:
        n_pairs: Number of its pairs.
        corpus: Its weight or its share of the training pairs.
        n_others: Number of the other training pairs of an epoch.
    """
    if corpus.share is None or not n_pairs:
        return Part(n_pairs, corpus.weight)
    return Part(n_pairs, corpus.share / (1 - corpus.share) * n_others / n_pairs)
