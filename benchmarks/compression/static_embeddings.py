"""Compressed static embeddings beside model2vec's own smaller ones and laghu, at equal bytes.

Retrieval: queries among 100,000 English sentences of Tatoeba, ranked by cosine. Sentences that have
a German translation in common answer each other; the score is the reciprocal rank of the first
answer among ten (MRR@10). Words: the mean of Spearman's rho over the similarity sets, each word
encoded as a text. All systems encode the same texts; the difference to the floats has the 95%
interval of a paired bootstrap over the queries.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np

from benchmarks.bootstrap import interval, resampled
from benchmarks.common import Benchmark
from benchmarks.compression.word_tasks import paper_sets, unused_sets
from benchmarks.records import Record
from benchmarks.tables import Table, entries, times
from yakusu.compress import CompressConfig
from yakusu.errors import DataError
from yakusu.vectors import compress_static, open_static
from yakusu.vectors.nearest import unit
from yakusu.vectors.testsets import read_task

N_SENTENCES, N_QUERIES, N_BEST = 100_000, 5_000, 10
N_TIMED = 20_000  # texts
COMPRESSED = {
    "integers 8": CompressConfig(method="integers", ratio=8),
    "integers 16": CompressConfig(method="integers", ratio=16),
    "codes 8": CompressConfig(ratio=8),
}
INSTALL = "pip install model2vec==0.10.0 laghu==0.4.0 scikit-learn==1.9.1"
Encode = Callable[[list[str]], np.ndarray]

benchmark = Benchmark(
    "static_embeddings",
    __doc__,
    example="python -m benchmarks.compression.static_embeddings --embeddings minilm "
    "--runs runs/static",
    needs=["data", "runs"],
)
benchmark.option("--embeddings", type=Path, help="folder of a model2vec model")
benchmark.option("--name", default="", help="name of the model, for the record")

_QUALITY = Table(
    (
        ("System", "{name}"),
        ("Table, MB", times("table", 1e-6, 2)),
        ("Ratio", "{ratio:.1f}"),
        ("Folder, MB", times("folder", 1e-6, 2)),
        ("MRR@10", "{mrr:.4f}"),
        ("Difference", "{difference:+.4f}"),
        ("95% interval", "{low:+.4f} to {high:+.4f}"),
        ("Words", "{words:.4f}"),
    ),
    rows=entries("systems"),
    title="{name}: scores",
)
_COSTS = Table(
    (
        ("Library", "{name}"),
        ("Opening adds, MiB", "{added:.1f}"),
        ("First vector, ms of CPU", "{first_ms:.1f}"),
        ("Texts per second", "{rate:,.0f}"),
        ("Most memory, MiB", "{encoding_mib:.0f}"),
    ),
    rows=entries("libraries"),
    title="{name}: memory and speed of one thread",
)


def tables(records: list[Record]) -> Iterator[Any]:
    """Scores, and memory and speed."""
    yield from _QUALITY(records)
    yield from _COSTS(records)


@dataclass(frozen=True)
class Retrieval:
    """Sentences, some of which are queries.

    sentences: Distinct sentences.
    queries: Rows of the queries.
    answers: Rows of the answers to each query, never the query itself.
    """

    sentences: list[str]
    queries: list[int]
    answers: list[set[int]]

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]], n_sentences: int, n_queries: int) -> "Retrieval":
        """Take sentences that share a translation first, and evenly spaced ones of them as queries.

        Args:
            pairs: Sentences and their translations.
            n_sentences: Maximum number of sentences.
            n_queries: Maximum number of queries.
        """
        by_translation: dict[str, dict[str, None]] = defaultdict(dict)
        for sentence, translation in pairs:
            by_translation[translation][sentence] = None
        answers: dict[str, set[str]] = defaultdict(set)
        for group in by_translation.values():
            for sentence in group if len(group) > 1 else ():
                answers[sentence].update(group.keys() - {sentence})
        every = (sentence for group in by_translation.values() for sentence in group)
        sentences = [*dict.fromkeys([*answers, *every])][:n_sentences]
        rows = {sentence: row for row, sentence in enumerate(sentences)}
        asked = [*answers][:: max(1, len(answers) // n_queries)][:n_queries]
        found = [{rows[each] for each in answers[query] if each in rows} for query in asked]
        return cls(sentences, [rows[query] for query in asked], found)

    def reciprocal_ranks(self, vectors: np.ndarray) -> np.ndarray:
        """Return 1 / rank of the first answer to each query among ten, or 0, (Q,)."""
        units = unit(vectors.astype(np.float32))
        ranks = np.zeros(len(self.queries))
        for begin in range(0, len(ranks), 256):
            rows = np.array(self.queries[begin : begin + 256])
            cosines = units[rows] @ units.T
            cosines[np.arange(len(rows)), rows] = -2
            best = np.argpartition(-cosines, N_BEST)[:, :N_BEST]
            for i, row in enumerate(best):
                ordered = row[np.lexsort((row, -cosines[i, row]))]
                hits = [r in self.answers[begin + i] for r in ordered.tolist()]
                ranks[begin + i] = 1 / (1 + hits.index(True)) if True in hits else 0
        return ranks


def words_score(encode: Encode, data: Path) -> float:
    """Return the mean of Spearman's rho over the similarity sets."""
    sets: list[Any] = [
        read_task(path)
        for path in (*paper_sets(data), *unused_sets(data))
        if path.parent.name == "wordsim"
    ]
    words = sorted({word for each in sets for pair in each.pairs for word in pair})
    index, vectors = {word: row for row, word in enumerate(words)}, encode(words)
    return float(np.mean([each.score(index, vectors).score for each in sets]))


def made_folders(embeddings: Path, runs: Path) -> Iterator[tuple[str, str, Path, int]]:
    """Yield name, library, folder and bytes of the table of all systems; make the folders."""
    from model2vec import StaticModel

    yield "floats", "model2vec", embeddings, _table(embeddings)
    for name, config in COMPRESSED.items():
        rmtree(runs / name, ignore_errors=True)  # made by another version, perhaps
        compress_static(embeddings, runs / name, config=config)
        yield (
            f"yakusu, {name}",
            "yakusu",
            runs / name,
            (runs / name / "embeddings.ykv").stat().st_size,
        )
    smaller: dict[str, dict[str, Any]] = {
        "int8": {"quantize_to": "int8"},
        "int8, 128 dimensions": {"quantize_to": "int8", "dimensionality": 128},
        "32 dimensions": {"dimensionality": 32},
        "3,345 clusters": {"vocabulary_quantization": 3345},
    }
    for name, options in smaller.items():
        rmtree(runs / name, ignore_errors=True)
        StaticModel.from_pretrained(embeddings, **options).save_pretrained(runs / name)
        yield f"model2vec, {name}", "model2vec", runs / name, _table(runs / name)


def _table(folder: Path) -> int:
    return (folder / "model.safetensors").stat().st_size


def _folder_bytes(folder: Path, table: int) -> int:
    others = ("config.json", "tokenizer.json", "tokens.safetensors")
    return table + sum(
        (folder / each).stat().st_size for each in others if (folder / each).exists()
    )


def opened(library: str, folder: Path) -> Encode:
    """Open a folder with a library."""
    if library == "yakusu":
        return open_static(folder).encode
    from model2vec import StaticModel

    encode: Encode = StaticModel.from_pretrained(folder).encode
    return encode


def scored(retrieval: Retrieval, args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Score all systems."""
    floats, found, dense = None, {}, 0
    for name, library, folder, table in made_folders(args.embeddings, args.runs):
        encode = opened(library, folder)
        ranks = retrieval.reciprocal_ranks(encode(retrieval.sentences))
        floats, dense = (ranks, table) if floats is None else (floats, dense)
        low, high = interval(resampled((ranks - floats)[:, None])[:, 0] / len(ranks))
        found[name] = {
            "table": table,
            "folder": _folder_bytes(folder, table),
            "ratio": dense / table,
            "mrr": float(ranks.mean()),
            "difference": float((ranks - floats).mean()),
            "low": low,
            "high": high,
            "words": words_score(encode, args.data),
        }
        print(name, json.dumps(found[name]), flush=True)
    return found


def measured(library: str, folder: Path, texts: Path) -> dict[str, float]:
    """Measure one library in a process of its own, on one thread."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment = os.environ | one | {"TOKENIZERS_PARALLELISM": "false"}
    command = [sys.executable, "-m", "benchmarks.peers.static_side", library, folder, texts]
    said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(said.stdout.splitlines()[-1])
    return found


def main(args: argparse.Namespace) -> None:
    """Score all systems, measure the libraries, and print both."""
    if args.embeddings is None:
        raise DataError("--embeddings is missing: give the folder of a model2vec model")
    benchmark.installed({"model2vec": "model2vec", "laghu": "laghu"}, INSTALL)
    args.runs.mkdir(parents=True, exist_ok=True)
    english, german = (
        (args.data / f"tatoeba/en-de/train.{each}").read_text(encoding="utf-8").split("\n")
        for each in ("en", "de")
    )
    pairs = [pair for pair in zip(english, german, strict=True) if all(pair)]
    retrieval = Retrieval.of(pairs, N_SENTENCES, N_QUERIES)
    systems = scored(retrieval, args)
    texts = args.runs / "texts.txt"
    texts.write_text("\n".join(retrieval.sentences[:N_TIMED]), encoding="utf-8")
    before = measured("tokenizer", args.embeddings, texts)["mib"]
    libraries = {}
    for name, library, folder in (
        ("model2vec", "model2vec", args.embeddings),
        ("laghu", "laghu", args.embeddings),
        ("yakusu, floats", "yakusu", args.embeddings),
        *((f"yakusu, {name}", "yakusu", args.runs / name) for name in COMPRESSED),
    ):
        found = measured(library, folder, texts)
        libraries[name] = found | {"added": found["mib"] - before}
        print(name, json.dumps(libraries[name]), flush=True)
    result = {"name": args.name or args.embeddings.name, "systems": systems}
    result |= {"libraries": libraries, "queries": len(retrieval.queries)}
    benchmark.record(result | {"sentences": len(retrieval.sentences)}, seed=0)


if __name__ == "__main__":
    benchmark.run(main)
