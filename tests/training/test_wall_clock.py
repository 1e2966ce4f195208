"""The clock of the system may jump: nothing that training does depends on it."""

import os
import random
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import yakusu
from yakusu.training.checkpoint import checkpoints
from yakusu.training.trainer import Trainer

MakeTrainer = Callable[..., Trainer]
DAY = 86_400
WALL_CLOCK = re.compile(
    r"time\.(time|time_ns|localtime|gmtime|ctime|strftime|clock_gettime)\(|"
    r"\b(datetime|date)\.(now|today|utcnow)\(|st_[amc]time|getmtime|from time import (?!monotonic)"
)
# The catalogue of the service, and the detection of encodings, ask whether a folder or file was
# replaced, not when.
ALLOWED = {
    ("data/files/encodings.py", "st_mtime"),
    ("serve/catalog.py", "st_ctime"),
    ("engine/cache.py", "st_mtime"),  # what was used last
    ("memory/importing.py", "st_mtime"),  # when segments were confirmed
    ("serve/memories.py", "datetime.now("),
    ("serve/api/deepl/memories.py", "st_ctime"),
    ("serve/api/deepl/memories.py", "st_mtime"),
    ("serve/api/deepl/memories.py", "time.strftime("),
    ("serve/api/modernmt/visible.py", "st_mtime"),
    ("serve/created.py", "datetime.now("),
    ("serve/glossaries.py", "datetime.now("),
    ("serve/jobs.py", "datetime.now("),
    ("serve/usage.py", "datetime.now("),
}


@pytest.fixture
def jumping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the clock of the system tells another day, in either direction."""
    rng = random.Random(7)
    monkeypatch.setattr(time, "time", lambda: 1.8e9 + rng.randint(-900, 900) * DAY)
    monkeypatch.setattr(time, "time_ns", lambda: int(time.time() * 1e9))


def checkpoint_bytes(folder: Path) -> dict[str, bytes]:
    """The tensors of all checkpoints, by their path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for each in checkpoints(folder)
        for path in sorted(each.glob("*.safetensors"))
    }


def test_a_jumping_clock_changes_no_bytes_and_no_choice_of_checkpoints(
    make_trainer: MakeTrainer, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    found = {}
    for name in ("steady", "jumping"):
        if name == "jumping":
            request.getfixturevalue(name)
        rng, folder = random.Random(3), tmp_path / name

        def touch(_: dict[str, Any], folder: Path = folder, rng: random.Random = rng) -> None:
            for checkpoint in checkpoints(folder):
                then = time.time() + rng.randint(-900, 900) * DAY
                os.utime(checkpoint, (then, then))

        for stop in (5, 9):  # the second one resumes
            run = make_trainer(
                folder=folder,
                record=touch,
                max_steps=stop,
                log_steps=1,
                validate_steps=2,
                keep_last=2,
                max_hours=1.0,
                checkpoint_minutes=30.0,
            )
            assert run.resume() == (stop == 9)
            assert run.run() == f"max_steps = {stop}"
        found[name] = checkpoint_bytes(folder)
    assert found["jumping"] == found["steady"]
    assert found["steady"].keys() >= {f"step-{step:08}/model.safetensors" for step in (8, 9)}


@pytest.mark.usefixtures("jumping")
def test_a_time_limit_follows_the_monotonic_clock(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer(max_steps=50, max_hours=1.0)
    update, start = Trainer._update, time.monotonic()

    def long(self: Trainer, step: Any) -> None:
        update(self, step)
        monkeypatch.setattr(time, "monotonic", lambda: start + 601 * self.state.step)

    monkeypatch.setattr(Trainer, "_update", long)
    assert trainer.run() == "max_hours = 1"
    assert trainer.state.step == 6


def test_no_module_reads_the_clock_of_the_system() -> None:
    source = Path(yakusu.__file__).parent
    found = {
        (str(path.relative_to(source)), match[0])
        for path in source.rglob("*.py")
        for match in WALL_CLOCK.finditer(path.read_text(encoding="utf-8"))
    }
    assert found == ALLOWED
