"""What a run survives: kills anywhere, signals, full disks, damage, another trainer beside it."""

import json
import multiprocessing
import os
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

import yakusu
from yakusu.errors import ModelError, RunError
from yakusu.folder import sha256
from yakusu.recipe import Recipe, load_recipe
from yakusu.training.checkpoint import checkpoints
from yakusu.training.trainer import Trainer

WORDS = "the old ferry baker sees paints harbour small river window cat through".split()  # noqa: SIM905
OVERRIDES = [
    "tokenizer.vocab_size=80",
    "batches.step_tokens=300",
    "model.n_layers=1",
    "model.d_model=16",
    "model.d_ff=32",
    "model.n_heads=2",
    "training.max_steps=12",
    "training.validate_steps=4",
    "training.checkpoint_steps=3",
    "training.keep_last=2",
    "training.device=cpu",
    "search.beam=1",
    "search.max_extra=2",
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of sentences of our own."""
    folder = tmp_path_factory.mktemp("corpus")
    rng = random.Random(3)
    lines = sorted({" ".join(rng.choices(WORDS, k=rng.randint(3, 7))) for _ in range(300)})
    (folder / "a.en").write_text("".join(line + "\n" for line in lines))
    (folder / "a.de").write_text("".join(line[::-1] + "\n" for line in lines))
    return folder


def recipe_for(corpus: Path, run: Path, *overrides: str) -> Recipe:
    files = [f'run="{run}"', f'data.train={{src="{corpus}/a.en", tgt="{corpus}/a.de"}}']
    return load_recipe("tiny", [*files, *OVERRIDES, *overrides])


def command(corpus: Path, run: Path, *overrides: str) -> list[str]:
    recipe = [f"data.train={{src='{corpus}/a.en', tgt='{corpus}/a.de'}}", *OVERRIDES, *overrides]
    sets = [word for item in recipe for word in ("--set", item)]
    return ["-m", "yakusu", "train", "tiny", "--set", f"run={run}", *sets]


def result(run: Path) -> dict[str, str]:
    """The hashes of all that decides what a model does, and of the last optimiser state."""
    files = [*(run / "model").iterdir(), *checkpoints(run / "checkpoints")[-1].iterdir()]
    kinds = (".safetensors", ".model")
    return {
        str(f.relative_to(run)): sha256(f)
        for f in files
        if f.suffix in kinds or f.name == "config.json"
    }


# ---- children that start fast --------------------------------------------------------------------

_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload(["yakusu.pipeline.train", "yakusu.recipe"])


def _train(recipe: Recipe, before: Callable[[], None] | None = None) -> None:
    if before:
        before()
    yakusu.train(recipe)


def child(recipe: Recipe, before: Callable[[], None] | None = None) -> BaseProcess:
    """A process that trains; SIGKILL can end it, and `before` can lay a mine."""
    process = _server.Process(target=_train, args=(recipe, before))
    process.start()
    return process


def finished(process: BaseProcess) -> int | None:
    """Its exit code, minus the signal that killed it."""
    process.join()
    return process.exitcode


@pytest.fixture(scope="module")
def straight(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The result of a run that was never stopped."""
    run = tmp_path_factory.mktemp("straight") / "run"
    assert finished(child(recipe_for(corpus, run))) == 0
    return result(run)


# ---- the same bytes ------------------------------------------------------------------------------


def test_two_runs_are_the_same_bytes(
    corpus: Path, straight: dict[str, str], tmp_path: Path
) -> None:
    yakusu.train(recipe_for(corpus, tmp_path / "run"))
    assert result(tmp_path / "run") == straight


# ---- killed --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_with_the_same_bytes(
    corpus: Path, straight: dict[str, str], tmp_path: Path
) -> None:
    rng = random.Random(11)
    for attempt in range(4):
        run, kills = tmp_path / f"run-{attempt}", 0
        recipe = recipe_for(corpus, run)
        while True:
            process = child(recipe)
            process.join(timeout=rng.uniform(0.05, 1.0) if kills < 6 else None)
            if process.exitcode is not None:
                break
            process.kill()
            kills += finished(process) == -signal.SIGKILL
        assert process.exitcode == 0
        assert result(run) == straight


class Mine:
    """Kills its process at the n-th touch of a file below a folder, or in the middle of a file."""

    TOUCHES = (
        "open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.fsync",
        "shutil.rmtree", "tempfile.mkdtemp", "tensors", "swap",
    )  # fmt: skip

    def __init__(self, folder: Path, at: int, count: Path | None = None) -> None:
        self.folder, self.at, self.count = str(folder), at, count
        self.n = 0

    def __call__(self) -> None:
        import yakusu.folder
        import yakusu.weights as checkpoint

        fsync, save_file, exchange = os.fsync, checkpoint.save_file, yakusu.folder._exchange

        def spied_fsync(descriptor: int) -> None:
            self.touch("os.fsync", Path(f"/proc/self/fd/{descriptor}").readlink())
            fsync(descriptor)

        def spied_save(tensors: Any, path: Path) -> None:
            save_file(tensors, path)
            whole = path.read_bytes()
            path.write_bytes(whole[: len(whole) // 2])
            self.touch("tensors", path)  # half of it is there
            path.write_bytes(whole)

        def spied_exchange(one: Path, other: Path) -> None:
            self.touch("swap", one)
            exchange(one, other)
            self.touch("swap", one)

        os.fsync = spied_fsync
        checkpoint.save_file = spied_save  # type: ignore[assignment]
        yakusu.folder._exchange = spied_exchange
        sys.addaudithook(self.hear)

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        reads = event == "open" and not args[2] & (os.O_WRONLY | os.O_RDWR)
        if event in self.TOUCHES and not reads:
            self.touch(event, args[0])

    def touch(self, event: str, name: object) -> None:
        if not str(name).startswith(self.folder):
            return
        self.n += 1
        if self.n == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.count:
            os.write(self._log(), f"{event} {name}\n".encode())

    def _log(self) -> int:
        if not hasattr(self, "_descriptor"):
            self._descriptor = os.open(self.count or "", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        return self._descriptor


def in_place(touch: str) -> str:
    """What is done in which kind of folder: a touch without file names, numbers, random letters."""
    event, _, name = touch.partition(" ")
    parent = re.sub(r"-\d{8}|-\w{8}(?=/|$)", "*", str(Path(name).parent))
    return f"{event} {parent}"


@pytest.mark.slow
@pytest.mark.parametrize("begun", [0, 8])  # steps that were done before, model and all
def test_killed_at_any_touch_of_its_files_it_ends_with_the_same_bytes(
    corpus: Path, straight: dict[str, str], tmp_path: Path, begun: int
) -> None:
    """Eight of the touches: opened, synced, renamed, swapped, removed, each in its place."""
    run, before, log = tmp_path / "run", tmp_path / "before", tmp_path / "touches"
    recipe = recipe_for(corpus, run)
    if begun:
        assert finished(child(recipe_for(corpus, run, f"training.max_steps={begun}"))) == 0
        shutil.copytree(run, before)
    assert finished(child(recipe, Mine(run, 0, log))) == 0
    touches = log.read_text().splitlines()
    kinds = {line.split()[0] for line in touches}
    assert kinds >= {"os.fsync", "os.rename", "tensors", "swap" if begun else "os.mkdir"}
    places: dict[str, list[int]] = {}
    for n, line in enumerate(touches, start=1):
        places.setdefault(in_place(line), []).append(n)
    rng = random.Random(begun)
    for n in sorted(rng.sample([rng.choice(found) for found in places.values()], 8)):
        shutil.rmtree(run)
        if begun:
            shutil.copytree(before, run)
        assert finished(child(recipe, Mine(run, n))) == -signal.SIGKILL, touches[n - 1]
        assert finished(child(recipe)) == 0, touches[n - 1]
        assert result(run) == straight, touches[n - 1]
        assert not list(run.glob("**/.saving-*")), touches[n - 1]


# ---- signals -------------------------------------------------------------------------------------


class Slow:
    """Makes every step last, and tells of it by a file."""

    def __init__(self, marker: Path, seconds: float) -> None:
        self.marker, self.seconds = marker, seconds

    def __call__(self) -> None:
        step = Trainer._update

        def slow(trainer: Trainer, batches: Any) -> None:
            step(trainer, batches)
            self.marker.write_text(str(trainer.state.step))
            time.sleep(self.seconds)

        Trainer._update = slow  # type: ignore[method-assign]


def wait_for(path: Path, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not come"
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_answered_by_a_checkpoint_and_its_exit_code(
    corpus: Path, straight: dict[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    run = tmp_path / "run"
    before = signal.signal(number, signal.SIG_DFL)  # it may be ignored, as in a background job
    process = subprocess.Popen(
        [
            sys.executable,
            *command(corpus, run, "training.max_steps=100000", "training.validate_steps=100000"),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    signal.signal(number, before)
    wait_for(run / "checkpoints" / "step-00000003")
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert f"{number.name}: saving after this step; send it again to exit at once" in err
    stopped = re.search(rf"{number.name}: stopped after step ([\d,]+); rerun the same command", err)
    assert stopped
    step = int(stopped[1].replace(",", ""))
    assert checkpoints(run / "checkpoints")[-1].name == f"step-{step:08}"
    assert "Traceback" not in err


def test_a_run_that_a_signal_stopped_ends_with_the_same_bytes(
    corpus: Path, straight: dict[str, str], tmp_path: Path
) -> None:
    recipe, marker = recipe_for(corpus, tmp_path / "run"), tmp_path / "marker"
    for _ in range(3):  # also at step 4, whose validation is put off
        marker.unlink(missing_ok=True)
        process = child(recipe, Slow(marker, 0.3))
        wait_for(marker)
        time.sleep(0.4)
        os.kill(process.pid or 0, signal.SIGTERM)
        assert finished(process) == 1  # the error that the command line turns into 143
    assert finished(child(recipe)) == 0
    assert result(tmp_path / "run") == straight


def test_a_second_signal_leaves_at_once(corpus: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    process = child(recipe_for(corpus, tmp_path / "run"), Slow(marker, 600))
    wait_for(marker)
    os.kill(process.pid or 0, signal.SIGTERM)
    process.join(timeout=0.5)
    assert process.is_alive()  # at the end of the step, 10 minutes from now
    os.kill(process.pid or 0, signal.SIGTERM)
    assert finished(process) == -signal.SIGTERM


# ---- one trainer a folder ------------------------------------------------------------------------


def test_a_second_trainer_is_refused_until_the_first_is_dead(
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
    """A file system of its own of 4 MiB, where this process may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("limit", [3, 2])
def test_a_full_disk_costs_checkpoints_and_never_the_run(
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
        if trainer.state.step == 9:
            before.update(result_of(run / "checkpoints" / "step-00000008"))
            with suppress(OSError), ballast.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))

    monkeypatch.setattr(Trainer, "_update", fill_up)
    recipe = recipe_for(corpus, run, f"training.max_failed_saves={limit}")
    if limit == 3:
        with pytest.raises(OSError, match="No space left"):  # there is no room for a model
            yakusu.train(recipe)
        assert "failure 2 of 3" in caplog.text
    else:
        with pytest.raises(RunError, match=r"step 12: no checkpoint .*2 times in a row: make room"):
            yakusu.train(recipe)
    assert re.search(
        rf"step 9: no checkpoint could be written .* failure 1 of {limit}", caplog.text
    )
    assert checkpoints(run / "checkpoints")[-1].name == "step-00000008"
    assert result_of(run / "checkpoints" / "step-00000008") == before
    monkeypatch.undo()
    ballast.unlink()
    yakusu.train(recipe)
    assert result(run) == straight


def result_of(checkpoint: Path) -> dict[str, str]:
    return {path.name: sha256(path) for path in checkpoint.iterdir()}


def test_room_is_looked_for_before_a_save(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=100_000))
    with pytest.raises(RunError, match="2 times in a row"):
        yakusu.train(recipe_for(corpus, tmp_path / "run", "training.max_failed_saves=2"))
    assert "0 MiB are free, 1 MiB are needed" in caplog.text
    assert not list((tmp_path / "run" / "checkpoints").iterdir())


def test_a_pickle_in_the_place_of_weights_is_refused_unread(corpus: Path, tmp_path: Path) -> None:
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
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


# ---- several processes ---------------------------------------------------------------------------


def torchrun(*options: str, arguments: list[str], processes: int = 2) -> subprocess.Popen[str]:
    """`torchrun -m yakusu ...` with some processes on this machine."""
    return subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={processes}",
         "--master-port", "0", "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0",
         *options, *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip


def losses(run: Path) -> list[float]:
    """All losses and perplexities of the log, in its order."""
    events = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return [event.get("loss", event.get("dev_perplexity")) for event in events]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sharded", "n_experts"), [("false", 0), ("true", 0), ("false", 4), ("true", 4)]
)
def test_two_processes_learn_what_one_does(
    corpus: Path, tmp_path: Path, sharded: str, n_experts: int
) -> None:
    options = (
        "model.dropout=0",
        "training.log_steps=1",
        "training.max_steps=8",
        "training.clip_norm=1.0",
        f"training.sharded={sharded}",
        f"model.n_experts={n_experts}",  # some are chosen in one process alone
    )
    alone, together = tmp_path / "alone", tmp_path / "together"
    yakusu.train(recipe_for(corpus, alone, *options))
    job = torchrun(arguments=command(corpus, together, *options))
    out, _ = job.communicate(timeout=180)
    assert job.returncode == 0, out
    assert len(losses(alone)) == 10
    assert losses(together) == pytest.approx(losses(alone), rel=1e-6)
    with pytest.raises(RunError, match="made by 2 processes, not 1"):
        yakusu.train(recipe_for(corpus, together, *options))


@pytest.mark.slow
@pytest.mark.parametrize(("processes", "sharded"), [(2, "true"), (3, "false")])
def test_a_killed_worker_is_started_again_and_changes_nothing(
    corpus: Path, tmp_path: Path, processes: int, sharded: str
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    option = f"training.sharded={sharded}"
    job = torchrun(arguments=command(corpus, whole, option), processes=processes)
    out, _ = job.communicate(timeout=180)
    assert job.returncode == 0, out
    job = torchrun(
        "--max-restarts", "2", arguments=command(corpus, killed, option), processes=processes
    )
    wait_for(killed / "checkpoints" / "step-00000003")
    os.kill(workers(job)[1], signal.SIGKILL)
    out, _ = job.communicate(timeout=180)
    assert job.returncode == 0, out
    assert "already at step" in out
    assert result(killed) == result(whole)


@pytest.mark.slow
def test_a_stalled_rank_ends_the_job_and_is_named(corpus: Path, tmp_path: Path) -> None:
    job = torchrun(
        arguments=command(
            corpus, tmp_path / "run", "training.max_steps=100000", "training.stall_minutes=0.1"
        )
    )
    wait_for(tmp_path / "run" / "checkpoints" / "step-00000003")
    os.kill(workers(job)[1], signal.SIGSTOP)
    out, _ = job.communicate(timeout=120)
    assert job.returncode != 0
    assert re.search(r"rank 0: rank 1 died, or stalled for 0\.1 minutes", out), out


def workers(job: subprocess.Popen[str]) -> list[int]:
    """The processes that torchrun started, by rank."""
    children = Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
    ranks = {}
    for child in children:
        environment = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
        for entry in environment:
            if entry.startswith(b"RANK="):
                ranks[int(entry[5:])] = int(child)
    return [ranks[rank] for rank in sorted(ranks)]
