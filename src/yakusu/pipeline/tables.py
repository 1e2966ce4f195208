"""Compressed tables of a translator: each matrix becomes a coded table or an integer table.

V vocabulary without padding, D width, N exact vectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from yakusu.compress.axes import check_matrix
from yakusu.compress.blocks import Loss
from yakusu.compress.budget import Budget, BudgetError, Storage
from yakusu.compress.codebook import Codebook
from yakusu.compress.compressor import LatticeCompressor, compressor_of
from yakusu.compress.config import CompressConfig, Stack
from yakusu.compress.lattice import Integers, Tier
from yakusu.compress.storage import CompressedMatrix, PackedCodes
from yakusu.errors import DataError
from yakusu.model.base import Seq2Seq
from yakusu.model.coded_tables import LARGEST, CodedTable, IntegerTable
from yakusu.model.table import DenseTable
from yakusu.model.table_plans import AnyTablePlan, TableName
from yakusu.pipeline.receipt import TableFacts
from yakusu.progress import Progress
from yakusu.weights import stored_bits

_TABLES: dict[Stack, tuple[TableName, ...]] = {
    "encoder": ("src_table",),
    "decoder": ("tgt_table", "output_table"),
}


@dataclass(frozen=True)
class CompressedTable:
    """One compressed table, or several tables that share one matrix.

    plan: Sizes, and the tables that this table replaces.
    n_words, width: V, without padding, and D.
    bits: Bits of a vector that is not exact.
    loss: Squared error divided by the variance of all vectors.
    ratio: Bits before divided by bits after, including exact vectors and codebook.
    """

    plan: AnyTablePlan
    n_words: int
    width: int
    bits: float
    loss: float
    ratio: float

    @property
    def facts(self) -> TableFacts:
        """Facts for the receipt."""
        return TableFacts(
            **self.plan.model_dump(),
            n_words=self.n_words,
            width=self.width,
            bits=self.bits,
            loss=self.loss,
            ratio=self.ratio,
        )

    def __str__(self) -> str:
        return str(self.facts)


def compress_tables(
    model: Seq2Seq, config: CompressConfig, progress: Progress
) -> list[CompressedTable]:
    """Compress the tables of the stacks in `config.stacks`, in place.

    Raises:
        DataError: The settings do not fit a table; the message names the table.
    """
    return [_compress(model, names, config, progress) for names in _groups(model, config.stacks)]


def _groups(model: Seq2Seq, stacks: Sequence[Stack]) -> list[tuple[TableName, ...]]:
    """Return the names of the tables to compress, grouped by the matrix that they share."""
    groups: dict[int, tuple[TableName, ...]] = {}
    for name in (name for stack in dict.fromkeys(stacks) for name in _TABLES[stack]):
        key = id(getattr(model, name))
        groups[key] = (*groups.get(key, ()), name)
    return list(groups.values())


def _compress(
    model: Seq2Seq, names: tuple[TableName, ...], config: CompressConfig, progress: Progress
) -> CompressedTable:
    """Replace the tables with these names, which share one matrix, with a compressed table."""
    dense, n_exact = getattr(model, names[0]), config.n_exact
    assert isinstance(dense, DenseTable)
    weight = dense.weight.detach()[:-1]  # (V, D), without padding
    if n_exact > len(weight) - 2:
        raise DataError(
            f"compress.exact = {n_exact} leaves fewer than 2 of {len(weight)} vectors to compress: "
            "choose a smaller number"
        )
    try:
        made = _compressed(config, weight, n_exact, progress)
        table = table_of(weight[:n_exact], made)
    except DataError as error:
        raise DataError(
            f"{' = '.join(names)}, {len(weight):,} x {len(weight[0])}: {error}"
        ) from error
    plan = table.plan(names)
    plan.put(model, table)
    return CompressedTable(
        plan,
        n_words=len(weight),
        width=weight.shape[1],
        bits=bits_in(table),
        loss=share_lost(weight, made, n_exact),
        ratio=ratio_of(table, made),
    )


def _compressed(
    config: CompressConfig, weight: Tensor, n_exact: int, progress: Progress
) -> CompressedMatrix:
    """Compress all vectors; a budget includes the exact vectors and integers as stored on disk."""
    n_words, vectors = len(weight), weight.numpy()
    check_matrix(vectors)
    compressor = compressor_of(config)
    if isinstance(compressor, LatticeCompressor):
        compressor.set_params(storage=_storage(n_exact))
    budget = compressor.budget
    if budget is None or budget.ratio is None:
        return compressor.fit(vectors, progress=progress).compressed_
    left = n_words / budget.ratio - n_exact  # size in float32 vectors of those not exact
    compressor.set_params(budget=Budget(ratio=n_words / max(left, 1e-9)))
    try:
        return compressor.fit(vectors, progress=progress).compressed_
    except BudgetError as error:
        raise BudgetError(budget, n_words / (n_words / error.best + n_exact)) from error


def _storage(n_exact: int) -> Storage:
    """Return the storage of integers in a model, where the first N vectors are not integers."""

    def bits(integers: Integers, tiers: Sequence[Tier]) -> float:
        return stored_bits(torch.from_numpy(integers[n_exact:].astype(np.int8)))

    return Storage(LARGEST, bits)


def table_of(exact: Tensor, made: CompressedMatrix) -> CodedTable | IntegerTable:
    """Build the table of compressed vectors (V, D) whose first N are replaced by `exact` (N, D).

    Raises:
        DataError: An integer exceeds 8 bits.
    """
    mean, basis = torch.from_numpy(made.book.mean), torch.from_numpy(made.book.basis)
    rest = np.arange(len(exact), len(made))
    if isinstance(made.book, Codebook):
        assert isinstance(made.codes, PackedCodes)
        packed, weights = made.codes.packed[rest], torch.from_numpy(made.book.weights)
        return CodedTable.of(
            exact, packed=torch.from_numpy(packed), mean=mean, basis=basis, weights=weights
        )
    integers = torch.from_numpy(made.codes.rows(rest))
    return IntegerTable.of(exact, integers=integers, mean=mean, basis=basis)


def bits_in(table: CodedTable | IntegerTable) -> float:
    """Return the bits on disk per vector that is not exact."""
    if isinstance(table, CodedTable):
        return 8 * table.packed.shape[1]
    return stored_bits(table.numbers)


def ratio_of(table: CodedTable | IntegerTable, made: CompressedMatrix) -> float:
    """Return the bits of float32 vectors divided by those of a table with its exact vectors."""
    n_exact, dense = len(table.exact), 32 * len(made) * made.width
    book = dense / made.ratio - len(made) * made.bits
    return dense / (book + (len(made) - n_exact) * bits_in(table) + 32 * n_exact * made.width)


def share_lost(vectors: Tensor, made: CompressedMatrix, n_exact: int) -> float:
    """Return squared error / variance of vectors (V, D) whose first N rows are exact."""
    rebuilt = made.dense()
    rebuilt[:n_exact] = vectors[:n_exact].numpy()
    return Loss.of(vectors.numpy(), rebuilt.__getitem__).share
