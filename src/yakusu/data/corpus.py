"""Corpora: the files that hold pairs of a source and a target, and functions that read them."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from yakusu.config import Config
from yakusu.data.brackets import begins_as_tree
from yakusu.data.text import Pair, raw_lines, read_lines
from yakusu.errors import DataError, unequal

Column = Annotated[int, Field(ge=1)] | str
_WILDCARDS = "*?["
_INSPECTED_LINES = 10  # enough to tell a file of trees from a file of sentences


class Corpus(Config):
    """The files of a corpus: two text files, two columns of one TSV file, or trees.

    Any file may be compressed (.gz). `src_column` and `tgt_column` are column numbers, counted
    from 1, or column names in the first line of the TSV file.
    """

    src: str = ""
    tgt: str = ""
    tsv: str = ""
    src_column: Column = 1
    tgt_column: Column = 2
    trees: str = ""  # a file, a folder of *.mrg files or a pattern; the source is the words

    @model_validator(mode="after")
    def _check_exclusive(self) -> "Corpus":
        if self.tsv and (self.src or self.tgt):
            raise ValueError(
                f"a corpus is two files or one tsv, not both: remove {self.tsv} or {self.src}"
            )
        if self.trees and (self.src or self.tgt or self.tsv):
            raise ValueError(
                f"a corpus of trees has no other files: remove src, tgt and tsv, or {self.trees}"
            )
        return self

    def __bool__(self) -> bool:
        return bool(self.src or self.tgt or self.tsv or self.trees)

    @property
    def named_files(self) -> dict[str, Path]:
        """The files of this corpus by their keys: "src", "tgt", "tsv", or "trees.1" and so on.

        Raises:
            DataError: No tree file exists.
        """
        if self.trees:
            numbered = enumerate(tree_files(self.trees), start=1)
            return {f"trees.{number}": path for number, path in numbered}
        named = {"src": self.src, "tgt": self.tgt, "tsv": self.tsv}
        return {key: Path(path) for key, path in named.items() if path}

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of this corpus."""
        return tuple(self.named_files.values())


class ExtraCorpus(Corpus):
    """Additional training pairs, such as back-translations."""

    weight: float = Field(1.0, gt=0, le=1000)  # average number of uses of each pair per epoch

    @model_validator(mode="after")
    def _check_weight_has_files(self) -> "ExtraCorpus":
        if self.weight != 1.0 and not self:
            raise ValueError(
                f"extra.weight = {self.weight} has no effect without files: add extra.src and "
                "extra.tgt, extra.tsv or extra.trees"
            )
        return self


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

    Raises:
        DataError: A file is missing or not UTF-8, the two files have different numbers of lines,
            a TSV line lacks a column, or a tree is malformed.
    """
    if corpus.trees:
        return _read_trees(corpus)
    if corpus.tsv:
        return _read_tsv(corpus)
    if not (corpus.src and corpus.tgt):
        given, missing = (corpus.src, "tgt") if corpus.src else (corpus.tgt, "src")
        raise DataError(
            f"{given or 'a corpus'} has no {missing}: specify two files (src and tgt), or one tsv"
        )
    return _read_two_files(corpus.src, corpus.tgt)


def _read_two_files(src_path: str, tgt_path: str) -> Iterator[Pair]:
    return aligned(read_lines(src_path), read_lines(tgt_path), names=(src_path, tgt_path))


def aligned(src: Iterable[str], tgt: Iterable[str], *, names: tuple[str, str]) -> Iterator[Pair]:
    """Pair each line of the source with the same line of the target.

    Args:
        src: Lines of the source.
        tgt: Lines of the target.
        names: Names of both sides in error messages.

    Raises:
        DataError: The sides have different numbers of lines.
    """
    sources, targets, n = iter(src), iter(tgt), 0
    end = object()
    while True:
        source, target = next(sources, end), next(targets, end)
        if source is end and target is end:
            return
        if source is end or target is end:
            n_src = n + (source is not end) + sum(1 for _ in sources)
            n_tgt = n + (target is not end) + sum(1 for _ in targets)
            raise unequal(names[0], n_src, names[1], n_tgt)
        n += 1
        if not (isinstance(source, str) and isinstance(target, str)):
            raise TypeError(f"line {n} is not a pair of strings: {source!r}, {target!r}")
        yield source, target


def _read_tsv(corpus: Corpus) -> Iterator[Pair]:
    lines = enumerate(raw_lines(corpus.tsv), start=1)
    columns = (corpus.src_column, corpus.tgt_column)
    named = any(isinstance(column, str) for column in columns)
    header = [cell.strip() for cell in next(lines, (1, ""))[1].split("\t")] if named else []
    src, tgt = (_column_index(column, header, corpus.tsv) for column in columns)
    for number, line in lines:
        cells = line.split("\t")
        if not line.strip():
            yield "", ""  # counted as an empty pair
            continue
        if len(cells) <= max(src, tgt):
            raise DataError(
                f"{corpus.tsv}, line {number}: column {max(src, tgt) + 1} is missing because the "
                f"line has only {len(cells)}: separate columns with tabs"
            )
        yield cells[src].strip(), cells[tgt].strip()


def _column_index(column: int | str, header: list[str], path: str) -> int:
    if isinstance(column, int):
        return column - 1
    if column not in header:
        raise DataError(
            f"{path}, line 1: there is no column '{column}': choose one of {', '.join(header)}"
        )
    return header.index(column)


def _read_trees(corpus: Corpus) -> Iterator[Pair]:
    from yakusu.data.trees import one_line, read_trees, words_of  # needs the extra 'parse'

    for tree in read_trees(corpus.files):
        yield " ".join(words_of(tree)), one_line(tree)


def tree_files(place: str | Path) -> list[Path]:
    """List tree files in order.

    Args:
        place: A file, a folder (all *.mrg and *.mrg.gz files below it) or a pattern.

    Raises:
        DataError: The folder or pattern matches no file.
    """
    path = Path(place)
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if _is_tree_file(file))
    elif not path.exists() and any(wildcard in str(place) for wildcard in _WILDCARDS):
        files = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    else:
        return [path]
    if not files:
        raise DataError(
            f"{place} has no tree files: specify a file, a folder of *.mrg or a pattern"
        )
    return files


def holds_trees(place: str | Path) -> bool:
    """Whether a path holds trees, judging by its name, its first lines or the files below it."""
    path = Path(place)
    if _is_tree_file(path):
        return True
    if path.is_dir():
        return any(map(_is_tree_file, path.rglob("*")))
    # A pipe can be read only once, so its content is not inspected.
    return path.is_file() and begins_as_tree(" ".join(islice(raw_lines(path), _INSPECTED_LINES)))


def _is_tree_file(path: Path) -> bool:
    return path.name.lower().endswith((".mrg", ".mrg.gz"))
