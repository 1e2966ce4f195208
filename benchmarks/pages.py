"""Make the table of results in benchmarks/README.md from benchmarks/results/*.json.

The newest record of each thing measured is shown; the files keep them all.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BEGIN, END = "<!-- results: made by table.py -->", "<!-- end of results -->"
Record = dict[str, Any]


def rows_of(record: Record, name: str) -> Iterator[list[str]]:
    """The cells that say what a record measured: what, value, against what, wanted."""
    for side, facts in record.get("sides", {}).items():
        speed = f"{facts['tokens_per_second']:,.0f} target tokens/s"
        if "padding" in facts:
            speed += f", {facts['padding']:.0%} padding"
        gain = facts.get("ratio")
        ours = f"{gain['value']:.2f} ({gain['low']:.2f} to {gain['high']:.2f})" if gain else ""
        yield [f"{name}, {record['size']}: {side}", speed, ours, str(facts.get("target") or "")]
    if "peak_mib" in record:
        what = f"{name}: {record['pairs']:,} pairs, {' '.join(record['overrides'])}"
        workers = max(record["peak_mib_of_workers"], default=0)
        peak = f"peak {record['peak_mib']:,} MiB, {workers:,} MiB a worker"
        yield [what, f"{peak}; {record['pairs_per_second']:,} pairs/s", "", ""]
    if "sides" not in record and "peak_mib" not in record:
        known = ("score", "signature", "paper", "seconds", "not_reproduced_because")
        facts = ", ".join(f"{key} {record[key]}" for key in known if key in record)
        within = f", {record['budget']:g} FLOPs" if "budget" in record else ""
        yield [f"{name}: {record.get('name', '')}{within}", facts, "", ""]


def newest(records: list[Record]) -> list[Record]:
    """The last record of each thing measured."""
    keys = ("size", "pairs", "overrides", "name", "budget")
    last = {str([record.get(key) for key in keys]): record for record in records}
    return list(last.values())


def circumstances(record: Record) -> str:
    """Where, when and with what a record was made."""
    machine = record["machine"]
    place = f"{machine['cpu']}, {machine['threads']} threads of {machine['cores']} cores"
    return f"{record['commit']}, {record['date'][:10]}, {place}, torch {record['torch']}"


def table() -> str:
    """All results in Markdown."""
    lines = [
        "| Measured | Result | yakusu is faster by (rounds) | Wanted | Commit, date, machine |",
        "|---|---|---|---|---|",
    ]
    for path in sorted((HERE / "results").glob("*.json")):
        for record in newest(json.loads(path.read_text())):
            for cells in rows_of(record, path.stem):
                row = [cell.replace("|", "\\|") for cell in (*cells, circumstances(record))]
                lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def rewrite() -> None:
    """Rewrite the part of the README that lies between the markers."""
    readme = HERE / "README.md"
    before, _, rest = readme.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    readme.write_text(f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}")


if __name__ == "__main__":
    argparse.ArgumentParser(
        description=__doc__, epilog="example: python benchmarks/table.py"
    ).parse_args()
    rewrite()
