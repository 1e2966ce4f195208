"""Exchange models with other libraries, which compute the same scores and translations.

Exports: Transformers with random weights are written in each format. The library of the format
scores and translates sentences with the written model, and the original does the same in torch.
--model adds trained models.

Imports: Marian models with random weights are imported from each format, and compared with the
library of the original in the same way.
"""

import argparse
from collections.abc import Iterator
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.interop import exports, imports, models
from benchmarks.records import Record
from benchmarks.tables import NONE, FilledTable, fixed, text, times
from yakusu.data.files.text import read_lines
from yakusu.errors import DataError

INSTALL = "pip install -r benchmarks/interop/requirements.txt"
LIBRARIES = ("transformers", "ctranslate2", "onnx", "onnxruntime", "onnxscript")

benchmark = Benchmark(
    "formats",
    __doc__,
    example="python -m benchmarks.interop.formats --model demo=runs/demo-en-ja/model",
    quick={"variants": ["as in the paper"], "originals": ["swish"], "sentences": 4},
)
benchmark.option(
    "--variants", nargs="*", default=list(models.VARIANTS), choices=models.VARIANTS, help="all"
)
benchmark.option(
    "--originals", nargs="*", default=list(imports.NAMES), choices=imports.NAMES, help="all"
)
benchmark.option("--model", nargs="*", default=[], metavar="NAME=PATH", help="trained models")
benchmark.option("--src", type=Path, help="source sentences of --model (default: a phrasebook)")
benchmark.option("--sentences", type=int, default=100, help="%(default)s; at most 200")


_COMPARED = (
    ("Model", "{model}"),
    ("Largest difference", "{difference:.1e}"),
    ("Identical, greedy", "{greedy.identical} of {sentences}"),
    ("Identical, beam 4", "{beam.identical} of {sentences}"),
)
_EXPORTED = (
    ("Model folder, kB", times("model_bytes", 1e-3)),
    ("Written, kB", times("bytes", 1e-3)),
    (
        "Same tensors after import",
        lambda row: f"{row['tensors'][0]} of {row['tensors'][1]}" if row["tensors"] else NONE,
    ),
)
_IMPORTED = (("Original, kB", times("bytes", 1e-3)),)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """One table for each format of exports, and one for each format of imports."""
    for record in records:
        exported = record["name"] == "exports"
        seconds = f"Seconds, at a load of {fixed(record.load_before, 1)}"
        columns = (*_COMPARED, *(_EXPORTED if exported else _IMPORTED), (seconds, "{seconds:,.1f}"))
        for name in dict.fromkeys(row["format"] for row in record["rows"]):
            rows = [
                [row["model"], refusal(row), *[NONE] * (len(columns) - 2)]
                if "refused" in row
                else [text(cell, row) for _, cell in columns]
                for row in record["rows"]
                if row["format"] == name
            ]
            title = f"{'Export to' if exported else 'Import from'} {name}"
            yield FilledTable([heading for heading, _ in columns], rows, [record], title)


def refusal(row: dict[str, Any]) -> str:
    """What the format does not support, or the error, without what to do instead."""
    reason: str = row["refused"].partition(": ")[0]
    kind = "not supported" if reason.startswith("the format") else "error"
    return f"{kind}: {reason}"


def export_rows(args: argparse.Namespace, libraries: list[str]) -> list[dict[str, Any]]:
    """Export each model in each format whose library is installed."""
    rows, generated = [], models.sentences(args.sentences)
    lines = list(islice(read_lines(args.src), args.sentences)) if args.src else generated
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        written = [(name, models.write_model(name, folder / name)) for name in args.variants]
        found = [(name, path, generated) for name, path in written]
        for name, path, texts in found + [(*named(each), lines) for each in args.model]:
            for form, library in exports.LIBRARIES.items():
                if library in libraries:
                    rows.append(exports.export_row(name, path, form, folder / "out", texts))
                    print(described(rows[-1]), flush=True)
    return rows


def import_rows(args: argparse.Namespace, libraries: list[str]) -> list[dict[str, Any]]:
    """Import each original from each format whose libraries are installed."""
    rows = []
    forms = [form for form, needed in imports.LIBRARIES.items() if {*needed} <= {*libraries}]
    for name in args.originals if forms else ():
        with TemporaryDirectory() as temporary:
            for row in imports.import_rows(name, Path(temporary), forms, args.sentences):
                rows.append(row)
                print(described(row), flush=True)
    return rows


def named(word: str) -> tuple[str, Path]:
    """Split NAME=PATH.

    Raises:
        DataError: It has another form.
    """
    name, equals, path = word.partition("=")
    if not (name and equals and path):
        raise DataError(f"--model {word}: give NAME=PATH, as in demo=runs/demo-en-ja/model")
    return name, Path(path)


def described(row: dict[str, Any]) -> str:
    """Return a row as a line of text."""
    name = f"{row['model']:38} {row['format']:18}"
    if "refused" in row:
        return f"{name} {row['refused']}"
    return (
        f"{name} {row['compared']} differ by {row['difference']:.1e}; identical: greedy "
        f"{row['greedy']['identical']}, beam 4 {row['beam']['identical']} of {row['sentences']}; "
        f"{row['bytes']:,} bytes, {row['seconds']:.1f} s"
    )


def main(args: argparse.Namespace) -> None:
    """Export, import, and record both."""
    libraries = benchmark.installed({name: name for name in LIBRARIES}, INSTALL)
    used = {"versions": {name: version(name) for name in libraries}}
    for name, measure in ("exports", export_rows), ("imports", import_rows):
        if rows := measure(args, libraries):
            benchmark.record({"name": name, "rows": rows, **used})


if __name__ == "__main__":
    benchmark.run(main)
