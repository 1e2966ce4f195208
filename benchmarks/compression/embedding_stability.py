"""Table 4 of the second paper: what is left to chance when the same vectors are compressed again.

The method has no seed: ten runs, each in a new process, in turns with one and with two threads,
must give the same bytes. Shu and Nakayama's depends on its seed: the spread of its scores shows it.
"""

import argparse
import hashlib
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from common import Worker, record, start
from embedding_tasks import size
from word_tasks import TASKS, Scores, WordTasks, paper_sets, shown
from yakusu.compress import read_vectors

RUNS = 10
PAPER_SHU = {  # at a ratio of 11, GloVe 6B of 300 dimensions
    "analogy": (63.76, 64.27, 63.95, 63.97, 64.26, 64.74, 64.91, 64.24, 64.00, 65.05),
    "completion": (30.38, 30.67, 31.63, 31.44, 31.44, 30.58, 31.63, 29.81, 30.19, 31.25),
    "similarity": (0.59, 0.59, 0.60, 0.58, 0.59, 0.59, 0.59, 0.58, 0.59, 0.59),
}


def run_ours(vectors: Path, size: tuple[int, int], *, threads: int) -> tuple[str, float]:
    """A hash of all that is kept, and the ratio."""
    from yakusu.compress import compress, ratio

    floats = read_vectors(vectors).vectors
    n_components, n_codes = size
    coded, book = compress(floats, n_components=n_components, n_codes=n_codes, threads=threads)
    kept = (coded.codes, book.mean, book.basis, book.weights)
    digest = hashlib.sha256(b"".join(part.tobytes() for part in kept)).hexdigest()
    return digest, ratio(floats.shape, n_components, n_codes)


def score_ours(vectors: Path, size: tuple[int, int], tasks: Sequence[Path]) -> Scores:
    """Of the rebuilt vectors."""
    from yakusu.compress import compress

    dense = read_vectors(vectors)
    coded, book = compress(dense.vectors, n_components=size[0], n_codes=size[1], threads=1)
    return WordTasks.of(dense, tasks).score(book.rebuild(coded.codes).astype("float32"))


def run_shu(
    vectors: Path, size: tuple[int, int], tasks: Sequence[Path], *, seed: int, steps: int
) -> tuple[Scores, float]:
    """The scores of the rebuilt vectors, and the ratio."""
    from peers.gumbel import learn, ratio

    dense = read_vectors(vectors)
    n_codebooks, n_codes = size
    found = learn(dense.vectors, n_codebooks=n_codebooks, n_codes=n_codes, seed=seed, steps=steps)
    scores = WordTasks.of(dense, tasks).score(found.rebuild(found.codes).astype("float32"))
    n_words, width = dense.vectors.shape
    return scores, ratio(n_words, width, n_codebooks, n_codes)


def alone(function: Any, *args: Any) -> Any:
    """Call a function in a process that has done nothing else."""
    with Worker(function, threads=1) as worker:
        return worker(*args)


def spread(runs: Sequence[Scores]) -> Scores:
    """The greatest less the least score of each task."""
    return {
        task: round(max(run[task] for run in runs) - min(run[task] for run in runs), 4)
        for task in TASKS
        if task in runs[0]
    }


def paper_runs() -> list[Scores]:
    """The ten columns of Table 4."""
    columns = zip(*PAPER_SHU.values(), strict=True)
    return [dict(zip(PAPER_SHU, column, strict=True)) for column in columns]


def measure_ours(args: argparse.Namespace) -> dict[str, Any]:
    """Ten runs, and the scores that they all have."""
    runs = []
    for number in range(RUNS):
        runs.append(alone(partial(run_ours, threads=1 + number % 2), args.vectors, args.ours))
        print(f"run {number + 1} of {RUNS}: {runs[-1][0][:16]}", file=sys.stderr, flush=True)
    digests = [digest for digest, _ in runs]
    scores = alone(score_ours, args.vectors, args.ours, args.tasks)
    times = runs[0][1]
    equal = f"{digests.count(digests[0])} of {RUNS} runs equal to the byte"
    print(f"ours, x{times:.1f}: {equal}; {shown(scores)}")
    return {"size": list(args.ours), "ratio": times, "equal": equal, "sha256": digests, **scores}


def measure_shu(args: argparse.Namespace) -> dict[str, Any]:
    """A run a seed, and their spread."""
    runs = []
    for seed in range(1, args.seeds + 1):
        run = partial(run_shu, seed=seed, steps=args.steps)
        scores, times = alone(run, args.vectors, args.shu, args.tasks)
        runs.append(scores)
        print(f"Shu+'18, x{times:.1f}, seed {seed}: {shown(scores)}", flush=True)
    print(f"spread of {len(runs)}: {shown(spread(runs))}")
    print(f"paper, x11, spread of {len(paper_runs())}: {shown(spread(paper_runs()))}")
    return {"size": list(args.shu), "ratio": times, "steps": args.steps, "runs": runs}


def main() -> None:
    """Run both, print beside the paper, record."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="example: python benchmarks/embedding_stability.py glove100.npz --name 'GloVe 100d'",
    )
    parser.add_argument("vectors", type=Path, help="any file that `yakusu vectors compress` reads")
    parser.add_argument("--name", required=True, help="of the vectors, for the record")
    parser.add_argument("--tasks", type=Path, nargs="+", default=paper_sets())
    parser.add_argument("--ours", type=size, default=(100, 8), metavar="MxK")
    parser.add_argument("--shu", type=size, default=(64, 16), metavar="MxK")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=200_000, help="of the baseline")
    parser.add_argument("--note", default="", help="of the circumstances, for the record")
    parser.add_argument("--no-record", action="store_true", help="only print the result")
    args = parser.parse_args()
    ours, shu = measure_ours(args), measure_shu(args)
    if not args.no_record:
        score = (
            f"ours x{ours['ratio']:.1f}: {ours['equal']}; Shu+'18 x{shu['ratio']:.1f}, "
            f"{args.seeds} seeds: spread {shown(spread(shu['runs']))}"
        )
        result = {
            **{"name": args.name, "score": score, "note": args.note, "ours": ours, "shu": shu},
            "paper": f"Shu+'18 x11, 10 seeds: spread {shown(spread(paper_runs()))}",
            "paper_runs": paper_runs(),
        }
        record("embedding_stability", result, seed=1, threads=1)


if __name__ == "__main__":
    start(main)
