"""How often code-like tokens and numbers of references disagree with their sources, and how many
faults are found.

Each held-out set is compared in both directions, with its references as translations; --show prints
the lines in which both sides disagree, and the texts that are on one side only. All of these lines
were read, and those of news_dev in part; JUDGED lists those in which the reference has other
numbers or tokens than the source. Those of news are not counted: their translations add dates,
convert units and leave parts out.

For the share of faults found, one number of each reference that has numbers in digits and agrees is
changed: one of its digits, or the whole number becomes another one, or it is removed. Only numbers
that the source has in digits, too, are removed: one that is a word there may be absent.
"""

import argparse
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.tables import Table
from yakusu.data.lines.spans import SpanFinder
from yakusu.data.numbers.agreement import Agreement

HELD_OUT = (
    *(f"multi30k/{split} en {code}" for code in ("de", "fr") for split in ("val", "test2016")),
    *(f"multi30k/test2017 en {code}" for code in ("de", "fr")),
    *(f"enja/{split} en ja" for split in ("dev", "test")),
    *(f"tatoeba/en-{code}/{split} en {code}" for code in ("de", "fr") for split in ("dev", "test")),
    *(f"koen/{split} en ko" for split in ("dev", "test", "news_dev", "news_test")),
)
JUDGED = {
    "multi30k/val": {76, 180},
    "enja/dev": {495},
    "tatoeba/en-de/dev": {1162},
    "tatoeba/en-fr/test": {913},
    "koen/dev": {287, 515},
    "koen/test": {250, 360, 577},
}
FAULTS = ("digit", "other", "removed")
_NUMBER = re.compile(r"\d+")

benchmark = Benchmark(
    "agreement",
    __doc__,
    example="python -m benchmarks.reliability.agreement",
    needs=["data"],
)
benchmark.option("--seed", type=int, default=1, help="of the faults (%(default)s)")
benchmark.option("--show", action="store_true", help="print each line that disagrees")


class HeldOut(NamedTuple):
    """A held-out set in one direction."""

    name: str
    languages: tuple[str, str]
    pairs: list[tuple[str, str]]


def _rows(record: Record) -> Iterator[dict[str, Any]]:
    """One row for each set and direction, and the totals."""
    sets = record["sets"]
    yield from (_row(each["set"], each["languages"], [each]) for each in sets)
    for name, is_news in (("all but news", False), ("news", True)):
        yield _row(name, "", [each for each in sets if ("news" in each["set"]) is is_news])


def _row(name: str, languages: str, sets: list[dict[str, Any]]) -> dict[str, Any]:
    n_pairs, n_lines = (sum(map(count, sets)) for count in (_pairs, _lines))
    faults, found = (sum(sum(each[key].values()) for each in sets) for key in ("faults", "found"))
    judged = [each["judged"] for each in sets]
    return {
        "set": name,
        "languages": languages,
        "pairs": n_pairs,
        "lines": n_lines,
        "share": n_lines / n_pairs,
        "judged": "-" if "-" in judged else sum(judged),
        "found": f"{found:,} of {faults:,}" if faults else "-",
        "recall": f"{found / faults:.1%}" if faults else "-",
        "microseconds": sum(each["microseconds"] * each["pairs"] for each in sets) / n_pairs,
    }


def _pairs(each: dict[str, Any]) -> int:
    return int(each["pairs"])


def _lines(each: dict[str, Any]) -> int:
    return len(each["lines"])


tables = Table(
    (
        ("Set", "{set}"),
        ("Languages", "{languages}"),
        ("Pairs", "{pairs:,}"),
        ("Disagree", "{lines:,}"),
        ("Share", "{share:.2%}"),
        ("Faults of references", "{judged}"),
        ("Faults found", "{found}"),
        ("Share", "{recall}"),
        ("µs per pair", "{microseconds:.0f}"),
    ),
    rows=_rows,
)


def held_out(data: Path) -> Iterator[HeldOut]:
    """The held-out sets that are there, in both directions."""
    for entry in HELD_OUT:
        name, *codes = entry.split()
        paths = [data / f"{name}.{code}" for code in codes]
        if not all(path.exists() for path in paths):
            continue
        sides = [path.read_text(encoding="utf-8").split("\n")[:-1] for path in paths]
        for first, second in ((0, 1), (1, 0)):
            pairs = list(zip(sides[first], sides[second], strict=True))
            yield HeldOut(name, (codes[first], codes[second]), pairs)


def with_fault(source: str, text: str, fault: str, draw: random.Random) -> str:
    """A translation of which one number is changed or removed; "": there is none."""
    numbers = list(_NUMBER.finditer(text))
    if fault == "removed":
        in_source = set(_NUMBER.findall(source))
        numbers = [number for number in numbers if number[0] in in_source]
    if not numbers:
        return ""
    number = draw.choice(numbers)
    written = number[0]
    changed = ""
    if fault == "digit":
        place = draw.randrange(len(written))
        digit = draw.choice([each for each in "123456789" if each != written[place]])
        changed = written[:place] + digit + written[place + 1 :]
    while fault == "other" and changed in ("", written):
        changed = str(draw.randint(2, 10 ** len(written)))
    return text[: number.start()] + changed + text[number.end() :]


def measured(each: HeldOut, finder: SpanFinder, seed: int, *, show: bool) -> dict[str, Any]:
    """Compare the references of a set, and references with faults."""
    agreement, draw = Agreement(each.languages, finder), random.Random(seed)
    agreement.compare("1 2", "one 3")  # reads the data of the languages
    start = time.process_time()
    found = [agreement.compare(source, target) for source, target in each.pairs]
    seconds = time.process_time() - start
    lines = [line for line, disagreement in enumerate(found, start=1) if disagreement]
    for line in lines if show else ():
        sides = (found[line - 1].missing, found[line - 1].added)
        texts = ([span.text for span in side] for side in sides)
        print(each.name, "-".join(each.languages), line, *texts)
    numbered = [
        pair
        for pair, disagreement in zip(each.pairs, found, strict=True)
        if not disagreement and _NUMBER.search(pair[1])
    ]
    faults = {
        fault: [(source, with_fault(source, target, fault, draw)) for source, target in numbered]
        for fault in FAULTS
    }
    faults = {fault: [pair for pair in pairs if pair[1]] for fault, pairs in faults.items()}
    return {
        "set": each.name,
        "languages": "-".join(each.languages),
        "pairs": len(each.pairs),
        "lines": lines,
        "judged": "-" if "news" in each.name else len(JUDGED.get(each.name, set()) & set(lines)),
        "microseconds": 1e6 * seconds / len(each.pairs),
        "faults": {fault: len(pairs) for fault, pairs in faults.items()},
        "found": {
            fault: sum(bool(agreement.compare(*pair)) for pair in pairs)
            for fault, pairs in faults.items()
        },
    }


def main(args: argparse.Namespace) -> None:
    """Compare all sets."""
    finder = SpanFinder()
    sets = [measured(each, finder, args.seed, show=args.show) for each in held_out(args.data)]
    for each in sets:
        print(each)
    benchmark.record({"sets": sets}, seed=args.seed)


if __name__ == "__main__":
    benchmark.run(main)
