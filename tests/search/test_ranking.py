"""The order of candidates, compared with a loop over rounds."""

import math

import pytest
import torch

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
    rng = torch.Generator().manual_seed(n_stages)
    for _ in range(10):
        log_probs = 5 * torch.randn(3, 24, generator=rng, dtype=torch.float64)
        log_probs[torch.rand(3, 24, generator=rng) < 0.2] = -torch.inf
        progress = torch.randint(n_stages, (3, 24), generator=rng)
        order = alternate(log_probs, progress)
        for row in range(3):
            expected = naive_order(log_probs[row].tolist(), progress[row].tolist())
            assert order[row].tolist()[: len(expected)] == expected
            assert sorted(order[row].tolist()) == list(range(24))


def test_candidates_of_one_stage_are_sorted_by_log_probability() -> None:
    log_probs = torch.tensor([[-3.0, -1.0, -torch.inf, -2.0]])
    assert alternate(log_probs, torch.ones(1, 4, dtype=torch.long)).tolist() == [[1, 3, 0, 2]]
