"""The best rows of queries, found block by block.

The products of a block are rounded, but not by more than a known amount. Rows that cannot be among
the best are left out; the others are scored again without rounding. So the result does not depend
on blocks, threads or the kernels.

n rows, M components, k best rows.
"""

from dataclasses import dataclass, field

import numpy as np

from yakusu.arrays import Doubles, Longs
from yakusu.compress import kernels
from yakusu.vectors.store.blocks import ChosenRows, LoadedBlock
from yakusu.vectors.store.coding import PreparedQuery
from yakusu.vectors.store.file import StoreSettings
from yakusu.vectors.store.similarity import clipped, values_of

_FEW = 1 / 128  # of a block's rows: so few are scored exactly faster than all with rounding


@dataclass(eq=False)
class BestRows:
    """The k best rows of a query so far: the largest values first; of equal ones, the oldest.

    query: The query.
    k: Number of rows.
    settings: Those of the store.
    numbers, values: The rows, at most k.
    """

    query: PreparedQuery
    k: int
    settings: StoreSettings
    numbers: Longs = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    values: Doubles = field(default_factory=lambda: np.empty(0))

    def add(self, numbers: Longs, values: Doubles) -> None:
        """Add rows (n,)."""
        numbers = np.concatenate([self.numbers, numbers])
        values = np.concatenate([self.values, clipped(values, self.settings.similarity)])
        best = np.lexsort((numbers, -values))[: self.k]
        self.numbers, self.values = numbers[best], values[best]

    def rank_again(self, values: Doubles) -> None:
        """Give the rows other values (n,)."""
        numbers, self.numbers, self.values = self.numbers, self.numbers[:0], self.values[:0]
        self.add(numbers, values)

    def scan(self, block: LoadedBlock, chosen: ChosenRows | None) -> None:
        """Add the rows of a block.

        Args:
            block: The block.
            chosen: The rows that may be found; None: all.
        """
        likely = self._likely(block, chosen)
        if len(likely):
            products = self.settings.coder.exact(block.packed, likely, self.query)
            self.add(block.first + likely, self._values(products, block.terms[likely]))

    def _likely(self, block: LoadedBlock, chosen: ChosenRows | None) -> Longs:
        """Return the places of the chosen rows that can be among the best."""
        coder, query, terms = self.settings.coder, self.query, block.terms
        are_few = chosen is not None and chosen.count <= _FEW * len(terms)
        if are_few or not kernels.are_available():
            return np.arange(len(terms)) if chosen is None else np.flatnonzero(chosen.mask)
        products = coder.rounded(block.packed, len(terms), query)
        error = block.reach * query.step / 2 + query.slack
        if len(self.values) == self.k:
            least = float(self.values[-1])
        else:
            values = self._values(products - error, terms)
            least = _kth(values if chosen is None else values[chosen.mask], self.k)
        likely = np.flatnonzero(self._values(products + error, terms) >= least)
        return likely if chosen is None else likely[chosen.mask[likely]]

    def _values(self, products: Doubles, terms: Doubles) -> Doubles:
        return values_of(products, terms, self.query.square, self.settings.similarity)


def _kth(values: Doubles, k: int) -> float:
    """Return the k-th largest value; minus infinity if there are fewer."""
    return float(np.partition(values, -k)[-k]) if len(values) >= k else -np.inf
