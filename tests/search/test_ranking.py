"""The order of candidates, compared with a loop over rounds."""

import math

import numpy as np
import pytest

from yakusu.search.ranking import BONUS, alternate


def naive_order(log_probs: list[float], progress: list[int]) -> list[int]:
    """Take the best candidate of each stage, then the second best of each, and so on."""
    remaining = [i for i, log_prob in enumerate(log_probs) if log_prob > -math.inf]
    order: list[int] = []
    while remaining:
        best: dict[int, int] = {}
        for i in remaining:
            stage = progress[i]
            if stage not in best or log_probs[i] > log_probs[best[stage]]:
                best[stage] = i
        order += sorted(best.values(), key=lambda i: -(log_probs[i] + BONUS * progress[i]))
        remaining = [i for i in remaining if i not in order]
    return order


@pytest.mark.parametrize("n_stages", [1, 2, 5, 30])
def test_candidates_alternate_between_stages(n_stages: int) -> None:
    rng = np.random.default_rng(n_stages)
    for _ in range(30):
        log_probs = 5 * rng.standard_normal(24)
        log_probs[rng.random(24) < 0.2] = -np.inf
        progress = rng.integers(n_stages, size=24)
        order = alternate(log_probs, progress).tolist()
        expected = naive_order(log_probs.tolist(), progress.tolist())
        assert order[: len(expected)] == expected
        assert sorted(order) == list(range(24))


def test_candidates_of_one_stage_are_sorted_by_log_probability() -> None:
    log_probs = np.array([-3.0, -1.0, -np.inf, -2.0])
    assert alternate(log_probs, np.ones(4, dtype=np.int64)).tolist() == [1, 3, 0, 2]


def test_equal_candidates_keep_their_order() -> None:
    assert alternate(np.full(5, -1.0), np.array([0, 1, 0, 1, 0])).tolist() == [1, 0, 3, 2, 4]
    assert alternate(np.full(3, -np.inf), np.array([0, 1, 0])).tolist() == [0, 1, 2]
