"""The table of the estimated quality."""

from typing import Any

import numpy as np
import pytest

quality: Any = pytest.importorskip(
    "benchmarks.reliability.quality", reason="only a checkout has benchmarks"
)


def test_the_worst_tenth_is_compared_with_chance() -> None:
    scores = np.array([10.0] * 10 + [80.0] * 90)
    assert quality.worst_tenth(np.arange(100.0), scores) == pytest.approx(10)
    assert quality.worst_tenth(-np.arange(100.0), scores) == 0
    assert quality.worst_tenth(np.arange(100.0), np.full(100, 50.0)) == 0


def test_a_perfect_estimate_is_above_one_that_knows_nothing() -> None:
    scores = np.linspace(0, 100, 200)
    noise = np.random.default_rng(1).normal(size=(3, 200))
    names = ("log_prob", "source_length", "length_ratio")
    found = quality.compared({"quality": scores, **dict(zip(names, noise, strict=True))}, scores)
    assert found["correlation"]["quality"] == pytest.approx(1)
    assert found["above_log_prob"][1] > 0.7
    assert found["above_length"][0] == pytest.approx(1 - found["length"])
    assert found["worst_tenth"][0] == pytest.approx(1 / 0.3, rel=0.01)
