"""The sections of compressed word vectors on the page of speed and memory."""

from collections.abc import Iterable

from benchmarks.pages import NONE, Section, Table, fixed
from benchmarks.records import Record


def lookup(records: list[Record]) -> Iterable[Table]:
    """Opening, words and batches."""
    head = ["System", "Opening, ms", "Read, KiB", "Mapped, KiB", "First word, ms"]
    head += ["Random word, µs", "Repeated word, µs", "Goal"]
    head += ["Million numbers per second, random rows", "Consecutive rows"]
    for record in records:
        rows = [
            [
                name,
                fixed(1e3 * cost["opening"], 1),
                fixed(cost["read"] / 1024, 0),
                fixed(cost["mapped"] / 1024, 0),
                fixed(1e3 * cost["first"], 0),
                fixed(cost["random"], 1),
                fixed(cost["repeated"], 1),
                fixed(record["goals"].get(name, {}).get("random"), 0),
                fixed(cost["batch"] / 1e6, 1),
                fixed(cost["consecutive"] / 1e6, 1),
            ]
            for name, cost in record["medians"].items()
        ]
        yield Table(head, rows, [record], record["name"])


def search(records: list[Record]) -> Iterable[Table]:
    """Milliseconds per query, and recall."""
    head = ["System", "One query, ms", "Dense / this", "Query of a batch of 100, ms"]
    head += ["Dense / this", "Memory, MiB"]
    for record in records:
        rows = []
        for name, cost in record["medians"].items():
            threads = name.rpartition(", ")[2]
            dense = record["medians"][f"dense float32, {threads}"]
            gains = [fixed(dense[key] / cost[key]) for key in ("one", "batch")]
            one, batch = (fixed(cost[key]) for key in ("one", "batch"))
            rows.append([name, one, gains[0], batch, gains[1], fixed(cost["mib"], 0)])
        yield Table(head, rows, [record], record["name"])
        yield _recall(record)


def _recall(record: Record) -> Table:
    shares = record["recall"]
    kinds = list(dict.fromkeys(key for cost in shares.values() for key in cost))
    rows = [
        [name, *(f"{cost[key]:.1%}" if key in cost else NONE for key in kinds)]
        for name, cost in shares.items()
    ]
    title = f"{record['name']}; recall of the ten nearest words, {record['queries']:,} queries"
    return Table(["System", *kinds], rows, [record], title)


SECTIONS = (
    Section(
        "embedding_lookup",
        "Lookup of compressed word vectors",
        "A random word takes 5.9 µs from codes and 24.2 µs from integers; batches of random rows "
        "yield 95.7 and 27.9 million numbers per second.",
        "python -m benchmarks.speed.embedding_lookup --vectors glove100.npz",
        lookup,
        "Medians of rounds. A batch has 10,000 rows. Random words are drawn from all words, "
        "repeated words from 1,000 that have been looked up before. The first word includes the "
        'dict of words. "Goal" is the time that a random word should not exceed, 10 and 30 µs; '
        "batches should reach 20 million numbers per second.",
    ),
    Section(
        "embedding_search",
        "Search of compressed word vectors",
        "One query takes 1.76 ms on codes with K = 16 and 3.47 ms on integers, 5.29 ms on dense "
        "floats; in batches of 100, codes are 2.15 times as fast as dense floats with 2 threads. "
        "With 1 thread, the rounds differ too much for a ratio.",
        "python -m benchmarks.speed.embedding_search --vectors glove100.npz",
        search,
        "Medians of rounds, with 400,000 vectors. Memory is that of the index; dense search keeps "
        "unit vectors. Recall compares with exact search on the rebuilt and on the original "
        'vectors; "ranked again": the candidates are scored with the original vectors.',
    ),
)
