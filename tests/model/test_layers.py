"""Sinusoids against the formula, the scale of embeddings, and the padding row, which is zero."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from yakusu.model.base import Seq2Seq
from yakusu.model.config import TransformerConfig
from yakusu.model.layers import (
    Embedding,
    LearnedPositions,
    SinusoidalPositions,
    WordPositions,
    sigmoid,
    sinusoids,
)
from yakusu.model.table import DenseTable


def some(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("pos", "column", "expected"),
    [
        (0, 0, 0.0),
        (0, 1, 1.0),
        (1, 0, 0.8414709848),  # sin 1
        (1, 1, 0.5403023059),  # cos 1
        (100, 256, 0.8414709848),  # sin(100 / 10000^(1/2))
        (100, 257, 0.5403023059),
        (7, 511, math.cos(7 / 10_000 ** (510 / 512))),
    ],
)
def test_sinusoids_follow_section_3_5(pos: int, column: int, expected: float) -> None:
    assert sinusoids(128, 512)[pos, column].item() == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(
    ("pos", "column", "expected"),
    [
        (1, 0, 0.8414709848),  # sin 1
        (7, 510, math.sin(7 / 10_000)),  # the lowest frequency is 1 / 10,000
        (7, 511, math.cos(7 / 10_000)),
        (100, 256, math.sin(100 / 10_000 ** (128 / 255))),
    ],
)
def test_sinusoids_have_the_frequencies_of_tensor2tensor(
    pos: int, column: int, expected: float
) -> None:
    divisor = TransformerConfig(positions="tensor2tensor").position_divisor
    assert sinusoids(128, 512, divisor)[pos, column].item() == pytest.approx(expected, abs=1e-7)


def test_a_fixed_offset_of_positions_is_a_linear_map() -> None:
    # As in the paper: each pair of columns rotates by an angle that depends on the offset only.
    table, k = sinusoids(200, 16).double(), 13
    angles = k / 10_000 ** (torch.arange(0, 16, 2).double() / 16)
    turns = [torch.stack([a.cos(), -a.sin(), a.sin(), a.cos()]).view(2, 2) for a in angles]
    torch.testing.assert_close(table[:-k] @ torch.block_diag(*turns), table[k:], atol=1e-6, rtol=0)


def test_embeddings_are_scaled_by_sqrt_d_model_and_positions_are_added() -> None:
    embedding, vectors = Embedding(16, SinusoidalPositions(16), dropout=0.0), some(1, 2, 16)
    torch.testing.assert_close(embedding(vectors), vectors * 4 + sinusoids(2, 16))


def test_embedding_one_position_equals_that_column_of_all_positions() -> None:
    embedding, vectors = Embedding(16, SinusoidalPositions(16), dropout=0.0), some(3, 6, 16)
    torch.testing.assert_close(embedding(vectors[:, 4:5], position=4), embedding(vectors)[:, 4:5])


def test_new_embeddings_have_unit_variance_after_scaling() -> None:
    torch.manual_seed(0)
    scaled = DenseTable(1000, 64).weight[:-1] * Embedding(64, SinusoidalPositions(64), 0.0).scale
    assert scaled.std().item() == pytest.approx(1, abs=0.02)


def test_dropout_applies_to_the_sum_of_embeddings_and_positions() -> None:
    torch.manual_seed(0)
    embedding, vectors = Embedding(512, SinusoidalPositions(512), dropout=0.5), some(4, 8, 512)
    whole, dropped = embedding.eval()(vectors), embedding.train()(vectors)
    kept = dropped != 0
    assert kept.float().mean().item() == pytest.approx(0.5, abs=0.02)
    torch.testing.assert_close(dropped[kept], 2 * whole[kept])


def test_the_table_of_sinusoids_grows_beyond_512_positions() -> None:
    positions = SinusoidalPositions(8)
    positions(0, 512)
    assert len(positions.table) == 512
    torch.testing.assert_close(positions(500, 200), sinusoids(700, 8)[500:])
    torch.testing.assert_close(positions(0, 5), sinusoids(5, 8))
    torch.testing.assert_close(SinusoidalPositions(8, 6)(600, 2), sinusoids(602, 8, 6)[600:])


def test_every_second_pair_of_columns_counts_words() -> None:
    words = torch.tensor([[0, 0, 1, 1, 2], [0, 1, 2, 3, 4]])
    found = WordPositions(8)(3, 5, words)
    table = sinusoids(8, 8)
    for i, columns in enumerate([(0, 1), (2, 3), (4, 5), (6, 7)]):
        expected = table[words] if i % 2 else table[3:].expand(2, 5, 8)
        torch.testing.assert_close(found[..., columns], expected[..., columns])


def test_positions_added_in_inference_mode_can_be_used_in_training() -> None:
    embedding, vectors = Embedding(8, SinusoidalPositions(8), dropout=0.1), some(1, 600, 8)
    with torch.inference_mode():
        embedding(vectors)
    embedding(vectors.requires_grad_()).sum().backward()
    assert vectors.grad is not None


def test_sinusoids_are_not_weights_and_are_not_saved() -> None:
    positions = SinusoidalPositions(8)
    assert not list(positions.parameters()) and not positions.state_dict()


def test_learned_positions_are_the_rows_of_a_table_of_fixed_size() -> None:
    positions = LearnedPositions(8, max_positions=20)
    torch.testing.assert_close(positions(3, 4), positions.table[3:7])


def test_the_padding_row_stays_zero_with_three_way_tying(
    tiny: Callable[..., Seq2Seq],
) -> None:
    model = tiny(tied="three-way").train()
    before = model.weights()["tgt_table.weight"].detach().clone()
    assert (before[-1] == 0).all()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    src = torch.tensor([[4, 5, 0], [6, 0, model.src_pad]])
    tgt = torch.tensor([[5, 0, model.tgt_pad], [6, 7, 0]])
    for _ in range(3):
        optimizer.zero_grad()
        logits = model.logits(model(src, tgt))
        logits[tgt != model.tgt_pad].logsumexp(dim=-1).sum().backward()
        optimizer.step()
    after = model.weights()["tgt_table.weight"]
    assert (after[-1] == 0).all()
    assert ((after - before)[:-1].abs() > 0.01).any(dim=1).all()


def test_the_sigmoid_is_that_of_torch_without_overflow() -> None:
    x = torch.cat([some(1000) * 10, torch.tensor([-1e4, -100.0, 0.0, 100.0, 1e4])])
    torch.testing.assert_close(sigmoid(x), torch.sigmoid(x))


@pytest.mark.parametrize("width", [7, 60, 152])
def test_the_sigmoid_of_a_row_does_not_depend_on_its_place(width: int) -> None:
    x = some(300, width) * 3
    whole = sigmoid(x)
    assert all(
        torch.equal(sigmoid(x[row : row + n]), whole[row : row + n])
        for row in range(0, 290, 7)
        for n in (1, 2, 3, 5)
    )
