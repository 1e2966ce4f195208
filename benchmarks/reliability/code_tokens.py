"""How often the rules of code-like tokens fire on ordinary text, by language and rule.

All lines of the corpora are read. A line counts once for each rule that finds something in it.
Corpora of news, talks and user interfaces contain addresses, names of files and entities, so a line
in which a rule fires need not be a mistake. code_tokens_judged.json says which are: for each
language it lists every token of up to 300 lines in which a rule fires, judged by reading the line,
as [line, position, rule, verdict]. These are all lines in which a rule other than "entity" fires,
and then lines drawn with a seed. It also lists 2,000 drawn lines in which no rule fires, and the
tokens that are missed there. --show prints the tokens that have no verdict.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.tables import Table
from yakusu.data.lines.code import CODE_HINT, code_pattern

LANGUAGES = ("en", "de", "fr", "ja", "ko")
JUDGED = Path(__file__).with_name("code_tokens_judged.json")
Hit = tuple[int, int, str]  # line, position, rule

benchmark = Benchmark(
    "code_tokens",
    __doc__,
    example="python -m benchmarks.reliability.code_tokens",
    needs=["data"],
)
benchmark.option("--show", action="store_true", help="print the tokens that have no verdict")


def _rows(record: Record) -> Iterator[dict[str, Any]]:
    """What was counted and judged in every language, and the lines in which each rule fires."""
    languages = record["languages"]
    for name, key in (
        ("all lines", "lines"),
        ("of these, with a token", "with_token"),
        ("of these, judged", "judged"),
        ("of these, with a token that is prose", "prose"),
        ("read lines without a token", "read"),
        ("of these, with a missed token", "missed"),
    ):
        yield {"rule": name, **{language: each[key] for language, each in languages.items()}}
    rules = {rule for each in languages.values() for rule in each["rules"]}
    for rule in sorted(rules):
        yield {
            "rule": f"`{rule}`",
            **{name: each["rules"].get(rule, 0) for name, each in languages.items()},
        }


tables = Table(
    (
        ("", "{rule}"),
        *((language, f"{{{language}:,}}") for language in LANGUAGES),
        ("all", lambda row: f"{sum(row[language] for language in LANGUAGES):,}"),
    ),
    rows=_rows,
)


def corpora(data: Path, language: str) -> Iterator[tuple[str, list[str]]]:
    """The files with text in a language, and their lines, the first of which is line 1."""
    for path in sorted(data.rglob(f"*.{language}")):
        yield path.relative_to(data).as_posix(), path.read_text(encoding="utf-8").split("\n")[:-1]
    for path in sorted((data / "bible").glob("*.tsv")):
        rows = [row.split("\t") for row in path.read_text(encoding="utf-8").split("\n") if row]
        column = rows[0].index(language)
        yield path.relative_to(data).as_posix(), [row[column] for row in rows]


def hits(lines: list[str]) -> Iterator[Hit]:
    """The tokens that the rules find."""
    for number, line in enumerate(lines, start=1):
        for match in code_pattern().finditer(line) if CODE_HINT.search(line) else ():
            yield number, match.start(), match.lastgroup or ""


def counted(data: Path, language: str, judged: dict[str, Any], *, show: bool) -> dict[str, Any]:
    """Count the lines of a language, those in which each rule fires, and those with a verdict."""
    totals, rules = Counter[str](), Counter[str]()
    for name, lines in corpora(data, language):
        verdicts = {tuple(own): verdict for *own, verdict in judged["fires"].get(name, ())}
        found = list(hits(lines))
        rules.update(rule for _, rule in {(line, rule) for line, _, rule in found})
        totals["lines"] += len(lines)
        totals["with_token"] += len({line for line, *_ in found})
        totals["judged"] += len({hit[0] for hit in found if hit in verdicts})
        totals["prose"] += len({hit[0] for hit in found if verdicts.get(hit) == "prose"})
        for line, start, rule in found if show else ():
            if rule != "entity" and (line, start, rule) not in verdicts:
                print(f"{name}:{line}\t{rule}\t{lines[line - 1][max(0, start - 20) : start + 60]}")
    return {
        **totals,
        "read": sum(map(len, judged["silent"].values())),
        "missed": len({(name, line) for name, line, _ in judged["missed"]}),
        "rules": dict(sorted(rules.items())),
    }


def main(args: argparse.Namespace) -> None:
    """Count for each language."""
    judged, found = json.loads(JUDGED.read_text(encoding="utf-8")), {}
    for language in LANGUAGES:
        found[language] = counted(args.data, language, judged[language], show=args.show)
        print(language, found[language], flush=True)
    benchmark.record({"languages": found})


if __name__ == "__main__":
    benchmark.run(main)
