"""Tiny training runs in child processes that tests can stop, kill and compare.

Children are forked from a server that has imported everything a run needs, so each starts at once.
This module must not import pytest or a test module: every child would import it again.
"""

import multiprocessing
import os
import random
import re
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from torch.distributed.launcher.api import LaunchConfig, elastic_launch

import yakusu
import yakusu.pipeline.receipts.facts
from yakusu.cli.app import main
from yakusu.errors import YakusuError
from yakusu.folder import sha256
from yakusu.progress import Silent
from yakusu.recipe import Recipe, load_recipe
from yakusu.training.checkpoint import checkpoints
from yakusu.training.trainer import Trainer

WORDS = "the old ferry baker sees paints harbour small river window cat through".split()  # noqa: SIM905
MAX_STEPS = 8  # the last step of a run
OVERRIDES = [
    "tokenizer.vocab_size=80",
    "tokenizer.byte_fallback=false",
    "tokenizer.placeholder_share=0",
    "batches.step_tokens=300",
    "model.n_layers=1",
    "model.d_model=16",
    "model.d_ff=32",
    "model.n_heads=2",
    f"training.max_steps={MAX_STEPS}",
    "training.validate_steps=4",
    "training.checkpoint_steps=3",
    "training.keep_last=2",
    "training.device=cpu",
    "search.beam=1",
    "search.max_extra=2",
]


def write_corpus(folder: Path) -> Path:
    """Write about 300 pairs: random words, and the same line reversed."""
    rng = random.Random(3)
    lines = sorted({" ".join(rng.choices(WORDS, k=rng.randint(3, 7))) for _ in range(300)})
    (folder / "a.en").write_text("".join(line + "\n" for line in lines))
    (folder / "a.de").write_text("".join(line[::-1] + "\n" for line in lines))
    return folder


def recipe_for(corpus: Path, run: Path, *overrides: str) -> Recipe:
    """The recipe of a tiny run on `corpus`."""
    files = [f'run="{run}"', f'data.train={{src="{corpus}/a.en", tgt="{corpus}/a.de"}}']
    return load_recipe("tiny", [*files, *OVERRIDES, *overrides])


def settings(corpus: Path, *overrides: str) -> list[str]:
    """Arguments of the command `train` for the same recipe, without --run."""
    recipe = [f"data.train={{src='{corpus}/a.en', tgt='{corpus}/a.de'}}", *OVERRIDES, *overrides]
    return ["train", "tiny", *(word for item in recipe for word in ("--set", item))]


def result(run: Path) -> dict[str, str]:
    """Hashes of every file that decides what the model does, and of the last optimizer state."""
    files = [*(run / "model").iterdir(), *checkpoints(run / "checkpoints")[-1].iterdir()]
    kinds = (".safetensors", ".model")
    return {
        str(f.relative_to(run)): sha256(f)
        for f in files
        if f.suffix in kinds or f.name == "config.json"
    }


def without_benchmark() -> None:
    """Skip the benchmark of this machine that a receipt contains: half the time of such a run."""
    assert yakusu.pipeline.receipts.facts.sustained_flops
    yakusu.pipeline.receipts.facts.sustained_flops = lambda *_: 1e9


def wait_for(path: Path, text: str = "", seconds: float = 90) -> None:
    """Wait until `path` exists and contains `text`."""
    deadline = time.monotonic() + seconds
    while not path.exists() or (text and text not in path.read_text()):
        assert time.monotonic() < deadline, f"no {text!r} in {path} after {seconds:g} s"
        time.sleep(0.02)


# ---- one process ---------------------------------------------------------------------------------

_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload(
    [
        __name__,
        "yakusu.pipeline.training.fit",
        "torch._dynamo",
        "torch.distributed.fsdp",
        "torch.utils.tensorboard",
        "numpy.ma",
    ]
)


def _train(recipe: Recipe, before: Callable[[], None] | None = None) -> None:
    without_benchmark()
    if before:
        before()
    yakusu.train(recipe)


def child(recipe: Recipe, before: Callable[[], None] | None = None) -> BaseProcess:
    """Start a process that calls `before`, then trains."""
    process = _server.Process(target=_train, args=(recipe, before))
    process.start()
    return process


def _run_command_line(arguments: list[str], output: Path) -> None:
    without_benchmark()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    _write_to(output)
    sys.argv = ["yakusu", *arguments]
    main()


def command_line(arguments: list[str], output: Path) -> BaseProcess:
    """Start `yakusu ARGUMENTS`; what it prints goes into the file `output`."""
    process = _server.Process(target=_run_command_line, args=(arguments, output))
    process.start()
    return process


def _write_to(output: Path) -> None:
    descriptor = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)


def finished(process: BaseProcess) -> int | None:
    """Wait for a process and return its exit code, -N if signal N killed it."""
    process.join()
    return process.exitcode


class Slow:
    """Makes each step take `seconds` longer, and writes its number into `marker`."""

    def __init__(self, marker: Path, seconds: float) -> None:
        self.marker, self.seconds = marker, seconds

    def __call__(self) -> None:
        step = Trainer._update

        def slow(trainer: Trainer, batches: Any) -> None:
            step(trainer, batches)
            self.marker.write_text(str(trainer.state.step))
            time.sleep(self.seconds)

        Trainer._update = slow  # type: ignore[method-assign]


class Mine:
    """Kills its process at the n-th change to a file below a folder, or halfway through a file."""

    CHANGES = (
        "open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.fsync",
        "shutil.rmtree", "tempfile.mkdtemp", "tensors", "swap",
    )  # fmt: skip

    def __init__(self, folder: Path, at: int, log: Path | None = None) -> None:
        self.folder, self.at, self.log = str(folder), at, log
        self.n = 0

    def __call__(self) -> None:
        import yakusu.folder
        import yakusu.weights

        fsync, save_file = os.fsync, yakusu.weights.save_file
        exchange = yakusu.folder.exchange_folders

        def spied_fsync(descriptor: int) -> None:
            self.touch("os.fsync", Path(f"/proc/self/fd/{descriptor}").readlink())
            fsync(descriptor)

        def spied_save(tensors: Any, path: Path) -> None:
            save_file(tensors, path)
            complete = path.read_bytes()
            path.write_bytes(complete[: len(complete) // 2])
            self.touch("tensors", path)  # half of it is written
            path.write_bytes(complete)

        def spied_exchange(one: Path, other: Path) -> None:
            self.touch("swap", one)
            exchange(one, other)
            self.touch("swap", one)

        os.fsync = spied_fsync
        yakusu.weights.save_file = spied_save  # type: ignore[assignment]
        yakusu.folder.exchange_folders = spied_exchange
        sys.addaudithook(self.hear)

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        reads = event == "open" and not args[2] & (os.O_WRONLY | os.O_RDWR)
        if event in self.CHANGES and not reads:
            self.touch(event, args[0])

    def touch(self, event: str, name: object) -> None:
        if not str(name).startswith(self.folder):
            return
        self.n += 1
        if self.n == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.log:
            os.write(self._descriptor(), f"{event} {name}\n".encode())

    def _descriptor(self) -> int:
        if not hasattr(self, "_opened"):
            self._opened = os.open(self.log or "", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        return self._opened


def place_of(change: str) -> str:
    """A line of a mine's log without file names, step numbers and random letters."""
    event, _, name = change.partition(" ")
    parent = re.sub(r"-\d{8}|-\w{8}(?=/|$)", "*", str(Path(name).parent))
    return f"{event} {parent}"


# ---- several processes ---------------------------------------------------------------------------


class _Printed(Silent):
    def say(self, text: str) -> None:
        print(text, flush=True)  # noqa: T201


def _work(recipe: Recipe, folder: Path, before: Callable[[], None] | None) -> None:
    _write_to(folder / "output")
    without_benchmark()
    if before:
        before()
    (folder / f"pid-{os.environ['RANK']}").write_text(str(os.getpid()))
    try:
        yakusu.train(recipe, progress=_Printed())
    except YakusuError as error:
        sys.exit(str(error))


def _launch(
    recipe: Recipe,
    folder: Path,
    n_processes: int,
    max_restarts: int,
    before: Callable[[], None] | None,
) -> None:
    _write_to(folder / "output")
    # The workers are forked from the server that forked this process, not from a second one.
    forkserver._forkserver.ensure_running = lambda: None  # type: ignore[attr-defined]
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=n_processes,
        run_id=folder.name,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=max_restarts,
        start_method="forkserver",  # a fork of the agent copies locks that its threads hold
    )
    elastic_launch(config, _work)(recipe, folder, before)


class Job:
    """A training run of several processes under torchrun's agent, all forked from the server.

    Args:
        folder: Existing folder for the job's output.
        recipe: What the processes train.
        n_processes: Number of processes.
        max_restarts: How often the agent starts them again.
        before: Called first in each process.
    """

    def __init__(
        self,
        folder: Path,
        recipe: Recipe,
        *,
        n_processes: int = 2,
        max_restarts: int = 0,
        before: Callable[[], None] | None = None,
    ) -> None:
        self.folder, self.output = folder, folder / "output"
        self._agent = _server.Process(
            target=_launch, args=(recipe, folder, n_processes, max_restarts, before)
        )
        self._agent.start()

    def kill(self, rank: int, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to the process of a rank."""
        os.kill(int((self.folder / f"pid-{rank}").read_text()), number)

    def finish(self, seconds: float = 180) -> tuple[int | None, str]:
        """Wait for the end and return the exit code and all output."""
        self._agent.join(seconds)
        if self._agent.exitcode is None:
            self._agent.terminate()  # the agent ends its processes too
            self._agent.join()
        return self._agent.exitcode, self.output.read_text()
