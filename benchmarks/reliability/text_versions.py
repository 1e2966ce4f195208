"""Lines that a new version of the text rules changes, by kind, and BLEU before and after.

A model of an earlier yakusu translates the hard lines and a test set three times: with the checkout
of that time (--before, whose CPU engine must be compiled), and with versions 1 and 2 of the text
rules. The model is the same, so every difference is one of reading or writing text. A changed line
has one kind, the first that applies to its source:

    capitals    it is in capitals
    tokens      version 2 has rules that find code-like tokens in it
    characters  it has characters that the vocabulary replaces or removes
    tags        it has tags of pairs, which are placed in another way in both versions
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yakusu
from benchmarks.bleu import ParallelLines, Scorer
from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.reliability.hard_lines import Model, read
from benchmarks.tables import Table, score_of, text
from yakusu.data.lines.casing import in_capitals
from yakusu.data.lines.config import TextConfig
from yakusu.data.tokenizer import Tokenizer

VERSIONS = (1, 2)
KINDS = ("capitals", "tokens", "characters", "tags", "other")
HARD, TEST = "hard lines", "test set"

benchmark = Benchmark(
    "text_versions",
    __doc__,
    example="python -m benchmarks.reliability.text_versions --model demo=runs/demo-en-de/model "
    "--src runs/phrasebook-en-de/test.en --ref runs/phrasebook-en-de/test.de "
    "--before ../yakusu-before",
)
benchmark.option("--model", type=Model.parse, required=True, metavar="NAME=FOLDER")
benchmark.option("--src", type=Path, required=True, help="source sentences")
benchmark.option("--ref", type=Path, required=True, help="their translations")
benchmark.option("--before", type=Path, required=True, help="the checkout of an earlier version")
benchmark.option("--show", action="store_true", help="print the lines that change")

_SIDE = """
import json, sys
import yakusu

translator = yakusu.Translator.load(sys.argv[1])
print(json.dumps(translator.translate(json.load(sys.stdin))))
"""


def _rows(record: Record) -> Iterator[dict[str, Any]]:
    for name, found in record["sets"].items():
        for version in VERSIONS:
            kinds = found["changed"][str(version)]
            yield {
                "set": f"{record['name']}, {name}",
                "version": version,
                "lines": found["lines"],
                "changed": sum(kinds.values()),
                **{kind: kinds.get(kind, 0) for kind in KINDS},
                "scores": found.get("scores", {}),
            }


tables = Table(
    (
        ("Lines", "{set}"),
        ("Version", "{version}"),
        ("Number", "{lines:,}"),
        ("Changed", "{changed}"),
        *((kind, f"{{{kind}}}") for kind in KINDS),
        ("BLEU before", score_of("scores.before")),
        ("BLEU", lambda row: text(score_of(f"scores.{row['version']}"), row)),
    ),
    rows=_rows,
)


def translated_before(checkout: Path, model: Path, lines: list[str]) -> list[str]:
    """The translations of an earlier version."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    command = [sys.executable, "-c", _SIDE, str(model.resolve())]
    found = subprocess.run(
        command,
        input=json.dumps(lines),
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    translations: list[str] = json.loads(found.stdout)
    return translations


def kind_of(line: str, tokenizer: Tokenizer) -> str:
    """Why the translation of a line may change."""
    before, after = (TextConfig(version=version).span_finder().find(line) for version in VERSIONS)
    if in_capitals(line):
        return "capitals"
    if before != after:
        return "tokens"
    if any(tokenizer.covers(each) != tokenizer.covers_normalized(each) for each in line):
        return "characters"
    return "tags" if any(span.kind != "whole" for span in after) else "other"


def compared(args: argparse.Namespace, lines: list[str], scorer: Scorer | None) -> dict[str, Any]:
    """Translate lines with each version, and count those that change."""
    folder = args.model.folder
    before = translated_before(args.before, folder, lines)
    translator, tokenizer = yakusu.Translator.load(folder), Tokenizer.load(folder)
    changed: dict[str, dict[str, int]] = {}
    scores = {"before": str(scorer.score(before))} if scorer else {}
    for version in VERSIONS:
        own = translator.with_settings(text=TextConfig(version=version)).translate(lines)
        kinds = Counter[str]()
        for line, old, new in zip(lines, before, own, strict=True):
            if old != new:
                kinds[kind_of(line, tokenizer)] += 1
                if args.show:
                    print(f"version {version}: {line!r}\n  {old!r}\n  {new!r}")
        changed[str(version)] = dict(kinds)
        if scorer:
            scores[str(version)] = str(scorer.score(own))
    return {"lines": len(lines), "changed": changed, **({"scores": scores} if scorer else {})}


def main(args: argparse.Namespace) -> None:
    """Compare on the hard lines and on the test set."""
    pairs = ParallelLines.read(args.src, args.ref)
    language = yakusu.Translator.load(args.model.folder).languages[1]
    scorer = Scorer(pairs.ref, lowercase=False, language=language or None)
    sets = {
        HARD: compared(args, [line.text for line in read()], None),
        TEST: compared(args, pairs.src, scorer),
    }
    for name, found in sets.items():
        print(f"{args.model.name}, {name}: {found}")
    benchmark.record({"name": args.model.name, "sets": sets})


if __name__ == "__main__":
    benchmark.run(main)
