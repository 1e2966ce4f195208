"""Corpora: the files that contain pairs of a source and a target, and functions to read them."""

import logging
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

from yakusu.config import Config, requirement
from yakusu.data.files.encodings import detected_encoding, require_encoding, specified_encoding
from yakusu.data.files.formats import format_by_name, has_encoding, languages_in, read_file
from yakusu.data.files.long_lines import LEFT_OUT, LongLines, is_long
from yakusu.data.files.tables import has_header
from yakusu.data.files.text import (
    ErrorPolicy,
    InvalidLines,
    Pair,
    PairFile,
    count_lines,
    language_of,
    read_lines,
)
from yakusu.data.files.tree_files import holds_trees, tree_files
from yakusu.data.languages import canonical, find_pair, language_code, same_language
from yakusu.errors import DataError, RecipeError, YakusuError, unequal
from yakusu.typed import setting

_log = logging.getLogger(__name__)
_MOST_COUNTED = 1_000_000  # lines after the end of the shorter side
Column = Annotated[int, setting(ge=1)] | str


class Corpus(Config):
    """The files of a corpus: two text files, one file with both sides or trees; or several corpora.

    Any file may be compressed. `pairs` is TMX, XLIFF, PO, TSV, CSV, JSON lines, xlsx, ods or docx;
    `src_column` and `tgt_column` are its columns, as numbers from 1 or names in its first line, or
    its languages. In a recipe, several corpora are a list of them.
    """

    src: str = ""
    tgt: str = ""
    pairs: str = ""
    src_column: Column = 1
    tgt_column: Column = 2
    trees: str = ""  # a file, a folder of *.mrg files or a pattern; the source is the words
    subtrees: bool = False  # the constituents of the trees in place of the trees
    errors: ErrorPolicy = "strict"  # for lines that are not UTF-8
    # Of the text files: one name, or two separated by a comma; empty: UTF-8, or else detected.
    encoding: str = ""
    parts: tuple["CorpusEntry", ...] = ()  # instead of the files

    def model_dump(self, **options: Any) -> Any:
        """Return the values by name, or a list of corpora."""
        values = super().model_dump(**options)
        if self.parts:
            return values["parts"] if type(self) is Corpus else values
        return {key: value for key, value in values.items() if key != "parts"}

    @classmethod
    def _prepared(cls, values: Any) -> Any:
        """Read a list of corpora, and the key of earlier recipes, whose pairs were always TSV."""
        if isinstance(values, list | tuple):
            return {"parts": values}
        if not isinstance(values, dict) or "tsv" not in values:
            return values
        tsv, rest = values["tsv"], {key: each for key, each in values.items() if key != "tsv"}
        if tsv and rest.get("pairs"):
            raise ValueError(f"tsv is an old name of pairs: remove tsv = {tsv!r}")
        return {**rest, "pairs": tsv} if tsv else rest

    @requirement
    def _check_exclusive(self) -> None:
        if self.pairs and (self.src or self.tgt):
            raise ValueError(
                "a corpus is two files or one file of pairs, not both: remove "
                f"{self.pairs} or {self.src or self.tgt}"
            )
        if self.trees and (self.src or self.tgt or self.pairs):
            raise ValueError(
                f"a corpus of trees has no other files: remove src, tgt and pairs, or {self.trees}"
            )
        if self.subtrees and not self.trees:
            raise ValueError("subtrees = true has no effect without trees: remove it")

    @requirement
    def _check_parts(self) -> None:
        if not self.parts:
            return
        if self.src or self.tgt or self.pairs or self.trees:
            raise ValueError("a list of corpora has no files of its own: remove src, tgt and pairs")
        for part in self.parts:
            if not part or part.trees or part.parts:
                raise ValueError("each entry of a list of corpora needs src and tgt, or pairs")
        if max(part.weight for part in self.parts) < 1:
            raise ValueError("all weights of the list are below 1: set at least one to 1 or more")
        for part in self.parts:
            for own, first in zip(part.languages, self.languages, strict=True):
                if own and not same_language(own, first):
                    raise ValueError(
                        "the corpora of a list must have the same languages, but these have "
                        f"{first} and {own}: move other languages to data.others"
                    )

    @requirement
    def _check_encoding(self) -> None:
        names = self.encoding.split(",") if self.encoding else []
        if len(names) > 1 + (not self.pairs):
            raise ValueError(
                f"encoding = '{self.encoding}' names {len(names)} encodings: name one, or two for "
                "src and tgt"
            )
        for name in names:
            require_encoding(name.strip())

    def __bool__(self) -> bool:
        return bool(self.src or self.tgt or self.pairs or self.trees or self.parts)

    @property
    def names(self) -> tuple[str, str]:
        """What messages call both sides: the files of the source and of the target."""
        if self.parts:
            src, tgt = zip(*(part.names for part in self.parts), strict=True)
            return " and ".join(src), " and ".join(tgt)
        return self.src or self.pairs, self.tgt or self.pairs

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each part that has its own; (1.0,): all pairs have the same."""
        weights = tuple(part.weight for part in self.parts)
        return weights if any(each != 1.0 for each in weights) else (1.0,)

    @property
    def encodings(self) -> tuple[str, ...]:
        """Python's names of the encodings of the text files: of `pairs`, or of `src` and `tgt`.

        One stated name is that of the files that are not UTF-8.

        Raises:
            DataError: A file does not exist, or its encoding is unclear.
        """
        files = [path for path in (self.src, self.tgt, self.pairs) if path]
        stated = [require_encoding(name.strip()) for name in self.encoding.split(",") if name]
        if len(stated) > 1:
            return tuple(stated)
        if self.pairs and not has_encoding(self.pairs):
            return ("utf-8",)
        if stated:
            return tuple(specified_encoding(path, stated[0]) for path in files)
        if self.errors != "strict":
            return ("utf-8",) * len(files)
        return tuple(detected_encoding(path) or "utf-8" for path in files)

    @property
    def languages(self) -> tuple[str, str]:
        """The codes that the columns or the names of the files state, or ""."""
        if self.parts:
            sides = zip(*(part.languages for part in self.parts), strict=True)
            src, tgt = (next(filter(None, side), "") for side in sides)
            return src, tgt
        if not self.pairs:
            return language_of(self.src), language_of(self.tgt)
        multilingual = format_by_name(self.pairs) in ("tmx", "xliff")
        src, tgt = (
            (language_code(column) or (canonical(column) if multilingual else ""))
            if isinstance(column, str)
            else ""
            for column in (self.src_column, self.tgt_column)
        )
        return src, tgt

    @cached_property
    def _warned(self) -> set[str]:
        """Warnings already given: a corpus is read several times."""
        return set()

    def warn(self, message: str) -> None:
        """Log a warning about the content of this corpus, unless it was given before."""
        if message and message not in self._warned:
            self._warned.add(message)
            _log.warning(message)

    @property
    def named_files(self) -> dict[str, Path]:
        """The files of this corpus by their keys: "src", "tgt", "pairs", or "trees.1" etc.

        Raises:
            DataError: No tree file exists.
        """
        if self.parts:
            return {
                f"{number}.{key}": path
                for number, part in enumerate(self.parts, start=1)
                for key, path in part.named_files.items()
            }
        if self.trees:
            numbered = enumerate(tree_files(self.trees), start=1)
            return {f"trees.{number}": path for number, path in numbered}
        named = {"src": self.src, "tgt": self.tgt, "pairs": self.pairs}
        return {key: Path(path) for key, path in named.items() if path}

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of this corpus."""
        return tuple(self.named_files.values())


class CorpusEntry(Corpus):
    """One of several corpora."""

    weight: float = setting(1.0, gt=0, le=1000)  # average number of uses of each pair per epoch


class ExtraCorpus(Corpus):
    """Additional training pairs, such as back-translations."""

    weight: float = setting(1.0, gt=0, le=1000)  # average number of uses of each pair per epoch
    share: float | None = setting(None, gt=0, lt=1)  # of the pairs of an epoch; sets weight

    @requirement
    def _check_weight_has_files(self) -> None:
        if self.share is None and self.weights != (1.0,):
            raise ValueError(
                "the corpora of data.extra have one weight: remove theirs, or use data.train"
            )
        if self.weight != 1.0 and self.share is not None:
            raise ValueError("extra.weight and extra.share are mutually exclusive: remove one")
        if self.share is not None and not self:
            raise ValueError(f"extra.share = {self.share} has no effect without files: add them")
        if self.weight != 1.0 and not self:
            raise ValueError(
                f"extra.weight = {self.weight} has no effect without files: add extra.src and "
                "extra.tgt, extra.pairs or extra.trees"
            )


def read_sources(path: str | Path) -> Iterator[str]:
    """Read source sentences: the lines of a text file, or the words of each tree.

    Raises:
        DataError: A file is missing or not UTF-8, or a tree is malformed.
    """
    if not holds_trees(path):
        return read_lines(path)
    return (words for words, _ in read_pairs(Corpus(trees=str(path))))


def read_pairs(corpus: Corpus) -> Iterator[Pair]:
    """Read the pairs of a corpus in order; a tree is a pair of its words and its bracketed line.

    A side with more than `LONGEST_LINE` bytes is `LEFT_OUT`; of a file with both sides, both are.
    What a reader leaves out is counted and logged as a warning, once for each corpus.

    Raises:
        DataError: A file is missing, malformed or not UTF-8, the two files have different numbers
            of lines, a row lacks a column, or a file of pairs lacks a language.
        RunError: A file needs a library that is not installed.
    """
    if corpus.parts:
        return chain.from_iterable(map(read_pairs, corpus.parts))
    if corpus.trees:
        return _read_trees(corpus)
    if corpus.pairs:
        return _read_one_file(corpus)
    for name in (corpus.src, corpus.tgt):
        refuse_both_sides(name, "pass it as --pairs, without src and tgt")
    if not (corpus.src and corpus.tgt):
        given, missing = (corpus.src, "tgt") if corpus.src else (corpus.tgt, "src")
        raise DataError(
            f"{given or 'a corpus'} has no {missing}: specify two files (src and tgt), or pairs"
        )
    return _read_two_files(corpus)


def refuse_both_sides(path: str | Path, fix: str) -> None:
    """Refuse a file of pairs, such as TMX or xlsx, in the place of a text file.

    Args:
        path: The file; its name states the format.
        fix: What to do instead.

    Raises:
        DataError: It is one.
    """
    if (kind := format_by_name(path)) in ("tmx", "xliff", "po", "xlsx", "ods", "docx"):
        raise DataError(f"{path} contains both sides ({kind.upper()}): {fix}")


def numbered_pairs(corpus: Corpus) -> Iterator[tuple[int, Pair]]:
    """Read the pairs of a corpus in order, each with the number of its line, from 1.

    The first pair of a TSV file with a header is line 2. If pairs are not lines, as in TMX, the
    number is that of the pair.

    Raises:
        YakusuError: As in `read_pairs`.
    """
    is_table = corpus.pairs and format_by_name(corpus.pairs) == "tsv"
    first = 2 if is_table and has_header(_pair_file(corpus)) else 1
    return enumerate(read_pairs(corpus), start=first)


def _read_two_files(corpus: Corpus) -> Iterator[Pair]:
    names = (corpus.src, corpus.tgt)
    errors = [InvalidLines(corpus.errors, encoding=each) for each in corpus.encodings]
    long = LongLines(), LongLines()
    src, tgt = (
        read_lines(path, errors=own, long=counted)
        for path, own, counted in zip(names, errors, long, strict=True)
    )
    yield from aligned(src, tgt, names=names)
    for name, own, counted in zip(names, errors, long, strict=True):
        corpus.warn(own.warning(name))
        corpus.warn(counted.warning(name))


def _read_one_file(corpus: Corpus) -> Iterator[Pair]:
    file, long = _pair_file(corpus), LongLines()
    for number, pair in enumerate(read_file(file), start=1):
        if any(map(is_long, pair)):
            long.add(number)
            yield LEFT_OUT, LEFT_OUT
        else:
            yield pair
    corpus.warn(file.errors.warning(corpus.pairs))
    corpus.warn(file.long.warning(corpus.pairs))
    corpus.warn(long.warning(corpus.pairs, "pair"))


def _pair_file(corpus: Corpus) -> PairFile:
    errors = InvalidLines(corpus.errors, whole_lines=True, encoding=corpus.encodings[0])
    columns = corpus.src_column, corpus.tgt_column
    return PairFile(corpus.pairs, columns, errors, LongLines(), corpus.warn)


def aligned(src: Iterable[str], tgt: Iterable[str], *, names: tuple[str, str]) -> Iterator[Pair]:
    """Pair each line of the source with the same line of the target.

    Args:
        src: Lines of the source.
        tgt: Lines of the target.
        names: Names of both sides in error messages.

    Raises:
        DataError: The sides have different numbers of lines; of the longer side, not all lines are
            read, because a small compressed file may have very many.
    """
    sources, targets, n = iter(src), iter(tgt), 0
    end = object()
    while True:
        source, target = next(sources, end), next(targets, end)
        if source is end and target is end:
            return
        if source is end or target is end:
            more = sum(1 for _ in islice(targets if source is end else sources, _MOST_COUNTED))
            n_src, n_tgt = (n, n + 1 + more) if source is end else (n + 1 + more, n)
            counted = more < _MOST_COUNTED
            raise unequal(names[0], n_src, names[1], n_tgt, counted=counted)
        n += 1
        if not (isinstance(source, str) and isinstance(target, str)):
            raise TypeError(f"line {n} is not a pair of strings: {source!r}, {target!r}")
        yield source, target


def count_pairs(corpus: Corpus) -> int | None:
    """Return the number of pairs; None if counting them takes as long as reading them.

    Raises:
        DataError: A file cannot be read or is not UTF-8.
    """
    if corpus.parts:
        counts = [count_pairs(part) for part in corpus.parts]
        known = [n for n in counts if n is not None]
        return sum(known) if len(known) == len(counts) else None
    if corpus.src:
        errors = InvalidLines(corpus.errors, encoding=corpus.encodings[0])
        return count_lines(corpus.src, errors=errors)
    if corpus.pairs and format_by_name(corpus.pairs) == "tsv":
        errors = InvalidLines(corpus.errors, encoding=corpus.encodings[0])
        n_lines = count_lines(corpus.pairs, errors=errors)
        return n_lines - has_header(_pair_file(corpus))
    return None


def number_of_pairs(corpus: Corpus) -> int:
    """Count the pairs, if necessary by reading them; see `read_pairs` for the errors."""
    n = count_pairs(corpus)
    return sum(1 for _ in read_pairs(corpus)) if n is None else n


def parse_columns(columns: str) -> tuple[int | str, int | str]:
    """Return the source and the target of --columns: "en,de" -> ("en", "de"), "1,3" -> (1, 3).

    Raises:
        RecipeError: These are not two, or a number is 0.
    """
    both = [int(each) if each.isdecimal() else each for each in map(str.strip, columns.split(","))]
    if len(both) != 2 or "" in both or 0 in both:
        raise RecipeError(
            f"--columns {columns}: give a source and a target, as in --columns en,de or 1,3"
        )
    return both[0], both[1]


def checked_encoding(encoding: str) -> str:
    """Return the value of --encoding.

    Raises:
        RecipeError: It names an unknown encoding, or more than two.
    """
    names = encoding.split(",") if encoding else []
    try:
        if len(names) > 2:
            raise ValueError("name one encoding, or one for each side")
        for name in names:
            require_encoding(name.strip())
    except ValueError as error:
        raise RecipeError(f"--encoding {encoding}: {error}") from error
    return encoding


def with_languages(corpus: Corpus, wanted: tuple[str, str]) -> Corpus:
    """Select two languages of a TMX or XLIFF file for which none are selected.

    Args:
        corpus: Any corpus; it is returned unchanged if there is nothing to select, or if the file
            cannot be read or has several languages to choose from.
        wanted: Source and target language; "": the other one of the two of the file.
    """
    if corpus.parts:
        parts = tuple(with_languages(part, wanted) for part in corpus.parts)
        return corpus.model_copy(update={"parts": parts})
    if not corpus.pairs or (corpus.src_column, corpus.tgt_column) != (1, 2):
        return corpus
    try:
        codes, srclang = languages_in(corpus.pairs)
    except YakusuError:
        return corpus  # reported when the corpus is read
    if not codes:
        return corpus
    src, tgt = wanted if all(wanted) else _complete(wanted, codes, srclang)
    if not (src and tgt):
        return corpus
    return corpus.model_copy(update={"src_column": src, "tgt_column": tgt})


def with_encoding(corpus: Corpus) -> Corpus:
    """Return a corpus that names the encodings of its text files, unless all are UTF-8 or missing.

    Raises:
        DataError: The encoding of a file is unclear.
    """
    if corpus.parts:
        parts = tuple(map(with_encoding, corpus.parts))
        return corpus.model_copy(update={"parts": parts})
    named = (path for path in (corpus.src, corpus.tgt, corpus.pairs) if path)
    if corpus.encoding or not all(Path(path).exists() for path in named):
        return corpus  # a missing file is reported when it is read: a run resumes without
    if set(corpus.encodings) <= {"utf-8"}:
        return corpus
    return corpus.model_copy(update={"encoding": ",".join(dict.fromkeys(corpus.encodings))})


def _complete(wanted: tuple[str, str], codes: list[str], srclang: str) -> tuple[str, str]:
    """Return both languages of a file with two, of which at most one is known; "": unknown."""
    src, tgt = wanted
    known = (src or ("" if tgt else srclang), tgt)
    positions = [position for position in find_pair(known, tuple(codes)) if position is not None]
    if len(codes) != 2 or not positions:
        return "", ""
    other = codes[1 - positions[0]]
    return (other, tgt) if tgt else (src or codes[positions[0]], other)


def _read_trees(corpus: Corpus) -> Iterator[Pair]:
    from yakusu.data.trees import (  # needs the extra 'parse'
        constituents,
        read_trees,
        tree_line,
        words_of,
    )

    trees = read_trees(corpus.files)
    if corpus.subtrees:
        trees = chain.from_iterable(map(constituents, trees))
    for tree in trees:
        yield " ".join(words_of(tree)), tree_line(tree)
