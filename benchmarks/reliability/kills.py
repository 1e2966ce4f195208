"""Kill a training run, resume it by the same command, and compare the bytes of its model.

The run is killed at random moments; then, by strace's fault injection, on entry to each system call
of two saves: of a checkpoint, and of a model that replaces an older one. With several processes,
only rank 0 is killed there, because only it writes; torchrun then ends the others.
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
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.tables import FilledTable
from yakusu.errors import RunError
from yakusu.folder import sha256
from yakusu.training.checkpoint import checkpoints

SETTINGS = (
    "tokenizer.vocab_size=80", "batches.step_tokens=300", "model.n_layers=1", "model.d_model=16",
    "model.d_ff=32", "model.n_heads=2", "training.max_steps=40", "training.validate_steps=8",
    "training.checkpoint_steps=1", "training.device=cpu", "search.max_extra=2",
)  # fmt: skip
BEGUN = "training.max_steps=16"  # then there is a model to replace
SAVES = ("step-00000024", "model")  # a checkpoint that is kept while another is deleted
CALLS = (
    "openat", "write", "?pwrite64", "ftruncate", "fsync", "?mkdir", "mkdirat", "?chmod", "fchmodat",
    "?rename", "?renameat", "renameat2", "?unlink", "unlinkat", "?rmdir",
)  # fmt: skip
TRIES = 9  # per call: start-up sometimes opens a file more or less, and the kill misses its call

benchmark = Benchmark(
    "kills",
    __doc__,
    example="python -m benchmarks.reliability.kills --kills 50 --processes 2",
    quick={"kills": 1},
)
benchmark.option("--kills", type=int, default=50, help="kills at random moments (%(default)s)")
benchmark.option("--processes", type=int, default=1, help="more than one: by torchrun")
benchmark.option("--seed", type=int, default=1, help="seed of corpus and moments (%(default)s)")


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Kills by number of processes, and by system call."""
    names = [record["name"].rsplit(", ", 1)[1] for record in records]
    calls = [
        Counter(kill["at"] for kill in record["kills"] if not kill["at"].endswith(" s"))
        for record in records
    ]
    rows = []
    for name, record, own in zip(names, records, calls, strict=True):
        n, n_calls = len(record["kills"]), own.total()
        same = sum(kill["same"] for kill in record["kills"])
        rows.append([name, str(n - n_calls), str(n_calls), f"{same} of {n}"])
    head = ["Run", "Kills at random moments", "Kills in system calls of two saves", "Same bytes"]
    yield FilledTable(head, rows, records)
    rows = [
        [f"`{call}`", *(str(own[call]) for own in calls)] for call in sorted(set().union(*calls))
    ]
    yield FilledTable(["System call", *names], rows, records, "Kills by system call")


# ---- runs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """Runs of one recipe, below a folder."""

    folder: Path
    processes: int

    @property
    def run(self) -> Path:
        """The folder of the run that is killed."""
        return self.folder / "run"

    def start(self, run: Path, *more: str, under: Iterable[str] = ()) -> subprocess.Popen[bytes]:
        """Start `yakusu train`, by torchrun for several processes; rank 0 runs `under` strace."""
        corpus = f"data.train={{src='{self.folder}/a.en', tgt='{self.folder}/a.de'}}"
        sets = [word for s in (f"run={run}", corpus, *SETTINGS, *more) for word in ("--set", s)]
        command = [sys.executable, "-m", "yakusu", "train", "tiny", *sets]
        if under:
            leads = f'[ "${{RANK:-0}}" = 0 ] && exec {shlex.join(under)} "$@"; exec "$@"'
            command = ["sh", "-c", leads, "sh", *command]
        if self.processes > 1:
            torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
            command = [*torchrun, f"--nproc-per-node={self.processes}", "--no-python", *command]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with self._errors.open("w") as errors:
            return subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=errors, env=environment
            )

    def finish(self, run: Path, *more: str, under: Iterable[str] = ()) -> None:
        """Run to the end.

        Raises:
            RunError: It failed.
        """
        if self.start(run, *more, under=under).wait():
            raise RunError(f"{run}: a run that was not killed failed: {self.last_error}")

    @property
    def last_error(self) -> str:
        """The last line that the newest process wrote to standard error."""
        return (self._errors.read_text().strip().splitlines() or ["no message"])[-1]

    @property
    def _errors(self) -> Path:
        return self.folder / "stderr"


def write_corpus(folder: Path, seed: int) -> None:
    """Write sentences of random letters, and the same reversed."""
    rng = random.Random(seed)
    lines = ["".join(rng.choices("abcdefgh ", k=rng.randint(5, 30))) for _ in range(400)]
    (folder / "a.en").write_text("".join(f"{line}\n" for line in lines))
    (folder / "a.de").write_text("".join(f"{line[::-1]}\n" for line in lines))


def result_hash(run: Path) -> str:
    """Return the hashes of the model, its vocabulary, settings and card, and last checkpoint."""
    of_model = ("model.safetensors", "tokenizer.model", "config.json", "README.md")
    of_last = ("model.safetensors", "optimizer.safetensors")
    last = checkpoints(run / "checkpoints")[-1]
    files = [run / "model" / name for name in of_model] + [last / name for name in of_last]
    return " ".join(map(sha256, files))


# ---- kills: each leaves a killed run and yields when and where -----------------------------------


def at_random_moments(job: Job, n: int, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Kill all processes of n runs, each at a random moment after its folder exists."""
    process = started(job, job.folder / "timed")
    start = time.monotonic()
    process.wait()
    duration = time.monotonic() - start
    while n:
        process, moment = started(job, job.run), rng.uniform(0, duration)
        time.sleep(moment)
        if process.poll() is not None:  # too late: the machine is less busy than before
            shutil.rmtree(job.run)
            continue
        kill_all(process)
        yield f"{moment:.2f} s", state_of(job.run)
        n -= 1


def started(job: Job, run: Path) -> subprocess.Popen[bytes]:
    """Start a run and wait until its folder exists."""
    process = job.start(run)
    while not run.exists() and process.poll() is None:
        time.sleep(0.002)
    return process


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its descendants; torchrun's workers have their own sessions."""
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
    """Describe what a kill left behind."""
    partial = [path.name.rpartition("-")[0] for path in run.glob("**/.saving-*")]
    if partial:
        return f"within {partial[0].removeprefix('.saving-')}"
    saved = checkpoints(run / "checkpoints")
    return f"after {saved[-1].name}" if saved else "before the first checkpoint"


class Call(NamedTuple):
    """A system call of a save."""

    name: str
    nth: int  # among the calls of this name in its process
    place: str  # below the run's folder


def in_system_calls(job: Job) -> Iterator[tuple[str, str]]:
    """Kill rank 0 at each system call of SAVES, each in a new run."""
    begun, trace = job.folder / "begun", job.folder / "trace"
    strace = ["strace", "-y", "-s0", "-o", str(trace), "-e", f"trace={','.join(CALLS)}"]
    if not shutil.which("strace") or subprocess.run([*strace, "true"]).returncode:
        print("no kills in system calls: strace is missing or not permitted to trace")
        return
    job.finish(begun, BEGUN)

    def traced(*options: str) -> list[Call]:
        """Return the calls of a run that resumes from BEGUN, until it ends or is killed."""
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
            print(f"left out: {call.name} {call.place}, which {TRIES} kills missed")


def calls_of_saves(trace: list[str], run: Path) -> list[Call]:
    """Return the calls of SAVES that change or sync something in a run's folder.

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
    """Return the last path of a traced call, without the random letters of temporary names."""
    *before, last = re.findall(r'[<"]([^>"]+)[>"]', line)
    path = Path(before[-1], last) if before else Path(last)
    return re.sub(r"(\.saving-[\w-]+)-\w{8}|(\.tmp)\w+", r"\1\2", str(path.relative_to(run)))


# ---- comparison ----------------------------------------------------------------------------------


def compared(job: Job, kills: Iterable[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    """Resume each killed run and yield whether it ends in the expected bytes."""
    job.finish(job.folder / "straight")
    expected = result_hash(job.folder / "straight")
    print(f"{'kill':>5}  {'at':<10}{'where':<58}same bytes")
    for i, (at, where) in enumerate(kills, start=1):
        failed = job.start(job.run).wait()
        same = not failed and result_hash(job.run) == expected
        answer = f"failed: {job.last_error}" if failed else "yes" if same else "NO"
        print(f"{i:5}  {at:<10}{where:<58}{answer}", flush=True)
        shutil.rmtree(job.run)
        yield {"at": at, "where": where, "same": same, "failed": bool(failed)}


def main(args: argparse.Namespace) -> None:
    """Kill, resume, compare; print the table."""
    with tempfile.TemporaryDirectory() as name:
        job = Job(Path(name), args.processes)
        write_corpus(job.folder, args.seed)
        kills = at_random_moments(job, args.kills, random.Random(args.seed))
        calls = islice(in_system_calls(job), 1 if args.quick else None)
        rows = list(compared(job, chain(kills, calls)))
    n_same = sum(row["same"] for row in rows)
    n_calls = len(rows) - args.kills
    score = f"{n_same} of {len(rows)} with the same bytes"
    what = f"{args.kills} kills at random moments, {n_calls} in system calls of two saves"
    print(f"{what}: {score}")
    name = f"{what}, {args.processes} process{'es' * (args.processes > 1)}"
    benchmark.record({"name": name, "score": score, "kills": rows}, seed=args.seed)
    sys.exit(n_same != len(rows))


if __name__ == "__main__":
    benchmark.run(main)
