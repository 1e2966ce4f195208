"""Coded tables: rebuilt vectors and logits against numpy, alone and within a model."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from yakusu.compress.codebook import Codebook, compress
from yakusu.compress.storage import PackedCodes
from yakusu.errors import ModelError
from yakusu.model.base import Seq2Seq
from yakusu.model.coded_tables import CodedTable, TableCodes

V, D, M, N = 321, 16, 7, 5  # 320 vectors and pad; N of them exact
Tiny = Callable[..., Seq2Seq]


def dense_vectors(v: int = V, d: int = D) -> Tensor:
    rng = np.random.default_rng(v)
    mixed = rng.standard_normal((v - 1, d)) @ rng.standard_normal((d, d)) + 1
    return torch.from_numpy(mixed.astype(np.float32))


def coded(vectors: Tensor, n_exact: int, m: int, k: int) -> tuple[CodedTable, Tensor]:
    """A table of vectors (V - 1, D), and all its vectors (V, D) by numpy."""
    rest = vectors[n_exact:].double().numpy()
    found, book = compress(rest, n_components=m, n_codes=k, rounds=0)
    rebuilt = torch.from_numpy(book.rebuild(found.codes)).float()
    table = CodedTable.of(
        vectors[:n_exact], PackedCodes.of(found.codes, len(book.weights[0])), book
    )
    return table, torch.cat([vectors[:n_exact], rebuilt, torch.zeros(1, vectors.shape[1])])


def made(k: int, n_exact: int = N) -> tuple[CodedTable, Tensor]:
    return coded(dense_vectors(), n_exact, M, k)


@pytest.mark.parametrize("k", [2, 3, 16, 256, 300])
@pytest.mark.parametrize("n_exact", [0, N, V - 3])
def test_vectors_and_logits_are_those_of_the_rebuilt_matrix(k: int, n_exact: int) -> None:
    table, expected = made(k, n_exact)
    ids = torch.randperm(V, generator=torch.Generator().manual_seed(k))
    torch.testing.assert_close(table(ids), expected[ids], rtol=1e-5, atol=1e-5)
    assert table(ids.view(3, 107)).shape == (3, 107, D)
    hidden = torch.randn(2, 13, D, generator=torch.Generator().manual_seed(k))
    torch.testing.assert_close(table.logits(hidden), hidden @ expected[:-1].T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("k", [2, 257])
def test_pad_is_zero_and_exact_rows_are_exact(k: int) -> None:
    table, expected = made(k)
    assert (table(torch.tensor([V - 1, 3, V - 1]))[[0, 2]] == 0).all()
    assert torch.equal(table(torch.arange(N)), expected[:N])


@pytest.mark.parametrize("k", [65_536, 65_537, 131_072])
def test_codes_of_up_to_17_bits_are_cut_out_whole(k: int) -> None:
    rng = np.random.default_rng(k)
    codes = rng.integers(0, k, (40, 5), dtype=np.uint32)
    codes[0] = k - 1
    book = Codebook(np.zeros(2), np.zeros((5, 2)), np.zeros((5, k)))
    table = CodedTable.of(torch.zeros(0, 2), PackedCodes.of(codes, k), book)
    assert (table._codes(torch.arange(40)).numpy() == codes).all()


@torch.inference_mode()
def test_vectors_and_logits_are_the_same_bits_in_any_batch() -> None:
    """Of 12 rows or more, as translation has them: docs/decisions/0015."""
    table, _ = made(16)
    ids = torch.arange(240)
    hidden = torch.randn(240, D, generator=torch.Generator().manual_seed(1))
    vectors, logits = table(ids), table.logits(hidden)
    for size in (12, 16, 20, 24, 48, 80):
        assert torch.equal(torch.cat([table(part) for part in ids.split(size)]), vectors)
        parts = [table.logits(part) for part in hidden.split(size)]
        assert torch.equal(torch.cat(parts), logits), size


def test_the_coefficients_of_an_id_are_the_same_bits_alone_and_among_all() -> None:
    table, _ = made(300)
    together = table.coefficients(torch.arange(V))
    assert together.shape == (V, 8) and (together[-1] == 0).all()
    alone = [table.coefficients(torch.tensor([i])) for i in range(V)]
    assert torch.equal(torch.cat(alone), together)


def test_more_ids_than_are_read_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    table, expected = made(16, 0)
    monkeypatch.setattr("yakusu.model.coded_tables._ROWS", 7)
    hidden = torch.eye(D)
    torch.testing.assert_close(table.logits(hidden), expected[:-1].T, rtol=1e-4, atol=1e-5)


def test_nothing_of_it_learns() -> None:
    table, _ = made(16)
    assert not any(weight.requires_grad for weight in table.parameters())


# ---- within a model ------------------------------------------------------------------------------

CODES = TableCodes(
    tables=("src_table", "tgt_table", "output_table"), n_components=6, n_codes=9, n_exact=2
)


def compressed(model: Seq2Seq) -> Seq2Seq:
    CODES.put(model, coded(dense_vectors(model.src_vocab_size, 16), 2, 6, 9)[0])
    return model


def test_weights_saved_and_loaded_are_the_same_model(tiny: Tiny) -> None:
    model, other = compressed(tiny(vocab_size=50)), tiny(vocab_size=50, seed=1)
    CODES.put(other, CODES.empty(other))
    weights = {name: weight.clone() for name, weight in model.weights().items()}
    tables = sorted(name.split(".")[1] for name in weights if "table." in name)
    assert tables == ["basis", "exact", "packed", "weights"]  # a tied table is there once
    other.load_weights(weights)
    src, tgt = torch.randint(0, 49, (2, 3, 8), generator=torch.Generator().manual_seed(2))
    assert torch.equal(other.decode(tgt, other.encode(src)), model.decode(tgt, model.encode(src)))
    assert other.src_table is other.tgt_table is other.output_table


def test_weights_of_a_dense_model_are_refused(tiny: Tiny) -> None:
    weights = tiny(vocab_size=50).weights()
    with pytest.raises(
        ModelError, match=r"the weights belong to another model: '..._table\.basis'"
    ):
        compressed(tiny(vocab_size=50)).load_weights(weights)
