"""Speed, size and recall of a translation memory with real segments.

All sentences of the corpora are the sources of one memory, each once. Texts to look up are made of
stored ones by deleting, repeating or replacing one or two words, or characters in Japanese:

    edited     5 words and more
    short      at most 4 words
    Japanese   of the file names .ja
    Korean     of the file names .ko

Recall: the share of all segments of at least 75% that an exhaustive comparison finds. Times are CPU
times of the ten best, warm, with one thread; each text is looked up once before.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from benchmarks import memory as ram
from benchmarks.common import Benchmark
from benchmarks.tables import Table, entries
from yakusu.data.segments import MemorySegment
from yakusu.memory.memory import TranslationMemory
from yakusu.memory.words import encoded, words

THRESHOLD = 0.75
LONGEST_SHORT = 4  # words
LANGUAGES = ("en", "de", "fr", "ja", "ko")

benchmark = Benchmark(
    "translation_memory",
    __doc__,
    example="python -m benchmarks.speed.translation_memory --segments 30000 1000000",
    needs=["data"],
    quick={"segments": [300], "texts": 5},
)
benchmark.option(
    "--segments",
    type=int,
    nargs="+",
    default=[30_000, 1_000_000],
    help="sizes, at most (%(default)s)",
)
benchmark.option("--texts", type=int, default=300, help="texts of each kind (%(default)s)")
benchmark.option("--seed", type=int, default=1, help="seed of the texts (%(default)s)")


tables = Table(
    (
        ("Texts", "{name}"),
        ("Number", "{texts:,.0f}"),
        ("Median, ms of CPU", "{median_ms:,.2f}"),
        ("95% below", "{p95_ms:,.2f}"),
        ("Exact match, 95% below", "{exact_p95_ms:,.3f}"),
        ("Segments of 75% and more", "{similar:,.0f}"),
        ("Recall", "{recall:.2%}"),
    ),
    rows=entries("kinds"),
    title="{segments:,.0f} segments, {megabytes:,.0f} MB, {bytes_per_segment:,.0f} bytes each; "
    "{added_per_second:,.0f} added per CPU second, peak {peak_mib:,.0f} MiB",
)


def sentences(data: Path) -> Iterator[tuple[str, str]]:
    """Yield the sentences of all corpora, with their language."""
    for path in sorted(data.rglob("*")):
        language = path.suffix[1:]
        if language in LANGUAGES and path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                yield (line.replace(" ", "") if language == "ja" else line), language
        elif path.name == "train.tsv":
            header, *rows = path.read_text(encoding="utf-8").splitlines()
            names = header.split("\t")
            for row in rows:
                for language, cell in zip(names, row.split("\t"), strict=True):
                    if language in LANGUAGES:
                        yield cell, language


def edited(text: str, rng: random.Random) -> str:
    """A text with one or two changes."""
    by_characters = len(text.split()) < 2
    parts = [*text] if by_characters else text.split()
    for _ in range(rng.randint(1, 2) if len(parts) > LONGEST_SHORT else 1):
        place = rng.randrange(len(parts))
        change = rng.choice(("delete", "repeat", "replace"))
        if change == "delete" and len(parts) > 1:
            del parts[place]
        elif change == "repeat":
            parts.insert(place, rng.choice(parts))
        else:
            parts[place] = rng.choice(parts)
    return ("" if by_characters else " ").join(parts)


def looked_up(
    chosen: Sequence[tuple[str, str]], n: int, rng: random.Random
) -> dict[str, list[str]]:
    """The texts of each kind."""
    kinds: dict[str, list[str]] = {"edited": [], "short": [], "Japanese": [], "Korean": []}
    for text, language in rng.sample(chosen, len(chosen)):
        is_short = len(words(text)) <= LONGEST_SHORT
        kind = {"ja": "Japanese", "ko": "Korean"}.get(language, "short" if is_short else "edited")
        if len(kinds[kind]) < n:
            kinds[kind].append(edited(text, rng))
        if min(map(len, kinds.values())) == n:
            break
    return {kind: texts for kind, texts in kinds.items() if texts}


def measured(
    memory: TranslationMemory, texts: Sequence[str], codes: Sequence[str]
) -> dict[str, Any]:
    """Look up texts; compare with all encoded segments."""
    n_similar = n_found = 0
    for text in texts:
        scores = process.extract(
            encoded(text),
            codes,
            scorer=Levenshtein.normalized_similarity,
            score_cutoff=THRESHOLD - 1e-9,
            limit=None,
        )
        found = memory.similar(text, threshold=THRESHOLD, most=len(codes))
        n_similar, n_found = n_similar + len(scores), n_found + len(found)
    times, exact = list[float](), list[float]()
    for text in texts:
        start = time.thread_time()
        memory.similar(text, threshold=THRESHOLD)
        middle = time.thread_time()
        memory.exact(text)
        times.append(1000 * (middle - start))
        exact.append(1000 * (time.thread_time() - middle))
    return {
        "texts": len(texts),
        "median_ms": round(float(np.median(times)), 3),
        "p95_ms": round(float(np.percentile(times, 95)), 3),
        "exact_p95_ms": round(float(np.percentile(exact, 95)), 4),
        "similar": n_similar,
        "recall": n_found / max(1, n_similar),
    }


def main(args: argparse.Namespace) -> None:
    """Fill and search a memory of each size."""
    every = [*{text: language for text, language in sentences(args.data) if text.strip()}.items()]
    rng = random.Random(args.seed)
    for n in args.segments:
        chosen = rng.sample(every, min(n, len(every)))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "memory.db"
            ram.reset_peak()
            start = time.thread_time()
            with TranslationMemory.open(path, ("en", "de"), writable=True) as memory:
                memory.add(MemorySegment(text, str(i)) for i, (text, _) in enumerate(chosen))
            seconds, peak = time.thread_time() - start, ram.mib(ram.PEAK)
            with TranslationMemory.open(path) as memory:
                codes = [encoded(each.segment.source) for each in memory]
                kinds = {
                    kind: measured(memory, texts, codes)
                    for kind, texts in looked_up(chosen, args.texts, rng).items()
                }
            size = path.stat().st_size
        result = {
            "name": f"{n} segments",
            "segments": len(chosen),
            "megabytes": round(size / 1e6, 1),
            "bytes_per_segment": round(size / len(chosen)),
            "added_per_second": round(len(chosen) / seconds),
            "peak_mib": round(peak),
            "kinds": kinds,
        }
        for key, value in result.items():
            print(f"{key:24}{value}", flush=True)
        benchmark.record(result, seed=args.seed)


if __name__ == "__main__":
    benchmark.run(main)
