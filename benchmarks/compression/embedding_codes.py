"""Table 1 of the compression paper: the codes (M = 8, K = 8) of king, man, woman and queen.

The paper uses GloVe 6B with 300 dimensions, so its components differ from those of other vectors;
and it does not state the signs of its components, whereas here the largest loading of each is
positive. A code can therefore equal the paper's only by chance. The distance between the codes of
two words can be compared, in relation to the mean distance of any two words.
"""

import argparse
from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from benchmarks.common import Benchmark
from benchmarks.compression.api import by_codes
from benchmarks.records import Record
from benchmarks.tables import NONE, FilledTable, fixed
from yakusu.vectors import read_vectors

PAPER = {
    "king": (7, 7, 4, 6, 5, 5, 0, 3),
    "man": (7, 7, 1, 4, 7, 4, 1, 6),
    "woman": (7, 6, 2, 4, 7, 3, 1, 5),
    "queen": (7, 6, 2, 6, 5, 4, 0, 6),
}
M = K = 8
DIFFERENT = "the paper's vectors have 300 dimensions, and the signs of its components are not known"
Code = tuple[int, ...]

benchmark = Benchmark(
    "embedding_codes",
    __doc__,
    example="python -m benchmarks.compression.embedding_codes --vectors glove100.npz --name GloVe",
    needs=["vectors"],
    quick={"name": "generated vectors"},
)
benchmark.option("--name", default="", help="name of the vectors, for the record")


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Table 1: the codes of four words, and how far two codes are from each other."""
    names = [record["name"].partition(",")[0] for record in records]
    parsed = [_codes(record["score"]) for record in records]
    paper = _codes(records[0]["paper"])
    rows = [[word, *(each[word] for each in parsed), paper[word]] for word in paper]
    head = ["Word", *names, "Paper, GloVe 6B 300d"]
    yield FilledTable(head, rows, records, "Codes, M = 8 and K = 8")
    apart = [record["steps_apart"] for record in records]
    rows = [
        [pair, *(str(each[pair]["ours"]) for each in apart), str(apart[0][pair]["paper"])]
        for pair in apart[0]
    ]
    rows.append(["any two", *(fixed(r["steps_apart_any_two"], 1) for r in records), NONE])
    yield FilledTable(["Words", *names, "Paper"], rows, records, "Steps between two codes")


def _codes(formatted: str) -> dict[str, str]:
    return dict(each.split(" ", 1) for each in formatted.split("; "))


def distance(a: Code, b: Code) -> int:
    """Return the number of steps between two codes."""
    return sum(abs(x - y) for x, y in zip(a, b, strict=True))


def mean_distance(codes: np.ndarray, n_pairs: int = 100_000) -> float:
    """Return the mean distance of two words: each word and the one half the vocabulary away."""
    rows = np.arange(min(n_pairs, len(codes) // 2))
    others = rows + len(codes) // 2
    return float(np.abs(codes[rows].astype(int) - codes[others]).sum(axis=1).mean())


def formatted(codes: Mapping[str, Code]) -> str:
    """Return words and codes in one line."""
    return "; ".join(f"{word} {' '.join(map(str, code))}" for word, code in codes.items())


def main(args: argparse.Namespace) -> None:
    """Print both tables and the distances in them."""
    dense = read_vectors(args.vectors)
    codes = by_codes(dense.vectors, M, K, threads=args.threads).codes
    ours = {word: tuple(map(int, codes[dense.words.index(word)])) for word in PAPER}
    print(f"{'':8}{'ours: ' + args.name:32}paper: GloVe 6B 300d")
    for word, code in PAPER.items():
        print(f"{word:8}{' '.join(map(str, ours[word])):32}{' '.join(map(str, code))}")
    distances = {
        f"{a} - {b}": {"ours": distance(ours[a], ours[b]), "paper": distance(PAPER[a], PAPER[b])}
        for a, b in combinations(PAPER, 2)
    }
    for pair, steps in distances.items():
        print(f"{pair:16} {steps['ours']:3} steps apart, in the paper {steps['paper']:3}")
    print(f"{'any two words':16} {mean_distance(codes):5.1f}\nDifferences: {DIFFERENT}.")
    result = {
        "name": f"{args.name}, M = {M}, K = {K}",
        "score": formatted(ours),
        "paper": formatted(PAPER),
        "differs": DIFFERENT,
        "steps_apart": distances,
        "steps_apart_any_two": round(mean_distance(codes), 2),
    }
    benchmark.record(result, seed=0)


if __name__ == "__main__":
    benchmark.run(main)
