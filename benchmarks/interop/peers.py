"""Run the tests that need another library, each in an environment with this library.

The environments are in .peers/, and are used again until their requirements change. The exit status
is 1 if a test fails, if none runs, or if an environment cannot be installed; the others still run.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.interop.environments import ROOT, environment, pinned
from benchmarks.records import Record
from benchmarks.tables import Table, fixed
from yakusu.errors import RunError

_CTRANSLATE2 = ("export/test_ctranslate2_export.py", "export/test_ctranslate2_import.py")
_HF = ("export/test_hf_export.py", "export/test_hf_import.py")
_VECTORS = ("vectors/test_exports.py", "vectors/test_formats.py", "vectors/test_keyed.py")
TESTS = {  # of each peer, in tests
    "transformers-4": _HF,
    "transformers-5": _HF,
    "ctranslate2": _CTRANSLATE2,
    "onnx": ("export/test_onnx.py",),
    "argos": ("export/test_argos.py",),
    "marian": ("export/test_marian_import.py",),
    "gensim": _VECTORS,
    "weblate": ("serve/test_weblate.py",),
    "firefox": ("export/web/test_firefox.py",),
    "model2vec": ("vectors/test_static.py",),
    "rivals": ("benchmarks/test_rivals.py",),
}
VERSIONS = """
import json, platform, sys
from importlib.metadata import version
print(json.dumps({"python": platform.python_version(), **{n: version(n) for n in sys.argv[1:]}}))
"""

benchmark = Benchmark(
    "peers", __doc__, example="python -m benchmarks.interop.peers --peers transformers-4"
)
benchmark.option("--peers", nargs="+", default=list(TESTS), choices=TESTS, help="all")


def _libraries(record: Record) -> str:
    if error := record.get("error"):
        return f"error: {error}"
    return ", ".join(f"{name} {version}" for name, version in record["versions"].items())


tables = Table(
    (
        ("Environment", "{name}"),
        ("Libraries", _libraries),
        ("Passed", "{passed}"),
        ("Skipped", "{skipped}"),
        ("Failed", "{failed}"),
        ("Seconds", "{seconds:,.0f}"),
        ("Load", lambda record: fixed(record.load_before, 1)),
    )
)


def counts(report: str) -> dict[str, int]:
    """Return how many tests passed, were skipped, and failed, from a report in JUnit's format."""
    suites = list(ElementTree.fromstring(report).iter("testsuite"))

    def total(*names: str) -> int:
        return sum(int(suite.get(name, 0)) for suite in suites for name in names)

    skipped, failed = total("skipped"), total("failures", "errors")
    return {"passed": total("tests") - skipped - failed, "skipped": skipped, "failed": failed}


def test(python: Path, files: tuple[str, ...]) -> dict[str, Any]:
    """Run tests in an environment; return their counts and seconds.

    Raises:
        RunError: pytest could not run them, or no test ran.
    """
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        words = ["-q", "-p", "no:cacheprovider", f"--basetemp={folder}/pytest"]
        paths = [f"tests/{file}" for file in files]
        settings = {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
        start = time.perf_counter()
        done = subprocess.run(
            [python, "-m", "pytest", *words, f"--junitxml={report}", *paths],
            cwd=ROOT,
            env={**os.environ, **settings},
        )
        seconds = time.perf_counter() - start
        found = counts(report.read_text(encoding="utf-8")) if report.exists() else {}
    if not found.get("passed") and not found.get("failed"):
        raise RunError(f"no test ran: pytest ended with exit code {done.returncode}")
    return {**found, "seconds": seconds}


def versions(python: Path, names: list[str]) -> dict[str, str]:
    """Return the versions of Python and of packages in an environment."""
    command = [python, "-c", VERSIONS, *names]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def result(peer: str) -> dict[str, Any]:
    """Test with a peer; the result has `error` if there are no counts."""
    try:
        python = environment(peer)
        return {**test(python, TESTS[peer]), "versions": versions(python, ["torch", *pinned(peer)])}
    except RunError as error:
        return {"error": str(error)}


def described(peer: str, found: dict[str, Any]) -> str:
    """Return a result as a line of text."""
    if "error" in found:
        return f"{peer}: {found['error']}"
    libraries = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    numbers = ", ".join(f"{found[name]} {name}" for name in ("passed", "skipped", "failed"))
    return f"{peer}: {numbers} in {found['seconds']:.0f} s ({libraries})"


def main(args: argparse.Namespace) -> None:
    """Test with all peers and record each result; --quick runs one file in this environment."""
    if args.quick:
        print(test(Path(sys.executable), ("export/test_marian.py",)))
        return
    results = {}
    for peer in args.peers:
        print(f"== {peer}", flush=True)
        results[peer] = result(peer)
        benchmark.record({"name": peer, **results[peer]})
    print(*(described(*each) for each in results.items()), sep="\n")
    if any("error" in found or found["failed"] for found in results.values()):
        sys.exit(1)


if __name__ == "__main__":
    benchmark.run(main)
