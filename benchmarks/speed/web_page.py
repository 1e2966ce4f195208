"""Speed and size of an exported page in node and in a browser, beside the native engine.

`yakusu export --to web` writes the page as one file and as a folder, whose module translates one
line after the other: in node, and in headless Chromium, and with --hosts in Firefox, too, which
needs the package websocket-client. "Load" is the time from the import of the
module until the model is open, "first" that of the first line; words are those of the source,
memory is the peak of the process that translates. "Equal" counts the lines whose translation is
that of the native engine on one thread. With --no-check, neither compares numbers with those of
the translation, as transformers.js never does. With --peer, transformers.js translates the first
lines with the same weights in float32 and in int8; its float32 translations are compared with
those of the native engine in float32 (`benchmarks.speed.transformers_js`). Its environment:

    python3.11 -m venv PEER
    PEER/bin/pip install -r benchmarks/peers/requirements-transformers-js.txt
    npm install --prefix PEER @huggingface/transformers@4.3.2
"""

import argparse
import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.speed.systems import cpu_flags
from benchmarks.speed.transformers_js import PRECISIONS, SCRIPT, TransformersJs
from benchmarks.speed.web_hosts import HOSTS, gzip_kb
from benchmarks.tables import FilledTable, Table
from yakusu import TextConfig, Translator, export_web
from yakusu.data.files.text import read_lines
from yakusu.engine.config import EngineConfig, Precision

BUILDS = ("relaxed", "simd", "scalar")
# What a host runs; the result has times in milliseconds.
_MEASURE = """async (url, { engine, beam, check, lines }) => {
  const start = performance.now();
  const { load, engineHere } = await import(url);
  if (engine === "relaxed" && engineHere() !== engine) return null;
  const translator = await load(undefined, { engine });
  const times = [performance.now() - start], made = [];
  for (const line of lines) {
    const begin = performance.now();
    const [best] = await translator.translate(line, { beam, check });
    times.push(performance.now() - begin);
    made.push(best.text);
  }
  return { times, made };
}"""

benchmark = Benchmark(
    "web_page",
    __doc__,
    example="python -m benchmarks.speed.web_page --model runs/multi30k/model",
    needs=["data", "model"],
    quick={"sentences": 3, "builds": ["simd"]},
)
benchmark.option("--src", type=Path, help="source sentences (default: multi30k/val.en of --data)")
benchmark.option("--sentences", type=int, default=1000, help="%(default)s")
benchmark.option("--builds", nargs="+", default=list(BUILDS), choices=BUILDS, help="all")
benchmark.option(
    "--hosts", nargs="+", default=["node", "chromium"], choices=list(HOSTS), help="%(default)s"
)
benchmark.option("--no-check", action="store_true", help="do not compare numbers")
benchmark.option("--peer", type=Path, help="environment of transformers.js (default: left out)")
benchmark.option("--peer-sentences", type=int, default=200, help="%(default)s")


_SIZES = Table(
    (
        ("Model", "{name}"),
        ("Page, MB", "{page_mb:.2f}"),
        ("Weights of 8 bits and vocabularies, MB", "{model_mb:.2f}"),
        ("Module, kB gzip", "{module_kb:.0f}"),
        ("Engines, kB gzip", "{engines_kb:.0f}"),
    )
)
_SPEEDS = Table(
    (
        ("Host", "{host}"),
        ("Build", "{build}"),
        ("Beam", "{beam}"),
        ("Load, ms", "{load:,.0f}"),
        ("First, ms", "{first:,.0f}"),
        ("Words per second", "{words:,.0f}"),
        ("Of native", "{share:.2f}"),
        ("Peak MiB", "{peak_mib:,.0f}"),
        ("Equal", "{equal:,} of {sentences:,}"),
    ),
    rows=lambda record: record["rows"],
    title="{name}",
)
_PEER = Table(
    (
        ("Model", "{name}"),
        ("transformers.js", "{peer.version}"),
        ("Library and runtime, MB", "{peer.runtime_mb:.1f}"),
        ("Compressed, MB gzip", "{peer.runtime_gzip_mb:.1f}"),
        ("Model in float32, MB", "{peer.fp32_mb:.2f}"),
        ("In int8, MB", "{peer.q8_mb:.2f}"),
    )
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Sizes of all models, and the speed of each."""
    yield from _SIZES(records)
    if compared := [record for record in records if record.get("peer")]:
        yield from _PEER(compared)
    for record in records:
        yield from _SPEEDS([record])


# ---- measuring -----------------------------------------------------------------------------------


def in_native_engine(
    args: argparse.Namespace, beam: int, lines: Sequence[str], precision: Precision = "auto"
) -> dict[str, Any]:
    """Translate with the native engine on one thread."""
    start = time.perf_counter()
    engine = EngineConfig(engine="native", threads=1, precision=precision)
    text = TextConfig(check=not args.no_check)
    translator = Translator.load(args.model, engine=engine, text=text)
    search = translator.search.model_copy(update={"beam": beam})
    translator = translator.with_settings(search=search)
    times, made = [1e3 * (time.perf_counter() - start)], list[str]()
    for line in lines:
        start = time.perf_counter()
        made += translator.translate([line])
        times.append(1e3 * (time.perf_counter() - start))
    return {"times": times, "made": made, "peak": None}  # this process also exports


@dataclass
class Rows:
    """What hosts did with one beam; times in milliseconds.

    native: What the native engine did.
    """

    lines: Sequence[str]
    beam: int
    native: dict[str, Any]
    made: list[dict[str, Any]] = field(default_factory=list)

    def add(
        self, host: str, build: str, found: dict[str, Any], expected: Sequence[str] | None = None
    ) -> None:
        """Add what a host did with the first lines.

        Args:
            host: The host.
            build: What it runs.
            found: Its times and translations.
            expected: Translations to compare with; None: those of the native engine.
        """
        load, *times = found["times"]
        lines, native = self.lines[: len(times)], self.native["times"][1 : len(times) + 1]
        same = [
            ours == theirs
            for ours, theirs in zip(expected or self.native["made"], found["made"], strict=False)
        ]
        row = {
            **{"host": host, "build": build, "beam": self.beam, "load": load, "first": times[0]},
            "words": 1e3 * sum(len(line.split()) for line in lines) / sum(times),
            "share": sum(native) / sum(times),
            **{"peak_mib": found["peak"], "sentences": len(lines), "equal": sum(same)},
        }
        self.made.append(row)
        print(json.dumps(row), flush=True)
        for line, equal in zip(lines, same, strict=True):
            if not equal:
                print(f"differs: {line}")


def page_rows(args: argparse.Namespace, module: Path, lines: Sequence[str], beam: int) -> Rows:
    """What each host does with each build."""
    rows = Rows(lines, beam, in_native_engine(args, beam, lines))
    rows.add("native, 1 thread", "", rows.native)
    for host in args.hosts:
        for build in args.builds:
            given = {"engine": build, "beam": beam, "check": not args.no_check, "lines": lines}
            if found := HOSTS[host](_MEASURE, module, given):
                rows.add(host, build, found)
    return rows


def add_peer(args: argparse.Namespace, peer: TransformersJs, rows: Rows) -> None:
    """Add what transformers.js does in each host in each precision."""
    lines = rows.lines[: args.peer_sentences]
    exact = in_native_engine(args, rows.beam, lines, "float32")["made"]
    for host in args.hosts:
        for precision in PRECISIONS:
            given = {**peer.given(host, precision), "lines": lines}
            if found := HOSTS[host](SCRIPT, peer.module(host), given):
                expected = exact if precision == "fp32" else None
                rows.add(f"transformers.js, {host}", precision, found, expected)


def measure(args: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """Sizes of the page, and what each host does with each build."""
    exported = export_web(args.model, scratch / "page.html")
    module = scratch / "module"
    sizes = export_web(args.model, module).sizes
    folder = args.model.parent if args.model.name == "model" else args.model
    path = args.src or args.data / "multi30k" / "val.en"
    lines = list(islice(filter(str.strip, read_lines(path)), args.sentences))
    greedy = page_rows(args, module / "yakusu.js", lines, 1)
    found: dict[str, Any] = {"rows": greedy.made}
    if args.peer:
        peer = TransformersJs.of(args.model, args.peer, scratch / "peer")
        add_peer(args, peer, greedy)
        found["peer"] = peer.sizes()
    if (beam := Translator.load(args.model).search.beam) > 1:
        found["rows"] += page_rows(args, module / "yakusu.js", lines, beam).made
    return {
        "name": f"{folder.name}, {path.name}" + ", numbers not compared" * args.no_check,
        "page_mb": exported.sizes["page.html"] / 1e6,
        "model_mb": exported.models[0].size / 1e6,
        "module_kb": gzip_kb([module / "yakusu.js"]),
        "engines_kb": gzip_kb([module / name for name in sizes if name.endswith(".wasm")]),
        **found,
        "node": subprocess.check_output(["node", "--version"], text=True).strip(),
        "cpu flags": cpu_flags(),
    }


def main(args: argparse.Namespace) -> None:
    """Measure, print and record."""
    with TemporaryDirectory() as folder:
        measured = measure(args, Path(folder))
    benchmark.record(measured)


if __name__ == "__main__":
    benchmark.run(main)
