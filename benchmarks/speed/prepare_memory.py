"""Peak memory and speed of `yakusu prepare` on generated corpora of different sizes (Linux).

Memory should be constant as a corpus grows: compare the peaks. Each corpus is prepared in its own
process, and the peak of each stage is read from the kernel (VmHWM, reset between the stages).
getrusage is not usable here: a child process starts with its parent's peak, and so do joblib's
workers.
"""

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import memory
from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.tables import Table, fixed
from benchmarks.workers import Worker
from yakusu.progress import Silent, Tracker

CHUNK = 20_000  # sentences generated at a time
N_WORDS = 200_000
MEAN_LENGTH = 20

benchmark = Benchmark(
    "prepare_memory",
    __doc__,
    example="python -m benchmarks.speed.prepare_memory --pairs 100000 2000000 --workers 2",
    threads=2,
    quick={"pairs": [2000], "workers": 1, "set": ["tokenizer.vocab_size=500"]},
)
benchmark.option("--pairs", type=int, nargs="+", default=[100_000, 2_000_000], help="corpus sizes")
benchmark.option("--workers", type=int, default=2, help="tokenising processes (%(default)s)")
benchmark.option("--seed", type=int, default=1, help="seed of the corpus (%(default)s)")
benchmark.option(
    "--set", nargs="+", default=["tokenizer.vocab_size=8000"], help="recipe settings, key=value"
)


tables = Table(
    (
        ("Pairs", "{pairs:,.0f}"),
        ("Sentences for the vocabulary", lambda record: _sample(record)),
        ("Peak MiB", "{peak_mib:,.0f}"),
        ("Peak MiB per worker", lambda r: fixed(max(r["peak_mib_of_workers"], default=0), 0)),
        ("Seconds", "{seconds:,.0f}"),
        ("Pairs per second", "{pairs_per_second:,.0f}"),
    )
)


def _sample(record: Record) -> str:
    found = [each for each in record["overrides"] if "sample_sentences" in each]
    return fixed(int(found[0].partition("=")[2]), 0) if found else "200,000"  # the default


# ---- the corpus ----------------------------------------------------------------------------------


def generate(folder: Path, n_pairs: int, seed: int) -> None:
    """Write train.src and train.tgt: pseudo-sentences with words distributed by Zipf's law.

    The target repeats the source's words in another lexicon; about 5% of the words are left out.
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
    """Return words of one to four syllables, frequent ones shorter, as an array of objects."""
    import numpy as np

    syllables = np.array([a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in ("", *"nrs")])
    longest = np.clip(np.log10(np.arange(1, N_WORDS + 1)).astype(int), 1, 4)
    lengths = rng.integers(1, longest + 1)
    drawn = rng.choice(syllables, (N_WORDS, 4))
    words = ["".join(row[:length]) for row, length in zip(drawn, lengths, strict=True)]
    return np.array(words, dtype=object)


# ---- the measurement -----------------------------------------------------------------------------


class Stages(Silent):
    """Progress reporter that notes the peak memory of each stage of `prepare`, in MiB."""

    def __init__(self) -> None:
        self.peaks: dict[str, float] = {}
        self.seconds: dict[str, float] = {}
        self._stage, self._start = "start", time.perf_counter()
        memory.reset_peak()

    def say(self, text: str) -> None:
        """Open a stage at a remark such as "learning a vocabulary"."""
        self.enter(" ".join(text.split()[:3]))

    @contextmanager
    def track(self, what: str, unit: str, total: int | None) -> Iterator[Tracker]:
        """Open a stage for a tracked job, and another one after it."""
        self.enter(what)
        with super().track(what, unit, total) as tracker:
            yield tracker
        self.enter(f"after {what}")

    def enter(self, stage: str) -> None:
        """Close the current stage and open another."""
        now = time.perf_counter()
        self.peaks[self._stage] = max(memory.mib(memory.PEAK), self.peaks.get(self._stage, 0.0))
        self.seconds[self._stage] = now - self._start + self.seconds.get(self._stage, 0.0)
        self._stage, self._start = stage, now
        memory.reset_peak()


def measure(folder: Path, n_pairs: int, overrides: list[str], workers: int) -> dict[str, Any]:
    """Prepare the corpus in `folder`; called in its own process."""
    from joblib.externals.loky import get_reusable_executor

    import yakusu

    text = f'{{src = "{folder / "train.src"}", tgt = "{folder / "train.tgt"}"}}'
    settings = [f'run="{folder / "run"}"', f"data.train={text}", *overrides]
    recipe = yakusu.load_recipe("base", settings)
    stages, start = Stages(), time.perf_counter()
    made = yakusu.prepare(recipe, progress=stages, workers=workers)
    seconds = time.perf_counter() - start
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    peaks = [round(memory.mib(memory.PEAK, child)) for child in children]
    get_reusable_executor().shutdown()  # otherwise joblib's workers stay until they time out
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


def main(args: argparse.Namespace) -> None:
    """Generate and prepare a corpus of each size."""
    for n_pairs in args.pairs:
        with tempfile.TemporaryDirectory() as folder:
            for function, inputs in (
                (generate, (Path(folder), n_pairs, args.seed)),
                (measure, (Path(folder), n_pairs, args.set, args.workers)),
            ):
                with Worker(function, threads=1) as run:
                    result = run(*inputs)
        for key, value in result.items():
            print(f"{key:24}{value}")
        benchmark.record(result, seed=args.seed)


if __name__ == "__main__":
    benchmark.run(main)
