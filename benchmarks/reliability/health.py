"""How soon a service answers GET /health while hostile requests are worked off.

Each kind of request in `hostile.py` is sent again and again, by one client and by several at once,
for some seconds; in the meantime, ten requests for /health a second, each over a connection of its
own, are timed.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import numpy as np

from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.reliability.hostile import Attack, attacks
from benchmarks.tables import FilledTable
from yakusu.errors import RunError

PER_SECOND = 10  # requests for /health
PATIENCE = 5.0  # seconds until a client gives up

benchmark = Benchmark(
    "health",
    __doc__,
    example="python -m benchmarks.reliability.health --model runs/demo/model --seconds 60",
    needs=("model",),
    quick={"seconds": 1.0, "size": 100_000},
)
benchmark.option("--seconds", type=float, default=60.0, help="for each kind (%(default)s)")
benchmark.option("--at-once", type=int, nargs="+", default=[1, 4], help="clients (%(default)s)")
benchmark.option("--kinds", nargs="+", default=[""], help="beginnings of their names (all)")
benchmark.option("--size", type=int, default=1_900_000, help="bytes of a request (%(default)s)")


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Time of /health by kind of request and number of clients; of several runs, the last."""
    runs = {(run["kind"], run["clients"]): run for record in records for run in record["runs"]}
    rows = [
        [run["kind"], str(run["clients"]), str(run["requests"]), run["statuses"], *times(run)]
        for run in runs.values()
    ]
    head = ["Request", "Clients", "Sent", "Status: number", "Median, ms", "p99, ms", "Largest, ms"]
    yield FilledTable(head, rows, records)


def times(run: Record) -> list[str]:
    """Columns of a run."""
    return [f"{run[name]:.0f}" for name in ("median", "p99", "largest")]


@contextmanager
def service(model: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A service as a process, and its port."""
    command = [sys.executable, "-m", "yakusu", "serve", str(model), "--port", "0"]
    command += ["--set", "shutdown_seconds=1"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        found = re.search(r"127\.0\.0\.1:(\d+)", process.stderr.readline())
        if not found:
            raise RunError(f"{model} is not served: see above")
        threading.Thread(target=process.stderr.read, daemon=True).start()
        try:
            yield process, int(found[1])
        finally:
            process.send_signal(signal.SIGTERM)


def probed(port: int, seconds: float) -> list[float]:
    """Milliseconds of each request for /health."""
    found, end, at = [], time.perf_counter() + seconds, time.perf_counter()
    while at < end:
        start = time.perf_counter()
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=PATIENCE) as answer:
            answer.read()
        found.append(1000 * (time.perf_counter() - start))
        at += 1 / PER_SECOND
        time.sleep(max(0, at - time.perf_counter()))
    return found


def measured(port: int, attack: Attack, n: int, seconds: float) -> Record:
    """Send requests of a kind by n clients at once, and time /health."""
    end, statuses = time.monotonic() + seconds, Counter[int]()

    def send() -> None:
        while time.monotonic() < end:
            statuses[attack.run(port, PATIENCE if attack.reads else 1.0)] += 1

    with ThreadPoolExecutor(n + 1) as threads:
        clients = [threads.submit(send) for _ in range(n)]
        found = probed(port, seconds)
        for client in clients:
            client.result()
    return {
        "kind": attack.name,
        "clients": n,
        "requests": statuses.total(),
        "statuses": ", ".join(f"{status}: {k}" for status, k in sorted(statuses.items())),
        "median": float(np.median(found)),
        "p99": float(np.quantile(found, 0.99)),
        "largest": max(found),
    }


def main(args: argparse.Namespace) -> None:
    """Measure all kinds, and a service without work for comparison."""
    runs = []
    with service(args.model) as (process, port):
        idle = Attack("none", b"", leaves=True)
        with urlopen(f"http://127.0.0.1:{port}/languages") as answer:
            first = json.load(answer)[0]
        pair = first["code"], next(code for code in first["targets"] if code != first["code"])
        chosen = (
            each for each in attacks(args.size, *pair) if each.name.startswith(tuple(args.kinds))
        )
        for attack in (idle, *chosen):
            for n in args.at_once if attack is not idle else [0]:
                run = measured(port, attack, n, args.seconds)
                print(run["kind"], n, run["statuses"], *times(run), flush=True)
                runs.append(run)
        if process.poll() is not None:
            raise RunError(f"the service ended with {process.returncode}")
    name = ", ".join(filter(None, args.kinds))
    benchmark.record({"name": name, "runs": runs, "seconds_each": args.seconds})


if __name__ == "__main__":
    benchmark.run(main)
