"""Speed and peak memory of reading generated TMX files of different sizes (Linux).

Memory should be constant as a file grows: compare the peaks. Each file is read in its own process,
as `yakusu prepare` reads it; the peak is the resident memory that the kernel reports (VmHWM), also
before reading begins: Python and its libraries.
"""

import argparse
import random
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks import memory
from benchmarks.common import Benchmark
from benchmarks.tables import Table
from benchmarks.workers import Worker

N_WORDS = 20_000
MEAN_LENGTH = 16  # words per segment
EVERY_MARKED = 10  # one in so many units has inline markup

benchmark = Benchmark(
    "tmx",
    __doc__,
    example="python -m benchmarks.speed.tmx --megabytes 100 1000",
    quick={"megabytes": [1]},
)
benchmark.option(
    "--megabytes", type=int, nargs="+", default=[100, 1000], help="sizes of the files (%(default)s)"
)
benchmark.option("--seed", type=int, default=1, help="seed of the texts (%(default)s)")


tables = Table(
    (
        ("MB", "{megabytes:,.0f}"),
        ("Pairs", "{pairs_read:,.0f}"),
        ("Seconds", "{seconds:,.1f}"),
        ("CPU seconds", "{cpu_seconds:,.1f}"),
        ("Pairs per second", "{pairs_per_second:,.0f}"),
        ("Pairs per CPU second", "{pairs_per_cpu_second:,.0f}"),
        ("MiB before reading", "{before_mib:,.0f}"),
        ("Peak MiB", "{peak_mib:,.0f}"),
    )
)


HEADER = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
  <header creationtool="yakusu" creationtoolversion="1" segtype="sentence" o-tmf="none"
    adminlang="en" srclang="en-US" datatype="plaintext"/>
  <body>
"""
UNIT = """    <tu tuid="{number}">
      <tuv xml:lang="en-US"><seg>{src}</seg></tuv>
      <tuv xml:lang="de-DE"><seg>{tgt}</seg></tuv>
    </tu>
"""
MARKED = '<bpt i="1">&lt;b&gt;</bpt>{}<ept i="1">&lt;/b&gt;</ept> <hi>{}</hi><ph>&lt;br/&gt;</ph>'


def generate(path: Path, n_bytes: int, seed: int) -> int:
    """Write a TMX file of at least `n_bytes` with random words; return its number of units."""
    rng = random.Random(seed)
    words = [
        "".join(rng.choices("abdefgiklmnoprstuäöü", k=rng.randint(2, 9))) for _ in range(N_WORDS)
    ]

    def segment(number: int) -> str:
        text = " ".join(rng.choices(words, k=rng.randint(1, 2 * MEAN_LENGTH - 1)))
        return text if number % EVERY_MARKED else MARKED.format(text, rng.choice(words))

    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(HEADER)
        for number in count(1):
            file.write(UNIT.format(number=number, src=segment(number), tgt=segment(number)))
            if number % 1000 == 0 and file.tell() >= n_bytes:
                break
        file.write("  </body>\n</tmx>\n")
    return number


def measure(path: Path) -> dict[str, Any]:
    """Read the pairs of a file; called in its own process."""
    from yakusu.data.corpus import Corpus, read_pairs

    before = int(memory.mib(memory.PEAK))
    pairs = read_pairs(Corpus(pairs=str(path), src_column="en", tgt_column="de"))
    start, cpu = time.perf_counter(), time.process_time()
    n_pairs = sum(1 for _ in pairs)
    return {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "pairs_read": n_pairs,
        "peak_mib": int(memory.mib(memory.PEAK)),
        "before_mib": before,
    }


def main(args: argparse.Namespace) -> None:
    """Generate and read a file of each size."""
    for megabytes in args.megabytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "memory.tmx"
            n_units = generate(path, megabytes * 10**6, args.seed)
            with Worker(measure, threads=1) as run:
                found = run(path)
            n_bytes = path.stat().st_size
        assert found["pairs_read"] == n_units
        result = {
            "name": f"{megabytes} MB",
            "megabytes": round(n_bytes / 1e6, 1),
            "pairs_read": n_units,
            "seconds": round(found["seconds"], 2),
            "cpu_seconds": round(found["cpu_seconds"], 2),
            "pairs_per_second": round(n_units / found["seconds"]),
            "pairs_per_cpu_second": round(n_units / found["cpu_seconds"]),
            "peak_mib": found["peak_mib"],
            "before_mib": found["before_mib"],
        }
        for key, value in result.items():
            print(f"{key:24}{value}")
        benchmark.record(result, seed=args.seed)


if __name__ == "__main__":
    benchmark.run(main)
