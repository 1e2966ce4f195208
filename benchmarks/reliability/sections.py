"""The page of reliability."""

from collections import Counter
from collections.abc import Iterable

from benchmarks.pages import Section, Table
from benchmarks.records import Record

TITLE = "Reliability"
INTRODUCTION = """\
[Reliability](../../docs/reliability.md) lists what a training run promises and the test of each
promise. This benchmark checks the promise about killed runs more thoroughly than the tests do."""


def kills(records: list[Record]) -> Iterable[Table]:
    """Kills by number of processes, and by system call."""
    rows = []
    for record in records:
        random = [kill for kill in record["kills"] if kill["at"].endswith(" s")]
        same = sum(kill["same"] for kill in record["kills"])
        rows.append(
            [
                record["name"].rsplit(", ", 1)[1],
                str(len(random)),
                str(len(record["kills"]) - len(random)),
                f"{same} of {len(record['kills'])}",
            ]
        )
    head = ["Run", "Kills at random moments", "Kills in system calls of two saves", "Same bytes"]
    yield Table(head, rows, records)
    calls = [
        Counter(kill["at"] for kill in record["kills"] if not kill["at"].endswith(" s"))
        for record in records
    ]
    names = [record["name"].rsplit(", ", 1)[1] for record in records]
    rows = [
        [f"`{call}`", *(str(counts[call]) for counts in calls)]
        for call in sorted(set().union(*calls))
    ]
    yield Table(["System call", *names], rows, records, "Kills by system call")


SECTIONS = (
    Section(
        "kills",
        "Runs that are killed and resumed",
        "After resuming, every killed run ends with the bytes of an uninterrupted run: 109 of 109 "
        "with one process and with two, wherever they were killed.",
        "python -m benchmarks.reliability.kills --kills 50",
        kills,
        "A run is killed (SIGKILL) at a random moment, or by strace on entry to each system "
        "call of a checkpoint and of the replacement of a model, and resumed by the same "
        "command. The model, its vocabulary, settings and card, and the last weights and "
        "moments are compared.",
    ),
)
