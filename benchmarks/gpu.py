"""What needs a GPU, the most valuable first, within some minutes. Rerun to continue.

1. speed: training speed of `base` and `big` in bfloat16, and model FLOPs utilisation (MFU):

       MFU = counted FLOPs per target token x target tokens per second / peak FLOPS of the device

   as a share of the peak that the manufacturer states and of the fastest matrix product measured.
2. resume: the files of a run, of the same run again, and of the same run interrupted and resumed.
3. translation: `base` with beam search in large batches, compared with CTranslate2 in float16.
4. grid: Multi30k with more regularisation, at two widths and to the end of the dev loss. The
   learning rate does not depend on the number of steps, so a curve shows shorter runs as well.
5. sizes: the recipes for larger corpora, on Tatoeba.
6. cells of the tables of the paper, and of the comparison with JoeyNMT, that are still missing.

Each job runs in a process of its own and writes its records to --out as soon as it has them. Speeds
are measured alone; the other jobs share the GPU. A job that does not fit into the time left is
skipped. Training runs are stopped at the end, with a checkpoint in --runs, and the next call
continues them. A job that is recorded, in --out or in results, is not run again.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch

from benchmarks import gpu_jobs, pages, records
from benchmarks.common import Benchmark
from benchmarks.gpu_jobs import CORPORA, KEPT, OURS, PEER
from benchmarks.paper import joeynmt
from benchmarks.paper.table2_rows import BASELINE, CONVERGED
from benchmarks.paper.table3_rows import RATES, ROWS, Variant
from benchmarks.records import Record
from benchmarks.runs import slug
from benchmarks.speed.systems import VARIABLE as PEER_PYTHON
from benchmarks.tables import NONE, FilledTable, fill, fixed, score_of, spread_of
from yakusu.errors import DataError, SignalError
from yakusu.folder import read_json

LEASE = 3  # calls that one machine is kept for
LEAST_MINUTES = 1.0  # of a run that is stopped at the end
ENDING = 0.1  # share of the time in which stopped runs save and score what they have
MOMENT = 0.05  # seconds between two looks at the processes
OVERRUN = 2  # a job that takes so many times its minutes is killed, unless it can be continued
_QUICK = ["speed", "resume", "translation", "d_model 256,", "sizes", "rate x 1", "3.2e+14"]

benchmark = Benchmark(
    "gpu",
    __doc__,
    example="python -m benchmarks.gpu --minutes 9 --out results/gpu",
    needs=["data"],
    quick={"minutes": 5.0, "seconds": 0.2, "steps": 8, "jobs": _QUICK},
)
benchmark.option("--minutes", type=float, default=9.0, help="time for everything (%(default)s)")
benchmark.option("--out", type=Path, help="folder that receives the records")
benchmark.option(
    "--runs", type=Path, default=Path("runs", "gpu"), help="folder for training runs (%(default)s)"
)
benchmark.option("--plan", action="store_true", help="print the jobs, and run none")
benchmark.option("--prepare", type=Path, metavar="FOLDER", help="write what the jobs read, and end")
benchmark.option("--jobs", nargs="+", default=[""], help="words in the names of the jobs to run")
benchmark.option("--again", action="store_true", help="also run the jobs that are recorded")
benchmark.option("--together", type=int, default=os.cpu_count(), help="processes (%(default)s)")
benchmark.option(
    "--peer-python",
    default=os.environ.get(PEER_PYTHON, sys.executable),
    metavar="PATH",
    help=f"Python of the environment of CTranslate2 (or set {PEER_PYTHON}; default: this one)",
)
benchmark.option("--seconds", type=float, default=40.0, help="for each speed (%(default)s)")
benchmark.option("--steps", type=int, default=200, help="of the resumed run (%(default)s)")


# ---- tables --------------------------------------------------------------------------------------


def tables(found: list[Record]) -> Iterator[FilledTable]:
    """One table for each part that has records."""
    for part, (title, columns) in _TABLES.items():
        if rows := [record for record in found if record["part"] == part]:
            yield fill(columns, rows, rows, title)


def _equal(same: bool) -> str:
    return "equal bytes" if same else "other bytes"


def _lowest(record: Mapping[str, Any] | Record) -> dict[str, Any]:
    return min(record["curve"], key=lambda point: point["dev_perplexity"])


def _best(record: Record) -> str:
    return fixed(max(point["dev_bleu"] for point in record["curve"]))


_RUNS = (
    ("Run", "{name}"),
    ("Steps", "{steps:,.0f}"),
    ("Ended", "{ended}"),
    ("Lowest dev perplexity", lambda record: fixed(_lowest(record)["dev_perplexity"])),
    ("at step", lambda record: fixed(_lowest(record)["step"], 0)),
    ("Best dev BLEU of a checkpoint", _best),
)
_TABLES: dict[str, tuple[str, Any]] = {
    "speed": (
        "Training speed",
        (
            ("Recipe", "{name}"),
            ("Target tokens per second", "{tokens_per_second:,.0f}"),
            ("FLOPs per target token", "{flops_per_token:.3g}"),
            ("MFU, stated peak", "{mfu_stated:.1%}"),
            ("MFU, measured peak", "{mfu_measured:.1%}"),
            ("GiB at most", "{gib:,.1f}"),
        ),
    ),
    "resume": (
        "Resuming",
        (
            ("Run", "{name}"),
            ("Steps", "{steps}"),
            ("The same run again", lambda record: _equal(record["again"])),
            ("Interrupted and resumed", lambda record: _equal(record["resumed"])),
        ),
    ),
    "translation": (
        "Translation, tokens per second",
        (
            ("Model", "{name}"),
            (str(OURS), spread_of(f"speeds.{OURS}")),
            ("CTranslate2 float16", spread_of(f"speeds.{PEER}")),
            ("Left out", lambda record: ", ".join(record["absent"].values()) or NONE),
        ),
    ),
    "grid": (
        "Regularisation and width, Multi30k en-de",
        (*_RUNS, (f"Dev BLEU of the last {KEPT}, averaged", score_of("averaged"))),
    ),
    "sizes": (
        "Recipes for larger corpora",
        (
            *_RUNS,
            ("Dev BLEU of the model", score_of("dev")),
            ("Test BLEU", score_of("test")),
        ),
    ),
}


# ---- the jobs ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """A measurement or a training run.

    key: Fields that its last record has in FILE.json: names, and a budget.
    measure: Yields what is recorded, field by field.
    minutes: About how long it takes on an H100, together with others unless it is `alone`.
    value: How much its result is worth; the greatest first.
    alone: Whether no other job may run at the same time.
    resumes: Whether it continues where it was stopped.
    file: The name of the benchmark that has its records.
    absent: Returns why it cannot run; empty: it can.
    """

    key: Mapping[str, Any]
    measure: Callable[[argparse.Namespace], Iterable[dict[str, Any]]]
    minutes: float
    value: int
    alone: bool = False
    resumes: bool = False
    file: str = "gpu"
    absent: Callable[[argparse.Namespace], str] = field(default=lambda args: "")

    @property
    def name(self) -> str:
        """Its name in the plan."""
        values = (
            f"{each:g}" if isinstance(each, int | float) else each for each in self.key.values()
        )
        return ", ".join((*(() if self.file == "gpu" else (self.file,)), *values))


def _speed(recipe: str, *, compiled: bool, minutes: float, value: int) -> Job:
    name = recipe if compiled else f"{recipe}, without compilation"
    key = {"part": "speed", "name": name}
    measure = partial(gpu_jobs.speed, recipe=recipe, compiled=compiled)
    return Job(key, measure, minutes, value, alone=True)


def _run(
    part: str, name: str, minutes: float, value: int, corpus: str, settings: Mapping[str, float]
) -> Job:
    recipe = CORPORA[corpus].recipe
    own = partial(gpu_jobs.train, recipe=recipe, corpus=corpus, settings=settings, name=name)
    return Job({"part": part, "name": name}, own, minutes, value, resumes=True)


def _grid() -> Iterator[Job]:
    rates: dict[str, dict[str, float]] = {
        "no further regularisation": {},
        "R-Drop, alpha 5": {"training.r_drop": 5},
        "BPE-dropout 0.1": {"training.bpe_dropout": 0.1},
        "R-Drop, alpha 5, dropout 0.1": {"training.r_drop": 5, "model.dropout": 0.1},
        "BPE-dropout 0.1, dropout 0.1": {"training.bpe_dropout": 0.1, "model.dropout": 0.1},
        "R-Drop, alpha 5, BPE-dropout 0.1, dropout 0.1": {
            **{"training.r_drop": 5, "training.bpe_dropout": 0.1, "model.dropout": 0.1}
        },
    }
    wide = {"model.d_model": 256, "model.d_ff": 512, "training.lr_scale": round(1.2 * 2**0.5, 3)}
    steps = {"training.max_steps": 36_000, "training.validate_steps": 500, "training.patience": 20}
    fixed_settings = steps | {"training.keep_last": KEPT}
    for d_model, width in ((256, wide), (128, {})):
        for name, own in rates.items():
            settings = fixed_settings | width | own
            yield _run("grid", f"d_model {d_model}, {name}", 25, 6, "multi30k", settings)


def _cells() -> Iterator[Job]:
    rows = [row for row in ROWS if row.startswith("C, ") and row != "C, N = 2"]
    variants = [Variant(row, rate=rate) for row in rows for rate in RATES]
    for variant in (Variant("big", rate=1.0, cell=("pre", 0.3)), *variants):
        own = partial(gpu_jobs.table3_cell, variant=variant)
        yield Job({"name": variant.name}, own, 6, 4, resumes=True, file="table3")
    epochs = {"name": joeynmt.THEIRS, "epochs": 10}
    yield Job(
        epochs,
        gpu_jobs.joeynmt_epochs,
        35,
        3,
        resumes=True,
        file="joeynmt",
        absent=gpu_jobs.joeynmt_absent,
    )
    for budget, systems, minutes in (
        (3.2e14, ["LSTM with attention"], 200),
        (None, [BASELINE, "ConvS2S", "LSTM with attention"], 300),
    ):
        key: dict[str, Any] = {"name": systems[-1], "budget": budget or CONVERGED}
        own = partial(gpu_jobs.table2_cells, systems=systems, flops=budget)
        yield Job(key, own, minutes, 2, resumes=True, file="table2")


JOBS = {
    job.name: job
    for job in (
        *(_speed(name, compiled=False, minutes=1.5, value=9) for name in ("base", "big")),
        Job({"part": "resume", "name": "multi30k"}, gpu_jobs.resume, 2, 8),
        Job(
            {"part": "translation", "name": "base, batches of 512, beam 4"},
            *(gpu_jobs.translation, 2, 7),
            alone=True,
        ),
        *(_speed(name, compiled=True, minutes=5, value=7) for name in ("base", "big")),
        *_grid(),
        *(
            _run("sizes", f"{recipe}, Tatoeba en-{to}", minutes, 5, f"{recipe}-{to}", {})
            for recipe, to, minutes in (
                ("medium", "de", 15),
                ("medium", "fr", 15),
                ("large", "de", 25),
            )
        ),
        *_cells(),
    )
}


def chosen(args: argparse.Namespace) -> list[Job]:
    """The jobs that the options name, in the order in which they start."""
    named = [job for name, job in JOBS.items() if any(words in name for words in args.jobs)]
    return sorted(named, key=lambda job: -job.value)


def is_recorded(job: Job, args: argparse.Namespace) -> bool:
    """Whether a record of a finished job is in --out or in results."""
    folders = [args.out] if args.quick else [args.out, records.RESULTS]
    paths = [folder / f"{job.file}.json" for folder in folders if folder]
    found = (each for path in paths if path.exists() for each in read_json(path))
    return any(
        each.get("ended") != "no" and all(each.get(k) == v for k, v in job.key.items())
        for each in found
    )


def obstacle(job: Job, args: argparse.Namespace, minutes_left: float) -> str:
    """Why a job does not run; empty: it does."""
    if not args.again and is_recorded(job, args):
        return "recorded"
    if reason := job.absent(args):
        return reason
    if args.quick:
        return ""
    if job.resumes and job.minutes > LEASE * args.minutes:
        return f"{job.minutes:g} min are more than {LEASE} calls of {args.minutes:g} min"
    needed = LEAST_MINUTES if job.resumes else job.minutes
    return "" if needed <= minutes_left else f"{needed:g} min do not fit into the rest"


# ---- the loop ------------------------------------------------------------------------------------


def run_job(name: str, args: argparse.Namespace, log: Path) -> None:
    """Run a job in this process; its output goes to a file."""
    with log.open("a") as stream:
        for descriptor in (1, 2):
            os.dup2(stream.fileno(), descriptor)
    torch.set_num_threads(args.threads)
    try:
        record(JOBS[name], args)
    except SignalError as error:
        print(error)
        sys.exit(128 + error.signal)


def record(job: Job, args: argparse.Namespace) -> None:
    """Measure, and append each record to the file in --out as soon as it is there."""
    for found in job.measure(args):
        seed, measured = found.pop("seed", 1), {**job.key, **found}
        records.append(job.file, measured, seed=seed, threads=args.threads, folder=args.out)


@dataclass
class Loop:
    """Runs jobs in their order until the time is up.

    stop: When running jobs are told to stop, as `time.monotonic` counts.
    end: When they are killed.
    """

    args: argparse.Namespace
    stop: float
    end: float
    running: dict[str, BaseProcess] = field(default_factory=dict, init=False)
    limits: dict[str, float] = field(default_factory=dict, init=False)

    def run(self, jobs: list[Job]) -> None:
        """Run jobs, or say why they do not run."""
        waiting = list(jobs)
        try:
            while (waiting or self.running) and time.monotonic() < self.stop:
                while waiting and self.has_place(waiting[0]):
                    self.start(waiting.pop(0))
                self.collect()
        finally:
            self.finish()
        for job in waiting:
            self.say(job.name, obstacle(job, self.args, 0.0) or "no time left")

    def finish(self) -> None:
        """Stop the jobs that run, and kill those that do not stop in time."""
        for process in self.running.values():
            process.terminate()
        while self.running and time.monotonic() < self.end:
            self.collect()
        for process in self.running.values():
            process.kill()
        while self.running:
            self.collect()

    def has_place(self, job: Job) -> bool:
        """Whether a job may start now: alone, or beside others that share the device."""
        if job.alone or any(JOBS[name].alone for name in self.running):
            return not self.running
        return len(self.running) < self.args.together

    def start(self, job: Job) -> None:
        """Start the process of a job, or say why it does not run."""
        if reason := obstacle(job, self.args, (self.stop - time.monotonic()) / 60):
            self.say(job.name, reason)
            return
        log = self.log(job.name)
        log.parent.mkdir(parents=True, exist_ok=True)
        process = _CONTEXT.Process(target=run_job, args=(job.name, self.args, log))
        process.start()
        self.running[job.name] = process
        if not job.resumes:
            self.limits[job.name] = time.monotonic() + OVERRUN * 60 * job.minutes
        self.say(job.name, "started")

    def collect(self) -> None:
        """Wait a moment, and report the jobs whose processes have ended."""
        time.sleep(MOMENT)
        for name, process in list(self.running.items()):
            if time.monotonic() > self.limits.get(name, self.end):
                process.kill()
            process.join(timeout=0)
            if process.exitcode is not None:
                del self.running[name]
                self.say(name, _ENDS.get(process.exitcode) or f"failed, see {self.log(name)}")

    def log(self, name: str) -> Path:
        """The file that receives what a job prints."""
        folder: Path = self.args.runs / "logs"
        return folder / f"{slug(name)}.log"

    def say(self, name: str, what: str) -> None:
        """Print what happens to a job, and when."""
        minutes = self.args.minutes - (self.end - time.monotonic()) / 60
        print(f"{minutes:5.1f} min  {name}: {what}", flush=True)


_CONTEXT = get_context("forkserver")  # CUDA does not survive a fork
_CONTEXT.set_forkserver_preload([gpu_jobs.__name__, "torch._dynamo"])  # slow to import
_ENDS = {
    0: "done",
    128 + signal.SIGTERM: "stopped, to be continued",
    -signal.SIGTERM: "stopped",
    -signal.SIGKILL: "killed, because it took too long",
}


def show_plan(jobs: Iterable[Job], args: argparse.Namespace) -> int:
    """Print the jobs in their order; return the number of those that can run."""
    print("value  minutes  job")
    n = 0
    for job in jobs:
        reason = obstacle(job, args, args.minutes * (1 - ENDING))
        kind = "alone" if job.alone else "may continue later" if job.resumes else "beside others"
        print(f"{job.value:5}{job.minutes:9g}  {job.name}: {reason or kind}")
        n += not reason
    return n


def merge(out: Path) -> None:
    """Add the records in a folder to results, and rewrite the pages."""
    for path in sorted(out.glob("*.json")):
        records.merge(path)
    pages.write()


def main(args: argparse.Namespace) -> None:
    """Prepare, plan, or run the jobs."""
    start = time.monotonic()
    if args.prepare:
        packed = gpu_jobs.pack(args, args.prepare)
        print(f"{packed}: {packed.stat().st_size / 2**20:.1f} MiB")
        return
    if args.quick:
        args.out = args.out or args.data.parent / "out"
        args.runs = args.out / "runs"
    jobs = chosen(args)
    n = show_plan(jobs, args)
    if args.plan:
        return
    if args.out is None:
        raise DataError("--out is missing: give the folder that receives the records")
    if n:
        for folder in (args.out, args.runs):
            folder.mkdir(parents=True, exist_ok=True)
        gpu_jobs.open_data(args)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        end = start + 60 * args.minutes
        Loop(args, stop=end - 60 * args.minutes * ENDING, end=end).run(jobs)
    if args.record:
        merge(args.out)


if __name__ == "__main__":
    benchmark.run(main)
