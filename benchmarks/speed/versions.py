"""Compare the speed and the memory of two checkouts, in alternating pairs.

Both versions translate the same text with the same model, on one thread: lines without and with
placeholders, and a large HTML file. Each run is a process of its own; one run of each version is a
pair, and the version that runs first alternates. Times are CPU seconds after the model is open and
has translated 500 texts, so that expressions and number words are loaded.

`--before` names the other checkout. Its CPU engine must be compiled.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.tables import Table
from yakusu.native.library import instruction_set

HERE = Path(__file__).parents[2]

benchmark = Benchmark(
    "versions",
    __doc__,
    example="python -m benchmarks.speed.versions --model runs/demo-en-de/model "
    "--src runs/demo-en-de/test.en --before ../yakusu-before",
    needs=["model"],
)
benchmark.option("--src", type=Path, required=True, help="source sentences")
benchmark.option("--before", type=Path, required=True, help="the other checkout")
benchmark.option("--pairs", type=int, default=9, help="number of pairs (%(default)s)")
benchmark.option("--lines", type=int, default=2000, help="lines of a text (%(default)s)")

tables = Table(
    (
        ("Input", "{name}"),
        ("Before, CPU s", "{before.seconds:.2f}"),
        ("After, CPU s", "{after.seconds:.2f}"),
        ("Speed, after / before", "{speed:.3f}"),
        ("Lowest and highest pair", "{lowest:.2f} to {highest:.2f}"),
        ("Peak memory, after / before", "{memory:.3f}"),
        ("Translations", "{translations}"),
    )
)

_SIDE = """
import hashlib, json, re, sys, time
from pathlib import Path

import yakusu
from yakusu.engine.config import EngineConfig

model, path = sys.argv[1:]
engine = EngineConfig(engine="native", threads=1)
translator = yakusu.Translator.load(model, engine=engine)
if path.endswith(".html"):
    from yakusu.documents.registry import read_document

    translator.translate(read_document(Path(path)).texts[:500])
    start = time.process_time()
    document = read_document(Path(path))
    found = document.render([best[0].text for best in translator.stream(document.texts)])
else:
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    translator.translate(lines[:500])
    start = time.process_time()
    found = "\\n".join(translator.translate(lines)).encode()
seconds = time.process_time() - start
memory = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
print(json.dumps([seconds, memory, hashlib.sha256(found).hexdigest()]))
"""


def inputs(folder: Path, src: Path, n_lines: int) -> Iterator[tuple[str, Path]]:
    """Write the inputs, and yield their names and paths."""
    lines = list(islice(cycle(src.read_text(encoding="utf-8").splitlines()), n_lines))
    for name, made in (
        ("text without placeholders", lines),
        ("text with placeholders", [f"{line} {{name}} %d" for line in lines]),
    ):
        path = folder / f"{name}.txt"
        path.write_text("\n".join(made), encoding="utf-8")
        yield name, path
    path = folder / "large.html"
    body = cycle(f"<p>{line} <b>{line.split()[0]}</b></p>\n" for line in lines)
    page, size = ["<html><body>\n"], 0
    while size < 2_000_000:
        page.append(next(body))
        size += len(page[-1])
    path.write_text("".join([*page, "</body></html>\n"]), encoding="utf-8")
    yield "HTML file of 2 MB", path


def run(checkout: Path, model: Path, path: Path) -> tuple[float, int, str]:
    """The CPU seconds, the peak memory in KiB and a hash of the result of one run."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _SIDE, str(model.resolve()), str(path)]
    found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    seconds, memory, digest = json.loads(found.stdout)
    return seconds, memory, digest


def compare(args: argparse.Namespace, name: str, path: Path) -> dict[str, Any]:
    """Run both versions in pairs."""
    versions = {"before": args.before, "after": HERE}
    found: dict[str, list[tuple[float, int, str]]] = {version: [] for version in versions}
    for pair in range(args.pairs):
        order = list(versions) if pair % 2 else list(versions)[::-1]
        for version in order:
            found[version].append(run(versions[version], args.model, path))
    ratios = [
        before[0] / after[0] for before, after in zip(found["before"], found["after"], strict=True)
    ]
    same = len({digest for runs in found.values() for *_, digest in runs}) == 1
    medians = {
        version: {
            "seconds": statistics.median(seconds for seconds, *_ in runs),
            "memory": statistics.median(memory for _, memory, _ in runs),
        }
        for version, runs in found.items()
    }
    return {
        "name": name,
        **medians,
        "pairs": args.pairs,
        "speed": statistics.median(ratios),
        "lowest": min(ratios),
        "highest": max(ratios),
        "memory": medians["after"]["memory"] / medians["before"]["memory"],
        "translations": "identical" if same else "different",
        "instruction_set": instruction_set(),
        "processor": platform.processor() or platform.machine(),
    }


def main(args: argparse.Namespace) -> None:
    """Compare, and print the result."""
    with TemporaryDirectory() as folder:
        for name, path in inputs(Path(folder), args.src, args.lines):
            row = compare(args, name, path)
            print(
                f"{name}: {row['speed']:.3f} times as fast ({row['lowest']:.2f} to "
                f"{row['highest']:.2f}), {row['memory']:.3f} times the memory; "
                f"{row['translations']} translations",
                flush=True,
            )
            benchmark.record(row)


if __name__ == "__main__":
    benchmark.run(main)
