"""Read PDF files that LibreOffice makes of known documents, and count the words that are in order.

The words of a document and those that are read from its PDF file are compared: those of the longest
common subsequence are in order. Damaged copies of the files must give a document or a sentence,
within the limits of `yakusu translate`.

Needs LibreOffice (Debian's packages libreoffice-writer, hyphen-en-us, hyphen-de, hyphen-fr,
fonts-ipafont-gothic and fonts-hosny-amiri).
"""

import argparse
import io
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from rapidfuzz.distance import LCSseq

from benchmarks.common import Benchmark
from benchmarks.reliability.pdf_documents import DOCUMENTS, convert, words_of
from benchmarks.tables import Table
from yakusu.documents.document import DocumentOptions
from yakusu.documents.isolated.limits import DocumentLimits, LimitSettings
from yakusu.documents.isolated.readers import Readers
from yakusu.documents.registry import read_document
from yakusu.errors import DataError

benchmark = Benchmark(
    "pdf",
    __doc__,
    example="python -m benchmarks.reliability.pdf --record",
    quick={"documents": 2, "damaged": 10},
)
benchmark.option("--documents", type=int, default=20, help="number of documents (%(default)s)")
benchmark.option("--damaged", type=int, default=300, help="number of damaged files (%(default)s)")

tables = Table(
    (
        ("Files", "{kind}"),
        ("Number", "{files:,.0f}"),
        ("Words", lambda r: f"{r['words']:,.0f}" if r["words"] else "-"),
        ("In order", lambda r: f"{r['ordered'] / r['words']:.2%}" if r["words"] else "-"),
        ("In order, worst file", lambda r: f"{r['worst']:.2%}" if r["words"] else "-"),
        ("Read", "{read:,.0f}"),
        ("Refused in a sentence", "{refused:,.0f}"),
        ("Faults", "{faults:,.0f}"),
    )
)


def n_ordered(words: Sequence[str], found: Sequence[str]) -> int:
    """The length of the longest common subsequence of two lists of words."""
    numbers = {word: number for number, word in enumerate({*words, *found})}
    codes = [[numbers[word] for word in each] for each in (words, found)]
    return int(LCSseq.similarity(*codes))


def measure_order(folder: Path, words: dict[str, list[str]]) -> None:
    """Measure the order of the words of each document."""
    n_words, ordered, worst = 0, 0, 1.0
    for name, expected in words.items():
        start = time.process_time()
        found = read_document(folder / f"{name}.pdf").texts
        seconds = time.process_time() - start
        n = n_ordered(expected, [word for text in found for word in words_of(text)])
        print(f"{name}: {len(expected):,} words, {n / len(expected):.2%} in order, {seconds:.1f} s")
        n_words, ordered, worst = (
            n_words + len(expected),
            ordered + n,
            min(worst, n / len(expected)),
        )
    print(f"all: {ordered / n_words:.2%} of {n_words:,} words in order, worst {worst:.2%}")
    counts = {"files": len(words), "read": len(words), "refused": 0, "faults": 0}
    measured = {"words": n_words, "ordered": ordered, "worst": worst, **counts}
    benchmark.record({"name": "order", "kind": "known documents", **measured})


def _flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 10, 200))):
        data[rng.randrange(len(data))] = rng.randrange(256)


def _cut(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def _remove(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data))
    del data[start : start + rng.randrange(3000)]


def _repeat(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data))
    data[start:start] = data[start : start + rng.randrange(3000)]


def _blank(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data))
    end = min(len(data), start + 500)
    data[start:end] = bytes(end - start)


DAMAGES: Sequence[Callable[[bytearray, random.Random], None]] = (
    *(_flip, _cut, _remove, _repeat, _blank),
)


def damaged(data: bytes, seed: int) -> bytes:
    """A damaged copy of a file."""
    copy = bytearray(data)
    DAMAGES[seed % len(DAMAGES)](copy, random.Random(seed))
    return bytes(copy)


def measure_damaged(files: Sequence[Path], number: int) -> None:
    """Read damaged files in worker processes."""
    counts = Counter[str]()
    settings = LimitSettings("--file-memory 512 (MB)", "--file-seconds 60", "ten times as long")
    with closing(Readers(DocumentLimits(), settings)) as readers:
        for seed in range(number):
            file = io.BytesIO(damaged(files[seed % len(files)].read_bytes(), seed))
            options = DocumentOptions(suffix=(".md", ".docx")[seed % 2])
            try:
                with readers.open("damaged.pdf", file, options) as document:
                    document.render(document.texts)
                counts["read"] += 1
            except DataError as error:
                is_fault = "report it" in str(error) or "more" in str(error)
                counts["faults" if is_fault else "refused"] += 1
                if is_fault:
                    print(f"seed {seed}: {error}")
    found = {key: counts[key] for key in ("read", "refused", "faults")}
    print(f"damaged: {found}")
    measured = {"files": number, "words": 0, "ordered": 0, "worst": 0.0, **found}
    benchmark.record({"name": "damaged", "kind": "damaged copies", **measured})


def main(args: argparse.Namespace) -> None:
    """Make the files, and measure both."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        words = convert(folder, DOCUMENTS[: args.documents])
        measure_order(folder, words)
        measure_damaged(sorted(folder.glob("*.pdf")), args.damaged)


if __name__ == "__main__":
    benchmark.run(main)
