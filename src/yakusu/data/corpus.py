"""Corpora: where pairs of a source and a target lie, and reading them in order."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from yakusu.config import Config
from yakusu.data.text import Pair, raw_lines, read_lines
from yakusu.data.treefiles import holds_trees, tree_files
from yakusu.errors import DataError

Column = Annotated[int, Field(ge=1)] | str


class Corpus(Config):
    """Where pairs lie: two files, two columns of one TSV, or trees; any file may be .gz.

    `src_column` and `tgt_column` are numbers from 1, or names found in the TSV's first line.
    """

    src: str = ""
    tgt: str = ""
    tsv: str = ""
    src_column: Column = 1
    tgt_column: Column = 2
    trees: str = ""  # a file, a folder of *.mrg or a pattern; the words are the source

    @model_validator(mode="after")
    def _one_form(self) -> "Corpus":
        if self.tsv and (self.src or self.tgt):
            raise ValueError(
                f"a corpus is two files or one tsv, not both: {self.tsv} and {self.src}"
            )
        if self.trees and (self.src or self.tgt or self.tsv):
            raise ValueError(f"a corpus of trees is nothing else: {self.trees} stands alone")
        return self

    def __bool__(self) -> bool:
        return bool(self.src or self.tgt or self.tsv or self.trees)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that hold this corpus."""
        if self.trees:
            return tuple(tree_files(self.trees))
        return (Path(self.tsv),) if self.tsv else (Path(self.src), Path(self.tgt))


class ExtraCorpus(Corpus):
    """Pairs beside those of another corpus, such as machine-made ones."""

    weight: float = Field(1.0, gt=0, le=1000)  # how often one is seen while the other's are once

    @model_validator(mode="after")
    def _weighs_something(self) -> "ExtraCorpus":
        if self.weight != 1.0 and not self:
            raise ValueError(
                f"extra.weight = {self.weight} is of no corpus: name its files beside it"
            )
        return self


def read_sources(place: str | Path) -> Iterator[str]:
    """The sentences of a file, one a line; of trees their words.

    Raises:
        DataError: A file is missing or not UTF-8, or a tree is broken.
    """
    if not holds_trees(place):
        return read_lines(place)
    return (words for words, _ in read_pairs(Corpus(trees=str(place))))


def read_pairs(corpus: Corpus) -> Iterator[Pair]:
    """The pairs of a corpus in order; of trees the words, and each tree as a line of text.

    Raises:
        DataError: A file is missing or not UTF-8, the two files differ in length, a TSV line
            lacks a column, or a tree is broken.
    """
    if corpus.trees:
        return _read_trees(corpus)
    if corpus.tsv:
        return _read_tsv(corpus)
    if not (corpus.src and corpus.tgt):
        alone, other = (corpus.src, "tgt") if corpus.src else (corpus.tgt, "src")
        raise DataError(
            f"{alone or 'a corpus'} has no {other}: name two files (src and tgt), or one tsv"
        )
    return _read_two_files(corpus.src, corpus.tgt)


def _read_two_files(src_path: str, tgt_path: str) -> Iterator[Pair]:
    src, tgt = read_lines(src_path), read_lines(tgt_path)
    n = 0
    end = object()
    while True:
        source, target = next(src, end), next(tgt, end)
        if source is end and target is end:
            return
        if source is end or target is end:
            n_src = n + (source is not end) + sum(1 for _ in src)
            n_tgt = n + (target is not end) + sum(1 for _ in tgt)
            raise DataError(
                f"{src_path} has {n_src} lines and {tgt_path} {n_tgt}: align them line by line"
            )
        n += 1
        yield str(source), str(target)


def _read_tsv(corpus: Corpus) -> Iterator[Pair]:
    lines = enumerate(raw_lines(corpus.tsv), start=1)
    wanted = (corpus.src_column, corpus.tgt_column)
    named = any(isinstance(column, str) for column in wanted)
    header = [cell.strip() for cell in next(lines, (1, ""))[1].split("\t")] if named else []
    src, tgt = (_column(column, header, corpus.tsv) for column in wanted)
    for number, line in lines:
        cells = line.split("\t")
        if not line.strip():
            yield "", ""  # counted among the empty pairs
            continue
        if len(cells) <= max(src, tgt):
            raise DataError(
                f"{corpus.tsv}, line {number}: {len(cells)} columns where column "
                f"{max(src, tgt) + 1} is wanted: separate the columns by tabs"
            )
        yield cells[src].strip(), cells[tgt].strip()


def _column(column: int | str, header: list[str], path: str) -> int:
    if isinstance(column, int):
        return column - 1
    if column not in header:
        raise DataError(f"{path}, line 1: no column '{column}' among {', '.join(header)}")
    return header.index(column)


def _read_trees(corpus: Corpus) -> Iterator[Pair]:
    from yakusu.data.trees import one_line, read_trees, words_of  # their library is an extra

    for tree in read_trees(corpus.files):
        yield " ".join(words_of(tree)), one_line(tree)
