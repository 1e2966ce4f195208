"""Kill a training run, start it again by the same command, and compare the bytes of its model.

It is killed at random moments; then, by strace's fault injection, on its way into each system call
of two saves: of a checkpoint, and of a model that replaces an older one. With several processes it
is rank 0 that dies there, for it alone writes, and torchrun ends the others.
"""

import argparse
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from common import record, start
from yakusu.folder import sha256
from yakusu.training.checkpoint import checkpoints

SETTINGS = (
    "tokenizer.vocab_size=80", "batches.step_tokens=300", "model.n_layers=1", "model.d_model=16",
    "model.d_ff=32", "model.n_heads=2", "training.max_steps=40", "training.validate_steps=8",
    "training.checkpoint_steps=1", "training.device=cpu", "search.max_extra=2",
)  # fmt: skip
BEGUN = "training.max_steps=16"  # after which there is a model to replace
SAVES = ("step-00000024", "model")  # a checkpoint that is kept, while another is let go of
CALLS = (
    "openat", "write", "?pwrite64", "ftruncate", "fsync", "?mkdir", "mkdirat", "?chmod", "fchmodat",
    "?rename", "?renameat", "renameat2", "?unlink", "unlinkat", "?rmdir",
)  # fmt: skip
TRIES = 9  # for each call: start-up now and then opens a file more or less, and the kill strays


# ---- a run ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """Runs of one recipe; `run` is the one that is killed."""

    folder: Path
    processes: int

    @property
    def run(self) -> Path:
        """Its folder."""
        return self.folder / "run"

    def start(self, run: Path, *more: str, under: Iterable[str] = ()) -> subprocess.Popen[bytes]:
        """`yakusu train`, alone or by torchrun, with more settings; its rank 0 under strace."""
        corpus = f"data.train={{src='{self.folder}/a.en', tgt='{self.folder}/a.de'}}"
        sets = [word for s in (f"run={run}", corpus, *SETTINGS, *more) for word in ("--set", s)]
        command = [sys.executable, "-m", "yakusu", "train", "tiny", *sets]
        if under:
            leads = f'[ "${{RANK:-0}}" = 0 ] && exec {shlex.join(under)} "$@"; exec "$@"'
            command = ["sh", "-c", leads, "sh", *command]
        if self.processes > 1:
            torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
            command = [*torchrun, f"--nproc-per-node={self.processes}", "--no-python", *command]
        quiet = subprocess.DEVNULL
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment)

    def finish(self, run: Path, *more: str, under: Iterable[str] = ()) -> None:
        """A run that nobody kills; it must succeed."""
        if self.start(run, *more, under=under).wait():
            sys.exit("a run that is not killed failed")


def write_corpus(folder: Path, seed: int) -> None:
    """Sentences of letters, and the same backwards."""
    rng = random.Random(seed)
    lines = ["".join(rng.choices("abcdefgh ", k=rng.randint(5, 30))) for _ in range(400)]
    (folder / "a.en").write_text("".join(f"{line}\n" for line in lines))
    (folder / "a.de").write_text("".join(f"{line[::-1]}\n" for line in lines))


def result_hash(run: Path) -> str:
    """Of a model, its vocabulary, settings and card, and of the last weights and moments."""
    of_model = ("model.safetensors", "tokenizer.model", "config.json", "README.md")
    of_last = ("model.safetensors", "optimizer.safetensors")
    last = checkpoints(run / "checkpoints")[-1]
    files = [run / "model" / name for name in of_model] + [last / name for name in of_last]
    return " ".join(map(sha256, files))


# ---- kills: each leaves a dead run and says when and where ---------------------------------------


def at_random_moments(job: Job, n: int, rng: random.Random) -> Iterator[tuple[str, str]]:
    """SIGKILL to all processes, once in each of n runs, from when its folder is there."""
    process = started(job, job.folder / "timed")
    began = time.monotonic()
    process.wait()
    duration = time.monotonic() - began
    while n:
        process, moment = started(job, job.run), rng.uniform(0, duration)
        time.sleep(moment)
        if process.poll() is not None:  # too late: the machine was less busy than before
            shutil.rmtree(job.run)
            continue
        kill_all(process)
        yield f"{moment:.2f} s", state_of(job.run)
        n -= 1


def started(job: Job, run: Path) -> subprocess.Popen[bytes]:
    """A run that has just made its folder."""
    process = job.start(run)
    while not run.exists() and process.poll() is None:
        time.sleep(0.002)
    return process


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to a process and all below it; torchrun's workers lead sessions of their own."""
    process.send_signal(signal.SIGSTOP)
    family = [process.pid]
    for pid in family:
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            family += map(int, children.read_text().split())
    for pid in family:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def state_of(run: Path) -> str:
    """What a kill left behind."""
    half_made = [path.name.rpartition("-")[0] for path in run.glob("**/.saving-*")]
    if half_made:
        return f"within {half_made[0].removeprefix('.saving-')}"
    saved = checkpoints(run / "checkpoints")
    return f"after {saved[-1].name}" if saved else "before the first checkpoint"


class Call(NamedTuple):
    """A system call of a save."""

    name: str
    nth: int  # of this name in its process
    place: str  # below the run's folder


def in_system_calls(job: Job) -> Iterator[tuple[str, str]]:
    """SIGKILL to rank 0 at each call of SAVES, once in each of as many runs."""
    begun, trace = job.folder / "begun", job.folder / "trace"
    strace = ["strace", "-y", "-s0", "-o", str(trace), "-e", f"trace={','.join(CALLS)}"]
    if not shutil.which("strace") or subprocess.run([*strace, "true"]).returncode:
        print("no kills within system calls: strace is missing, or may not trace here")
        return
    job.finish(begun, BEGUN)

    def traced(*options: str) -> list[Call]:
        """The calls of a run from BEGUN on, until it ends or dies."""
        shutil.rmtree(job.run, ignore_errors=True)
        shutil.copytree(begun, job.run)
        job.start(job.run, under=[*strace, *options]).wait()
        return calls_of_saves(trace.read_text().splitlines(), job.run)

    for n, call in enumerate(traced(), start=1):
        nth = call.nth
        for _ in range(TRIES):
            came = traced("-e", f"inject={call.name}:signal=SIGKILL:when={nth}")
            if len(came) == n:
                yield call.name, call.place
                break
            nth = came[n - 1].nth if len(came) > n else nth + 1
        else:
            print(f"left out: {call.name} {call.place}, where {TRIES} kills went astray")


def calls_of_saves(trace: list[str], run: Path) -> list[Call]:
    """The calls of SAVES that change something in a run's folder, or sync it.

    A save lasts from the first mention of its temporary folder to that of the next one.
    """
    seen: Counter[str] = Counter()
    save, calls = "", []
    for line in trace:
        name = line.partition("(")[0]
        seen[name] += 1
        if begins := re.search(r"/\.saving-([\w-]+)-\w{8}\b", line):
            save = begins[1]
        if save in SAVES and f"{run}/" in line and "O_RDONLY" not in line:
            calls.append(Call(name, seen[name], place_of(line, run)))
    return calls


def place_of(line: str, run: Path) -> str:
    """The last path of a traced call, without the random letters of its names."""
    *before, last = re.findall(r'[<"]([^>"]+)[>"]', line)
    path = Path(before[-1], last) if before else Path(last)
    return re.sub(r"(\.saving-[\w-]+)-\w{8}|(\.tmp)\w+", r"\1\2", str(path.relative_to(run)))


# ---- the judgement -------------------------------------------------------------------------------


def judged(job: Job, kills: Iterable[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """Start each dead run again; a row for each."""
    job.finish(job.folder / "straight")
    expected = result_hash(job.folder / "straight")
    print(f"{'kill':>5}  {'at':<10}{'where':<58}same bytes")
    for i, (at, where) in enumerate(kills, start=1):
        failed = job.start(job.run).wait()
        same = not failed and result_hash(job.run) == expected
        print(f"{i:5}  {at:<10}{where:<58}{'yes' if same else 'NO'}", flush=True)
        shutil.rmtree(job.run)
        yield {"at": at, "where": where, "same": same}


def main() -> None:
    """Kill, start again, compare; print and record the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="example: python benchmarks/kills.py --kills 50 --processes 2"
    )
    parser.add_argument("--kills", type=int, default=50, help="at random moments")
    parser.add_argument("--processes", type=int, default=1, help="more than one: by torchrun")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-record", action="store_true", help="only print the result")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        job = Job(Path(name), args.processes)
        write_corpus(job.folder, args.seed)
        moments = at_random_moments(job, args.kills, random.Random(args.seed))
        rows = list(judged(job, chain(moments, in_system_calls(job))))
    n_same = sum(row["same"] for row in rows)
    n_calls = len(rows) - args.kills
    score = f"{n_same} of {len(rows)} with the same bytes"
    what = f"{args.kills} kills at random moments, {n_calls} in system calls of two saves"
    print(f"{what}: {score}")
    if not args.no_record:
        name = f"{what}, {args.processes} process{'es' * (args.processes > 1)}"
        result = {"name": name, "score": score, "kills": rows}
        record("kills", result, seed=args.seed, threads=1)
    sys.exit(n_same != len(rows))


if __name__ == "__main__":
    start(main)
