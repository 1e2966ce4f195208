"""The benchmark of recipes chosen by size: how it reads a part of a corpus."""

from pathlib import Path
from typing import Any

import pytest

corpora: Any = pytest.importorskip(
    "benchmarks.paper.corpora", reason="only a checkout has benchmarks"
)


def test_a_part_is_a_range_of_lines(tmp_path: Path) -> None:
    for language in ("en", "de"):
        (tmp_path / f"train.tok.{language}").write_text("".join(f"{language}{i}\n" for i in "0123"))
    part = corpora.Part("train.tok", 1, 3)
    assert corpora.pairs_of(part, tmp_path, ("en", "de")) == [("en1", "de1"), ("en2", "de2")]


def test_rows_with_an_empty_cell_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text('ref\ten\tde\n1\tone "1\teins\n2\ttwo\t\n3\tthree\tdrei\n')
    found = corpora.pairs_of(corpora.Part("a.tsv"), tmp_path, ("en", "de"))
    assert found == [('one "1', "eins"), ("three", "drei")]
