"""The verb `yakusu vectors evaluate`: output and errors."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import yakusu
from yakusu.compress.config import CompressConfig

pytestmark = pytest.mark.usefixtures("undrawn")
RunYakusu = Callable[..., Any]
WORDS = ["king", "queen", "man", "woman", *(f"w{i}" for i in range(4, 300))]


@pytest.fixture
def dense() -> yakusu.vectors.WordVectors:
    vectors = np.random.default_rng(3).standard_normal((300, 4)) * [1, 1, 1, 30]
    return yakusu.vectors.WordVectors(WORDS, vectors.astype(np.float32))


@pytest.fixture
def original(dense: yakusu.vectors.WordVectors, tmp_path: Path) -> Path:
    np.savez(tmp_path / "floats.npz", words=np.array(dense.words), vectors=dense.vectors)
    return tmp_path / "floats.npz"


@pytest.fixture
def similarities(dense: yakusu.vectors.WordVectors, tmp_path: Path) -> Path:
    """A test set whose human scores are the last components, which whitening makes smaller."""
    lines = [
        f"{WORDS[i]}\t{WORDS[i + 1]}\t{np.sign(dense.vectors[i : i + 2, 3]).prod()}\n"
        for i in range(60)
    ]
    (tmp_path / "a-set-with-a-long-name-of-many-words.tsv").write_text("".join(lines))
    return tmp_path / "a-set-with-a-long-name-of-many-words.tsv"


@pytest.mark.parametrize(
    ("config", "control"),
    [
        (CompressConfig(k=8), "whitened"),
        (CompressConfig(method="integers", step=0.3), "half-whitened"),
    ],
    ids=["codes", "integers"],
)
def test_scores_and_differences_stand_side_by_side(
    run_yakusu: RunYakusu,
    dense: yakusu.vectors.WordVectors,
    original: Path,
    similarities: Path,
    tmp_path: Path,
    config: CompressConfig,
    control: str,
) -> None:
    out, near = tmp_path / "v.ykv", tmp_path / "near.tsv"
    yakusu.vectors.compress(dense, out, config=config)
    near.write_text("king\tqueen\t3\nman\twoman\t2\nw5\tw6\t1\nw5\tnone\t1\n")
    said = run_yakusu("vectors", "evaluate", out, near, similarities, "--original", original)
    assert said.code == 0, said.err
    scores, differences = said.out.split("differences x 100, with 95% intervals of a paired boots")
    tables = " ".join(scores.split())
    assert "Real, half- task floats Real centred centred whitened whitened Code" in tables
    number = r" +-?\d+\.\d"
    assert re.search(rf"^ +near({number}){{7}} *$", scores, re.MULTILINE)
    assert re.search(rf"^ +10 nearest kept +100\.0({number}){{6}} *$", scores, re.MULTILINE)
    heads = " ".join(differences.split())
    assert f"Real Real, centred Code task - floats - centred - {control} " in heads
    interval = r" +[+-]\d+\.\d \[[+-]\d+\.\d, [+-]\d+\.\d\]"
    assert re.search(rf"^ +near({interval}){{3}} *$", differences, re.MULTILINE)
    for line in (scores + differences.partition("If the ")[0]).splitlines():
        assert len(line) <= 80 and "…" not in line
    sentence = f"If the {control} floats gain over the floats as much as Code does, whitening is"
    assert sentence in said.out
    assert "compared with centred floats, whitening alone loses" in said.out
    assert "\nnear: 3 items, 1 left out; Spearman's rho of cosines" in said.out


def test_without_the_original_only_compressed_vectors_are_scored(
    run_yakusu: RunYakusu, dense: yakusu.vectors.WordVectors, similarities: Path, tmp_path: Path
) -> None:
    yakusu.vectors.compress(dense, tmp_path / "v.ykv")
    said = run_yakusu("vectors", "evaluate", tmp_path / "v.ykv", similarities)
    assert said.code == 0, said.err
    assert re.search(r"^ +task +Real +centred +Code *$", said.out, re.MULTILINE)
    assert "no comparison with the uncompressed vectors: add them with --original" in said.out


def test_a_score_that_is_undefined_is_a_dash(
    run_yakusu: RunYakusu,
    dense: yakusu.vectors.WordVectors,
    original: Path,
    tmp_path: Path,
) -> None:
    yakusu.vectors.compress(dense, tmp_path / "v.ykv")
    (tmp_path / "none.tsv").write_text("no\tnot\t1\n")
    arguments = (tmp_path / "v.ykv", tmp_path / "none.tsv", "--original", original)
    said = run_yakusu("vectors", "evaluate", *arguments)
    assert said.code == 0, said.err
    assert re.search(r"^ +none( +-){7} *$", said.out, re.MULTILINE)
    assert re.search(r"^ +none( +-){3} *$", said.out, re.MULTILINE)


def test_another_file_is_rejected(run_yakusu: RunYakusu, original: Path) -> None:
    assert run_yakusu("vectors", "evaluate", original, original).error == (
        f"{original} is not a file of compressed vectors: create one with 'yakusu vectors compress'"
    )
