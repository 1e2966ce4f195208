"""The log of a run: its events, and what happens when it cannot be written."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from yakusu.training.log import RunLog, SkipEvent
from yakusu.training.trainer import Trainer

MakeTrainer = Callable[..., Trainer]
SKIP = SkipEvent(step=3, epoch=0.25, skipped=1, lines=[4, 7])


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
    seconds, events = count(0, 10), []  # each call of the clock is ten seconds later
    monkeypatch.setattr("yakusu.training.state.time.monotonic", lambda: float(next(seconds)))
    make_trainer(record=events.append, log_steps=1000, max_steps=20).run()
    logged = [event["step"] for event in events if event["event"] == "train"]
    assert 2 <= len(logged) < 20


def test_a_skipped_step_names_its_first_lines() -> None:
    assert str(SKIP).endswith("(1 skipped so far; lines 4, 7)")
    ten, eleven = (str(replace(SKIP, lines=list(range(1, n + 1)))) for n in (10, 11))
    assert ten.endswith("lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)")
    assert eleven.endswith("lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...)")


def test_event_after_an_incomplete_line_starts_a_new_line(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"event": "tr')  # the run was killed here
    with RunLog(tmp_path) as log:
        log.record(SKIP)
        log.record(SKIP)
    incomplete, *lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert incomplete == '{"event": "tr'
    expected = {"event": "skip", "step": 3, "epoch": 0.25, "version": 1, "skipped": 1}
    assert [json.loads(line) for line in lines] == [expected | {"lines": [4, 7]}] * 2


def test_full_disk_gives_one_warning_and_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "log.jsonl").symlink_to("/dev/full")
    with RunLog(tmp_path) as log:
        log.record(SKIP)
        log.record(SKIP)
    assert caplog.text.count("cannot write the log") == 1
