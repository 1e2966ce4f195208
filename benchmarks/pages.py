"""Write the tables of one page per folder, FOLDER/README.md, from the records in results/.

    python -m benchmarks.pages

The text of a page is written by hand. Its tables stand between two comments, the first of which
names the script that declares them; only this part is replaced. A table shows the newest record of
each measurement; the files keep all records.
"""

import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.records import Record, read
from benchmarks.tables import FilledTable
from yakusu.folder import write_text

HERE = Path(__file__).parent
FOLDERS = ("paper", "compression", "speed", "reliability", "interop")
BLOCK = re.compile(r"(<!-- (benchmarks\.[\w.]+) -->).*?(<!-- end -->)", re.DOTALL)


def write(script: str | None = None) -> None:
    """Write the tables of a script, such as benchmarks.speed.tmx, or of all scripts."""
    for folder in FOLDERS:
        path = HERE / folder / "README.md"
        page = path.read_text(encoding="utf-8")
        if (written := renewed(page, script)) != page:
            write_text(path, written)


def renewed(page: str, script: str | None = None) -> str:
    """Return a page with new tables of a script, or of all scripts."""

    def renew(block: re.Match[str]) -> str:
        start, name, end = block.groups()
        return block[0] if script and script != name else f"{start}\n\n{markdown(name)}\n\n{end}"

    return BLOCK.sub(renew, page)


def tables(script: str) -> list[FilledTable]:
    """Return the tables of a script; without records, there are none."""
    module = import_module(script)
    records = read(module.benchmark.name)
    return list(module.tables(records)) if records else []


def markdown(script: str) -> str:
    """Return the tables of a script in Markdown, each group with its conditions of measurement."""
    parts: list[str] = []
    for table in tables(script):
        stated = circumstances(table.records)
        if parts and parts[-1] == stated:
            parts.pop()  # it is repeated below
        parts += [f"### {table.title}"] if table.title else []
        parts += [_rows(table), stated]
    return "\n\n".join(parts) or "No records yet."


def _rows(table: FilledTable) -> str:
    lines = [table.head, ["---"] * len(table.head), *table.rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def circumstances(records: Sequence[Record]) -> str:
    """Return one line: machine, torch, load, commits, dates, and the signatures of scores."""
    machines = {str(record.machine) for record in records}
    versions = ", ".join(sorted({record.torch for record in records}))
    threads = ", ".join(sorted({str(record.machine.threads) for record in records}))
    loads = [record.load_before for record in records if record.load_before is not None]
    signatures = {found for r in records for found in _signatures(r.model_extra)}
    parts = ["; ".join(sorted(machines)), f"torch {versions} (threads: {threads})"]
    if loads:
        parts.append(f"load average at the start: {_span(f'{load:.1f}' for load in sorted(loads))}")
    parts.append(f"commit {', '.join(sorted({record.commit for record in records}))}")
    parts.append(_span(sorted({f"{record.date:%Y-%m-%d}" for record in records})))
    parts += [f"{name} signature `{signature}`" for name, signature in sorted(signatures)]
    return f"<small>{'; '.join(parts)}</small>"


def _span(values: Iterable[str]) -> str:
    """Return the first and the last of sorted values, or the only one."""
    found = list(values)
    return " to ".join(dict.fromkeys((found[0], found[-1])))


_SIGNATURE = re.compile(r"(BLEU|chrF2|TER|F1) = -?[\d.]+ \(([^)]+:[^)]+)\)")


def _signatures(value: Any) -> Iterable[tuple[str, str]]:
    match value:
        case str():
            yield from _SIGNATURE.findall(value)
        case dict():
            yield from _signatures(list(value.values()))
        case list():
            for each in value:
                yield from _signatures(each)


if __name__ == "__main__":
    write()
