"""Latency of single sentences, start of the process, memory, and size of the installation.

Every system is a program that reads lines and writes their translations: `yakusu translate`, and
the shortest Python program with CTranslate2 and SentencePiece. A round starts each of them once and
sends one line after the other; the next line follows when the translation has arrived. "First" is
the time from the start of the process to the first translation, including all imports and the
model. Memory is the peak resident memory of the process.

With --install NAME=REQUIREMENTS, packages are installed in fresh environments instead, and their
size on disk is measured. This downloads them:

    python -m benchmarks.speed.latency --model runs/multi30k/model --install "yakusu=."
        "CTranslate2=ctranslate2==4.8.5 sentencepiece==0.2.3" "Argos Translate=argostranslate"
"""

import argparse
import math
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from benchmarks import memory
from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.services import ROOT
from benchmarks.speed.plain import write_trained
from benchmarks.speed.systems import (
    OURS,
    PEER,
    Model,
    System,
    add_options,
    chosen,
    cpu_flags,
    summary,
)
from benchmarks.tables import FilledTable, Table, entries, spread_of
from yakusu.data.files.text import read_lines
from yakusu.errors import RunError
from yakusu.translator.folder.folder import ModelFolder

benchmark = Benchmark(
    "latency",
    __doc__,
    example="python -m benchmarks.speed.latency --model runs/multi30k/model --peer-python "
    "peers/bin/python",
    needs=["data", "model"],
    quick={"sentences": 4, "rounds": 1},
)
add_options(benchmark, systems=(OURS, PEER))
benchmark.option("--src", type=Path, help="source sentences (default: multi30k/val.en of --data)")
benchmark.option("--sentences", type=int, default=200, help="lines per round (%(default)s)")
benchmark.option("--beam", type=int, default=4, help="%(default)s")
benchmark.option(
    "--install", nargs="+", default=[], metavar="NAME=REQUIREMENTS", help="measure their size"
)


_LATENCY = Table(
    (
        ("System", "{name}"),
        ("First, ms", spread_of("first", 1)),
        ("Later, p50, ms", spread_of("p50", 1)),
        ("Later, p99, ms", spread_of("p99", 1)),
        ("Peak MiB", spread_of("peak_mib", 1)),
    ),
    rows=entries("systems"),
    title="{name}",
)
_INSTALLED = Table(
    (
        ("Installed", "{name}"),
        ("MiB on disk", "{mib:,.0f}"),
        ("Packages", lambda row: str(len(row["packages"]))),
    ),
    rows=entries("sizes"),
    title="{name}",
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Latency and memory, or the size of the installation."""
    for record in records:
        yield from (_INSTALLED if record.get("sizes") else _LATENCY)([record])


@dataclass(frozen=True)
class Session:
    """What one process did: seconds to the first translation and of each later one, peak MiB."""

    first: float
    later: list[float]
    peak_mib: float


def run(command: Sequence[str], lines: Sequence[str]) -> Session:
    """Start a program and send it lines, each when the previous translation has arrived.

    Raises:
        RunError: The program ends early.
    """
    seconds: list[float] = []
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    with TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=ROOT,
            env=environment,
        )
        assert process.stdin and process.stdout
        for line in lines:
            try:
                process.stdin.write(f"{line}\n".encode())
                process.stdin.flush()
                answer = process.stdout.readline()
            except BrokenPipeError:
                answer = b""
            if not answer:
                process.communicate()
                errors.seek(0)
                raise RunError(f"{shlex.join(command)} failed: {errors.read().decode()[-500:]}")
            seconds.append(time.perf_counter() - start)
            start = time.perf_counter()
        peak = memory.mib(memory.PEAK, process.pid)
        process.communicate()
    return Session(seconds[0], seconds[1:], peak)


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


# ---- programs ------------------------------------------------------------------------------------


def command(system: System, model: Model, args: argparse.Namespace) -> list[str]:
    """The program of a system."""
    if system.is_ours:
        load, margin = system.load, system.margin
        engine = [] if load["engine"] == "torch" else ["--precision", load["precision"]]
        return [
            *(sys.executable, "-m", "yakusu", "translate", str(model.folder)),
            *("--engine", load["engine"], *engine, "--window", "1", "--beam", str(args.beam)),
            *(("--margin", str(margin)) if margin is not None else ()),
            "--one-sentence-per-line",
        ]
    assert model.folder
    alpha = ModelFolder.open(model.folder).config.search.alpha
    inter, intra = system.threads or (1, 1)
    words = (system.load["precision"], inter, intra, args.beam, alpha)
    folders = (str(model.converted), str(model.plain))
    module = "benchmarks.peers.ctranslate2_lines"
    return [args.peer_python, "-m", module, *folders, *map(str, words)]


def measure(args: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """Latencies and memory of all systems."""
    model = Model(scratch / "plain", args.model)
    write_trained(args.model, model.plain)
    systems = [system for system in chosen(args) if not system.group.startswith("generate")]
    if any(not system.is_ours for system in systems):
        model.convert(args.peer_python)
    path = args.src or args.data / "multi30k" / "val.en"
    lines = list(islice(filter(str.strip, read_lines(path)), args.sentences))
    commands = {str(system): command(system, model, args) for system in systems}
    sessions: dict[str, list[Session]] = {name: [] for name in commands}
    for number in range(-1, args.rounds):
        for name, words in commands.items():
            found = run(words, lines)
            sessions[name] += [found] if number >= 0 else []
        print(f"round {number + 1} of {args.rounds}", file=sys.stderr, flush=True)
    rows = {name: row(own) for name, own in sessions.items()}
    portable = {name: ["python", *words[1:3]] for name, words in commands.items()}
    return {
        "name": f"{args.model.parent.name}, {path.name}, beam {args.beam}",
        "sentences": len(lines),
        "systems": rows,
        "commands": portable,
        "cpu flags": cpu_flags(),
    }


def row(sessions: Sequence[Session]) -> dict[str, Any]:
    """Medians over the rounds, in milliseconds and MiB."""
    shares = {"p50": 0.5, "p99": 0.99}
    return {
        "first": summary([1e3 * each.first for each in sessions]),
        **{
            name: summary([1e3 * quantile(each.later, share) for each in sessions])
            for name, share in shares.items()
        },
        "peak_mib": summary([each.peak_mib for each in sessions]),
    }


# ---- installations -------------------------------------------------------------------------------


def install(name: str, requirements: str, scratch: Path) -> dict[str, Any]:
    """Install packages in a fresh environment; return their size on disk."""
    folder = scratch / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    python, before = str(folder / "bin" / "python"), disk_mib(folder)
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", *shlex.split(requirements)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise RunError(f"{name} cannot be installed: {done.stderr[-500:].strip()}")
    frozen = subprocess.check_output([python, "-m", "pip", "freeze"], text=True).splitlines()
    size = round(disk_mib(folder) - before, 1)
    packages = [re.sub(r" @ .*", "", line) for line in frozen]
    print(f"{name:20}{size:10,.1f} MiB, {len(packages)} packages")
    return {"mib": size, "requirements": requirements, "packages": packages}


def disk_mib(folder: Path) -> float:
    """The space that the files of a folder take on the disk."""
    files = (path.lstat() for path in folder.rglob("*"))
    return sum(each.st_blocks for each in files) * 512 / 2**20


def main(args: argparse.Namespace) -> None:
    """Measure and print the latencies, or the sizes."""
    with TemporaryDirectory() as folder:
        if args.install:
            named = (each.partition("=") for each in args.install)
            sizes = {name: install(name, text, Path(folder)) for name, _, text in named}
            benchmark.record({"name": "installation", "sizes": sizes})
            return
        measured = measure(args, Path(folder))
    print(f"{'':28}{'first ms':>10}{'p50 ms':>10}{'p99 ms':>10}{'peak MiB':>10}")
    for name, own in measured["systems"].items():
        keys = ("first", "p50", "p99", "peak_mib")
        print(f"{name:28}" + "".join(f"{own[key]['median']:10,.1f}" for key in keys))
    benchmark.record(measured)


if __name__ == "__main__":
    benchmark.run(main)
