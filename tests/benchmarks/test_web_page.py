"""The speed of a page: how hosts are compared with the native engine."""

from typing import Any

import pytest

web_page: Any = pytest.importorskip(
    "benchmarks.speed.web_page", reason="only a checkout has benchmarks"
)
LINES = ["one two", "three", "four five six"]
NATIVE = {"times": [9.0, 10.0, 20.0, 30.0], "made": ["a", "b", "c"], "peak": None}


def test_a_host_is_compared_on_the_lines_that_it_translated() -> None:
    rows = web_page.Rows(LINES, 1, NATIVE)
    rows.add("node", "simd", {"times": [5.0, 40.0, 20.0], "made": ["a", "x"], "peak": 7.0})
    assert rows.made == [
        {
            **{"host": "node", "build": "simd", "beam": 1, "load": 5.0, "first": 40.0},
            **{"words": 50.0, "share": 0.5, "peak_mib": 7.0, "sentences": 2, "equal": 1},
        }
    ]


def test_a_host_is_compared_with_other_translations_if_they_are_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = web_page.Rows(LINES, 1, NATIVE)
    found = {"times": [5.0, 1.0, 1.0, 1.0], "made": ["a", "x", "y"], "peak": 7.0}
    rows.add("node", "fp32", found, ["a", "x", "z"])
    assert rows.made[0]["equal"] == 2
    assert capsys.readouterr().out.splitlines()[1:] == ["differs: four five six"]
