"""Tables of whole numbers: vectors and logits against numpy, in any batch, and on disk."""

import numpy as np
import pytest
import torch
from torch import Tensor

from yakusu.compress.lattice import Lattice, entropy
from yakusu.errors import DataError
from yakusu.model.coded_tables import NumberTable, _product
from yakusu.weights import from_streams, to_streams

V, D, M, N = 321, 16, 12, 5


def made(n_exact: int = N) -> tuple[NumberTable, Tensor]:
    """A table, and its vectors (V, D) by numpy."""
    rng = np.random.default_rng(1)
    numbers = rng.integers(-127, 128, (V - 1 - n_exact, M)).astype(np.int16)
    lattice = Lattice(rng.standard_normal(D), rng.standard_normal((M, D)) / 50)
    exact = torch.from_numpy(rng.standard_normal((n_exact, D))).float()
    rebuilt = torch.from_numpy(lattice.rebuild(numbers)).float()
    return NumberTable.of(exact, numbers, lattice), torch.cat([exact, rebuilt, torch.zeros(1, D)])


@pytest.mark.parametrize("n_exact", [0, N])
def test_vectors_are_those_of_the_lattice(n_exact: int) -> None:
    table, expected = made(n_exact)
    ids = torch.randperm(V, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(table(ids.view(3, 107)), expected[ids].view(3, 107, D))
    assert torch.equal(table(torch.arange(n_exact)), expected[:n_exact])
    assert (table(torch.tensor([[V - 1]])) == 0).all()


@pytest.mark.parametrize("n_exact", [0, N])
def test_logits_are_products_to_the_rounding_of_eight_bits(n_exact: int) -> None:
    table, expected = made(n_exact)
    hidden = torch.randn(2, 13, D, generator=torch.Generator().manual_seed(0))
    logits, exact = table.logits(hidden), hidden @ expected[:-1].T
    assert logits.shape == (2, 13, V - 1)
    error = (logits - exact).square().mean() / exact.square().mean()
    assert error < 2e-4
    torch.testing.assert_close(logits[..., :n_exact], exact[..., :n_exact])


def test_products_of_whole_numbers_are_exact() -> None:
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randint(-127, 128, (300, 256), generator=generator).to(torch.int8)
    x = torch.randint(-127, 128, (40, 256), generator=generator).float()
    x[:, 0] = 127  # the scale is 1
    assert torch.equal(_product(x, numbers), (x.double() @ numbers.double().T).float())


def test_a_hidden_state_of_zero_gives_the_products_with_zero() -> None:
    table, _ = made(0)
    assert (table.logits(torch.zeros(2, D)) == 0).all()


@torch.inference_mode()
def test_vectors_and_logits_are_the_same_bits_in_any_batch() -> None:
    table, _ = made()
    ids = torch.arange(240)
    hidden = torch.randn(240, D, generator=torch.Generator().manual_seed(1))
    vectors, logits = table(ids), table.logits(hidden)
    for size in (12, 16, 20, 24, 48, 80):
        assert torch.equal(torch.cat([table(part) for part in ids.split(size)]), vectors)
        parts = [table.logits(part) for part in hidden.split(size)]
        assert torch.equal(torch.cat(parts), logits), size


def test_numbers_of_more_than_eight_bits_are_refused() -> None:
    lattice = Lattice(np.zeros(D), np.zeros((M, D)))
    with pytest.raises(DataError, match=r"numbers up to 131 do not fit into 8 bits: .* 1\.1 times"):
        NumberTable.of(torch.zeros(0, D), np.full((9, M), -131, dtype=np.int16), lattice)


def test_streams_give_back_the_numbers_in_fewer_bytes() -> None:
    generator = torch.Generator().manual_seed(0)
    few = (2 * torch.randn(900, 30, generator=generator)).round().to(torch.int8)
    weights = {"a.numbers": few, "b.numbers": few[:, :3], "c.weight": torch.ones(2, 2)}
    coded = to_streams(weights)
    assert coded.keys() == {*weights, "shape of a.numbers", "shape of b.numbers"}
    whole = from_streams(coded)
    assert whole.keys() == weights.keys()
    assert all(torch.equal(whole[name], weights[name]) for name in weights)
    assert coded["a.numbers"].nbytes < 0.41 * few.nbytes  # its entropy is 3.05 bits of 8


@pytest.mark.parametrize(("spread", "most"), [(4.0, 1.02), (2.0, 1.03), (1.0, 1.06), (0.35, 1.61)])
def test_a_code_takes_little_more_than_the_entropy(spread: float, most: float) -> None:
    generator = torch.Generator().manual_seed(0)
    numbers = (spread * torch.randn(6000, 64, generator=generator)).round().to(torch.int8)
    least = sum(entropy(numbers[:, m : m + 1].numpy().astype(np.int16)) for m in range(64))
    stored = 8 * to_streams({"a.numbers": numbers})["a.numbers"].nbytes / 6000
    assert least < stored < most * least


def test_a_code_that_was_cut_is_told() -> None:
    coded = to_streams({"a.numbers": torch.ones(9, 3, dtype=torch.int8)})
    with pytest.raises(ValueError, match=r"the stream 'a\.numbers' is corrupted"):
        from_streams(coded | {"a.numbers": coded["a.numbers"][:-3]})
