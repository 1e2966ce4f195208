"""What a run survives: kills, signals, full disks, damaged files, a second trainer."""

import json
import os
import pickle
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import yakusu
from tests.cases import THOROUGH, some
from tests.system.runs import (
    MAX_STEPS,
    Job,
    Mine,
    Slow,
    child,
    command_line,
    finished,
    place_of,
    recipe_for,
    result,
    settings,
    wait_for,
)
from yakusu.errors import ModelError, RunError
from yakusu.folder import sha256
from yakusu.training.checkpoint import checkpoints
from yakusu.training.trainer import Trainer

# ---- the same bytes ------------------------------------------------------------------------------


def test_two_runs_are_the_same_bytes(
    corpus: Path, straight: dict[str, str], tmp_path: Path
) -> None:
    yakusu.train(recipe_for(corpus, tmp_path / "run"))
    assert result(tmp_path / "run") == straight


# ---- killed --------------------------------------------------------------------------------------


def test_killed_at_random_moments_a_run_ends_with_the_same_bytes(
    corpus: Path, straight: dict[str, str], tmp_path: Path, thorough: bool
) -> None:
    rng = random.Random(11)
    for attempt in range(4 if thorough else 1):
        run, kills = tmp_path / f"run-{attempt}", 0
        recipe = recipe_for(corpus, run)
        while True:
            process = child(recipe)
            process.join(timeout=rng.uniform(0.05, 0.6) if kills < 6 else None)
            if process.exitcode is not None:
                break
            process.kill()
            kills += finished(process) == -signal.SIGKILL
        assert process.exitcode == 0
        assert result(run) == straight


# Steps already done; after 4 there is a model.
@pytest.mark.parametrize("n_before", some([4, 0]))
def test_killed_at_any_file_change_a_run_ends_with_the_same_bytes(
    corpus: Path, straight: dict[str, str], tmp_path: Path, n_before: int, thorough: bool
) -> None:
    """Kill at three changes (thorough: one in every place): open, sync, rename, swap, remove."""
    run, before, log = tmp_path / "run", tmp_path / "before", tmp_path / "changes"
    recipe = recipe_for(corpus, run)
    if n_before:
        assert finished(child(recipe_for(corpus, run, f"training.max_steps={n_before}"))) == 0
        shutil.copytree(run, before)
    assert finished(child(recipe, Mine(run, 0, log))) == 0
    changes = log.read_text().splitlines()
    kinds = {line.split()[0] for line in changes}
    assert kinds >= {"os.fsync", "os.rename", "tensors", "swap" if n_before else "os.mkdir"}
    places: dict[str, list[int]] = {}
    for n, line in enumerate(changes, start=1):
        places.setdefault(place_of(line), []).append(n)
    rng = random.Random(n_before)
    chosen = [rng.choice(found) for found in places.values()]
    for n in sorted(chosen if thorough else rng.sample(chosen, 3)):
        shutil.rmtree(run)
        if n_before:
            shutil.copytree(before, run)
        assert finished(child(recipe, Mine(run, n))) == -signal.SIGKILL, changes[n - 1]
        assert finished(child(recipe)) == 0, changes[n - 1]
        assert result(run) == straight, changes[n - 1]
        assert not list(run.glob("**/.saving-*")), changes[n - 1]


# ---- signals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_with_a_checkpoint_and_its_exit_code(
    corpus: Path, tmp_path: Path, number: signal.Signals
) -> None:
    run, output = tmp_path / "run", tmp_path / "output"
    overrides = ("training.max_steps=100000", "training.validate_steps=100000")
    process = command_line([*settings(corpus, *overrides), "--run", str(run)], output)
    wait_for(run / "checkpoints" / "step-00000003")
    os.kill(process.pid or 0, number)
    assert finished(process) == 128 + number
    printed = output.read_text()
    assert (
        f"{number.name}: saving after this step; send the signal again to exit immediately"
        in printed
    )
    stopped = re.search(
        rf"{number.name}: stopped after step ([\d,]+); rerun the same command", printed
    )
    assert stopped
    step = int(stopped[1].replace(",", ""))
    assert checkpoints(run / "checkpoints")[-1].name == f"step-{step:08}"
    assert "Traceback" not in printed


def test_a_run_stopped_by_a_signal_ends_with_the_same_bytes(
    corpus: Path, straight: dict[str, str], tmp_path: Path
) -> None:
    recipe, marker = recipe_for(corpus, tmp_path / "run"), tmp_path / "marker"
    for _ in range(3):  # also at step 4, whose validation is postponed
        marker.unlink(missing_ok=True)
        process = child(recipe, Slow(marker, 0.3))
        wait_for(marker)
        time.sleep(0.4)
        os.kill(process.pid or 0, signal.SIGTERM)
        assert finished(process) == 1  # the error that the command line reports as 143
    assert finished(child(recipe)) == 0
    assert result(tmp_path / "run") == straight


def test_a_second_signal_ends_the_run_immediately(corpus: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    process = child(recipe_for(corpus, tmp_path / "run"), Slow(marker, 600))
    wait_for(marker)
    os.kill(process.pid or 0, signal.SIGTERM)
    process.join(timeout=0.5)
    assert process.is_alive()  # until the step ends, in 10 minutes
    os.kill(process.pid or 0, signal.SIGTERM)
    assert finished(process) == -signal.SIGTERM


# ---- one trainer per folder ----------------------------------------------------------------------


def test_a_second_trainer_is_refused_until_the_first_has_ended(
    corpus: Path, straight: dict[str, str], tmp_path: Path
) -> None:
    recipe, marker = recipe_for(corpus, tmp_path / "run"), tmp_path / "marker"
    first = child(recipe, Slow(marker, 600))
    wait_for(marker)
    for work in (yakusu.train, yakusu.prepare):
        with pytest.raises(RunError, match=r"run is in use by another yakusu process: wait"):
            work(recipe)
    first.kill()
    first.join()
    yakusu.train(recipe)
    assert result(tmp_path / "run") == straight


# ---- disks ---------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB, if this process may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("limit", [3, 2])
def test_a_full_disk_loses_checkpoints_but_not_the_run(
    corpus: Path,
    straight: dict[str, str],
    small_disk: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    limit: int,
) -> None:
    run, ballast = small_disk / "run", small_disk / "ballast"
    before: dict[str, str] = {}
    step = Trainer._update

    def fill_up(trainer: Trainer, batches: Any) -> None:
        step(trainer, batches)
        if trainer.state.step == 5:
            before.update(result_of(run / "checkpoints" / "step-00000004"))
            with suppress(OSError), ballast.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))

    monkeypatch.setattr(Trainer, "_update", fill_up)
    recipe = recipe_for(corpus, run, f"training.max_failed_saves={limit}")
    if limit == 3:
        with pytest.raises(OSError, match="No space left"):  # no space for the model either
            yakusu.train(recipe)
        assert "failure 2 of 3" in caplog.text
    else:
        with pytest.raises(RunError, match=r"step 8: no checkpoint .*2 times in a row: free disk"):
            yakusu.train(recipe)
    assert re.search(
        rf"step 6: no checkpoint could be written .* failure 1 of {limit}", caplog.text
    )
    assert checkpoints(run / "checkpoints")[-1].name == "step-00000004"
    assert result_of(run / "checkpoints" / "step-00000004") == before
    monkeypatch.undo()
    ballast.unlink()
    yakusu.train(recipe)
    assert result(run) == straight


def result_of(checkpoint: Path) -> dict[str, str]:
    return {path.name: sha256(path) for path in checkpoint.iterdir()}


def test_free_space_is_checked_before_a_checkpoint(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=100_000))
    with pytest.raises(RunError, match="2 times in a row"):
        yakusu.train(recipe_for(corpus, tmp_path / "run", "training.max_failed_saves=2"))
    assert "0 MiB are free, 1 MiB are needed" in caplog.text
    assert not list((tmp_path / "run" / "checkpoints").iterdir())


def test_a_pickle_instead_of_weights_is_never_loaded(corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    yakusu.train(recipe_for(corpus, run, "training.max_steps=4"))
    weights = run / "model" / "model.safetensors"
    weights.write_bytes(pickle.dumps(Bomb(tmp_path / "exploded")))
    with pytest.raises(ModelError, match=r"model\.safetensors is corrupt"):
        yakusu.Translator.load(run / "model")
    manifest = json.loads((run / "model" / "manifest.json").read_text())
    entry = {"size": weights.stat().st_size, "sha256": sha256(weights)}
    manifest["files"]["model.safetensors"] = entry
    (run / "model" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelError, match=r"model\.safetensors is not a valid safetensors file"):
        yakusu.Translator.load(run / "model")
    assert not (tmp_path / "exploded").exists()


class Bomb:
    """Creates a file when unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


# ---- several processes ---------------------------------------------------------------------------


def losses(run: Path) -> list[float]:
    """All losses and perplexities of the log, in order."""
    events = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return [event.get("loss", event.get("dev_perplexity")) for event in events]


@pytest.mark.parametrize(
    ("sharded", "n_experts"),
    [("true", 4), *([("false", 0), ("true", 0), ("false", 4)] if THOROUGH else ())],
)
def test_two_processes_have_the_losses_of_one(
    corpus: Path, tmp_path: Path, sharded: str, n_experts: int
) -> None:
    options = (
        "model.dropout=0",
        "training.log_steps=1",
        "training.clip_norm=1.0",
        f"training.sharded={sharded}",
        f"model.n_experts={n_experts}",  # some experts are chosen in one process only
    )
    one, two = tmp_path / "one", tmp_path / "two"
    job = Job(tmp_path, recipe_for(corpus, two, *options))
    yakusu.train(recipe_for(corpus, one, *options))
    code, output = job.finish()
    assert code == 0, output
    assert len(losses(one)) == MAX_STEPS + 2
    assert losses(two) == pytest.approx(losses(one), rel=1e-6)
    with pytest.raises(RunError, match="made by 2 processes, not 1"):
        yakusu.train(recipe_for(corpus, two, *options))


@pytest.mark.parametrize(("n_processes", "sharded"), some([(2, "true"), (3, "false")]))
def test_a_job_restarted_after_a_killed_worker_ends_with_the_same_bytes(
    corpus: Path, tmp_path: Path, n_processes: int, sharded: str
) -> None:
    jobs = {}
    for name, seconds in (("straight", 0), ("killed", 0.2)):  # slow enough to be killed in time
        folder = tmp_path / name
        folder.mkdir()
        jobs[name] = Job(
            folder,
            recipe_for(corpus, folder / "run", f"training.sharded={sharded}"),
            n_processes=n_processes,
            max_restarts=2,
            before=Slow(folder / "marker", seconds),
        )
    wait_for(tmp_path / "killed" / "run" / "checkpoints" / "step-00000003")
    jobs["killed"].kill(rank=1)
    for name, job in jobs.items():
        code, output = job.finish()
        assert code == 0, output
        assert ("already at step" in output) == (name == "killed"), output
    assert result(tmp_path / "killed" / "run") == result(tmp_path / "straight" / "run")


def test_a_stalled_rank_ends_the_job_and_is_named(corpus: Path, tmp_path: Path) -> None:
    options = ("training.max_steps=100000", "training.stall_minutes=0.1")
    job = Job(tmp_path, recipe_for(corpus, tmp_path / "run", *options))
    wait_for(tmp_path / "run" / "checkpoints" / "step-00000003")
    job.kill(1, signal.SIGSTOP)
    wait_for(job.output, "rank 0: rank 1 died, or stalled for 0.1 minutes")
    job.kill(1)  # as the agent does after half a minute: a stopped process ignores SIGTERM
    code, output = job.finish()
    assert code != 0, output
