"""The events of a run."""

import json
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from yakusu.training.trainer import Trainer

MakeTrainer = Callable[..., Trainer]


def test_log_events_have_the_documented_keys(make_trainer: MakeTrainer) -> None:
    events: list[dict[str, Any]] = []
    make_trainer(
        record=events.append, log_steps=2, validate_steps=3, max_steps=4, bleu=lambda _: 12.5
    ).run()
    assert [(event["event"], event["step"]) for event in events] == [
        ("train", 2),
        ("validate", 3),
        ("train", 4),
        ("validate", 4),
    ]
    assert list(events[0]) == [
        "event",
        "step",
        "epoch",
        "version",
        "loss",
        "loss_zero_point",
        "perplexity",
        "learning_rate",
        "tokens_per_second",
        "seconds",
    ]
    assert list(events[1]) == [
        "event",
        "step",
        "epoch",
        "version",
        "dev_perplexity",
        "score",
        "dev_bleu",
        "best_step",
        "bad_validations",
        "validation_seconds",
        "seconds",
    ]
    assert events[1]["dev_bleu"] == 12.5
    json.dumps(events)


def test_slow_steps_are_logged_once_a_minute(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds, events = count(0, 10), []  # each look at the clock is ten seconds later
    monkeypatch.setattr("yakusu.training.state.time.monotonic", lambda: float(next(seconds)))
    make_trainer(record=events.append, log_steps=1000, max_steps=20).run()
    logged = [event["step"] for event in events if event["event"] == "train"]
    assert 2 <= len(logged) < 20
