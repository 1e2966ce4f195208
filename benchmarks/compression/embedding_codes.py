"""Table 1 of the second paper: the codes (M = 8, K = 8) of king, man, woman and queen.

The paper took GloVe 6B of 300 dimensions, so other components than those of other vectors; and it
does not say which way its components point, while here the largest loading of each is positive. A
code can therefore not be equal to the paper's but by chance, and a column may run the other way.
What can be compared is how far apart the codes of two words are, beside any two words.
"""

import argparse
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import numpy as np

from common import record, start
from yakusu.compress import code, read_vectors

PAPER = {
    "king": (7, 7, 4, 6, 5, 5, 0, 3),
    "man": (7, 7, 1, 4, 7, 4, 1, 6),
    "woman": (7, 6, 2, 4, 7, 3, 1, 5),
    "queen": (7, 6, 2, 6, 5, 4, 0, 6),
}
M = K = 8
DIFFERENT = "the paper's vectors have 300 dimensions, and the signs of its components are not known"
Code = tuple[int, ...]


def distance(a: Code, b: Code) -> int:
    """How many steps lie between two codes."""
    return sum(abs(x - y) for x, y in zip(a, b, strict=True))


def any_two(codes: np.ndarray, n_pairs: int = 100_000) -> float:
    """The mean distance of two words of any kind: each with the one half the vocabulary away."""
    rows = np.arange(min(n_pairs, len(codes) // 2))
    others = rows + len(codes) // 2
    return float(np.abs(codes[rows].astype(int) - codes[others]).sum(axis=1).mean())


def shown(codes: Mapping[str, Code]) -> str:
    """Words and codes in one line."""
    return "; ".join(f"{word} {' '.join(map(str, of))}" for word, of in codes.items())


def main() -> None:
    """Print both tables, and the distances within them; record."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="example: python benchmarks/embedding_codes.py glove100.npz"
    )
    parser.add_argument("vectors", type=Path, help="any file that `yakusu vectors compress` reads")
    parser.add_argument("--name", required=True, help="of the vectors, for the record")
    parser.add_argument("--no-record", action="store_true", help="only print the result")
    args = parser.parse_args()
    dense = read_vectors(args.vectors)
    codes = code(dense.vectors, n_components=M, n_codes=K).codes
    ours = {word: tuple(map(int, codes[dense.words.index(word)])) for word in PAPER}
    print(f"{'':8}{'ours: ' + args.name:32}paper: GloVe 6B 300d")
    for word, of in PAPER.items():
        print(f"{word:8}{' '.join(map(str, ours[word])):32}{' '.join(map(str, of))}")
    distances = {
        f"{a} - {b}": (distance(ours[a], ours[b]), distance(PAPER[a], PAPER[b]))
        for a, b in combinations(PAPER, 2)
    }
    for pair, (here, there) in distances.items():
        print(f"{pair:16} {here:3} steps apart, in the paper {there:3}")
    print(f"{'any two words':16} {any_two(codes):5.1f}\nWhat differs: {DIFFERENT}.")
    if not args.no_record:
        result = {
            "name": f"{args.name}, M = {M}, K = {K}",
            "score": shown(ours),
            "paper": shown(PAPER),
            "differs": DIFFERENT,
            "steps_apart": {pair: {"ours": a, "paper": b} for pair, (a, b) in distances.items()},
            "steps_apart_any_two": round(any_two(codes), 2),
        }
        record("embedding_codes", result, seed=0, threads=2)


if __name__ == "__main__":
    start(main)
