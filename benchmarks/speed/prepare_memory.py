"""Peak memory and speed of `yakusu prepare` on generated corpora of different sizes.

Memory is to stay flat as a corpus grows: compare the peaks. Each corpus is prepared in a process of
its own, and the peak of each stage is read from the kernel (VmHWM, reset between the stages).
getrusage does not serve here: a process started by another begins with the other's peak, and so do
joblib's workers. Linux only.
"""

import argparse
import os
import re
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import Worker, record, start
from yakusu.progress import Silent, Tracker

CHUNK = 20_000  # sentences that are generated at a time
N_WORDS = 200_000
MEAN_LENGTH = 20


# ---- the corpus ----------------------------------------------------------------------------------


def generate(folder: Path, n_pairs: int, seed: int) -> None:
    """Write train.src and train.tgt: pseudo-sentences, the words distributed by Zipf's law.

    The target repeats the source's words in another lexicon, now and then without one of them.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, N_WORDS + 1)
    bounds = np.cumsum(share / share.sum())
    lexicons = [_lexicon(rng) for _ in range(2)]
    with (folder / "train.src").open("w") as src, (folder / "train.tgt").open("w") as tgt:
        for begin in range(0, n_pairs, CHUNK):
            n = min(CHUNK, n_pairs - begin)
            ends = np.cumsum(rng.poisson(MEAN_LENGTH - 1, n) + 1)
            words = np.searchsorted(bounds, rng.random(ends[-1]))
            kept = rng.random(ends[-1]) > 0.05
            kept[ends - 1] = True
            for file, lexicon, mask in zip((src, tgt), lexicons, (kept | True, kept), strict=True):
                text = np.where(mask, lexicon[words], "")
                parts = np.split(text, ends[:-1])
                file.writelines(" ".join(filter(None, part)) + "\n" for part in parts)


def _lexicon(rng: Any) -> Any:
    """Words of one to four syllables, the frequent ones shorter; as an array of objects."""
    import numpy as np

    syllables = np.array([a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in ("", *"nrs")])
    longest = np.clip(np.log10(np.arange(1, N_WORDS + 1)).astype(int), 1, 4)
    lengths = rng.integers(1, longest + 1)
    drawn = rng.choice(syllables, (N_WORDS, 4))
    words = ["".join(row[:length]) for row, length in zip(drawn, lengths, strict=True)]
    return np.array(words, dtype=object)


# ---- the measurement -----------------------------------------------------------------------------


class Stages(Silent):
    """Notes the peak memory of each stage that `prepare` announces, in MiB."""

    def __init__(self) -> None:
        self.peaks: dict[str, float] = {}
        self.seconds: dict[str, float] = {}
        self._stage, self._began = "start", time.perf_counter()
        _reset_peak()

    def say(self, text: str) -> None:
        """A remark opens a stage: "learning a vocabulary"."""
        self.enter(" ".join(text.split()[:3]))

    @contextmanager
    def track(self, what: str, unit: str, total: int | None) -> Iterator[Tracker]:
        """A job is a stage; what comes behind it is another."""
        self.enter(what)
        with super().track(what, unit, total) as tracker:
            yield tracker
        self.enter(f"after {what}")

    def enter(self, stage: str) -> None:
        """Close the stage under way and open another."""
        now = time.perf_counter()
        self.peaks[self._stage] = max(peak(os.getpid()), self.peaks.get(self._stage, 0.0))
        self.seconds[self._stage] = now - self._began + self.seconds.get(self._stage, 0.0)
        self._stage, self._began = stage, now
        _reset_peak()


def peak(process: int) -> float:
    """The most memory that a process has held since the last reset, in MiB."""
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def measure(folder: Path, n_pairs: int, overrides: list[str], workers: int) -> dict[str, Any]:
    """Prepare the corpus in `folder`; runs in a process of its own."""
    from joblib.externals.loky import get_reusable_executor

    import yakusu

    text = f'{{src = "{folder / "train.src"}", tgt = "{folder / "train.tgt"}"}}'
    settings = [f'run="{folder / "run"}"', f"data.train={text}", *overrides]
    recipe = yakusu.load_recipe("base", settings)
    stages, began = Stages(), time.perf_counter()
    made = yakusu.prepare(recipe, progress=stages, workers=workers)
    seconds = time.perf_counter() - began
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    peaks = [round(peak(int(child))) for child in children]
    get_reusable_executor().shutdown()  # joblib's workers would outstay their idle time
    stages.enter("end")
    return {
        "pairs": n_pairs,
        "overrides": overrides,
        "workers": workers,
        "seconds": round(seconds, 1),
        "pairs_per_second": round(n_pairs / seconds),
        "pairs_kept": made.n_train + made.n_dev,
        "peak_mib": round(max(stages.peaks.values())),
        "peak_mib_by_stage": {stage: round(mib) for stage, mib in stages.peaks.items()},
        "seconds_by_stage": {stage: round(time, 1) for stage, time in stages.seconds.items()},
        "peak_mib_of_workers": peaks,
        "getrusage_children_mib": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
    }


def main() -> None:
    """Generate, prepare, record."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="example: python benchmarks/prepare_memory.py --pairs 100000 2000000 --workers 2",
    )
    parser.add_argument("--pairs", type=int, nargs="+", default=[100_000, 2_000_000])
    parser.add_argument("--workers", type=int, default=2, help="processes that tokenise")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", metavar="A.B=C", action="append", help="override a recipe's key")
    parser.add_argument("--no-record", action="store_true", help="only print the result")
    args = parser.parse_args()
    overrides = args.set or ["tokenizer.vocab_size=8000"]
    for n_pairs in args.pairs:
        with tempfile.TemporaryDirectory() as folder:
            for function, inputs in (
                (generate, (Path(folder), n_pairs, args.seed)),
                (measure, (Path(folder), n_pairs, overrides, args.workers)),
            ):
                with Worker(function, threads=1) as run:
                    result = run(*inputs)
        for key, value in result.items():
            print(f"{key:24}{value}")
        if not args.no_record:
            record("prepare_memory", result, seed=args.seed, threads=args.workers)


if __name__ == "__main__":
    start(main)
