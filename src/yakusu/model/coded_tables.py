"""Compressed embedding tables: vectors rebuilt from packed codes (Eq. 1) or from integers.

V vocabulary, D width, M components, K codes per component, N exact vectors. The tables consist of
plain tensors and unpack their own bits. The first N ids (the most frequent ones) may have exact
vectors instead of codes. The last id is padding; its vector is zero. Nothing here is trained.
"""

from collections.abc import Callable
from math import ceil

import torch
from torch import Tensor, nn

from yakusu.errors import DataError
from yakusu.model.base import Seq2Seq
from yakusu.model.linear import PackedLinear, version_of
from yakusu.model.table import DenseTable, Table
from yakusu.model.table_plans import (
    AnyTablePlan,
    CodedTablePlan,
    IntegerTablePlan,
    TableName,
)

LARGEST = 127  # largest magnitude of a symmetric 8-bit integer
_ROWS = 512  # ids whose rows are computed at a time


def empty_table(plan: AnyTablePlan, model: Seq2Seq) -> "CodedTable | IntegerTable":
    """Return a table of zeros for `model`, into which weights can be loaded."""
    dense = getattr(model, plan.tables[0])
    assert isinstance(dense, DenseTable), "a table can be compressed only once"
    vocab_size, width = dense.weight.shape
    sizes = {"n_components": plan.n_components, "n_exact": plan.n_exact}
    if isinstance(plan, IntegerTablePlan):
        return IntegerTable(vocab_size, width, **sizes)
    return CodedTable(vocab_size, width, n_codes=plan.n_codes, **sizes)


class _AllRows:
    """One row of floats for each id, computed at the first call and again after a change."""

    def __init__(self) -> None:
        self._rows: Tensor | None = None
        self._made_of: tuple[object, ...] = ()

    @torch.inference_mode(False)
    @torch.no_grad()
    def __call__(
        self, made_of: tuple[Tensor, ...], n_ids: int, rows_of: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Return the rows (V, C) of all ids.

        Args:
            made_of: The weights of which they are made.
            n_ids: V.
            rows_of: Returns the rows (n, C) of ids (n,).
        """
        device, dtype = made_of[-1].device, made_of[-1].dtype
        made = (*map(version_of, made_of), device, dtype)
        if self._rows is None or made != self._made_of:
            ids = torch.arange(n_ids, device=device)
            self._rows = torch.cat([rows_of(some) for some in ids.split(_ROWS)])
            self._made_of = made
        return self._rows


# ---- codes --------------------------------------------------------------------------------------


class CodedTable(Table):
    """Embedding table whose vectors are rebuilt from packed codes.

    The vector of an id is c B, where c has C coefficients and B has C rows; C is M + 1 rounded up
    to a multiple of 8. The first M coefficients are the weights of the codes and multiply the basis
    vectors, the next is 1 and multiplies the mean vector, and the rest are zero. All coefficients
    of exact ids and of padding are zero.

    `logits` computes the coefficients (V, C) of all ids at its first call and keeps them until the
    codes or weights change. If M is less than D, it is faster than a dense table, because (V, C)
    times (C, D) h costs less than (V, D) h.
    """

    def __init__(
        self, vocab_size: int, width: int, *, n_components: int, n_codes: int, n_exact: int = 0
    ) -> None:
        super().__init__()
        self.n_components, self.n_codes = n_components, n_codes
        plan = CodedTablePlan(
            tables=(), n_components=n_components, n_codes=n_codes, n_exact=n_exact
        )
        self.n_bits, shapes = plan.n_bits, plan.shapes(vocab_size, width)
        self.packed = _fixed(torch.zeros(shapes["packed"], dtype=torch.uint8))
        self.weights = _fixed(torch.zeros(shapes["weights"]))  # alpha
        self.basis = _fixed(torch.zeros(shapes["basis"]))  # B, transposed: (D, C)
        self.exact = _fixed(torch.zeros(shapes["exact"]))
        self._to_vector, self._to_coefficient = PackedLinear(), PackedLinear()
        self._to_logit, self._to_exact = PackedLinear(), PackedLinear()
        self._all = _AllRows()

    @classmethod
    def of(
        cls, exact: Tensor, *, packed: Tensor, mean: Tensor, basis: Tensor, weights: Tensor
    ) -> "CodedTable":
        """Build a table from its parts.

        Args:
            exact: Vectors of the first ids, (N, D).
            packed: Codes of the other ids, (V - 1 - N, bytes), uint8; in each row, the least
                significant bit of the first code comes first.
            mean: Mean vector, (D,).
            basis: Basis vectors, (M, D).
            weights: Weights of the codes, (M, K).
        """
        n_components, n_codes = weights.shape
        table = cls(
            len(exact) + len(packed) + 1,
            len(mean),
            n_components=n_components,
            n_codes=n_codes,
            n_exact=len(exact),
        )
        table.exact.copy_(exact)
        table.packed.copy_(packed)
        table.weights.copy_(weights)
        table.basis[:, :n_components] = basis.T
        table.basis[:, n_components] = mean
        return table

    def plan(self, tables: tuple[TableName, ...]) -> CodedTablePlan:
        """Return the plan that restores this table in place of the named tables."""
        return CodedTablePlan(
            tables=tables,
            n_components=self.n_components,
            n_codes=self.n_codes,
            n_exact=len(self.exact),
        )

    def forward(self, ids: Tensor) -> Tensor:
        """Return the vectors (..., D) of ids (...)."""
        vectors: Tensor = self._to_vector(self.coefficients(ids), self.basis)
        known = ids < len(self.exact)
        vectors[known] = self.exact[ids[known]]
        return vectors

    def logits(self, hidden: Tensor) -> Tensor:
        """Return products (..., V - 1) of hidden states (..., D) and all vectors except padding."""
        n_ids = len(self.exact) + len(self.packed) + 1
        every = self._all((self.packed, self.weights), n_ids, self.coefficients)  # (V, C)
        inner = self._to_coefficient(hidden, self.basis.T)  # (..., C)
        logits: Tensor = self._to_logit(inner, every)
        logits[..., : len(self.exact)] = self._to_exact(hidden, self.exact)
        return logits[..., :-1]

    def coefficients(self, ids: Tensor) -> Tensor:
        """Return the coefficients (..., C) of ids (...), from their packed codes."""
        place = ids - len(self.exact)
        has_codes = (place >= 0) & (place < len(self.packed))
        codes = self._codes(place.clamp(0, len(self.packed) - 1))  # (..., M)
        first = torch.arange(self.n_components, device=ids.device) * self.n_codes
        chosen = self.weights.flatten()[codes + first]
        real = has_codes[..., None].to(chosen.dtype)
        filling = chosen.new_zeros(*ids.shape, self.basis.shape[1] - self.n_components - 1)
        return torch.cat([chosen * real, real, filling], dim=-1)

    def _codes(self, place: Tensor) -> Tensor:
        """Return the codes (..., M) of rows of `packed`; a code spans at most three bytes."""
        n_bits, row = self.n_bits, self.packed[place].long()  # (..., bytes)
        bit = torch.arange(self.n_components, device=place.device) * n_bits
        three = torch.zeros(*place.shape, self.n_components, dtype=torch.long, device=place.device)
        for i in range(3):
            byte = (bit // 8 + i).clamp(max=row.shape[-1] - 1)
            three |= row[..., byte] << (8 * i)
        codes: Tensor = (three >> (bit % 8)) & (2**n_bits - 1)
        return codes  # (..., M)


# ---- integers -----------------------------------------------------------------------------------


class IntegerTable(Table):
    """Embedding table whose vectors are rebuilt from integers q and a basis B: mean + q B.

    `logits` rebuilds all vectors at its first call and keeps them until a weight changes. The
    product is then that of a dense table, with the same cost and memory on every processor.
    """

    def __init__(self, vocab_size: int, width: int, *, n_components: int, n_exact: int = 0) -> None:
        super().__init__()
        plan = IntegerTablePlan(tables=(), n_components=n_components, n_exact=n_exact)
        shapes = plan.shapes(vocab_size, width)
        self.numbers = _fixed(torch.zeros(shapes["numbers"], dtype=torch.int8))  # q
        self.mean = _fixed(torch.zeros(shapes["mean"]))
        self.basis = _fixed(torch.zeros(shapes["basis"]))  # B
        self.exact = _fixed(torch.zeros(shapes["exact"]))
        self._to_vector, self._to_logit = PackedLinear(), PackedLinear()
        self._all = _AllRows()

    @classmethod
    def of(cls, exact: Tensor, *, integers: Tensor, mean: Tensor, basis: Tensor) -> "IntegerTable":
        """Build a table from its parts.

        Args:
            exact: Vectors of the first ids, (N, D).
            integers: Integers q of the other ids, (V - 1 - N, M).
            mean: Mean vector, (D,).
            basis: B, (M, D).

        Raises:
            DataError: An integer exceeds 8 bits.
        """
        largest = int(integers.abs().max()) if integers.numel() else 0
        if largest > LARGEST:
            raise DataError(
                f"integers of up to {largest} do not fit into 8 bits: choose a step at least "
                f"{ceil(10 * largest / LARGEST) / 10} times as large"
            )
        n_components, width = basis.shape
        sizes = {"n_components": n_components, "n_exact": len(exact)}
        table = cls(len(exact) + len(integers) + 1, width, **sizes)
        table.exact.copy_(exact)
        table.numbers.copy_(integers)
        table.mean.copy_(mean)
        table.basis.copy_(basis)
        return table

    def plan(self, tables: tuple[TableName, ...]) -> IntegerTablePlan:
        """Return the plan that restores this table in place of the named tables."""
        return IntegerTablePlan(
            tables=tables, n_components=self.numbers.shape[1], n_exact=len(self.exact)
        )

    def forward(self, ids: Tensor) -> Tensor:
        """Return the vectors (..., D) of ids (...)."""
        place, n_words = ids - len(self.exact), len(self.numbers)
        integers = self.numbers[place.clamp(0, n_words - 1)].to(self.basis.dtype)  # (..., M)
        vectors: Tensor = self._to_vector(integers, self.basis.T, self.mean)
        vectors *= (place < n_words)[..., None]  # padding
        known = place < 0
        vectors[known] = self.exact[ids[known]]
        return vectors

    def logits(self, hidden: Tensor) -> Tensor:
        """Return products (..., V - 1) of hidden states (..., D) and all vectors except padding."""
        made_of = (self.numbers, self.exact, self.mean, self.basis)
        n_ids = len(self.exact) + len(self.numbers) + 1
        return self._to_logit(hidden, self._all(made_of, n_ids, self))[..., :-1]


def _fixed(tensor: Tensor) -> nn.Parameter:
    """Wrap a tensor, possibly of integers, as a parameter that is not trained."""
    return nn.Parameter(tensor, requires_grad=False)
