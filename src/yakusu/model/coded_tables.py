"""A table of a translator, read from packed codes: Eq. 1 within a model.

V vocabulary, D width, M components, K codes a component; C = M + 1, rounded up to a multiple of 8;
the first N ids, the most frequent ones, may stay exact, and have no codes.

The vector of an id is c B: C coefficients times C rows. The first M are the codes' weights and the
basis; the next is 1 times the mean vector; the rest is zero. Every coefficient of an exact id and
of pad is zero.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from yakusu.config import Config
from yakusu.model.base import Seq2Seq
from yakusu.model.linear import PackedLinear
from yakusu.model.table import DenseTable, Table

if TYPE_CHECKING:  # a compressed translator is used without what compressed it
    from yakusu.compress.codebook import Codebook
    from yakusu.compress.storage import PackedCodes
from math import ceil
from typing import TYPE_CHECKING

from yakusu.errors import DataError

if TYPE_CHECKING:  # a compressed translator is used without what compressed it
    from yakusu.compress.lattice import Lattice, Numbers


TableName = Literal["src_table", "tgt_table", "output_table"]
_ROWS = 512  # ids whose coefficients are made at a time


class TablePlan(Config, ABC):
    """Which tables of a model are one compressed table."""

    tables: tuple[TableName, ...]

    def put(self, model: Seq2Seq, table: Table) -> None:
        """Let `table` take the place of these tables."""
        for name in self.tables:
            setattr(model, name, table)

    @abstractmethod
    def empty(self, model: Seq2Seq) -> Table:
        """A compressed table for these tables of `model`, whose weights are yet to be loaded."""

    def shape_in(self, model: Seq2Seq) -> tuple[int, int]:
        """V and D of these tables."""
        dense = getattr(model, self.tables[0])
        assert isinstance(dense, DenseTable), "a table is compressed once"
        vocab_size, width = dense.weight.shape
        return vocab_size, width


class TableCodes(TablePlan):
    """Which tables of a model are one coded table, and its M and K."""

    n_components: int
    n_codes: int
    n_exact: int = 0

    def empty(self, model: Seq2Seq) -> "CodedTable":
        """A coded table for these tables of `model`, whose weights are yet to be loaded."""
        return CodedTable(
            *self.shape_in(model),
            n_components=self.n_components,
            n_codes=self.n_codes,
            n_exact=self.n_exact,
        )


class CodedTable(Table):
    """V vectors of which the last, pad's, is zero; it does not learn.

    `logits` needs the coefficients (V, C) of all ids, and keeps them from its first call on. With
    M less than D it is faster than a dense table: (V, C) times (C, D) h costs less than (V, D) h.
    """

    def __init__(
        self, vocab_size: int, width: int, *, n_components: int, n_codes: int, n_exact: int = 0
    ) -> None:
        super().__init__()
        self.n_components, self.n_codes = n_components, n_codes
        n_bits, n_coefficients = bits_of(n_codes), -(-(n_components + 1) // 8) * 8
        n_bytes = bytes_of_word(n_components, n_bits)
        self.packed = fixed(torch.zeros(vocab_size - 1 - n_exact, n_bytes, dtype=torch.uint8))
        self.weights = fixed(torch.zeros(n_components, n_codes))  # alpha
        self.basis = fixed(torch.zeros(width, n_coefficients))  # B, transposed: (D, C)
        self.exact = fixed(torch.zeros(n_exact, width))
        self._to_vector, self._to_coefficient = PackedLinear(), PackedLinear()
        self._to_logit, self._to_exact = PackedLinear(), PackedLinear()
        self._all: Tensor | None = None  # (V, C)
        self._all_of: tuple[object, ...] = ()  # of which codes and weights

    @classmethod
    def of(cls, exact: Tensor, codes: "PackedCodes", book: "Codebook") -> "CodedTable":
        """N exact vectors (N, D), and the codes (V - 1 - N, M) and codebook of the others."""
        n_components, n_codes = book.weights.shape
        sizes = {"n_components": n_components, "n_codes": n_codes, "n_exact": len(exact)}
        table = cls(len(exact) + len(codes) + 1, len(book.mean), **sizes)
        table.exact.copy_(exact)
        table.packed.copy_(torch.from_numpy(codes.packed))
        table.weights.copy_(torch.from_numpy(book.weights))
        table.basis[:, :n_components] = torch.from_numpy(book.basis.T)
        table.basis[:, n_components] = torch.from_numpy(book.mean)
        return table

    def plan(self, tables: tuple[TableName, ...]) -> TableCodes:
        """How it is found again in the place of these tables."""
        m, k, n = self.n_components, self.n_codes, len(self.exact)
        return TableCodes(tables=tables, n_components=m, n_codes=k, n_exact=n)

    def forward(self, ids: Tensor) -> Tensor:
        """The vectors (..., D) of ids (...)."""
        vectors: Tensor = self._to_vector(self.coefficients(ids), self.basis)
        known = ids < len(self.exact)
        vectors[known] = self.exact[ids[known]]
        return vectors

    def logits(self, hidden: Tensor) -> Tensor:
        """The products (..., V - 1) of hidden states (..., D) with every vector but pad's."""
        version = (*map(_version, (self.packed, self.weights)), hidden.device, self.weights.dtype)
        if self._all is None or version != self._all_of:
            self._all, self._all_of = self._every_coefficient(), version
        inner = self._to_coefficient(hidden, self.basis.T)  # (..., C)
        logits: Tensor = self._to_logit(inner, self._all)
        logits[..., : len(self.exact)] = self._to_exact(hidden, self.exact)
        return logits[..., :-1]

    def coefficients(self, ids: Tensor) -> Tensor:
        """(..., C) of ids (...), from their packed codes."""
        place = ids - len(self.exact)
        has_codes = (place >= 0) & (place < len(self.packed))
        codes = self._codes(place.clamp(0, len(self.packed) - 1))  # (..., M)
        first = torch.arange(self.n_components, device=ids.device) * self.n_codes
        chosen = self.weights.flatten()[codes + first]
        real = has_codes[..., None].to(chosen.dtype)
        filling = chosen.new_zeros(*ids.shape, self.basis.shape[1] - self.n_components - 1)
        return torch.cat([chosen * real, real, filling], dim=-1)

    def _codes(self, place: Tensor) -> Tensor:
        """A code is cut out of the three bytes in which it may lie."""
        n_bits, row = bits_of(self.n_codes), self.packed[place].long()  # (..., bytes)
        bit = torch.arange(self.n_components, device=place.device) * n_bits
        three = torch.zeros(*place.shape, self.n_components, dtype=torch.long, device=place.device)
        for i in range(3):
            byte = (bit // 8 + i).clamp(max=row.shape[-1] - 1)
            three |= row[..., byte] << (8 * i)
        codes: Tensor = (three >> (bit % 8)) & (2**n_bits - 1)
        return codes  # (..., M)

    @torch.inference_mode(False)
    @torch.no_grad()
    def _every_coefficient(self) -> Tensor:
        n_ids, device = len(self.exact) + len(self.packed) + 1, self.packed.device
        every = torch.empty(n_ids, self.basis.shape[1], device=device, dtype=self.weights.dtype)
        for ids in torch.arange(n_ids, device=device).split(_ROWS):
            every[ids] = self.coefficients(ids)
        return every  # (V, C)


def _version(tensor: Tensor) -> int:
    """Which rises when it changes, but for a tensor made in inference mode."""
    return 0 if tensor.is_inference() else tensor._version


def fixed(tensor: Tensor) -> nn.Parameter:
    """A weight of the model that nothing trains; of whole numbers too."""
    return nn.Parameter(tensor, requires_grad=False)


# ---- from compress/number_table.py: A table of a translator made of whole numbers, which are multiplied as such.

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
        self._to_vector, self._to_inner, self._to_exact = (PackedLinear() for _ in range(3))

    @classmethod
    def of(cls, exact: Tensor, numbers: "Numbers", lattice: "Lattice") -> "NumberTable":
        """N exact vectors (N, D), and the numbers (V - 1 - N, M) and lattice of the others.

        Raises:
            DataError: 8 bits do not hold the numbers.
        """
        greatest = int(abs(numbers).max(initial=0))
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


def bits_of(n_codes: int) -> int:
    """How many bits tell K codes apart."""
    return max(1, (n_codes - 1).bit_length())


def bytes_of_word(n_components: int, n_bits: int) -> int:
    """Of M codes, filled up to whole bytes."""
    return (n_components * n_bits + 7) // 8
