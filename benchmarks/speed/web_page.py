"""Speed and size of an exported page in node and in a browser, beside the native engine.

`yakusu export --to web` writes the page as one file and as a folder, whose module translates one
line after the other: in node, and in headless Chromium. "Load" is the time from the import of the
module until the model is open, "first" that of the first line; words are those of the source,
memory is the peak of the process that translates. "Equal" counts the lines whose translation is
that of the native engine on one thread.
"""

import argparse
import gzip
import json
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import memory
from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.speed.systems import cpu_flags
from benchmarks.tables import FilledTable, Table
from yakusu import Translator, export_web
from yakusu.data.files.text import read_lines
from yakusu.engine.config import EngineConfig
from yakusu.errors import RunError
from yakusu.search.config import SearchConfig

BUILDS = ("relaxed", "simd", "scalar")
HOSTS = ("node", "chromium")
# What a host runs; the result has times in milliseconds.
_MEASURE = """async (url, { engine, beam, lines }) => {
  const start = performance.now();
  const { load, engineHere } = await import(url);
  if (engine === "relaxed" && engineHere() !== engine) return null;
  const translator = await load(undefined, { engine });
  const times = [performance.now() - start], made = [];
  for (const line of lines) {
    const begin = performance.now();
    const [best] = await translator.translate(line, { beam });
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
benchmark.option("--hosts", nargs="+", default=list(HOSTS), choices=HOSTS, help="all")


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
        ("Peak MiB", "{peak_mib:,.0f}"),
        ("Equal", "{equal:,} of {sentences:,}"),
    ),
    rows=lambda record: record["rows"],
    title="{name}",
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Sizes of all models, and the speed of each."""
    yield from _SIZES(records)
    for record in records:
        yield from _SPEEDS([record])


# ---- hosts ---------------------------------------------------------------------------------------


def in_node(module: Path, given: dict[str, Any]) -> dict[str, Any] | None:
    """Translate in a process of node; None: it does not run this build.

    Raises:
        RunError: It fails.
    """
    script = (
        'import { readFileSync } from "node:fs";\n'
        'const given = JSON.parse(readFileSync(0, "utf8"));\n'
        f"const found = await ({_MEASURE})({json.dumps((module / 'yakusu.js').as_uri())}, given);\n"
        'const status = readFileSync("/proc/self/status", "utf8");\n'
        "const peak = status.match(/VmHWM:\\s+(\\d+)/)[1] / 1024;\n"
        "console.log(JSON.stringify(found && { ...found, peak }));"
    )
    command = ["node", "--no-warnings", "--input-type=module", "--eval", script]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True)
    if done.returncode:
        raise RunError(f"node failed: {done.stderr[-500:].strip()}")
    found: dict[str, Any] | None = json.loads(done.stdout)
    return found


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def in_chromium(module: Path, given: dict[str, Any]) -> dict[str, Any] | None:
    """Translate in a headless browser, which has cached nothing."""
    from playwright.sync_api import sync_playwright

    handler = partial(_Quiet, directory=str(module))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(service_workers="block")
        page.set_default_timeout(0)
        page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
        script = f"(given) => ({_MEASURE})('./yakusu.js', given)"
        found: dict[str, Any] | None = page.evaluate(script, given)
        session = browser.new_browser_cdp_session()
        processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
        renderers = [each["id"] for each in processes if each["type"] == "renderer"]
        if found:
            found["peak"] = max(memory.mib(memory.PEAK, number) for number in renderers)
        browser.close()
        server.shutdown()
    return found


def in_native_engine(model: Path, given: dict[str, Any]) -> dict[str, Any]:
    """Translate with the native engine on one thread."""
    start = time.perf_counter()
    translator = Translator.load(model, engine=EngineConfig(engine="native", threads=1))
    translator = translator.with_settings(search=SearchConfig(**_search(translator, given["beam"])))
    times, made = [1e3 * (time.perf_counter() - start)], list[str]()
    for line in given["lines"]:
        start = time.perf_counter()
        made += translator.translate([line])
        times.append(1e3 * (time.perf_counter() - start))
    return {"times": times, "made": made, "peak": None}  # this process also exports


def _search(translator: Translator, beam: int) -> dict[str, Any]:
    settings: dict[str, Any] = translator.search.model_dump()
    return settings | {"beam": beam}


# ---- measuring -----------------------------------------------------------------------------------


def row(
    host: str, build: str, beam: int, found: dict[str, Any], lines: Sequence[str]
) -> dict[str, Any]:
    """What a host did; times in milliseconds."""
    load, *times = found["times"]
    n_words = sum(len(line.split()) for line in lines)
    return {
        "host": host,
        "build": build,
        "beam": beam,
        "load": load,
        "first": times[0],
        "words": 1e3 * n_words / sum(times),
        "peak_mib": found["peak"],
        "sentences": len(lines),
    }


def measure(args: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """Sizes of the page, and what each host does with each build."""
    exported = export_web(args.model, scratch / "page.html")
    module = scratch / "module"
    sizes = export_web(args.model, module).sizes
    folder = args.model.parent if args.model.name == "model" else args.model
    path = args.src or args.data / "multi30k" / "val.en"
    lines = list(islice(filter(str.strip, read_lines(path)), args.sentences))
    rows = list[dict[str, Any]]()
    beams = {1, Translator.load(args.model).search.beam}
    for beam in sorted(beams):
        given = {"beam": beam, "lines": lines}
        native = in_native_engine(args.model, given)
        rows.append(row("native, 1 thread", "", beam, native, lines) | {"equal": len(lines)})
        for host in args.hosts:
            run = {"node": in_node, "chromium": in_chromium}[host]
            for build in args.builds:
                if (found := run(module, {**given, "engine": build})) is None:
                    continue
                equal = sum(a == b for a, b in zip(native["made"], found["made"], strict=True))
                rows.append(row(host, build, beam, found, lines) | {"equal": equal})
                print(json.dumps(rows[-1]), flush=True)
    return {
        "name": f"{folder.name}, {path.name}",
        "page_mb": exported.sizes["page.html"] / 1e6,
        "model_mb": exported.models[0].size / 1e6,
        "module_kb": gzip_kb([module / "yakusu.js"]),
        "engines_kb": gzip_kb([module / name for name in sizes if name.endswith(".wasm")]),
        "rows": rows,
        "node": subprocess.check_output(["node", "--version"], text=True).strip(),
        "cpu flags": cpu_flags(),
    }


def gzip_kb(files: Sequence[Path]) -> float:
    """The size of files, each compressed."""
    return sum(len(gzip.compress(path.read_bytes(), 9)) for path in files) / 1e3


def main(args: argparse.Namespace) -> None:
    """Measure, print and record."""
    with TemporaryDirectory() as folder:
        measured = measure(args, Path(folder))
    benchmark.record(measured)


if __name__ == "__main__":
    benchmark.run(main)
