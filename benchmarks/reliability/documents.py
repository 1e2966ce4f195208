"""Read and write the documents of installed packages and of folders, and count what changes.

Each file is written with its own texts, which must give the same bytes, and with the words of each
text in reverse order; reading that file again must give these texts. Some formats, such as PO,
contain translations next to their sources: written with the words in reverse order, such files must
contain the same sources, and written again in the same way, the same bytes.
"""

import argparse
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from sysconfig import get_path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.common import Benchmark
from benchmarks.tables import Table
from yakusu.data.lines.private_use import MARKS
from yakusu.documents.document import DocumentOptions
from yakusu.documents.registry import format_name, is_supported, read_document
from yakusu.documents.suffixes import CONVERTED, SNIFFED, SUFFIXES, TABLES
from yakusu.errors import DataError

FORMATS = {  # suffix -> format
    suffix: module.rpartition(".")[2]
    for suffix, module in SUFFIXES.items()
    if suffix not in TABLES and suffix not in CONVERTED
} | {".ts": "qt_linguist", ".xml": "android"}
BILINGUAL = ("po", "xliff", "tmx", "qt_linguist", "xcstrings")

benchmark = Benchmark(
    "documents",
    __doc__,
    example="python -m benchmarks.reliability.documents --folders /usr/share/doc/nodejs",
    quick={"files": 2},
)
benchmark.option("--folders", type=Path, nargs="*", default=[], help="additional folders")
benchmark.option(
    "--formats", nargs="*", default=sorted({*FORMATS.values()}), help="only these (%(default)s)"
)
benchmark.option("--files", type=int, default=1000, help="at most this many per row (%(default)s)")


tables = Table(
    (
        ("Format", "{format}"),
        ("Files of", lambda r: f"{r['where']}, `{r['pattern'].removeprefix('**/')}`"),
        ("Files", "{files:,.0f}"),
        ("Texts", "{texts:,.0f}"),
        ("Same bytes", "{same:,.0f}"),
        ("Same texts", "{read_again:,.0f}"),
        ("Refused", "{refused:,.0f}"),
    )
)


class Row(NamedTuple):
    """Files of one format in one folder; `where` names the folder in the result."""

    format: str
    where: str
    folder: Path
    pattern: str


PACKAGES = "installed packages"
ROWS = (
    Row("html", PACKAGES, Path(get_path("purelib")), "**/*.html"),
    Row("markdown", PACKAGES, Path(get_path("purelib")), "**/*.md"),
    Row("text", PACKAGES, Path(get_path("purelib")), "**/*.txt"),
    Row("po", PACKAGES, Path(get_path("purelib")), "**/*.po"),
    Row("json_strings", PACKAGES, Path(get_path("purelib")), "**/*.json"),
    Row("docx", PACKAGES, Path(get_path("purelib")), "**/*.docx"),
)


def rows(formats: Sequence[str], folders: Sequence[Path]) -> Iterator[Row]:
    """Yield the rows of the table, and one for each suffix and additional folder."""
    yield from (row for row in ROWS if row.format in formats)
    for folder in folders:
        for suffix, name in sorted(FORMATS.items()):
            if name in formats:
                yield Row(name, folder.name, folder, f"**/*{suffix}")


def reverse(text: str) -> str:
    """Reverse the order of the words; marks keep their places."""
    parts = re.split(rf"({MARKS}|\s+)", text)
    words = [i for i, part in enumerate(parts) if part.strip() and not re.fullmatch(MARKS, part)]
    for i, word in zip(words, [parts[i] for i in reversed(words)], strict=True):
        parts[i] = word
    return "".join(parts)


def words(text: str) -> str:
    """A text without marks, with single spaces."""
    return " ".join(re.sub(MARKS, " ", text).split())


def measure(path: Path, scratch: Path) -> Counter[str]:
    """Read and write a file; the copy is written to a scratch file."""
    is_given = path.suffix in (".tmx", ".xcstrings")  # they contain several languages
    options = DocumentOptions(("en", "de") if is_given else ("", ""), retranslate=True)
    try:
        document = read_document(path, options)
    except DataError as error:
        print(f"refused: {error}")
        return Counter(refused=1)
    texts = list(document.texts)
    changed = [reverse(text) for text in texts]
    copy = scratch.with_suffix(path.suffix)
    n_left = len(document.skipped)
    copy.write_bytes(document.render(changed))
    n_left = len(document.skipped) - n_left  # their placeholders would have another order
    again = read_document(copy, options)
    if FORMATS[path.suffix] in BILINGUAL:
        expected = [] if path.suffix == ".tmx" else texts  # units without the target language
        same = again.render(changed[: len(expected)]) == copy.read_bytes()
    else:
        same, expected = document.render(texts) == path.read_bytes(), changed
    found, wanted = list(map(words, again.texts)), list(map(words, expected))
    n_other = sum(a != b for a, b in zip(found, wanted, strict=False))
    read_again = len(found) == len(wanted) and n_other <= n_left
    return Counter(files=1, texts=len(texts), same=same, read_again=read_again)


def _has_format(path: Path, name: str) -> bool:
    """Whether a file has a format, which its content decides for some suffixes."""
    if path.suffix not in SNIFFED:
        return path.is_file()
    return is_supported(path) and format_name(path).endswith(name)


def measure_row(row: Row, limit: int, scratch: Path) -> dict[str, Any]:
    """Measure the files of a row."""
    files = (path for path in sorted(row.folder.glob(row.pattern)) if _has_format(path, row.format))
    total: Counter[str] = Counter()
    start = time.perf_counter()
    for path in islice(files, limit):
        found = measure(path, scratch)
        for key in ("same", "read_again"):
            if found["files"] and not found[key]:
                print(f"{path}: not {key.replace('_', ' ')}")
        total.update(found)
    keys = ("files", "texts", "same", "read_again", "refused")
    seconds = time.perf_counter() - start
    counts = {key: total[key] for key in keys} | {"seconds": seconds}
    return {"format": row.format, "where": row.where, "pattern": row.pattern, **counts}


def main(args: argparse.Namespace) -> None:
    """Measure all rows, and print the result."""
    with TemporaryDirectory() as folder:
        for row in rows(args.formats, args.folders):
            found = measure_row(row, args.files, Path(folder) / "copy")
            if not found["files"] + found["refused"]:
                continue
            print(
                f"{row.format}, {row.where}: {found['files']:,} files, {found['texts']:,} texts, "
                f"same bytes {found['same']:,}, read again {found['read_again']:,}, refused "
                f"{found['refused']:,}, {found['seconds']:.1f} s"
            )
            benchmark.record({"name": f"{row.where}, {row.pattern}", **found})


if __name__ == "__main__":
    benchmark.run(main)
