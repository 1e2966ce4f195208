"""Adds the segments of files to a memory, in batches.

    team.tmx, ui.po, terms.tsv          files with both sides
    guide.en guide.de                   text files whose lines correspond, named after languages

What is left out is counted and reported. An error in one of the files changes nothing.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from operator import attrgetter
from pathlib import Path

from yakusu.data.corpus import Corpus, read_pairs
from yakusu.data.files.compressed import plain_name, refuse_pipe
from yakusu.data.files.formats import format_by_name, format_of
from yakusu.data.files.long_lines import LEFT_OUT, LongLines
from yakusu.data.files.text import ErrorPolicy, InvalidLines, PairFile, language_of
from yakusu.data.files.units import FileUnit
from yakusu.data.languages import closeness, listed_codes, require_language
from yakusu.data.segment_files import read_segments, segment_of
from yakusu.data.segments import MemorySegment
from yakusu.errors import DataError
from yakusu.memory.file import COLUMNS
from yakusu.memory.memory import Added, TranslationMemory, batches
from yakusu.progress import Progress

_log = logging.getLogger(__name__)
LONGEST = 10_000  # characters of a field of a segment
_fields = attrgetter(*COLUMNS)
_TABLES = ("csv", "tsv", "jsonl", "xlsx", "ods", "docx")


@dataclass(frozen=True)
class ImportOptions:
    """How files are read.

    Attributes:
        origin: Origin of the segments; None: what the file says, or its name.
        who: Who confirmed the segments whose file does not say it.
        columns: Source and target in tables and JSON lines; None: as their header says.
        errors: What to do with lines that are not UTF-8.
        encoding: The encoding of the text files that are not UTF-8; "": detected.
    """

    origin: str | None = None
    who: str = ""
    columns: tuple[int | str, int | str] | None = None
    errors: ErrorPolicy = "strict"
    encoding: str = ""


@dataclass(frozen=True)
class Imported:
    """What was added.

    Attributes:
        added: Numbers of new and of known segments.
        left_out: Numbers of segments that were left out, by reason.
    """

    added: Added
    left_out: Counter[str]


def add_files(
    path: Path,
    files: Sequence[Path],
    languages: tuple[str, str] | None,
    options: ImportOptions,
    progress: Progress,
) -> Imported:
    """Add the segments of files to a memory, which is created if it does not exist.

    Args:
        path: The memory.
        files: The files.
        languages: Codes of its languages; None: those that the memory has.
        options: How the files are read.
        progress: Counts the segments.

    Raises:
        DataError: A file is malformed or has other languages, or the memory cannot be written.
            Nothing is added; a memory of one batch is not created.
    """
    codes = memory_languages(path, languages)
    left_out = Counter[str]()
    with progress.track("adding", "segments", None) as tracker:

        def counted() -> Iterator[MemorySegment]:
            for segment in _read(files, codes, options, left_out):
                tracker.advance()
                yield segment

        return Imported(_add(path, codes, counted()), left_out)


def add_segments(
    path: Path,
    segments: Iterable[MemorySegment],
    file: Path,
    languages: tuple[str, str],
    options: ImportOptions,
) -> Imported:
    """Add the segments of a file that has been read, as `add_files` does.

    Args:
        path: The memory.
        segments: The segments.
        file: The file.
        languages: Codes of the languages of the memory.
        options: Origin of the segments, and who confirmed them.

    Raises:
        DataError: The memory cannot be written. Nothing is added.
    """
    left_out = Counter[str]()
    found = _complete(segments, file, file.name, options, left_out)
    return Imported(_add(path, languages, found), left_out)


def memory_languages(path: Path, wanted: tuple[str, str] | None) -> tuple[str, str]:
    """Return the languages of a memory, or of one that is to be created.

    Raises:
        DataError: It cannot be opened, or has other languages or the name of another file.
    """
    if format_by_name(path):
        raise DataError(
            f"{path} has the name of a file to add, not of a memory: name the memory first, as in "
            f"team.db {path}"
        )
    if wanted is None or path.exists():
        with TranslationMemory.open(path, wanted, writable=True) as memory:
            return memory.languages
    source, target = map(require_language, wanted)
    if source == target:
        raise DataError(f"the source and the target language are both {source}: change one")
    return source, target


def merge_memories(path: Path, others: Sequence[Path]) -> Imported:
    """Add all segments of other memories to a memory, which is created if it does not exist.

    Raises:
        DataError: One of them is not a memory, is damaged or has other languages, or the memory
            cannot be written. Nothing is added.
    """
    for other in others:
        if other.exists() and path.exists() and other.samefile(path):
            raise DataError(f"{other} would be merged with itself: name another memory")
    languages = None
    for each in [*([path] if path.exists() else []), *others]:
        with TranslationMemory.open(each, languages) as memory:
            languages = memory.languages
    assert languages is not None

    def segments() -> Iterator[MemorySegment]:
        for other in others:
            with TranslationMemory.open(other) as memory, memory.snapshot():
                yield from (each.segment for each in memory)

    return Imported(_add(path, languages, segments()), Counter())


def _add(path: Path, languages: tuple[str, str], segments: Iterator[MemorySegment]) -> Added:
    """Add segments to a memory, which is created when the first batch has been read."""
    first = next(batches(segments), [])
    with TranslationMemory.open(path, languages, writable=True) as memory:
        return memory.add(chain(first, segments))


def _read(
    files: Sequence[Path],
    languages: tuple[str, str],
    options: ImportOptions,
    left_out: Counter[str],
) -> Iterator[MemorySegment]:
    """Yield the segments of files; count those that are left out."""
    for path, translation in _sides(files, languages):
        refuse_pipe(path)
        plain = Path(plain_name(path))
        if translation is None:
            segments, origin = segments_of_file(path, languages, options), plain.name
        else:
            segments, origin = _lines(path, translation, options), plain.stem
        yield from _complete(segments, path, origin, options, left_out)


def _complete(
    segments: Iterable[MemorySegment],
    path: Path,
    origin: str,
    options: ImportOptions,
    left_out: Counter[str],
) -> Iterator[MemorySegment]:
    """Yield the segments of a file with what they do not state; count those that are left out."""
    time = _modified(path)
    for segment in segments:
        if reason := _unfit(segment):
            left_out[reason] += 1
            continue
        yield replace(
            segment,
            origin=segment.origin or origin if options.origin is None else options.origin,
            time=segment.time or time,
            who=segment.who or options.who,
        )


def _unfit(segment: MemorySegment) -> str:
    """Why a segment is not stored, or ""."""
    fields = _fields(segment)
    if LEFT_OUT is segment.source or max(map(len, fields)) > LONGEST:
        return "too long"
    if not (segment.source.strip() and segment.target.strip()):
        return "empty"
    try:
        "".join(fields).encode()
    except UnicodeEncodeError:
        return "not UTF-8"
    return ""


def _modified(path: Path) -> str:
    """When a file was changed, for segments without a date."""
    try:
        found = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, OverflowError, ValueError):
        return ""
    return found.strftime("%Y-%m-%dT%H:%M:%SZ")


def _sides(files: Sequence[Path], languages: tuple[str, str]) -> Iterator[tuple[Path, Path | None]]:
    """Yield each file with both sides, and each text file with its translation.

    Raises:
        DataError: A text file has no translation, or a file does not exist.
    """
    texts: dict[tuple[str, int], Path] = {}  # by name without language, and side
    for path in files:
        if (side := _side(path, languages)) is None:
            yield path, None
        else:
            stem = plain_name(path).rpartition(".")[0]
            texts[stem, side] = path
    for (stem, side), path in texts.items():
        if (stem, 1 - side) not in texts:
            other = f"{stem}.{languages[1 - side]}"
            raise DataError(f"{path} has one language only: add its translation, too, as {other}")
        if side == 0:
            yield path, texts[stem, 1]


def _side(path: Path, languages: tuple[str, str]) -> int | None:
    """Which side of a corpus a text file is, by its name; None: it is not one."""
    if format_by_name(path) or not (code := language_of(path)) or format_of(path) != "tsv":
        return None
    ranks = [closeness(language, code) for language in languages]
    if ranks == [None, None]:
        raise DataError(
            f"{path} is in {code}, and the memory in {' and '.join(languages)}: give files of "
            "these languages"
        )
    return min((rank, side) for side, rank in enumerate(ranks) if rank is not None)[1]


def _lines(path: Path, translation: Path, options: ImportOptions) -> Iterator[MemorySegment]:
    """Yield the lines of two text files."""
    corpus = Corpus(
        src=str(path), tgt=str(translation), errors=options.errors, encoding=options.encoding
    )
    for source, target in read_pairs(corpus):
        if LEFT_OUT is source or LEFT_OUT is target:
            yield MemorySegment(LEFT_OUT, LEFT_OUT)
        else:
            yield segment_of(FileUnit([source], [target]))


def segments_of_file(
    path: Path,
    languages: tuple[str, str],
    options: ImportOptions,
    remark: Callable[[str], None] = _log.warning,
) -> Iterator[MemorySegment]:
    """Yield the segments of a file with both sides.

    Args:
        path: The file.
        languages: Codes of the languages of the memory.
        options: How the file is read.
        remark: Says what is left out.

    Raises:
        DataError: The file is malformed or has other languages.
    """

    def choose(codes: Sequence[str]) -> str:
        return f"add it to a memory of its languages, {listed_codes(codes)}"

    is_table = format_of(path) in _TABLES
    columns = (options.columns or (1, 2)) if is_table else languages
    encoding = "" if "," in options.encoding else options.encoding  # of two text files
    corpus = Corpus(pairs=str(path), errors=options.errors, encoding=encoding)
    errors = InvalidLines(options.errors, whole_lines=True, encoding=corpus.encodings[0])
    file = PairFile(str(path), columns, errors, LongLines(), remark, choose, languages)
    yield from read_segments(file)
    for warning in file.errors.warning(str(path)), file.long.warning(str(path)):
        if warning:
            remark(warning)
