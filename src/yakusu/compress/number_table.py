"""A table of a translator made of whole numbers, which are multiplied as such.

V vocabulary, D width, M components; q whole numbers of 8 bits; B (M, D) and a mean (D,);
the first N ids, the most frequent ones, may stay exact, and have no numbers.

The vector of an id is mean + q B, so its product with a hidden state h is mean h + q (B h). B h is
rounded to 8 bits too: a CPU multiplies whole numbers several times faster than floats, and their
sum is the same in any order.
"""

from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from yakusu.compress.table import TableName, TablePlan, fixed
from yakusu.errors import DataError
from yakusu.model.base import Seq2Seq
from yakusu.model.product import Product
from yakusu.model.table import Table

if TYPE_CHECKING:  # a compressed translator is used without what compressed it
    from yakusu.compress.uniform import Lattice, Numbers

GREATEST = 127


class TableNumbers(TablePlan):
    """Which tables of a model are one table of numbers, and its M."""

    n_components: int
    n_exact: int = 0

    def empty(self, model: Seq2Seq) -> "NumberTable":
        """A table for these tables of `model`, whose weights are yet to be loaded."""
        sizes = {"n_components": self.n_components, "n_exact": self.n_exact}
        return NumberTable(*self.shape_in(model), **sizes)


class NumberTable(Table):
    """V vectors of which the last, pad's, is zero; it does not learn."""

    def __init__(self, vocab_size: int, width: int, *, n_components: int, n_exact: int = 0) -> None:
        super().__init__()
        n_words = vocab_size - 1 - n_exact
        self.numbers = fixed(torch.zeros(n_words, n_components, dtype=torch.int8))  # q
        self.mean = fixed(torch.zeros(width))
        self.basis = fixed(torch.zeros(n_components, width))  # B
        self.exact = fixed(torch.zeros(n_exact, width))
        self._to_vector, self._to_inner, self._to_exact = (Product() for _ in range(3))

    @classmethod
    def of(cls, exact: Tensor, numbers: "Numbers", lattice: "Lattice") -> "NumberTable":
        """N exact vectors (N, D), and the numbers (V - 1 - N, M) and lattice of the others.

        Raises:
            DataError: 8 bits do not hold the numbers.
        """
        greatest = int(np.abs(numbers).max(initial=0))
        if greatest > GREATEST:
            raise DataError(
                f"numbers up to {greatest} do not fit into 8 bits: take a step at least "
                f"{ceil(10 * greatest / GREATEST) / 10} times as large"
            )
        n_components, width = lattice.basis.shape
        sizes = {"n_components": n_components, "n_exact": len(exact)}
        table = cls(len(exact) + len(numbers) + 1, width, **sizes)
        table.exact.copy_(exact)
        table.numbers.copy_(torch.from_numpy(numbers))
        table.mean.copy_(torch.from_numpy(lattice.mean))
        table.basis.copy_(torch.from_numpy(lattice.basis))
        return table

    def plan(self, tables: tuple[TableName, ...]) -> TableNumbers:
        """How it is found again in the place of these tables."""
        return TableNumbers(
            tables=tables, n_components=self.numbers.shape[1], n_exact=len(self.exact)
        )

    def forward(self, ids: Tensor) -> Tensor:
        """The vectors (..., D) of ids (...)."""
        place, n_words = ids - len(self.exact), len(self.numbers)
        numbers = self.numbers[place.clamp(0, n_words - 1)].to(self.basis.dtype)  # (..., M)
        vectors: Tensor = self._to_vector(numbers, self.basis.T, self.mean)
        vectors *= (place < n_words)[..., None]  # pad
        known = place < 0
        vectors[known] = self.exact[ids[known]]
        return vectors

    def logits(self, hidden: Tensor) -> Tensor:
        """The products (..., V - 1) of hidden states (..., D) with every vector but pad's."""
        inner = self._to_inner(hidden, self.basis).flatten(0, -2)  # (n, M)
        logits = _product(inner, self.numbers).unflatten(0, hidden.shape[:-1])
        logits += (hidden * self.mean).sum(dim=-1, keepdim=True)
        if not len(self.exact):
            return logits  # type: ignore[no-any-return]  # (..., V - 1)
        return torch.cat([self._to_exact(hidden, self.exact), logits], dim=-1)  # (..., V - 1)


def _product(x: Tensor, numbers: Tensor) -> Tensor:
    """x (n, M) times numbers (W, M), each row of x rounded to 255 levels: (n, W)."""
    if x.device.type != "cpu":
        return x @ numbers.to(x.dtype).T
    scale = x.abs().amax(dim=1, keepdim=True).clamp(min=torch.finfo(x.dtype).tiny) / GREATEST
    whole = torch._int_mm((x / scale).round().to(torch.int8), numbers.T)
    product: Tensor = whole.float().mul_(scale)
    return product
