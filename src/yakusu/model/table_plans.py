"""Plans of compressed tables, in config.json of a model folder. Does not import torch.

V vocabulary, D width, M components, K codes per component, N exact vectors.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal

from yakusu.config import Config

if TYPE_CHECKING:
    from yakusu.model.base import Seq2Seq
    from yakusu.model.table import Table

TableName = Literal["src_table", "tgt_table", "output_table"]
Shapes = dict[str, tuple[int, ...]]  # of the weights of a table, by name


class TablePlan(Config, ABC):
    """Sizes of one compressed table, and the tables of a model that it replaces."""

    tables: tuple[TableName, ...]
    n_components: int

    def put(self, model: "Seq2Seq", table: "Table") -> None:
        """Replace the tables of `model` by `table`."""
        for name in self.tables:
            setattr(model, name, table)

    @abstractmethod
    def shapes(self, vocab_size: int, width: int) -> Shapes:
        """Return the shapes of the weights of the table, for V ids of width D."""


class CodedTablePlan(TablePlan):
    """Plan of a `CodedTable`."""

    n_codes: int
    n_exact: int = 0

    @property
    def n_bits(self) -> int:
        """Number of bits per code."""
        return max(1, (self.n_codes - 1).bit_length())

    def shapes(self, vocab_size: int, width: int) -> Shapes:
        """Return the shapes of the weights of the table, for V ids of width D."""
        return {
            "packed": (vocab_size - 1 - self.n_exact, (self.n_components * self.n_bits + 7) // 8),
            "weights": (self.n_components, self.n_codes),  # alpha
            "basis": (width, -(-(self.n_components + 1) // 8) * 8),  # B, transposed: (D, C)
            "exact": (self.n_exact, width),
        }


class IntegerTablePlan(TablePlan):
    """Plan of an `IntegerTable`."""

    n_exact: int = 0

    def shapes(self, vocab_size: int, width: int) -> Shapes:
        """Return the shapes of the weights of the table, for V ids of width D."""
        return {
            "numbers": (vocab_size - 1 - self.n_exact, self.n_components),  # q
            "mean": (width,),
            "basis": (self.n_components, width),  # B
            "exact": (self.n_exact, width),
        }


AnyTablePlan = CodedTablePlan | IntegerTablePlan
