"""Scores of resamples, and intervals of the paired bootstrap."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import spearmanr

from yakusu.arrays import Doubles
from yakusu.errors import DataError
from yakusu.vectors import bootstrap
from yakusu.vectors.bootstrap import Interval, paired_difference
from yakusu.vectors.outcomes import RankCorrelation, Shares, TaskResult, mean_of, result_of


def answers(*right: float) -> TaskResult:
    return result_of("a", Shares(np.array(right)), 0, "")


def agreement(seed: int, n: int = 40) -> TaskResult:
    rng = np.random.default_rng(seed)
    human = rng.integers(0, 6, n).astype(float)
    return result_of("s", RankCorrelation(human, (human + rng.normal(0, 3, n)).round()), 0, "")


def all_resamples(n: int) -> Doubles:
    """How often each of the n^n resamples contains each item."""
    picks = list(product(range(n), repeat=n))
    return np.array([np.bincount(each, minlength=n) for each in picks], dtype=float)


def test_a_share_is_the_mean_over_the_resample() -> None:
    times = np.array([[1.0, 1, 1], [3, 0, 0], [0, 2, 1]])
    assert Shares(np.array([1.0, 0, 0.5])).scores(times).tolist() == [0.5, 1, 0.5 / 3]


def test_ranks_are_computed_within_each_resample_and_equal_values_tie() -> None:
    rng = np.random.default_rng(1)
    human, cosines = rng.integers(0, 4, 30).astype(float), rng.integers(0, 9, 30) / 9
    picks = rng.integers(30, size=(50, 30))
    times = np.array([np.bincount(each, minlength=30) for each in picks], dtype=float)
    expected = [spearmanr(human[each], cosines[each]).statistic for each in picks]
    found = RankCorrelation(human, cosines).scores(times)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_correlation_of_equal_values_is_undefined() -> None:
    found = RankCorrelation(np.array([1.0, 2, 2]), np.array([1.0, 2, 3])).scores(
        np.array([[1.0, 1, 1], [0, 2, 1], [3, 0, 0]])
    )
    assert found[0] == pytest.approx(math.sqrt(3) / 2)
    assert np.isnan(found[1:]).all()


def test_the_interval_of_equal_systems_is_0() -> None:
    for result in (answers(1, 0, 1, 0), agreement(1), mean_of([agreement(1), agreement(2)])):
        assert paired_difference(result, result) == Interval(0, 0, 0)


def test_the_interval_of_a_constant_difference_is_that_difference() -> None:
    before, after = answers(0.25, 0, 0.5), answers(0.75, 0.5, 1)
    found = paired_difference(before, after)
    assert (found.difference, found.low, found.high) == pytest.approx((0.5, 0.5, 0.5))


def test_the_interval_is_that_of_all_resamples() -> None:
    before, after = answers(1, 0, 1, 1, 0), answers(0.2, 0, 0.9, 0.4, 0)
    differences = all_resamples(5) @ np.array([-0.8, 0, -0.1, -0.6, 0]) / 5
    low, high = np.percentile(differences, [2.5, 97.5])
    found = paired_difference(before, after, n_samples=20_000)
    assert found.difference == pytest.approx(-0.3)
    assert (found.low, found.high) == (
        pytest.approx(low, abs=0.021),
        pytest.approx(high, abs=0.021),
    )


def test_a_mean_over_sets_resamples_each_set_on_its_own() -> None:
    sets = [(answers(1, 0), answers(0, 0)), (answers(0, 1, 1), answers(1, 1, 1))]
    before, after = (mean_of(side) for side in zip(*sets, strict=True))
    first = all_resamples(2) @ np.array([-1.0, 0]) / 2
    second = all_resamples(3) @ np.array([1.0, 0, 0]) / 3
    means = (first[:, None] + second) / 2
    found = paired_difference(before, after, n_samples=20_000)
    assert found.difference == pytest.approx((-1 / 2 + 1 / 3) / 2)
    assert [found.low, found.high] == pytest.approx(np.percentile(means, [2.5, 97.5]).tolist())


def test_the_size_of_the_blocks_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    found = paired_difference(agreement(1), agreement(1, 40), n_samples=90)
    whole = paired_difference(agreement(3), _other(), n_samples=90)
    monkeypatch.setattr(bootstrap, "_TOGETHER", 7 * 40)
    assert paired_difference(agreement(3), _other(), n_samples=90) == whole != found


def _other() -> TaskResult:
    human = agreement(3).outcomes[0].human  # type: ignore[attr-defined]
    cosines = np.random.default_rng(9).random(40)
    return result_of("s", RankCorrelation(human, cosines), 0, "")


def test_results_without_items_or_with_other_items_have_no_interval() -> None:
    nothing = paired_difference(answers(), answers())
    assert math.isnan(nothing.difference) and math.isnan(nothing.low)
    with pytest.raises(DataError, match=r"a has \[2\] items and a \[3\]: compare results of the"):
        paired_difference(answers(1, 0), answers(1, 0, 1))
