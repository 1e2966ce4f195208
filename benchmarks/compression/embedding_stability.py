"""Table 4 of the compression paper: the spread of scores when vectors are compressed repeatedly.

The method has no seed: ten runs, each in a new process, alternating between one and two threads,
must give the same bytes. The baseline (Shu and Nakayama) depends on its seed; the spread of its
scores is reported. Rebuilt vectors are centred.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.compression.embedding_systems import size
from benchmarks.compression.trade_off import PAPER_TASKS, spread
from benchmarks.compression.word_tasks import Scores, WordTasks, paper_sets, shown
from benchmarks.records import Record
from benchmarks.tables import FilledTable, fixed
from benchmarks.workers import Worker
from yakusu.vectors import read_vectors
from yakusu.vectors.controls import centred

PAPER_SHU = {  # at a ratio of 11, GloVe 6B of 300 dimensions
    "analogy": (63.76, 64.27, 63.95, 63.97, 64.26, 64.74, 64.91, 64.24, 64.00, 65.05),
    "completion": (30.38, 30.67, 31.63, 31.44, 31.44, 30.58, 31.63, 29.81, 30.19, 31.25),
    "similarity": (0.59, 0.59, 0.60, 0.58, 0.59, 0.59, 0.59, 0.58, 0.59, 0.59),
}

benchmark = Benchmark(
    "embedding_stability",
    __doc__,
    example="python -m benchmarks.compression.embedding_stability --vectors glove100.npz "
    "--name 'GloVe 100d'",
    needs=["data", "vectors"],
    quick={
        **{"name": "generated vectors", "times": 2, "seeds": 2, "steps": 20},
        **{"ours": (24, 4), "shu": (4, 4)},
    },
)
benchmark.option("--name", default="", help="name of the vectors, for the record")
benchmark.option("--ours", type=size, default=(100, 8), metavar="MxK", help="100x8")
benchmark.option("--shu", type=size, default=(64, 16), metavar="MxK", help="64x16")
benchmark.option("--times", type=int, default=10, help="runs of the method (%(default)s)")
benchmark.option("--seeds", type=int, default=3, help="runs of the baseline (%(default)s)")
benchmark.option("--steps", type=int, default=200_000, help="training steps of the baseline")
benchmark.option("--note", default="", help="remark for the record")


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Table 4: the spread of scores when the same vectors are compressed again."""
    head = ["System", "Ratio", "Runs", "Different results"]
    head += [f"{task.capitalize()}, spread" for task in PAPER_TASKS]
    for record in records:
        ours, digests = record["ours"], record["ours"]["sha256"]
        counts = [str(len(digests)), str(len(set(digests)))]
        rows = [["yakusu", fixed(ours["ratio"], 1), *counts, *["0"] * len(PAPER_TASKS)]]
        for name, ratio, runs in (
            ("Shu+'18", record["shu"]["ratio"], record["shu"]["runs"]),
            ("Shu+'18 in the paper", 11, record["paper_runs"]),
        ):
            spreads = spread(runs)
            cells = [fixed(spreads[task], 3 if task == "similarity" else 2) for task in PAPER_TASKS]
            different = len({tuple(run.values()) for run in runs})
            rows.append([name, fixed(ratio, 1), str(len(runs)), str(different), *cells])
        yield FilledTable(head, rows, [record], record["name"])


def run_ours(vectors: Path, size: tuple[int, int], *, threads: int) -> tuple[str, float]:
    """Return the SHA-256 of everything that is kept, and the ratio."""
    from benchmarks.compression.api import by_codes

    made = by_codes(read_vectors(vectors).vectors, *size, threads=threads)
    return made.digest(), made.ratio


def score_ours(vectors: Path, size: tuple[int, int], tasks: Sequence[Path]) -> Scores:
    """Return the scores of the rebuilt vectors."""
    from benchmarks.compression.api import by_codes

    dense = read_vectors(vectors)
    return WordTasks.of(dense, tasks).score(centred(by_codes(dense.vectors, *size).rebuilt()))


def run_shu(
    vectors: Path, size: tuple[int, int], tasks: Sequence[Path], *, seed: int, steps: int
) -> tuple[Scores, float]:
    """Return the scores of the rebuilt vectors, and the ratio."""
    from benchmarks.peers.gumbel import learn, ratio

    dense = read_vectors(vectors)
    n_codebooks, n_codes = size
    found = learn(dense.vectors, n_codebooks=n_codebooks, n_codes=n_codes, seed=seed, steps=steps)
    rebuilt = centred(found.rebuild(found.codes).astype("float32"))
    scores = WordTasks.of(dense, tasks).score(rebuilt)
    return scores, ratio(*dense.vectors.shape, n_codebooks, n_codes)


def in_new_process(function: Any, *args: Any) -> Any:
    """Call a function in a new process."""
    with Worker(function, threads=1) as worker:
        return worker(*args)


def paper_runs() -> list[Scores]:
    """Return the ten columns of Table 4."""
    columns = zip(*PAPER_SHU.values(), strict=True)
    return [dict(zip(PAPER_SHU, column, strict=True)) for column in columns]


def measure_ours(args: argparse.Namespace) -> dict[str, Any]:
    """Compress repeatedly, and score once."""
    runs = []
    for number in range(args.times):
        run = partial(run_ours, threads=1 + number % 2)
        runs.append(in_new_process(run, args.vectors, args.ours))
        print(f"run {number + 1} of {args.times}: {runs[-1][0][:16]}", file=sys.stderr, flush=True)
    digests = [digest for digest, _ in runs]
    scores = in_new_process(score_ours, args.vectors, args.ours, paper_sets(args.data))
    ratio = runs[0][1]
    equal = f"{digests.count(digests[0])} of {args.times} runs with the same bytes"
    print(f"ours, x{ratio:.1f}: {equal}; {shown(scores)}")
    return {"size": list(args.ours), "ratio": ratio, "equal": equal, "sha256": digests, **scores}


def measure_shu(args: argparse.Namespace) -> dict[str, Any]:
    """Compress by the baseline once per seed, and score each."""
    runs = []
    for seed in range(1, args.seeds + 1):
        run = partial(run_shu, seed=seed, steps=args.steps)
        scores, ratio = in_new_process(run, args.vectors, args.shu, paper_sets(args.data))
        runs.append(scores)
        print(f"Shu+'18, x{ratio:.1f}, seed {seed}: {shown(scores)}", flush=True)
    print(f"spread of {len(runs)}: {shown(spread(runs))}")
    print(f"paper, x11, spread of {len(paper_runs())}: {shown(spread(paper_runs()))}")
    return {"size": list(args.shu), "ratio": ratio, "steps": args.steps, "runs": runs}


def main(args: argparse.Namespace) -> None:
    """Run both methods repeatedly."""
    ours, shu = measure_ours(args), measure_shu(args)
    score = (
        f"ours x{ours['ratio']:.1f}: {ours['equal']}; Shu+'18 x{shu['ratio']:.1f}, "
        f"{args.seeds} seeds: spread {shown(spread(shu['runs']))}"
    )
    result = {
        **{"name": args.name, "score": score, "note": args.note, "ours": ours, "shu": shu},
        "paper": f"Shu+'18 x11, 10 seeds: spread {shown(spread(paper_runs()))}",
        "paper_runs": paper_runs(),
    }
    benchmark.record(result)


if __name__ == "__main__":
    benchmark.run(main)
