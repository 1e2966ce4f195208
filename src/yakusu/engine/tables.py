"""Compressed tables -> dense matrices, computed a block of ids at a time while they are packed.

The library stores a compressed table like a dense one, in int16 with 16 bits per number. The
vectors equal those of `model/coded_tables.py`, up to the rounding of float32.

V vocabulary, D width, M components, N exact vectors, n ids of a block.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from yakusu.arrays import Array, Floats
from yakusu.engine.shapes import dense_config, owners, shapes
from yakusu.errors import ModelError
from yakusu.model.config import TransformerConfig
from yakusu.model.table_plans import AnyTablePlan, CodedTablePlan

_BLOCK = 256  # ids whose vectors are computed together


class DenseWeights(Mapping[str, Floats]):
    """The weights of the model without compressed tables, each read when it is accessed.

    Args:
        config: Sizes of the model.
        stored: Its weights, as `Decoded` returns them.
        plans: Its compressed tables.
        src_vocab_size: Size of the source vocabulary, including padding.
        tgt_vocab_size: Size of the target vocabulary, including padding.

    Attributes:
        config: Sizes of the model without compressed tables. If only some of several tied tables
            are compressed, they are no longer tied.

    Raises:
        ModelError: The weights belong to another model.
    """

    def __init__(
        self,
        config: TransformerConfig,
        stored: Mapping[str, Array],
        plans: Sequence[AnyTablePlan],
        *,
        src_vocab_size: int,
        tgt_vocab_size: int,
    ) -> None:
        sizes = {"src_vocab_size": src_vocab_size, "tgt_vocab_size": tgt_vocab_size}
        self._stored, self._shapes = stored, shapes(config, plans, **sizes)
        if strange := sorted(self._shapes.keys() ^ stored.keys()):
            raise _other_model(strange[0])
        if config.tied == "three-way" and src_vocab_size != tgt_vocab_size:
            raise _other_model("src_table")
        self._owners = owners(config, plans)
        self._plans: dict[str, AnyTablePlan] = {
            self._owners[name]: plan for plan in plans for name in plan.tables
        }
        self.config = dense_config(config, plans)
        self._names = shapes(self.config, (), **sizes)

    def __getitem__(self, name: str) -> Floats:
        if name not in self._names:
            raise KeyError(name)
        table, _, part = name.partition(".")
        if table in self._owners:
            return np.concatenate(list(self._blocks(self._owners[table])))
        if name not in self._shapes:  # the positions of tables that are no longer tied
            name = f"tgt_embedding.{part}"
        return _floats(self._checked(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def vectors(self, table: str, n_ids: int) -> Iterator[Floats]:
        """Compute the vectors (n, D) of the first ids of a table, a block at a time."""
        first = 0
        for block in self._blocks(self._owners[table]):
            own = block[: n_ids - first]
            first += len(own)
            if len(own):
                yield own

    def _blocks(self, name: str) -> Iterator[Floats]:
        """Compute the vectors (n, D) of all ids of a table."""
        names = [each for each in self._shapes if each.startswith(f"{name}.")]
        parts = {each.partition(".")[2]: self._checked(each) for each in names}
        plan = self._plans.get(name)
        if plan is None:
            yield _floats(parts["weight"])
        elif isinstance(plan, CodedTablePlan):
            yield from coded_vectors(plan, parts)
        else:
            yield from integer_vectors(parts)

    def _checked(self, name: str) -> Array:
        array = self._stored[name]
        if array.shape != self._shapes[name]:
            raise _other_model(name)
        return array


def _other_model(name: str) -> ModelError:
    return ModelError(f"the weights belong to another model: '{name}' does not match")


def _floats(array: Array) -> Floats:
    return array.astype(np.float32, copy=False)


# ---- vectors -------------------------------------------------------------------------------------


def coded_vectors(plan: CodedTablePlan, parts: Mapping[str, Array]) -> Iterator[Floats]:
    """Compute the vectors (n, D) of a `CodedTable`: coefficients times a basis."""
    exact, packed, basis = _floats(parts["exact"]), parts["packed"], _floats(parts["basis"])
    n_components, weights = plan.n_components, _floats(parts["weights"]).ravel()
    first = np.arange(n_components) * plan.n_codes
    yield exact
    for begin in range(0, len(packed), _BLOCK):
        codes = _codes(packed[begin : begin + _BLOCK], plan)  # (n, M)
        block = weights.take(codes + first, mode="clip") @ basis[:, :n_components].T
        block += basis[:, n_components]  # the mean
        yield block
    yield np.zeros_like(exact, shape=(1, exact.shape[1]))  # padding


def _codes(packed: Array, plan: CodedTablePlan) -> NDArray[np.uint32]:
    """Return the codes (n, M) of packed rows (n, bytes)."""
    bit = np.arange(plan.n_components) * plan.n_bits
    n_bytes = int((bit % 8 + plan.n_bits + 7).max()) // 8  # that a code can span
    bits = np.zeros((len(packed), len(bit)), np.uint32)
    for i in range(n_bytes):
        byte = packed.take(bit // 8 + i, axis=1, mode="clip").astype(np.uint32)
        bits |= byte << np.uint32(8 * i)
    bits >>= (bit % 8).astype(np.uint32)
    bits &= np.uint32(2**plan.n_bits - 1)
    return bits


def integer_vectors(parts: Mapping[str, Array]) -> Iterator[Floats]:
    """Compute the vectors (n, D) of an `IntegerTable`: mean + q B."""
    exact, integers = _floats(parts["exact"]), parts["numbers"]
    mean, basis = _floats(parts["mean"]), _floats(parts["basis"])
    yield exact
    for begin in range(0, len(integers), _BLOCK):
        block = _floats(integers[begin : begin + _BLOCK]) @ basis
        block += mean
        yield block
    yield np.zeros_like(exact, shape=(1, exact.shape[1]))  # padding
