"""Learn the codes of Shu and Nakayama once, for benchmarks that compare them.

200,000 steps take from ten minutes to an hour, so their result is kept in a file.

    python -m benchmarks.compression.shu_codes --vectors glove100.npz --size 32x16 --out shu.npz
"""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from benchmarks.common import INPUTS
from benchmarks.compression.embedding_systems import size
from benchmarks.peers.gumbel import learn, save
from yakusu.errors import YakusuError
from yakusu.progress import Silent, Tracker
from yakusu.vectors import read_vectors

_EVERY = 5_000  # steps between two lines


class Lines(Silent):
    """Progress reporter that prints a line from time to time."""

    @contextmanager
    def track(self, what: str, unit: str, total: int | None) -> Iterator[Tracker]:
        """Print what is done, the note, and the time since the start."""
        yield _Lines(unit)


class _Lines:
    def __init__(self, unit: str) -> None:
        self._unit, self._done, self._start = unit, 0, time.monotonic()

    def advance(self, n: int = 1, note: str = "", total: int | None = None) -> None:
        before, self._done = self._done, self._done + n
        if before // _EVERY < self._done // _EVERY:
            minutes = (time.monotonic() - self._start) / 60
            print(f"{self._done:,} {self._unit}, {minutes:.1f} minutes: {note}", flush=True)


def parsed(words: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vectors", type=Path, required=True, help=INPUTS["vectors"])
    parser.add_argument("--size", type=size, default=(32, 16), metavar="MxK", help="32x16")
    parser.add_argument("--steps", type=int, default=200_000, help="training steps (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed (%(default)s)")
    parser.add_argument("--device", default="cpu", help="device to train on (%(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="torch threads (%(default)s)")
    parser.add_argument("--out", type=Path, required=True, help="file to write, .npz")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> None:
    """Learn the codes, and write them with their codebooks."""
    args = parsed(words)
    torch.set_num_threads(args.threads)
    n_codebooks, n_codes = args.size
    how = {"steps": args.steps, "seed": args.seed}
    try:
        vectors = read_vectors(args.vectors).vectors
        learned = learn(
            vectors,
            n_codebooks=n_codebooks,
            n_codes=n_codes,
            device=args.device,
            progress=Lines(),
            **how,
        )
        save(args.out, learned, vectors, **how)
    except YakusuError as error:
        sys.exit(f"error: {error}")
    loss = learned.loss(vectors, learned.codes)
    print(f"{args.out}: share of the variance lost {loss.share:.4f}")


if __name__ == "__main__":
    main()
