"""Learning without training: translations with the segments of a memory, and without.

The memory has the first pairs of a corpus, except for those whose source is in a test set. Exact
matches are not used, nor are others looked for. Speeds are ratios of CPU times, medians of
alternating runs; the states of the memory are computed before.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.bleu import ParallelLines, Scorer
from benchmarks.common import Benchmark
from benchmarks.tables import Table, score_of
from yakusu.data.lines.config import TextConfig
from yakusu.data.segments import MemorySegment
from yakusu.engine.config import EngineConfig
from yakusu.memory.memory import TranslationMemory
from yakusu.memory.segments import normalised
from yakusu.pipeline.learning import add_states
from yakusu.translator import Translator

benchmark = Benchmark(
    "memory_learning",
    __doc__,
    example="python -m benchmarks.interop.memory_learning --model runs/multi30k/model "
    "--memory multi30k/train --tests multi30k/test2016",
    needs=["data", "model"],
    quick={"memory": "multi30k/val", "tests": ["multi30k/test2016"], "pairs": 50, "runs": 1},
)
benchmark.option("--memory", default="multi30k/train", help="corpus (%(default)s)")
benchmark.option("--pairs", type=int, default=None, help="pairs of the memory (all)")
benchmark.option(
    "--tests", nargs="+", default=["multi30k/test2016"], help="test sets (%(default)s)"
)
benchmark.option("--languages", nargs=2, default=["en", "de"], help="source and target")
benchmark.option("--runs", type=int, default=3, help="for the speed (%(default)s)")

tables = Table(
    (
        ("Model", "{model}"),
        ("Memory, segments", "{memory}, {segments:,}"),
        ("Bytes for a state", "{bytes_of_state:.1f}"),
        ("Test set", "{test}"),
        ("BLEU without", score_of("without")),
        ("BLEU with", score_of("with_memory")),
        ("Gain", lambda record: f"{record['gain'][0]:+.2f}"),
        ("95% interval", lambda record: "{:+.2f} to {:+.2f}".format(*record["gain"][1:])),
        ("Speed", "{speed:.0%}"),
    )
)


def filled(path: Path, args: argparse.Namespace, model: Path) -> dict[str, Any]:
    """Write a memory with its states, and return its sizes."""
    source, target = (args.data / f"{args.memory}.{code}" for code in args.languages)
    held_out = {normalised(text) for test in args.tests for text in lines(test, args).src}
    known = ParallelLines.read(source, target, args.pairs)
    with TranslationMemory.open(path, tuple(args.languages), writable=True) as memory:
        memory.add(
            MemorySegment(*pair)
            for pair in zip(known.src, known.ref, strict=True)
            if all(side.strip() for side in pair) and normalised(pair[0]) not in held_out
        )
        n_segments = len(memory)
    before = path.stat().st_size
    add_states(path, model)
    tokenizer = Translator.load(model).tokenizer
    n_states = sum(map(len, tokenizer.encode_target(known.ref)))
    return {
        "segments": n_segments,
        "bytes": before,
        "bytes_of_state": (path.stat().st_size - before) / n_states,
    }


def lines(test: str, args: argparse.Namespace) -> ParallelLines:
    """A test set."""
    return ParallelLines.read(*(args.data / f"{test}.{code}" for code in args.languages))


def translated(translator: Translator, source: list[str]) -> tuple[list[str], float]:
    """Translations, and the CPU seconds that they took."""
    start = time.process_time()
    return translator.translate(source), time.process_time() - start


def compared(test: str, model: Path, memory: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Translate a test set in both ways."""
    text = TextConfig(memory=(str(memory),), exact=False, threshold=100)
    engine = EngineConfig(engine="native", threads=1)
    both = [Translator.load(model, engine=engine, text=each) for each in (None, text)]
    chosen = lines(test, args)
    for translator in both:
        translator.translate(chosen.src[:50])
    runs = [[translated(each, chosen.src) for each in both] for _ in range(args.runs)]
    texts = [found for found, _ in runs[0]]
    scorer = Scorer(chosen.ref, lowercase=False, language=args.languages[1])
    return {
        "test": test,
        "without": str(scorer.score(texts[0])),
        "with_memory": str(scorer.score(texts[1])),
        "gain": [round(value, 2) for value in scorer.difference(*texts)],
        "speed": statistics.median(one[1] / two[1] for one, two in runs),
    }


def main(args: argparse.Namespace) -> None:
    """Fill a memory, and translate each test set."""
    with tempfile.TemporaryDirectory() as scratch:
        model, path = Path(scratch, "model"), Path(scratch, "memory.db")
        shutil.copytree(args.model, model)  # which may get a codebook
        sizes = filled(path, args, model)
        for test in args.tests:
            found = compared(test, model, path, args)
            print(found, flush=True)
            name = args.model.parent.name if args.model.name == "model" else args.model.name
            what = f"{name}, {args.memory}, {sizes['segments']}, {test}"
            benchmark.record({"name": what, "model": name, "memory": args.memory, **sizes, **found})


if __name__ == "__main__":
    benchmark.run(main)
