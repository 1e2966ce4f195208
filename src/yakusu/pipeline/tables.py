"""Compressed tables of a translator: each matrix becomes a coded table or an integer table.

V vocabulary without padding, D width, N exact vectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import torch
from torch import Tensor

from yakusu.compress.axes import check_vectors
from yakusu.compress.blocks import ReconstructionLoss
from yakusu.compress.budget import Storage
from yakusu.compress.codebook import Codebook
from yakusu.compress.compressor import compressor_of
from yakusu.compress.config import CompressConfig, Stack
from yakusu.compress.digits import DigitCodes
from yakusu.compress.lattice import IntegerRows, Tier
from yakusu.compress.packed import PackedCodes, row_bytes
from yakusu.compress.storage import CompressedMatrix, MatrixShape, Size
from yakusu.errors import DataError
from yakusu.model.base import Seq2Seq
from yakusu.model.coded_tables import LARGEST, CodedTable, IntegerTable
from yakusu.model.table import DenseTable
from yakusu.model.table_plans import AnyTablePlan, CodedTablePlan, IntegerTablePlan, TableName
from yakusu.pipeline.receipts.receipt import TableFacts
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
        ratio=ratio_of(table),
    )


def _compressed(
    config: CompressConfig, weight: Tensor, n_exact: int, progress: Progress
) -> CompressedMatrix:
    """Compress all vectors; a budget is that of the table, with its exact vectors."""
    vectors = weight.numpy()
    check_vectors(vectors)
    compressor = compressor_of(config)
    compressor.set_params(storage=_storage(n_exact))
    return compressor.fit(vectors, progress=progress).compressed_


def _storage(n_exact: int) -> Storage:
    """Return how a model stores tables whose first N vectors are exact; bits are of the others."""

    def of_codes(shape: MatrixShape, n_components: int, n_codes: int) -> Size:
        sizes = {"n_components": n_components, "n_codes": n_codes, "n_exact": n_exact}
        plan = CodedTablePlan(tables=(), **sizes)
        return _size(plan, shape, 8 * row_bytes(n_components, n_codes))

    def of_integers(shape: MatrixShape, integers: IntegerRows, tiers: Sequence[Tier]) -> Size:
        plan = IntegerTablePlan(tables=(), n_components=integers.shape[1], n_exact=n_exact)
        n_sampled = -(-n_exact * len(integers) // shape[0])  # of the exact vectors
        left = torch.from_numpy(integers[n_sampled:].astype(np.int8))
        return _size(plan, shape, stored_bits(left))

    return Storage(of_codes, of_integers, LARGEST)


def _size(plan: AnyTablePlan, shape: MatrixShape, bits: float) -> Size:
    """Return the size of a table (V, D), given the bits of a vector that is not exact."""
    n_words, width = shape
    floats = sum(
        prod(array)
        for name, array in plan.shapes(n_words + 1, width).items()
        if name not in ("packed", "numbers")
    )
    return Size(bits, round((n_words - plan.n_exact) * bits / 8) + 4 * floats)


def table_of(exact: Tensor, made: CompressedMatrix) -> CodedTable | IntegerTable:
    """Build the table of compressed vectors (V, D) whose first N are replaced by `exact` (N, D).

    Raises:
        DataError: An integer exceeds 8 bits.
    """
    mean, basis = torch.from_numpy(made.book.mean), torch.from_numpy(made.book.basis)
    rest = np.arange(len(exact), len(made))
    if isinstance(made.book, Codebook):
        assert isinstance(made.codes, DigitCodes)
        codes = PackedCodes.of(made.codes.rows(rest), made.book.weights.shape[1])
        packed, weights = codes.packed, torch.from_numpy(made.book.weights)
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


def ratio_of(table: CodedTable | IntegerTable) -> float:
    """Return the size of float32 vectors (V, D) divided by that of a table on disk."""
    rest = table.packed if isinstance(table, CodedTable) else table.numbers
    shape = len(table.exact) + len(rest), table.exact.shape[1]
    return _size(table.plan(()), shape, bits_in(table)).ratio(shape)


def share_lost(vectors: Tensor, made: CompressedMatrix, n_exact: int) -> float:
    """Return squared error / variance of vectors (V, D) whose first N rows are exact."""
    rebuilt = made.dense()
    rebuilt[:n_exact] = vectors[:n_exact].numpy()
    return ReconstructionLoss.of(vectors.numpy(), rebuilt.__getitem__).share
