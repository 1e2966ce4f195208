"""Documents per second: read and written in worker processes with limits, and in the same process.

Folders of HTML files are translated as by `yakusu translate`, which reads every file twice. A round
translates each folder in both ways, one after the other; the first round is not measured. Loading
the libraries of the workers is part of their CPU time, but not of the elapsed time, because it
happens while a model is read.
"""

import argparse
import io
import random
import resource
import statistics
import sys
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.common import Benchmark
from benchmarks.tables import Table, entries
from yakusu.documents.document import DocumentOptions
from yakusu.documents.isolated.limits import DocumentLimits, LimitSettings
from yakusu.documents.isolated.readers import Readers
from yakusu.pipeline.document_plan import plan
from yakusu.pipeline.documents import OpenDocument, in_this_process, translate_with
from yakusu.pipeline.translate import open_translator
from yakusu.translator import Translator

MODEL = Path(__file__).parents[2] / "tests" / "fixtures" / "format-1" / "transformer"
WORDS = ("the", "red", "boat", "dog", "house", "sees", "a", "goes", "to", "and")
SIZES = {"4 KB": (4_000, 50), "120 KB": (120_000, 4)}  # bytes of a file, and files

benchmark = Benchmark(
    "isolated_documents",
    __doc__,
    example="python -m benchmarks.speed.isolated_documents --rounds 7",
    quick={"rounds": 1},
)
benchmark.option("--rounds", type=int, default=7, help="times each folder is translated")
benchmark.option(
    "--model", type=Path, default=MODEL, help="model folder (default: a small one of the tests)"
)

tables = Table(
    (
        ("Files", "{name}"),
        ("In this process: documents/s", "{here:,.2f}"),
        ("In workers: documents/s", "{isolated:,.2f}"),
        ("In this process: CPU ms", "{here_cpu:,.0f}"),
        ("In workers: CPU ms", "{isolated_cpu:,.0f}"),
    ),
    rows=entries("sizes"),
)


def page(n_bytes: int, seed: int) -> str:
    """An HTML page of a size."""
    numbers = random.Random(seed)
    found, size = ["<html><body>\n"], 0
    while size < n_bytes:
        words = [" ".join(numbers.choices(WORDS, k=12)) for _ in range(3)]
        found.append(f"<h2>{words[0]}</h2>\n<p>{words[1]} <b>{words[2]}</b>.</p>\n")
        size += len(found[-1])
    return "".join((*found, "</body></html>\n"))


def cpu_of_all() -> float:
    """CPU seconds of this process and of those that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def seconds_of(translator: Translator, folder: Path, read: OpenDocument) -> float:
    """Elapsed seconds to translate a folder."""
    with TemporaryDirectory() as out:
        planned = plan(folder, Path(out, "out"), overwrite=False)
        start = time.perf_counter()
        translate_with(translator, planned, read=read)
        return time.perf_counter() - start


def isolated_seconds(translator: Translator, folder: Path) -> float:
    """The same in worker processes, whose libraries are loaded before."""
    with closing(Readers(DocumentLimits(), LimitSettings("", "", ""))) as readers:
        with readers.open("a.txt", io.BytesIO(b"a"), DocumentOptions()):
            pass
        return seconds_of(translator, folder, readers.read)


def measure(translator: Translator, folder: Path, rounds: int, n_files: int) -> dict[str, float]:
    """Medians of all rounds for one folder."""
    ways = {
        "here": lambda: seconds_of(translator, folder, in_this_process),
        "isolated": lambda: isolated_seconds(translator, folder),
    }
    speeds: dict[str, list[float]] = {name: [] for name in ways}
    used: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(-1, rounds):
        for name, seconds in ways.items():
            before = cpu_of_all()
            speed = n_files / seconds()
            if number >= 0:
                speeds[name].append(speed)
                used[name].append((cpu_of_all() - before) / n_files)
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    found = {name: round(statistics.median(each), 3) for name, each in speeds.items()}
    cpu = {f"{name}_cpu": round(1000 * statistics.median(each), 1) for name, each in used.items()}
    return {**found, **cpu}


def main(args: argparse.Namespace) -> None:
    """Measure folders of small and of large files."""
    translator = open_translator(args.model)
    sizes: dict[str, dict[str, float]] = {}
    for name, (n_bytes, n_files) in SIZES.items():
        with TemporaryDirectory() as folder:
            for number in range(n_files):
                Path(folder, f"{number}.html").write_text(page(n_bytes, number))
            sizes[name] = measure(translator, Path(folder), args.rounds, n_files)
        print(name, sizes[name])
    benchmark.record({"rounds": args.rounds, "model": args.model.name, "sizes": sizes})


if __name__ == "__main__":
    benchmark.run(main)
