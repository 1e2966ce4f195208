"""Compressed tables: vectors and logits against numpy, alone, in a model, and on disk."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from yakusu.arrays import Shorts
from yakusu.compress.compressor import CodebookCompressor
from yakusu.compress.lattice import Lattice, entropy
from yakusu.compress.packed import PackedCodes
from yakusu.errors import DataError, ModelError
from yakusu.model.base import Seq2Seq
from yakusu.model.coded_tables import CodedTable, IntegerTable, empty_table
from yakusu.model.table import DenseTable
from yakusu.model.table_plans import CodedTablePlan
from yakusu.weights import from_streams, to_streams

V, D, M, N = 321, 16, 7, 5  # 320 vectors and pad; N of them exact
Tiny = Callable[..., Seq2Seq]


def dense_vectors(v: int = V, d: int = D) -> Tensor:
    rng = np.random.default_rng(v)
    mixed = rng.standard_normal((v - 1, d)) @ rng.standard_normal((d, d)) + 1
    return torch.from_numpy(mixed.astype(np.float32))


def coded(vectors: Tensor, n_exact: int, m: int, k: int) -> tuple[CodedTable, Tensor]:
    """A table of vectors (V - 1, D), and all its vectors (V, D) by numpy."""
    rest = vectors[n_exact:].double().numpy()
    made = CodebookCompressor(m, k, solver="closed").fit(rest)
    book, codes = made.codebook_, PackedCodes.of(made.coded_.codes, made.codebook_.n_codes)
    rebuilt = torch.from_numpy(book.rebuild(made.coded_.codes)).float()
    table = CodedTable.of(
        vectors[:n_exact],
        packed=torch.from_numpy(codes.packed),
        mean=torch.from_numpy(book.mean),
        basis=torch.from_numpy(book.basis),
        weights=torch.from_numpy(book.weights),
    )
    return table, torch.cat([vectors[:n_exact], rebuilt, torch.zeros(1, vectors.shape[1])])


def made(k: int, n_exact: int = N) -> tuple[CodedTable, Tensor]:
    return coded(dense_vectors(), n_exact, M, k)


@pytest.mark.parametrize("k", [2, 3, 16, 256, 300])
@pytest.mark.parametrize("n_exact", [0, N, V - 3])
def test_vectors_and_logits_match_the_rebuilt_matrix(k: int, n_exact: int) -> None:
    table, expected = made(k, n_exact)
    ids = torch.randperm(V, generator=torch.Generator().manual_seed(k))
    torch.testing.assert_close(table(ids), expected[ids], rtol=1e-5, atol=1e-5)
    assert table(ids.view(3, 107)).shape == (3, 107, D)
    hidden = torch.randn(2, 13, D, generator=torch.Generator().manual_seed(k))
    torch.testing.assert_close(table.logits(hidden), hidden @ expected[:-1].T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("k", [2, 257])
def test_padding_is_zero_and_exact_rows_are_unchanged(k: int) -> None:
    table, expected = made(k)
    assert (table(torch.tensor([V - 1, 3, V - 1]))[[0, 2]] == 0).all()
    assert torch.equal(table(torch.arange(N)), expected[:N])


@pytest.mark.parametrize("k", [65_536, 65_537, 131_072])
def test_codes_of_up_to_17_bits_are_unpacked(k: int) -> None:
    rng = np.random.default_rng(k)
    codes = rng.integers(0, k, (40, 5), dtype=np.uint32)
    codes[0] = k - 1
    packed = torch.from_numpy(PackedCodes.of(codes, k).packed)
    table = CodedTable.of(
        torch.zeros(0, 2),
        packed=packed,
        mean=torch.zeros(2),
        basis=torch.zeros(5, 2),
        weights=torch.zeros(5, k),
    )
    assert (table._codes(torch.arange(40)).numpy() == codes).all()


@torch.inference_mode()
def test_vectors_and_logits_do_not_depend_on_the_batch() -> None:
    table, _ = made(16)
    ids = torch.arange(240)
    hidden = torch.randn(240, D, generator=torch.Generator().manual_seed(1))
    vectors, logits = table(ids), table.logits(hidden)
    for size in (1, 3, 7, 16, 20, 80):
        assert torch.equal(torch.cat([table(part) for part in ids.split(size)]), vectors)
        parts = [table.logits(part) for part in hidden.split(size)]
        assert torch.equal(torch.cat(parts), logits), size


def test_the_coefficients_of_an_id_do_not_depend_on_the_others() -> None:
    table, _ = made(300)
    together = table.coefficients(torch.arange(V))
    assert together.shape == (V, 8) and (together[-1] == 0).all()
    alone = [table.coefficients(torch.tensor([i])) for i in range(V)]
    assert torch.equal(torch.cat(alone), together)


@pytest.mark.parametrize("kind", ["codes", "integers"])
def test_more_ids_than_one_block_have_logits(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table, expected = made(16, 0) if kind == "codes" else integers_made(0)
    monkeypatch.setattr("yakusu.model.coded_tables._ROWS", 7)
    hidden = torch.eye(D)
    torch.testing.assert_close(table.logits(hidden), expected[:-1].T, rtol=1e-4, atol=1e-5)


def test_no_weight_is_trained() -> None:
    table, _ = made(16)
    assert not any(weight.requires_grad for weight in table.parameters())


# ---- within a model ------------------------------------------------------------------------------

CODES = CodedTablePlan(
    tables=("src_table", "tgt_table", "output_table"), n_components=6, n_codes=9, n_exact=2
)


def compressed(model: Seq2Seq) -> Seq2Seq:
    CODES.put(model, coded(dense_vectors(model.src_vocab_size, 16), 2, 6, 9)[0])
    return model


def test_saved_weights_restore_the_model(tiny: Tiny) -> None:
    model, other = compressed(tiny(vocab_size=50)), tiny(vocab_size=50, seed=1)
    CODES.put(other, empty_table(CODES, other))
    weights = {name: weight.clone() for name, weight in model.weights().items()}
    tables = sorted(name.split(".")[1] for name in weights if "table." in name)
    assert tables == ["basis", "exact", "packed", "weights"]  # a tied table is stored once
    other.load_weights(weights)
    src, tgt = torch.randint(0, 49, (2, 3, 8), generator=torch.Generator().manual_seed(2))
    assert torch.equal(other.decode(tgt, other.encode(src)), model.decode(tgt, model.encode(src)))
    assert other.src_table is other.tgt_table is other.output_table


def test_weights_of_a_dense_model_are_rejected(tiny: Tiny) -> None:
    weights = tiny(vocab_size=50).weights()
    with pytest.raises(
        ModelError, match=r"the weights belong to another model: '..._table\.basis'"
    ):
        compressed(tiny(vocab_size=50)).load_weights(weights)


# ---- integers -----------------------------------------------------------------------------------


def integer_table(exact: Tensor, integers: Shorts, lattice: Lattice) -> IntegerTable:
    mean, basis = torch.from_numpy(lattice.mean), torch.from_numpy(lattice.basis)
    return IntegerTable.of(exact, integers=torch.from_numpy(integers), mean=mean, basis=basis)


def integers_made(n_exact: int = N) -> tuple[IntegerTable, Tensor]:
    """A table of integers, and its vectors (V, D) by numpy."""
    rng = np.random.default_rng(1)
    numbers = rng.integers(-127, 128, (V - 1 - n_exact, 12)).astype(np.int16)
    lattice = Lattice(rng.standard_normal(D), rng.standard_normal((12, D)) / 50)
    exact = torch.from_numpy(rng.standard_normal((n_exact, D))).float()
    rebuilt = torch.from_numpy(lattice.rebuild(numbers)).float()
    return integer_table(exact, numbers, lattice), torch.cat([exact, rebuilt, torch.zeros(1, D)])


@pytest.mark.parametrize("n_exact", [0, N])
def test_vectors_match_the_lattice(n_exact: int) -> None:
    table, expected = integers_made(n_exact)
    ids = torch.randperm(V, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(table(ids.view(3, 107)), expected[ids].view(3, 107, D))
    assert torch.equal(table(torch.arange(n_exact)), expected[:n_exact])
    assert (table(torch.tensor([[V - 1]])) == 0).all()


@pytest.mark.parametrize("n_exact", [0, N])
@pytest.mark.parametrize("inference", [False, True])
def test_logits_of_integers_are_those_of_the_rebuilt_matrix(n_exact: int, inference: bool) -> None:
    table, expected = integers_made(n_exact)
    dense = DenseTable(V, D)
    dense.load_state_dict({"weight": expected})
    hidden = torch.randn(2, 13, D, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode(inference):
        logits = table.logits(hidden)
        assert logits.shape == (2, 13, V - 1)
        torch.testing.assert_close(logits, dense.logits(hidden), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["numbers", "mean", "basis", "exact"])
def test_logits_of_integers_follow_changed_weights(name: str) -> None:
    table, _ = integers_made()
    hidden = torch.randn(3, D, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        before = table.logits(hidden)
    getattr(table, name).mul_(-1)
    with torch.inference_mode():
        after, vectors = table.logits(hidden), table(torch.arange(V - 1))
    assert not torch.equal(after, before)
    torch.testing.assert_close(after, hidden @ vectors.T, rtol=1e-5, atol=1e-5)


def test_a_hidden_state_of_zero_has_logits_of_zero() -> None:
    table, _ = integers_made(0)
    assert (table.logits(torch.zeros(2, D)) == 0).all()


@torch.inference_mode()
def test_vectors_and_logits_of_integers_do_not_depend_on_the_batch() -> None:
    table, _ = integers_made()
    ids = torch.arange(240)
    hidden = torch.randn(240, D, generator=torch.Generator().manual_seed(1))
    vectors, logits = table(ids), table.logits(hidden)
    for size in (1, 3, 7, 16, 20, 80):
        assert torch.equal(torch.cat([table(part) for part in ids.split(size)]), vectors)
        parts = [table.logits(part) for part in hidden.split(size)]
        assert torch.equal(torch.cat(parts), logits), size


def test_integers_of_more_than_8_bits_are_rejected() -> None:
    lattice, integers = Lattice(np.zeros(D), np.zeros((M, D))), np.full((9, M), -131, np.int16)
    with pytest.raises(DataError, match=r"integers of up to 131 do not fit .* at least 1\.1 times"):
        integer_table(torch.zeros(0, D), integers, lattice)


def test_streams_restore_the_integers_from_fewer_bytes() -> None:
    generator = torch.Generator().manual_seed(0)
    few = (2 * torch.randn(900, 30, generator=generator)).round().to(torch.int8)
    weights = {"a.numbers": few, "b.numbers": few[:, :3], "c.weight": torch.ones(2, 2)}
    coded = to_streams(weights)
    assert coded.keys() == {*weights, "shape of a.numbers", "shape of b.numbers"}
    restored = from_streams(coded)
    assert restored.keys() == weights.keys()
    assert all(torch.equal(restored[name], weights[name]) for name in weights)
    assert coded["a.numbers"].nbytes < 0.41 * few.nbytes  # its entropy is 3.05 bits of 8


@pytest.mark.parametrize(("spread", "most"), [(4.0, 1.02), (2.0, 1.03), (1.0, 1.06), (0.35, 1.61)])
def test_a_stream_is_little_larger_than_the_entropy(spread: float, most: float) -> None:
    generator = torch.Generator().manual_seed(0)
    numbers = (spread * torch.randn(6000, 64, generator=generator)).round().to(torch.int8)
    least = sum(entropy(numbers[:, m : m + 1].numpy().astype(np.int16)) for m in range(64))
    stored = 8 * to_streams({"a.numbers": numbers})["a.numbers"].nbytes / 6000
    assert least < stored < most * least


def test_a_truncated_stream_is_named() -> None:
    coded = to_streams({"a.numbers": torch.ones(9, 3, dtype=torch.int8)})
    with pytest.raises(ValueError, match=r"the stream 'a\.numbers' is corrupted"):
        from_streams(coded | {"a.numbers": coded["a.numbers"][:-3]})
