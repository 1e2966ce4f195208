"""Throughput and latency of `yakusu serve`, compared with CTranslate2 behind FastAPI and uvicorn.

All services have the same weights and the same number of threads. Clients send one sentence per
request over connections that stay open; each sends its next request when the reply has arrived. A
round measures every number of clients, and for each of them all services in turn. Then it measures
the translator of `yakusu serve` without the service: one sentence after the other, and all of them
with several batch sizes, as `yakusu translate` does. The first round is not measured.

"CPU besides translating" is what the service adds with most clients: its processor time per
request, minus that of `yakusu translate` per sentence, which prepares and decodes text in the same
way.

The peer collects sentences in a queue and translates them in batches of at most 64. It is measured
with several settings of its threads, and of the time that a batch waits for further sentences. It
is compared at the setting with the best median, for throughput and for p95 separately; "worst" is
the lowest ratio of a round to its best setting in that round.

With --shape, the model has random weights of this size and the tokenizer of --model, and every
translation has the same length.

    pip install -r benchmarks/peers/requirements-serving.txt
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.services import Service
from benchmarks.speed.latency import quantile
from benchmarks.speed.plain import SHAPES
from benchmarks.speed.serving_processes import (
    SERVE,
    Running,
    commands,
    settings,
    versions,
    write_random,
)
from benchmarks.speed.systems import PEER, SETTLED, add_options, compared, cpu_flags, summary
from benchmarks.tables import NONE, FilledTable, fill, fixed, spread_of, text
from yakusu.data.files.text import read_lines
from yakusu.errors import RunError
from yakusu.translator.folder.folder import ModelFolder

TRANSLATE = "yakusu translate"
_ALIKE = 1.1  # how many times as long as others the translations of a service may be
_OTHER_PORT = 9  # after the first one, of the server without translations
_QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}

benchmark = Benchmark(
    "serving",
    __doc__,
    example="python -m benchmarks.speed.serving --model runs/demo-en-de/model --peer-python "
    "peers/bin/python",
    needs=["data", "model"],
    threads=2,
    quick={
        **{"sentences": 6, "clients": [1, 3], "per_client": 2, "rounds": 1, "batches": [4]},
        **{"peer_waits": [5.0], "peer_threads": [(1, 1)], "threads": 1},
    },
)
add_options(benchmark, systems=(PEER,))
benchmark.parser.set_defaults(peer_threads=[(1, 2), (2, 1)])
benchmark.option(
    "--peer-waits",
    nargs="+",
    type=float,
    default=[0.0, 5.0],
    metavar="MS",
    help="how long a batch of the peer waits for further sentences (0 5)",
)
benchmark.option("--src", type=Path, help="sentences (default: multi30k/test2016.en of --data)")
benchmark.option("--sentences", type=int, default=500, help="at most (%(default)s)")
benchmark.option("--clients", nargs="+", type=int, default=[1, 4, 16, 64], help="%(default)s")
benchmark.option(
    "--per-client", type=int, default=32, help="requests of each, at least (%(default)s)"
)
benchmark.option(
    "--batches", nargs="+", type=int, default=[16, 64, 256], help="of translate (%(default)s)"
)
benchmark.option(
    "--settings", nargs="+", default=[], metavar="KEY=VALUE", help="of yakusu serve (none)"
)
benchmark.option("--shape", choices=SHAPES, help="random weights of this size")
benchmark.option("--length", type=int, default=32, help="tokens per translation with --shape")
benchmark.option("--port", type=int, default=5070, help="the first of several (%(default)s)")
benchmark.option("--seed", type=int, default=1, help="of the weights of --shape (%(default)s)")


_OURS = "yakusu serve"
_SHARE, _OVERHEAD, _FIRST = "0.90", "5.0", "2.0"  # goals: of translate; ms; s
_CPU = "0.50"  # ms per request
_COLUMNS = (
    ("Clients", "{clients}"),
    ("Service", "{service}"),
    ("Sentences per second", spread_of("throughput")),
    ("Ratio", "{gains.throughput.value:,.2f}"),
    ("Worst round", "{gains.throughput.worst:,.2f}"),
    ("p50, ms", spread_of("p50", 1)),
    ("p95, ms", spread_of("p95", 1)),
    ("Ratio", "{gains.p95.value:,.2f}"),
    ("Worst round", "{gains.p95.worst:,.2f}"),
    ("p99, ms", spread_of("p99", 1)),
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Throughput and latency by number of clients, and what depends on no other service."""
    for record in records:
        rows = [
            {
                "clients": n,
                "service": service,
                "gains": {key: gain.get(service) for key, gain in cell["gains"].items()},
                **own,
            }
            for n, cell in record["cells"].items()
            for service, own in cell["services"].items()
        ]
        title = f"{record['name']}; {record['sentences']:,} sentences"
        yield fill(_COLUMNS, rows, [record], title)
        head = ["Measure", "Value", "Goal"]
        yield FilledTable(head, _others(record), [record], f"{title}; the rest")


def _others(record: Record) -> list[list[str]]:
    translate, most = record["translate"], max(record["cells"], key=int)
    share, alone = translate["share"][_OURS], record["clients alone"][most]
    named = f"throughput with {most} clients / {translate['share']['best']}"
    overhead = text(spread_of("overhead", 2), record)
    return [
        [named, f"{share['value']:.2f}, worst {share['worst']:.2f}", _SHARE],
        ["overhead with one client, ms", overhead, _OVERHEAD],
        *_besides(record, most),
        *(
            [
                f"first answer of {name}, s",
                text(spread_of("own", 2), {"own": own}),
                _FIRST if name == _OURS else NONE,
            ]
            for name, own in record["first"].items()
        ),
        *([f"peak memory of {name}, MiB", fixed(own, 0), NONE] for name, own in _memory(record)),
        [f"requests per second that {most} clients can send", fixed(alone, 0), NONE],
    ]


def _besides(record: Record, most: str) -> Iterator[list[str]]:
    """The processor time per request besides translating, which older records lack."""
    if record.get("cpu_besides"):
        cpu = text(spread_of("cpu_besides", 2), record)
        yield [f"CPU besides translating with {most} clients, ms per request", cpu, _CPU]


def _memory(record: Record) -> Iterable[tuple[str, float]]:
    """The peak memory of ours, and the lowest of the peer's settings."""
    found: dict[str, float] = {}
    for name, own in record["peak_mib"].items():
        kind = name.partition(",")[0]
        found[kind] = min(own, found.get(kind, own))
    return found.items()


@dataclass(frozen=True)
class Traffic:
    """What the clients request.

    n_each: Minimum number of requests of a client.
    """

    lines: list[str]
    languages: tuple[str, str]
    n_each: int

    @property
    def first(self) -> dict[str, str]:
        """A request, as JSON."""
        return {"q": self.lines[0], "source": self.languages[0], "target": self.languages[1]}

    def texts(self, clients: int) -> list[str]:
        """The texts of some clients: all lines, repeated if they are too few."""
        n = max(len(self.lines), clients * self.n_each)
        return list(islice(cycle(self.lines), n))

    def send(self, load: Service, port: int, clients: int) -> dict[str, Any]:
        """Send the requests of some clients."""
        source, target = self.languages
        request = {"texts": self.texts(clients), "clients": clients}
        found: dict[str, Any] = load("load", port=port, source=source, target=target, **request)
        return found


def measure(args: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """Prepare the model and the requests, and measure all services."""
    folder, opened = args.model, ModelFolder.open(args.model)
    name = folder.parent.name if folder.name == "model" else folder.name
    if args.shape:
        folder, name = scratch / "model", f"{args.shape}, random weights"
        write_random(args.shape, opened, folder, length=args.length, seed=args.seed)
    path = args.src or args.data / "multi30k" / "test2016.en"
    lines = list(islice(filter(str.strip, read_lines(path)), args.sentences))
    languages = opened.config.source_language, opened.config.target_language
    traffic, programs = Traffic(lines, languages, args.per_client), commands(args, folder, scratch)
    remarks = "".join(f", {setting}" for setting in args.settings)
    return {
        "name": f"{name}, {path.name}, {args.threads} threads{remarks}",
        "sentences": len(lines),
        "search": dict(ModelFolder.open(folder).config.search),
        "first": starts(args, programs, traffic),
        "clients alone": _clients_alone(args, traffic),
        **_all_rounds(args, folder, programs, traffic),
        "versions": versions(programs),
        "cpu flags": cpu_flags(),
        "commands": {name: _portable(words) for name, words in programs.items()},
    }


def _all_rounds(
    args: argparse.Namespace, folder: Path, programs: Mapping[str, Sequence[str]], traffic: Traffic
) -> dict[str, Any]:
    """Start all services, and measure them in rounds."""
    with ExitStack() as stack:
        services = {
            name: stack.enter_context(Running(command, args.port + number, traffic.first))
            for number, (name, command) in enumerate(programs.items())
        }
        load, inside = (stack.enter_context(_side(side)) for side in ("load", "side"))
        inside("load", folder=str(folder), settings=settings(args))
        rounds = [
            _round(args, traffic, services, load) | _inside(args, traffic, inside)
            for _ in range(-1, args.rounds)
        ]
        memory = {name: round(service.peak_mib()) for name, service in services.items()}
    return results(rounds[1:]) | {"peak_mib": memory}


def starts(
    args: argparse.Namespace, programs: Mapping[str, Sequence[str]], traffic: Traffic
) -> dict[str, Any]:
    """Seconds from the start of a process to its first answer: ours, and a setting of the peer."""
    some = dict(islice(programs.items(), 2))
    seconds: dict[str, list[float]] = {name: [] for name in some}
    for number in range(-1, args.rounds):
        for name, command in some.items():
            with Running(command, args.port, traffic.first) as service:
                seconds[name] += [service.first] if number >= 0 else []
    return {name.partition(",")[0]: summary(own) for name, own in seconds.items()}


def _round(
    args: argparse.Namespace, traffic: Traffic, services: Mapping[str, Running], load: Service
) -> dict[str, Any]:
    """What the clients measure, by their number and by service."""
    found: dict[str, dict[str, Any]] = {}
    for n in args.clients:
        found[str(n)] = own = {}
        for name, service in services.items():
            time.sleep(SETTLED)
            before = service.cpu_seconds()
            own[name] = _of_load(traffic.send(load, service.port, n))
            n_requests = len(traffic.texts(n))
            own[name]["cpu_ms"] = 1000 * (service.cpu_seconds() - before) / n_requests
    return {"clients": found}


def _inside(args: argparse.Namespace, traffic: Traffic, inside: Service) -> dict[str, Any]:
    """The translator without the service: sentences per second, and ms for one."""
    time.sleep(SETTLED)
    texts = traffic.texts(max(args.clients))
    took = {
        f"{TRANSLATE}, batch {batch}": inside("together", lines=texts, batch=batch)
        for batch in args.batches
    }
    together = {name: len(texts) / seconds for name, (seconds, _) in took.items()}
    cpu_ms = {name: 1000 * cpu / len(texts) for name, (_, cpu) in took.items()}
    one = 1000 * statistics.median(inside("one_by_one", lines=traffic.lines))
    print("a round is done", file=sys.stderr, flush=True)
    return {"together": together, "cpu_ms": cpu_ms, "one_by_one": one}


def _of_load(answer: Mapping[str, Any]) -> dict[str, Any]:
    milliseconds = [1000 * each for each in answer["latencies"]]
    return {
        "throughput": len(milliseconds) / answer["seconds"],
        **{name: quantile(milliseconds, share) for name, share in _QUANTILES.items()},
        "clients' CPU": answer["cpu_seconds"] / answer["seconds"],
        "characters": sum(map(len, answer["texts"])),
    }


def _clients_alone(args: argparse.Namespace, traffic: Traffic) -> dict[str, int]:
    """Requests per second that the clients send to a server that translates nothing."""
    port, found = args.port + _OTHER_PORT, {}
    with _side("load") as load, _side("load") as server:
        server("answer", port=port)
        for n in args.clients:
            answer = traffic.send(load, port, n)
            found[str(n)] = round(len(answer["latencies"]) / answer["seconds"])
    return found


def _side(name: str) -> Service:
    return Service([sys.executable, "-m", f"benchmarks.speed.serving_{name}"])


def _portable(words: Sequence[str]) -> list[str]:
    return ["python", *(Path(word).name if word.startswith("/") else word for word in words[1:])]


# ---- results -------------------------------------------------------------------------------------


def results(rounds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Medians over the rounds, and comparisons.

    Args:
        rounds: What `_round` and `_inside` return for each.
    """
    counts = sorted(rounds[0]["clients"], key=int)
    cells = {n: _cell([each["clients"][n] for each in rounds]) for n in counts}
    speeds = {
        name: summary([each["together"][name] for each in rounds]) for name in rounds[0]["together"]
    }
    served = {SERVE: cells[counts[-1]]["services"][SERVE]["throughput"]}
    alone = [each["one_by_one"] for each in rounds]
    latencies = [each["clients"][counts[0]][SERVE]["p50"] for each in rounds]
    most = [each["clients"][counts[-1]][SERVE]["cpu_ms"] for each in rounds]
    least = [min(each["cpu_ms"].values()) for each in rounds]
    return {
        "cells": cells,
        "translate": {"speeds": speeds, "share": compared(served | speeds, TRANSLATE)},
        "one_by_one": summary(alone),
        "overhead": summary([a - b for a, b in zip(latencies, alone, strict=True)]),
        "cpu_besides": summary([a - b for a, b in zip(most, least, strict=True)]),
    }


def _cell(rounds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The services with one number of clients."""
    found = {
        name: {key: summary([each[name][key] for each in rounds]) for key in own}
        for name, own in rounds[0].items()
    }
    speeds = {name: own["throughput"] for name, own in found.items()}
    inverse = {
        name: summary([1 / each for each in own["p95"]["rounds"]]) for name, own in found.items()
    }
    return {
        "services": found,
        "gains": {"throughput": compared(speeds), "p95": compared(inverse)},
    }


def check_work(cells: Mapping[str, Any]) -> None:
    """Check that the services did the same work.

    Raises:
        RunError: Translations are much longer than those of another service.
    """
    for cell in cells.values():
        sizes = {name: own["characters"]["median"] for name, own in cell["services"].items()}
        longest, shortest = (pick(sizes, key=lambda name: sizes[name]) for pick in (max, min))
        if sizes[longest] > _ALIKE * sizes[shortest]:
            raise RunError(
                f"{longest} wrote {sizes[longest]:,.0f} characters and {shortest} "
                f"{sizes[shortest]:,.0f}: choose a model that was trained on such sentences"
            )


def show(measured: Mapping[str, Any]) -> None:
    """Print the results."""
    for n, cell in measured["cells"].items():
        for name, own in cell["services"].items():
            values = "".join(f"{key} {own[key]['median']:7.1f}  " for key in _QUANTILES)
            print(f"{n:>3} clients  {name:28}{own['throughput']['median']:8.1f}/s  {values}ms")
        for key, gain in cell["gains"].items():
            if gain:
                value, worst = gain[SERVE]["value"], gain[SERVE]["worst"]
                print(f"{n:>3} clients  {key}: {value:.2f} times {gain['best']}, worst {worst:.2f}")
    for batch, speed in measured["translate"]["speeds"].items():
        print(f"{batch}: {speed['median']:.1f}/s")
    print(f"share of translate: {measured['translate']['share'][SERVE]}")
    print(f"inside {measured['one_by_one']['median']:.2f} ms, ", end="")
    print(f"overhead {measured['overhead']['median']:.2f} ms")
    print(f"CPU besides translating: {measured['cpu_besides']['median']:.2f} ms")
    print("first answer:", {name: own["median"] for name, own in measured["first"].items()}, "s")
    print("clients alone:", measured["clients alone"], "requests/s")


def main(args: argparse.Namespace) -> None:
    """Measure, print and record."""
    with TemporaryDirectory() as folder:
        measured = measure(args, Path(folder))
    show(measured)
    if not (args.quick or args.shape):
        check_work(measured["cells"])
    benchmark.record(measured, seed=args.seed)


if __name__ == "__main__":
    benchmark.run(main)
