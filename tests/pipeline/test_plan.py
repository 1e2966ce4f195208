"""What a run says before its first step."""

from dataclasses import replace
from pathlib import Path

import pytest

from yakusu.pipeline.training import dry_run
from yakusu.pipeline.training.plan import TrainingPlan
from yakusu.progress import duration
from yakusu.recipe import load_recipe

PLAN = TrainingPlan(
    languages=("en", "de"),
    n_pairs=4700,
    n_dev=200,
    dropped=100,
    vocab_sizes=(3000,),
    rare="鬱龍",
    in_bytes=True,
    parameters=1_703_424,
    frozen=0,
    tokens=140_000,
    device="cpu",
    threads=1,
    cores=2,
    steps=4000,
    max_steps=4000,
    warmup_steps=200,
    seconds=7800.0,
    may_stop=True,
)


def test_the_plan_states_the_corpus_the_model_and_the_time() -> None:
    assert str(PLAN).splitlines() == [
        "pairs: 4,700 to train on, 200 to measure with, 100 left out",
        "languages: en to de",
        "vocabulary: 3,000 tokens; 2 rare characters without a token, spelled in bytes: 鬱 龍",
        "training 1,703,424 parameters on cpu with 1 of 2 cores",
        "time: about 2 h 10 min on this machine for 4,000 steps, less if the translations stop "
        "improving; stop with Ctrl-C at any time, and repeat the command to resume",
    ]


def test_estimates_of_a_dry_run_are_marked() -> None:
    lines = str(replace(PLAN, sampled=20_000)).splitlines()
    assert lines[:2] == [
        "dry run: estimates from 20,000 pairs; nothing is written",
        "pairs: about 4,700 to train on, 200 to measure with, about 100 left out",
    ]


def test_a_resumed_run_does_not_repeat_what_its_corpus_is() -> None:
    assert len(str(replace(PLAN, resumes=True)).splitlines()) == 2


@pytest.mark.parametrize(
    ("changed", "warning"),
    [
        (
            {"parameters": 200_000_000},
            "warning: the model has 200,000,000 parameters for 140,000 tokens of text; a smaller "
            "model learns more: use the recipe tiny",
        ),
        (
            {"tokens": 20_000},
            "warning: the model has 1,703,424 parameters for 20,000 tokens of text; it will learn "
            "little: add text",
        ),
        (
            {"seconds": 40 * 86400.0},
            "warning: training takes about 40 days without a GPU: use a machine with a GPU, or the "
            "recipe tiny",
        ),
        (
            {"max_steps": 100},
            "warning: training.max_steps = 100 ends before the learning rate has warmed up "
            "(training.warmup_steps = 200): lower training.warmup_steps in a new run",
        ),
    ],
)
def test_what_does_not_fit_is_a_warning(changed: dict[str, float], warning: str) -> None:
    assert str(replace(PLAN, **changed)).splitlines()[-1] == warning  # type: ignore[arg-type]
    assert "warning" not in str(replace(PLAN, device="cuda:0"))


def test_durations_are_rounded() -> None:
    seconds = (20, 90, 3599, 7260, 86400 * 1.4, 86400 * 40)
    assert [*map(duration, seconds)] == [
        "less than a minute", "about 2 min", "about 1 h", "about 2 h", "about 1 day",
        "about 40 days",
    ]  # fmt: skip


def test_a_sample_is_seen_more_often_so_that_a_dry_run_has_as_many_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dry_run, "_SAMPLE", 10)
    monkeypatch.setattr(dry_run, "_PER_TOKEN", 0)
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("a\n" * 40)
    recipe = load_recipe(
        "tiny", ["training.max_epochs=3"], src=tmp_path / "a.en", tgt=tmp_path / "a.de"
    )
    sampled, n_sampled, n = dry_run._sampled(recipe, tmp_path)
    assert (n_sampled, n) == (10, 40)
    assert sampled.training.max_epochs == 12
