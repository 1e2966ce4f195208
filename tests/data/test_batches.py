"""Every epoch shows every pair once, in full batches; the order depends on seed and epoch only."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import examples
from yakusu.data.batches import (
    Batch,
    BatchConfig,
    Indices,
    collate,
    cut_by_length,
    epoch_steps,
    fullness,
    joined,
    pad,
    seen_in_epoch,
)
from yakusu.data.pairs import CorpusPart, Pairs


class Lengths:
    """A side of a corpus with given lengths; sentence i repeats the id i."""

    def __init__(self, lengths: list[int]) -> None:
        self.lengths = np.array(lengths, dtype=np.int64)

    def lengths_of(self, chosen: np.ndarray) -> np.ndarray:
        return self.lengths[chosen]

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, i: int) -> np.ndarray:
        return np.full(self.lengths[i], i, dtype=np.uint16)


def corpus(lengths: list[tuple[int, int]]) -> Pairs:
    src, tgt = (Lengths([pair[i] for pair in lengths]) for i in (0, 1))
    return cast(Pairs, PairsOfLengths(src=src, tgt=tgt))


class PairsOfLengths(SimpleNamespace):
    @property
    def parts(self) -> tuple[CorpusPart, ...]:
        return (CorpusPart(n_pairs=len(self), weight=1.0),)

    def __len__(self) -> int:
        return len(self.src)


CAPTIONS, NEWS = (2.6, 0.3), (3.0, 0.6)  # mean and deviation of the logarithm of lengths


def generated(n: int, shape: tuple[float, float] = CAPTIONS) -> Pairs:
    """Log-normal source lengths, and target lengths that differ from these by about a sixth."""
    rng = np.random.default_rng(0)
    src = np.clip(rng.lognormal(*shape, n).round(), 1, 250)
    tgt = np.clip((src * rng.lognormal(0.05, 0.17, n)).round(), 1, 250)
    return corpus([(int(s), int(t)) for s, t in zip(src, tgt, strict=True)])


def flat(steps: list[list[Indices]]) -> list[int]:
    return [int(i) for step in steps for batch in step for i in batch]


LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=150)


@settings(deadline=None)
@given(LENGTHS, st.integers(1, 500), st.integers(1, 200), st.integers(0, 9), st.integers(0, 9))
def test_every_pair_occurs_once_per_epoch(
    lengths: list[tuple[int, int]], step: int, batch: int, seed: int, epoch: int
) -> None:
    steps = epoch_steps(
        corpus(lengths), step_tokens=step, batch_tokens=batch, seed=seed, epoch=epoch
    )
    assert sorted(flat(steps)) == list(range(len(lengths)))
    assert all(step and all(len(batch) for batch in step) for step in steps)


@settings(deadline=None)
@given(LENGTHS, st.integers(1, 200))
def test_only_a_batch_of_a_single_pair_exceeds_its_budget(
    lengths: list[tuple[int, int]], budget: int
) -> None:
    for batch in cut_by_length(np.arange(len(lengths)), corpus(lengths), budget):
        longest = max(max(lengths[i]) for i in batch)
        assert len(batch) == 1 or len(batch) * longest <= budget


def test_a_pair_longer_than_the_budget_is_a_batch_of_its_own() -> None:
    batches = cut_by_length(np.arange(3), corpus([(50, 2), (3, 3), (3, 2)]), 8)
    assert [sorted(batch.tolist()) for batch in batches] == [[1, 2], [0]]


def test_pairs_of_one_length_fill_their_batches_exactly() -> None:
    batches = cut_by_length(np.arange(100), corpus([(8, 8)] * 100), 80)
    assert [len(batch) for batch in batches] == [10] * 10


def test_pairs_of_equal_lengths_keep_their_order() -> None:
    order = np.array([4, 1, 3, 0, 2])
    (batch,) = cut_by_length(order, corpus([(5, 5)] * 5), 100)
    assert batch.tolist() == order.tolist()


def test_the_order_is_a_function_of_seed_and_epoch() -> None:
    pairs = generated(500)

    def order(seed: int, epoch: int) -> list[int]:
        return flat(epoch_steps(pairs, step_tokens=900, batch_tokens=300, seed=seed, epoch=epoch))

    assert order(1, 0) == order(1, 0)
    orders = [order(seed, epoch) for seed in (1, 2, 3) for epoch in (0, 1, 2)]
    assert len({tuple(each) for each in orders}) == 9


def test_batches_of_two_epochs_contain_different_pairs() -> None:
    pairs = corpus([(8, 8)] * 64)
    one, other = (
        {
            frozenset(batch.tolist())
            for step in epoch_steps(pairs, step_tokens=64, batch_tokens=64, seed=1, epoch=epoch)
            for batch in step
        }
        for epoch in (0, 1)
    )
    assert not one & other


def test_the_batches_of_a_step_have_different_lengths() -> None:
    pairs = generated(5000)
    steps = epoch_steps(pairs, step_tokens=10_000, batch_tokens=1000, seed=1, epoch=0)
    means = [pairs.src.lengths[np.concatenate(step)].mean() for step in steps]
    per_batch = [pairs.src.lengths[batch].mean() for step in steps for batch in step]
    assert np.std(means) < np.std(per_batch) / 2


@pytest.mark.parametrize("batch", [100, 250, 500, 1000])
def test_a_step_differs_from_the_mean_by_at_most_a_batch(batch: int) -> None:
    pairs = generated(5000)
    longer = np.maximum(pairs.src.lengths, pairs.tgt.lengths)
    assert longer.max() <= batch  # no batch exceeds its budget
    steps = epoch_steps(pairs, step_tokens=1000, batch_tokens=batch, seed=1, epoch=0)
    sizes = [
        [max(side.lengths[b].sum() for side in (pairs.src, pairs.tgt)) for b in step]
        for step in steps
    ]
    tokens = np.array([sum(own) for own in sizes])
    assert np.abs(tokens - tokens.mean()).max() <= max(map(max, sizes))
    assert batch > 250 or min(map(len, sizes)) >= 4


def test_all_steps_are_close_to_their_budget() -> None:
    pairs = generated(20_000)
    steps = epoch_steps(pairs, step_tokens=25_000, batch_tokens=2500, seed=1, epoch=0)
    tokens = [
        sum(max(side.lengths[b].sum() for side in (pairs.src, pairs.tgt)) for b in step)
        for step in steps
    ]
    assert np.mean(tokens) == pytest.approx(25_000, rel=0.05)
    assert min(tokens) > 20_000 and max(tokens) < 30_000


@pytest.mark.parametrize(
    ("step", "given", "device", "size"),
    [
        (50_000, 0, "cuda", 6250),
        (50_000, 0, "cpu", 4096),
        (2000, 0, "cpu", 250),
        (3, 0, "cpu", 1),
        (2000, 1500, "cuda", 1500),
        (2000, 2048, "cpu", 2000),
    ],
)
def test_a_batch_is_an_eighth_of_a_step_by_default(
    step: int, given: int, device: str, size: int
) -> None:
    config = BatchConfig(step_tokens=step, batch_tokens=given)
    assert config.batch_tokens_on(device) == size


def test_older_runs_have_two_batches_per_step_by_default() -> None:
    assert BatchConfig(step_tokens=2000).batch_tokens_on("cpu", per_step=2) == 1000


def test_a_corpus_smaller_than_a_step_is_one_step() -> None:
    steps = epoch_steps(generated(10), step_tokens=10**6, batch_tokens=100, seed=1, epoch=0)
    assert len(steps) == 1 and len(steps[0]) > 1


def test_a_step_smaller_than_a_batch_is_a_batch() -> None:
    steps = epoch_steps(corpus([(5, 5)] * 20), step_tokens=1, batch_tokens=25, seed=1, epoch=0)
    assert [len(step) for step in steps] == [1] * 4


@pytest.mark.parametrize(("shape", "least"), [(CAPTIONS, 0.98), (NEWS, 0.97)])
def test_batches_of_a_large_corpus_have_little_padding(
    shape: tuple[float, float], least: float
) -> None:
    pairs = generated(100_000, shape)
    assert fullness(pairs, cut_by_length(np.arange(len(pairs)), pairs, 4096)) >= least


def test_sorting_by_both_lengths_pads_less_than_by_source_length() -> None:
    pairs = generated(20_000, NEWS)

    def share(order: Indices) -> float:
        return fullness(pairs, [order[i : i + 150] for i in range(0, len(order), 150)])

    ours = fullness(pairs, cut_by_length(np.arange(20_000), pairs, 4096))
    by_source, unsorted = share(np.argsort(pairs.src.lengths)), share(np.arange(20_000))
    assert unsorted < 0.4 < by_source < ours - 0.05


def test_fullness_is_the_share_of_positions_that_are_tokens() -> None:
    pairs = corpus([(2, 3), (4, 3)])
    assert fullness(pairs, [np.array([0, 1])]) == (2 + 4 + 3 + 3) / (2 * 4 + 2 * 3)
    assert fullness(pairs, [np.array([0]), np.array([1])]) == 1


def test_padding_is_on_the_right() -> None:
    assert pad([[5, 6, 0], [7, 0]], 9).tolist() == [[5, 6, 0], [7, 0, 9]]


def test_padding_extends_to_a_multiple() -> None:
    padded = pad([[1] * 17, [2]], 9, multiple=16)
    assert padded.shape == (2, 32)
    assert (padded[0] == 9).sum() == 15 and (padded[1] == 9).sum() == 31
    assert pad([[1] * 16], 9, multiple=16).shape == (1, 16)


def test_ids_above_int16_are_padded_unchanged() -> None:
    padded = pad([np.array([65_535], dtype=np.uint16), np.array([70_000], dtype=np.uint32)], 0)
    assert padded.dtype == torch.int64 and padded.tolist() == [[65_535], [70_000]]


def test_collate_pads_each_side_with_its_own_pad_id() -> None:
    batch = collate(corpus([(1, 1), (2, 1), (1, 3)]), np.array([1, 2]), src_pad=98, tgt_pad=99)
    assert batch.src.tolist() == [[1, 1], [2, 98]]
    assert batch.tgt.tolist() == [[1, 99, 99], [2, 2, 2]]


def test_both_sides_of_a_batch_move_to_the_device() -> None:
    batch = Batch(torch.ones(2, 3), torch.zeros(2, 2)).to(torch.device("meta"))
    assert batch.src.is_meta and batch.tgt.is_meta


# ---- weights of parts ----------------------------------------------------------------------------


def test_a_part_of_weight_one_is_shown_once_per_epoch() -> None:
    for epoch in (0, 7):
        assert seen_in_epoch(
            (CorpusPart(n_pairs=5, weight=1.0),), seed=1, epoch=epoch
        ).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("weight", [0.04, 0.1, 0.5, 1.0, 1.7, 3.0])
@pytest.mark.parametrize("n", [1, 3, 20])
def test_pairs_are_shown_according_to_the_weight_of_their_part(n: int, weight: float) -> None:
    parts = (CorpusPart(n_pairs=30, weight=1.0), CorpusPart(n_pairs=n, weight=weight))
    shown = [seen_in_epoch(parts, seed=3, epoch=epoch) for epoch in range(100)]
    for numbers in shown:
        assert abs(len(numbers) - 30 - n * weight) < 1
        assert numbers[:30].tolist() == list(range(30))
    times = np.bincount(np.concatenate(shown), minlength=30 + n)
    assert len(times) == 30 + n
    assert times[30:].sum() == round(100 * n * weight)
    assert times[30:].max() - times[30:].min() <= 1


def test_the_pairs_of_an_epoch_are_a_function_of_seed_and_epoch() -> None:
    parts = (CorpusPart(n_pairs=4, weight=1.0), CorpusPart(n_pairs=100, weight=0.5))

    def seen(seed: int, epoch: int) -> list[int]:
        return seen_in_epoch(parts, seed=seed, epoch=epoch).tolist()

    assert seen(1, 2) == seen(1, 2)
    assert seen(1, 2) != seen(2, 2)
    assert not set(seen(1, 2)[4:]) & set(seen(1, 3)[4:])  # two halves of one permutation


# ---- passes of a GPU -----------------------------------------------------------------------------


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60), st.integers(1, 400))
@settings(max_examples=examples(50), deadline=None)
def test_joined_batches_have_the_same_pairs_within_the_limit(lengths: list[int], most: int) -> None:
    pairs = corpus([(n, max(1, n - 3)) for n in lengths])
    batches = cut_by_length(np.arange(len(pairs)), pairs, 60)
    passes = joined(batches, pairs, most)
    assert sorted(np.concatenate(passes).tolist()) == list(range(len(pairs)))
    assert len(passes) <= len(batches)
    separate = {tuple(batch.tolist()) for batch in batches}
    for each in passes:
        size = len(each) * max(lengths[i] for i in each)
        assert size <= most or tuple(each.tolist()) in separate


def test_batches_are_joined_where_padding_is_cheap_unless_a_size_is_given() -> None:
    def size(device: str, packs: bool = True, **config: int) -> int:
        return BatchConfig(**config).pass_tokens_on(device, packs=packs)

    assert size("cuda") == size("cuda", packs=False) == 16_384
    assert (size("cpu"), size("cpu", packs=False)) == (8_192, 0)
    assert size("cpu", pass_tokens=100) == size("cpu", packs=False, pass_tokens=100) == 100
    assert size("cpu", batch_tokens=50) == size("cuda", batch_tokens=50) == 0
    assert size("cuda", batch_tokens=50, pass_tokens=100) == 100
    pairs = corpus([(3, 3), (9, 9)])
    batches = [np.array([1]), np.array([0])]
    assert joined(batches, pairs, 0) is batches
    assert [each.tolist() for each in joined(batches, pairs, 18)] == [[0, 1]]
    assert [each.tolist() for each in joined(batches, pairs, 17)] == [[0], [1]]
