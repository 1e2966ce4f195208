"""The systems that the benchmarks of the CPU engine compare, and how they take turns.

Each system is a service in a process of its own. A round calls every system once; the first round
is not measured. CTranslate2 runs in its own environment (`--peer-python`) with several settings of
its threads, and is compared at the setting with the best median. Marian runs in the same
environment, with one setting of its threads and with trained models only.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.common import INSTALL, Benchmark
from benchmarks.records import Record
from benchmarks.services import Service
from yakusu.errors import DataError, RunError
from yakusu.export.formats import refuse
from yakusu.folder import read_json
from yakusu.model.config import config_of
from yakusu.native.library import VARIABLE as INSTRUCTION_SET

VARIABLE = "YAKUSU_PEER_PYTHON"
OURS = "native auto"
PEER = "CTranslate2 int8"
SETTLED = 0.3  # seconds after which the threads of the previous system no longer spin
_OURS = [sys.executable, "-m", "benchmarks.speed.engine_side"]
_PEER = "benchmarks.peers.ctranslate2_side"
_GENERATE = "benchmarks.peers.generate_side"
_MARIAN = "benchmarks.peers.marian_side"
_IN_PEERS = ("CTranslate2", "Marian")  # their environment is --peer-python
NAMES = (
    *(OURS, f"{OURS}, margin 2", f"{OURS}, margin 1"),
    *("native int8", "native int16", "native float32", "torch float32"),
    *(PEER, "CTranslate2 float32", "Marian float32", "Marian int8"),
    *("generate float32", "generate int8"),
)
_LIMITS = (
    *(INSTRUCTION_SET, "ATEN_CPU_CAPABILITY", "CT2_FORCE_CPU_ISA"),
    *("MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA"),
)
_FLAGS = ("avx", "amx", "fma", "f16c", "sse4", "asimd", "sve", "i8mm", "bf16")


@dataclass(frozen=True)
class System:
    """A system with its settings.

    group: Its name without the settings of its threads.
    threads: CTranslate2's inter_threads and intra_threads; our number of threads, and 1. None: the
        option --threads.
    """

    group: str
    threads: tuple[int, int] | None = None

    def __str__(self) -> str:
        return f"{self.group}, {self.threads[0]}/{self.threads[1]}" if self.threads else self.group

    @property
    def margin(self) -> float | None:
        """The margin of the search."""
        margin = self.group.partition("margin ")[2]
        return float(margin) if margin else None

    @property
    def is_ours(self) -> bool:
        """Whether yakusu runs it."""
        return self.group.startswith(("native", "torch"))

    @property
    def load(self) -> dict[str, Any]:
        """Settings of our engine, or of CTranslate2."""
        kind, precision = self.group.partition(",")[0].split()
        if self.is_ours:
            return {"engine": kind, "precision": precision}
        inter, intra = self.threads or (1, 1)
        return {"precision": precision, "inter": inter, "intra": intra}


def add_options(benchmark: Benchmark, *, systems: Sequence[str], rounds: int = 5) -> None:
    """Add the options that choose systems and rounds."""
    benchmark.option(
        "--systems", nargs="+", choices=NAMES, default=list(systems), help="default: %(default)s"
    )
    benchmark.option(
        "--peer-python",
        default=os.environ.get(VARIABLE),
        metavar="PATH",
        help=f"Python of the environment of CTranslate2, or of Marian (or set {VARIABLE})",
    )
    benchmark.option(
        "--peer-threads",
        nargs="+",
        type=_threads,
        default=[(1, 1), (1, 2), (2, 1), (2, 2)],
        metavar="INTER/INTRA",
        help="settings of CTranslate2 (1/1 1/2 2/1 2/2)",
    )
    benchmark.option("--rounds", type=int, default=rounds, help="measured rounds (%(default)s)")


def _threads(text: str) -> tuple[int, int]:
    inter, intra = map(int, text.split("/"))
    return inter, intra


def chosen(args: argparse.Namespace) -> list[System]:
    """The systems of the command line; those without an environment are left out.

    Raises:
        DataError: A system has no environment, and the result should be recorded.
    """
    found: list[System] = []
    for name in args.systems:
        if name.startswith("generate") and not find_spec("transformers"):
            if args.record:
                raise DataError(f"{name}: transformers is not installed; {INSTALL}")
            print(f"{name} is left out: transformers is not installed", file=sys.stderr)
        elif not name.startswith(_IN_PEERS):
            found.append(System(name))
        elif args.peer_python:
            settings = [None] if name.startswith("Marian") else args.peer_threads
            found += [System(name, threads) for threads in settings]
        elif args.record:
            raise DataError(f"{name} has no environment: give --peer-python, or skip --record")
        else:
            print(f"{name} is left out: give --peer-python", file=sys.stderr)
    return found


# ---- models --------------------------------------------------------------------------------------


@dataclass
class Model:
    """A model in the form of each system.

    plain: As `benchmarks.speed.plain` writes it.
    folder: The model folder; None with random weights.
    """

    plain: Path
    folder: Path | None = None
    _converted: bool = field(default=False, init=False)

    @property
    def converted(self) -> Path:
        """The model for CTranslate2."""
        return self.plain / "ctranslate2"

    def convert(self, python: str) -> None:
        """Convert the model for CTranslate2, once.

        Raises:
            ModelError: CTranslate2 does not support the model.
        """
        if not self.converted.exists():
            refuse(config_of(read_json(self.plain / "plain.json")["model"]), "ctranslate2")
            with Service([python, "-m", _PEER]) as peer:
                peer("convert", plain=str(self.plain), out=str(self.converted))


@contextmanager
def started(
    systems: Sequence[System], model: Model, args: argparse.Namespace
) -> Iterator[dict[System, Service]]:
    """Start the systems and open the model in each; those that differ in margins share one."""
    with ExitStack() as stack:
        services: dict[str, Service] = {}
        for system in systems:
            key = str(System(system.group.partition(",")[0], system.threads))
            if key not in services:
                services[key] = stack.enter_context(Service(_command(system, args)))
                _load(services[key], system, model, args)
        yield {s: services[str(System(s.group.partition(",")[0], s.threads))] for s in systems}


def _command(system: System, args: argparse.Namespace) -> list[str]:
    if system.is_ours:
        return _OURS
    if system.group.startswith("generate"):
        return [sys.executable, "-m", _GENERATE]
    marian = system.group.startswith("Marian")
    return [args.peer_python, "-m", _MARIAN if marian else _PEER]


def _load(service: Service, system: System, model: Model, args: argparse.Namespace) -> None:
    threads = system.threads[0] if system.threads else args.threads
    if system.is_ours and model.folder:
        service("load", folder=str(model.folder), threads=threads, **system.load)
    elif system.is_ours:
        service("load_plain", folder=str(model.plain), threads=threads, **system.load)
    elif system.threads:
        model.convert(args.peer_python)
        service("load", folder=str(model.converted), plain=str(model.plain), **system.load)
    else:
        precision = system.load["precision"]
        service("load", plain=str(model.plain), precision=precision, threads=threads)


# ---- rounds --------------------------------------------------------------------------------------

Rounds = dict[str, list[dict[str, Any]]]  # the results of each system


def in_turns(
    services: Mapping[System, Service],
    rounds: int,
    ask: Callable[[System, Service], dict[str, Any]],
) -> Rounds:
    """Ask every system once per round; return the results by system, without the first round."""
    results: Rounds = {str(system): [] for system in services}
    for number in range(-1, rounds):
        for system, service in services.items():
            time.sleep(SETTLED)
            answer = ask(system, service)
            if number >= 0:
                results[str(system)].append(answer)
    return results


def searching(request: dict[str, Any]) -> Callable[[System, Service], dict[str, Any]]:
    """For `in_turns`: the same search of ids in every system."""

    def ask(_: System, service: Service) -> Any:
        return service("search", **request)

    return ask


def check_lengths(rounds: Rounds, length: int) -> None:
    """Check that all systems did the same work.

    Raises:
        RunError: A translation has another length.
    """
    for system, own in rounds.items():
        if strange := {n for each in own for n in each["lengths"]} - {length}:
            raise RunError(f"{system}: translations have {strange} tokens instead of {length}")


def summary(values: Sequence[float]) -> dict[str, Any]:
    """Median, lowest, highest, and the value of each round."""
    rounded = [float(f"{value:.5g}") for value in values]
    middle = float(f"{statistics.median(values):.5g}")
    return {"median": middle, "low": min(rounded), "high": max(rounded), "rounds": rounded}


def compared(speeds: Mapping[str, Mapping[str, Any]], peer: str = PEER) -> dict[str, Any]:
    """Compare each system with the peer at its best setting.

    Args:
        speeds: `summary` of the speeds of each system.
        peer: Group of the peer.

    Returns:
        "best", the setting of the peer with the best median, and for each other system "value", the
        ratio of the medians, and "worst", the lowest ratio of a round to the peer's best setting in
        that round. {} without the peer.
    """
    settings = [name for name in speeds if name == peer or name.startswith(f"{peer}, ")]
    if not settings:
        return {}
    best = max(settings, key=lambda name: float(speeds[name]["median"]))
    most = [max(values) for values in zip(*(speeds[s]["rounds"] for s in settings), strict=True)]
    return {"best": best} | {
        name: {
            "value": round(each["median"] / speeds[best]["median"], 3),
            "worst": round(min(a / b for a, b in zip(each["rounds"], most, strict=True)), 3),
        }
        for name, each in speeds.items()
        if name not in settings
    }


# ---- conditions ----------------------------------------------------------------------------------


def conditions(services: Mapping[System, Service]) -> dict[str, Any]:
    """What a record states besides the machine: versions, commands and instruction sets."""
    groups = {system.group: service for system, service in services.items()}
    own = {group: service("versions") for group, service in groups.items()}
    commands = {group: ["python", *service.command[1:]] for group, service in groups.items()}
    loads = {str(system): system.load for system in services}
    stated = {"versions": own, "commands": commands, "settings": loads, "cpu flags": cpu_flags()}
    return stated | ({"environment": limits()} if limits() else {})


def limits() -> dict[str, str]:
    """The environment variables that limit the systems to fewer instruction sets."""
    return {name: os.environ[name] for name in _LIMITS if name in os.environ}


def cpu_flags(path: Path = Path("/proc/cpuinfo")) -> list[str]:
    """The instruction sets of this processor that matter to matrix products."""
    lines = path.read_text().splitlines() if path.exists() else []
    named = [line for line in lines if line.lower().startswith(("flags", "features"))]
    flags = named[0].partition(":")[2].split() if named else []
    return [flag for flag in flags if flag.startswith(_FLAGS)]


def title_of(record: Record) -> str:
    """The title of a table: model, number of sentences, the peer and our instruction set."""
    versions = record.get("versions", {}).values()
    peers = {f"CTranslate2 {each['ctranslate2']}" for each in versions if "ctranslate2" in each}
    sets = {each["instruction set"] for each in versions if "instruction set" in each}
    n_sentences = record.get("sentences")
    size = [f"{n_sentences:,} sentences"] if n_sentences else []
    return "; ".join([str(record["name"]), *size, *sorted(peers), *sorted(sets)])
