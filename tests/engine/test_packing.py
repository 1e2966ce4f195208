"""Weights are packed one after the other, and what is packed is what was read."""

import gc
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import torch

from tests.engine.probes import linear, log_probs
from yakusu.arrays import Array
from yakusu.compress.config import CompressConfig, Stack
from yakusu.engine.library import MatrixFormat
from yakusu.engine.model import NativeModel
from yakusu.engine.packing import beside, padded, sinusoids, spread
from yakusu.engine.tables import DenseWeights
from yakusu.model.base import Seq2Seq
from yakusu.model.config import TransformerConfig
from yakusu.pipeline.tables import compress_tables
from yakusu.progress import Silent
from yakusu.weights import from_int8, to_int8

PAIRS = [([5, 900, 17, 0], [8, 1000, 3, 0]), ([1, 0], [999, 0])]
SIZES = {"src_vocab_size": 1007, "tgt_vocab_size": 1007}
Tiny = Callable[..., Seq2Seq]


def arrays(model: Seq2Seq) -> dict[str, Array]:
    return {name: weight.detach().numpy() for name, weight in model.weights().items()}


class Watched(Mapping[str, Array]):
    """Copies of weights; counts the matrices that exist when another weight is read."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        self._weights, self.most = weights, 0
        self._read: list[weakref.ref[Array]] = []

    def __getitem__(self, name: str) -> Array:
        copy = self._weights[name].copy()
        if copy.ndim == 2:
            self.most = max(self.most, 1 + sum(each() is not None for each in self._read))
            self._read.append(weakref.ref(copy))
        return copy

    def __iter__(self) -> Iterator[str]:
        return iter(self._weights)

    def __len__(self) -> int:
        return len(self._weights)


@pytest.mark.parametrize("sizes", [{}, {"d_model": 22, "d_ff": 37, "d_k": 7, "d_v": 19}])
@pytest.mark.parametrize("matrices", list(MatrixFormat))
def test_each_matrix_is_released_before_the_next_one_is_read(
    tiny: Tiny, sizes: dict[str, int], matrices: MatrixFormat
) -> None:
    model = tiny(vocab_size=1007, tied="none", **sizes)
    assert isinstance(model.config, TransformerConfig)
    watched = Watched(arrays(model))
    gc.disable()  # released means at once
    try:
        NativeModel(model.config, watched, **SIZES, matrices=matrices)
    finally:
        gc.enable()
    assert watched.most == 1


@pytest.mark.parametrize("stacks", [("encoder",), ("encoder", "decoder")])
@pytest.mark.parametrize("kind", [{"k": 4, "m": 6}, {"method": "integers"}])
@pytest.mark.parametrize("exact", [0, 3])
@pytest.mark.parametrize("matrices", list(MatrixFormat))
def test_a_table_packed_in_blocks_equals_the_whole(
    tiny: Tiny, stacks: tuple[Stack, ...], kind: dict[str, Any], exact: int, matrices: MatrixFormat
) -> None:
    model = tiny(vocab_size=1007, d_model=18)
    made = compress_tables(model, CompressConfig(exact=exact, stacks=stacks, **kind), Silent())
    config, plans = model.config, [table.plan for table in made]
    assert isinstance(config, TransformerConfig)
    dense = DenseWeights(config, arrays(model), plans, **SIZES)
    whole = NativeModel(dense.config, dict(dense), **SIZES, matrices=matrices)
    in_blocks = NativeModel(config, arrays(model), plans, **SIZES, matrices=matrices)
    assert log_probs([in_blocks], PAIRS) == log_probs([whole], PAIRS)


def test_rows_of_integers_are_packed_as_they_are() -> None:
    rows = torch.randn(160, 256, generator=torch.Generator().manual_seed(0))
    stored = to_int8({"rows": rows})
    integers, scale = stored["rows"].numpy(), stored["scale of rows"].numpy()
    floats = from_int8(stored)["rows"]
    _, packed_scale, packed = linear("", np.zeros((1, 256)), floats, format_=MatrixFormat.INT8)
    kept = packed_scale < scale[:, 0] * 1.0001  # in the others, a sum would not fit in 16 bits
    assert 0.5 < kept.mean() < 1
    np.testing.assert_array_equal(packed[kept], integers[kept])
    np.testing.assert_allclose(packed_scale[kept], scale[kept, 0], rtol=1e-6)
    _, packed_scale, packed = linear("", np.zeros((1, 256)), floats, format_=MatrixFormat.INT16)
    np.testing.assert_array_equal(packed, integers)
    np.testing.assert_allclose(packed_scale, scale[:, 0], rtol=1e-6)


def test_a_row_that_is_not_of_bytes_makes_the_matrix_one_of_words() -> None:
    x, rows = np.random.default_rng(0).normal(size=(2, 3, 64)).astype(np.float32)
    stored = to_int8({"rows": torch.tensor(rows)})
    rows = np.tile(from_int8(stored)["rows"].numpy(), (16, 1))
    of_bytes, _, integers = linear("", x, rows, format_=MatrixFormat.INT16)
    rows[40] *= np.linspace(1, 2, 64)
    found, _, packed = linear("", x, rows, format_=MatrixFormat.INT16)
    assert np.abs(packed[40]).max() > 127
    np.testing.assert_array_equal(found[:, :40], of_bytes[:, :40])  # the same integers
    np.testing.assert_array_equal(packed[:40], integers[:40])
    np.testing.assert_allclose(found[:, 41:], of_bytes[:, 41:], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("n_positions", "d_model"), [(1, 2), (64, 16), (65, 6), (2048, 512)])
def test_sinusoids_are_those_of_the_paper(n_positions: int, d_model: int) -> None:
    position, i = np.ogrid[:n_positions, : d_model // 2]
    angle = position / 10_000 ** (2 * i / d_model)
    found = sinusoids(n_positions, d_model)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[:, 0::2], np.sin(angle), rtol=0, atol=1e-7)
    np.testing.assert_allclose(found[:, 1::2], np.cos(angle), rtol=0, atol=1e-7)


def test_only_sizes_that_are_not_multiples_of_16_are_copied() -> None:
    x = np.ones((32, 6), np.float32)
    assert spread(x, 0, 16) is x
    assert spread(x, 1, 3).shape == (32, 32) and padded(3) == 16


def test_heads_lie_side_by_side() -> None:
    three = np.array([11, 12, 21, 22, 31, 32], np.float32)  # number d of head h: 10 h + d
    expected = [11, 21, 31, 0, 12, 22, 32, 0]
    assert beside(three, 0, 3).tolist() == expected + [0] * 8
    assert beside(np.stack([three] * 2), 1, 3).tolist() == [expected + [0] * 8] * 2


def test_more_than_16_heads_are_in_groups_of_16() -> None:
    heads = np.arange(1, 2 * 17 + 1, dtype=np.float32)
    found = beside(heads, 0, 17)
    assert found[:32].tolist() == [*range(1, 33, 2), *range(2, 34, 2)]
    assert found[32:].reshape(2, 16)[:, 0].tolist() == [33, 34]
    assert not found[32:].reshape(2, 16)[:, 1:].any()
