"""The records of the benchmarks: one JSON file per benchmark in results/, which only grows."""

import datetime
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock
from pydantic import BaseModel, ConfigDict

from yakusu.folder import write_text

RESULTS = Path(__file__).parent / "results"
LOAD_BEFORE = round(os.getloadavg()[0], 2)  # before this script adds its own load


class Machine(BaseModel):
    """The processor, its cores, the number of threads used, and the GPU, if there is one."""

    cpu: str
    cores: int
    threads: int
    gpu: str | None = None

    @property
    def device(self) -> str:
        """GPU or CPU."""
        return "GPU" if self.gpu else "CPU"

    def __str__(self) -> str:
        gpu = f", {self.gpu}" if self.gpu else ""
        return f"{self.cpu}, {self.cores} cores{gpu}"


class Record(BaseModel):
    """One measurement. Further fields, different for each benchmark, hold what was measured."""

    model_config = ConfigDict(extra="allow", frozen=True)

    commit: str  # ends in + if src/ or benchmarks/ had uncommitted changes
    date: datetime.datetime
    machine: Machine
    load_before: float | None = None
    torch: str
    python: str
    seed: int
    command: str

    def __getitem__(self, field: str) -> Any:
        """A measured field."""
        return (self.model_extra or {})[field]

    def get(self, field: str, default: Any = None) -> Any:
        """A measured field, or `default` if the record has none of this name."""
        return (self.model_extra or {}).get(field, default)


def read(name: str) -> list[Record]:
    """Return the newest record of each measurement in results/NAME.json, in the file's order."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return []
    keys = ("size", "pairs", "overrides", "name", "epochs", "budget", "first_bleu", "trial")
    keys += ("test_set", "compared_with")
    found = map(Record.model_validate, json.loads(path.read_text(encoding="utf-8")))
    return list({str([record.get(key) for key in keys]): record for record in found}.values())


def append(
    name: str, measured: Mapping[str, Any], *, seed: int, threads: int, folder: Path | None = None
) -> Path:
    """Append a measurement to NAME.json, with the conditions that it depends on.

    Args:
        name: Name of the benchmark.
        measured: What was measured.
        seed: The seed.
        threads: Number of torch threads.
        folder: Folder of the file; None: results.
    """
    path = (folder or RESULTS) / f"{name}.json"
    with FileLock(path.with_name(f".{path.name}.lock")):
        records = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        records.append({**_circumstances(seed, threads), **measured})
        write_text(path, json.dumps(records, indent=1, ensure_ascii=False) + "\n")
    return path


def merge(path: Path) -> None:
    """Append the records of a file, such as FOLDER/table3.json, that results lacks."""
    ours = RESULTS / path.name
    with FileLock(ours.with_name(f".{ours.name}.lock")):
        known = json.loads(ours.read_text(encoding="utf-8")) if ours.exists() else []
        found = json.loads(path.read_text(encoding="utf-8"))
        known += [record for record in found if record not in known]
        write_text(ours, json.dumps(known, indent=1, ensure_ascii=False) + "\n")


def _circumstances(seed: int, threads: int) -> dict[str, Any]:
    import torch

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": {"cpu": _cpu(), "cores": os.cpu_count(), "threads": threads, "gpu": gpu},
        "load_before": LOAD_BEFORE,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "seed": seed,
        "command": shlex.join(["python", "-m", script(), *map(_portable, sys.argv[1:])]),
    }


@cache
def commit() -> str:
    """Return the commit at the first call, with a + if src/ or a benchmark differs from it."""
    folder = Path(__file__).parent.parent

    def git(*words: str) -> str:
        command = ["git", "-C", str(folder), *words]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()

    written = (":!benchmarks/results", ":!benchmarks/**/README.md")  # by recording
    changed = git("status", "-s", "--", "src", "benchmarks", *written)
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def script() -> str:
    """Return the name of the module that runs, such as benchmarks.speed.tmx."""
    spec = sys.modules["__main__"].__spec__
    return spec.name if spec else Path(sys.argv[0]).name


def _portable(word: str) -> str:
    """Return a word of the command line (PATH or NAME=PATH) without paths of this machine."""
    name, equals, path = word.rpartition("=")
    data = os.environ.get("YAKUSU_DATA", "")
    if data and path.startswith(data):
        path = f"$YAKUSU_DATA{path.removeprefix(data)}"
    elif path.startswith("/"):
        path = Path(path).name
    return name + equals + path


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
