"""What a run survives: kills anywhere, signals, full disks, damage, another trainer beside it."""

import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

import yakusu
from yakusu.folder import sha256
from yakusu.recipe import Recipe, load_recipe
from yakusu.training.checkpoint import checkpoints

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
    return [sys.executable, "-m", "yakusu", "train", "tiny", "--run", str(run), *sets]


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
_server.set_forkserver_preload(["yakusu.pipeline", "yakusu.recipe"])


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
        import yakusu.training.checkpoint as checkpoint

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
    """Every kind of file at every kind of touch: opened, synced, renamed, swapped, removed."""
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
    for n in sorted(random.Random(begun).choice(found) for found in places.values()):
        shutil.rmtree(run)
        if begun:
            shutil.copytree(before, run)
        assert finished(child(recipe, Mine(run, n))) == -signal.SIGKILL, touches[n - 1]
        assert finished(child(recipe)) == 0, touches[n - 1]
        assert result(run) == straight, touches[n - 1]
        assert not list(run.glob("**/.saving-*")), touches[n - 1]
