"""How often the rules of code-like tokens fire on ordinary text, by language and rule.

The lines are drawn with a seed from each file of text of the corpora. A line counts once for each
rule that finds something in it. Corpora of news, talks and user interfaces contain addresses, names
of files and entities, so a line in which a rule fires need not be a mistake. All tokens of the
sample except addresses and entities were read (--show prints them), and PROSE lists those that are
prose: mostly words without the space between them.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.tables import Table
from yakusu.data.lines.code import CODE_HINT, code_pattern

LANGUAGES = ("en", "de", "fr", "ja", "ko")
PROSE = frozenset(
    [
        "avecWillard",
        "denMittelpunkt",
        "dieForces",
        "dieLeitmeritz",
        "dieWerkstatt",
        "einemAbschluss",
        "seinMandat",
        "theForces",
        "--wie",
        "[S]",
    ]
)

benchmark = Benchmark(
    "code_tokens",
    __doc__,
    example="python -m benchmarks.reliability.code_tokens",
    needs=["data"],
    quick={"lines": 100},
)
benchmark.option("--lines", type=int, default=5000, help="of each file (%(default)s)")
benchmark.option("--seed", type=int, default=1, help="of the sample (%(default)s)")
benchmark.option("--show", action="store_true", help="print each token and its surroundings")


def _rows(record: Record) -> Iterator[dict[str, Any]]:
    """The lines of every language, and those in which each rule fires."""
    languages = record["languages"]
    for name, key in (("all lines", "lines"), ("of these, with a token", "with_token")):
        yield {"rule": name, **{language: each[key] for language, each in languages.items()}}
    yield {"rule": "of these, prose", **{name: each["prose"] for name, each in languages.items()}}
    rules = {rule for each in languages.values() for rule in each["rules"]}
    for rule in sorted(rules):
        yield {
            "rule": rule,
            **{name: each["rules"].get(rule, 0) for name, each in languages.items()},
        }


tables = Table(
    (("Rule", "{rule}"), *((language, f"{{{language}:,}}") for language in LANGUAGES)),
    rows=_rows,
)


def sample(path: Path, n: int, seed: int) -> list[str]:
    """Draw lines of a file."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return random.Random(seed).sample(lines, min(n, len(lines)))


def counted(lines: list[str], *, show: bool = False) -> dict[str, Any]:
    """Count the lines in which each rule fires."""
    rules, with_token, prose = Counter[str](), 0, 0
    for line in lines:
        found = list(code_pattern().finditer(line)) if CODE_HINT.search(line) else []
        rules.update({match.lastgroup or "" for match in found})
        with_token += bool(found)
        # No text of the sample has code between backticks: they are quotation marks.
        prose += any(match[0] in PROSE or match.lastgroup == "code" for match in found)
        for match in found if show else ():
            around = line[max(0, match.start() - 30) : match.end() + 30]
            print(f"{match.lastgroup}\t{match[0]}\t{around}")
    return {
        "lines": len(lines),
        "with_token": with_token,
        "prose": prose,
        "rules": dict(sorted(rules.items())),
    }


def main(args: argparse.Namespace) -> None:
    """Count for each language."""
    found = {}
    for language in LANGUAGES:
        paths = sorted(args.data.rglob(f"*.{language}"))
        lines = [line for path in paths for line in sample(path, args.lines, args.seed)]
        found[language] = counted(lines, show=args.show)
        print(language, found[language])
    benchmark.record({"languages": found, "lines_per_file": args.lines}, seed=args.seed)


if __name__ == "__main__":
    benchmark.run(main)
