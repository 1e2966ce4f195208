"""`yakusu improve`: what it prints."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import yakusu
from yakusu.data.segments import MemorySegment
from yakusu.memory.memory import TranslationMemory
from yakusu.pipeline.improving.comparison import Comparison
from yakusu.pipeline.improving.improve import Improved

MODEL = Path(__file__).parents[1] / "fixtures" / "format-1" / "transformer"
Run = Callable[..., Any]


def test_four_pairs_are_too_few(tmp_path: Path, run_yakusu: Run) -> None:
    team = tmp_path / "team.db"
    with TranslationMemory.open(team, ("en", "de"), writable=True) as memory:
        memory.add(MemorySegment(f"boat {name}", f"Kahn {name}") for name in "abcd")
    said = run_yakusu("improve", MODEL, "--memory", team, "--run", tmp_path / "run")
    assert (said.code, said.out) == (
        0,
        "4 pairs are too few to train on, which takes at least 200: translate with --memory, "
        "which already uses them\n",
    )
    assert not (tmp_path / "run").exists()


def test_the_comparison_is_a_table(
    tmp_path: Path, run_yakusu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = dict[str, Any]()

    def improve(*files: object, **options: Any) -> Improved:
        given.update(options, files=files)
        sets = (("confirmed pairs", 51, 40.727, 88.37), ("older test set", 1200, 100, 99.824))
        compared = (
            Comparison(
                **{"name": name, "sentences": n, "before": before, "after": after},
                **{"low": after - before - 1, "high": after - before + 1, "signature": "nrefs:1"},
            )
            for name, n, before, after in sets
        )
        return Improved(399, Path("new"), tuple(compared), Path("old"), "the new model is better")

    monkeypatch.setattr(yakusu, "improve", improve, raising=False)
    options = ["--memory", "a.db", "--memory", "b.db", "--run", "r", "--mix", "0.2", "--replace"]
    said = run_yakusu("improve", "m", *options, "--set", "training.max_steps=9")
    assert said.out.splitlines() == [
        "                 sentences  before   after  difference (95% interval)",
        "confirmed pairs         51   40.73   88.37  +47.64 [+46.64, +48.64]",
        "older test set       1,200  100.00   99.82  -0.18 [-1.18, +0.82]",
        "nrefs:1",
        "the new model is better",
        "m is the new model now; the old one is in old",
    ]
    assert given["files"] == ("m", ["a.db", "b.db"])
    assert (given["run"], given["mix"], given["replace"]) == ("r", 0.2, True)
    assert given["overrides"] == ["training.max_steps=9"]
