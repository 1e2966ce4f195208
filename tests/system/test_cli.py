"""The verbs for word vectors, from end to end."""

import io
import random
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import yakusu
from yakusu import cli


@dataclass
class Said:
    """What a command left behind."""

    code: int
    out: str
    err: str


Yakusu = Callable[..., Said]


@pytest.fixture
def run_yakusu(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Yakusu:
    """`yakusu ARGS` within this process."""

    def run(*args: object, stdin: bytes = b"") -> Said:
        capfdbinary.readouterr()
        monkeypatch.setattr(sys, "argv", ["yakusu", *map(str, args)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        code = 0
        try:
            cli.main()
        except SystemExit as error:
            code = int(error.code or 0)
        out, err = capfdbinary.readouterr()
        return Said(code, out.decode(), err.decode())

    return run


def fails(said: Said) -> str:
    """The error of a command that failed as it should: code 2, one line, nothing on stdout."""
    assert said.code == 2, said
    assert said.out == ""
    assert "Traceback" not in said.err
    *before, last = said.err.splitlines()
    assert last.startswith("error: ") and not any("error" in line for line in before)
    return last.removeprefix("error: ")


# ---- word vectors --------------------------------------------------------------------------------


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    """1,100 words of 4 numbers, as GloVe writes them."""
    rng = random.Random(3)
    rows = [[rng.gauss(0, 1 + i) for i in range(4)] for _ in range(1100)]
    words = ["king", "queen", "man", "woman", *(f"w{i}" for i in range(4, 1100))]
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(words, rows, strict=True)]
    (tmp_path / "glove.txt").write_text("\n".join(lines) + "\n")
    return tmp_path / "glove.txt"


def test_vectors_are_compressed_inspected_scored_and_searched(
    run_yakusu: Yakusu, glove: Path, tmp_path: Path
) -> None:
    out = tmp_path / "glove.ykv"
    said = run_yakusu("vectors", "compress", glove, out, "--m", "3", "--k", "5")
    assert said.code == 0, said.err
    facts = "1,100 words x 4 numbers as 3 codes of 5: 9.0 bits a word, 16.5 times smaller "
    assert said.out.startswith(f"{facts}(codes and codebook against float32)\n")
    assert re.search(
        r"^lost: \d+\.\d\d% of the variance, [\d.]+ of squared error a word$", said.out, re.M
    )
    assert re.search(r"^ +1 to 1,000 +\d+\.\d% *$", said.out, re.MULTILINE)
    assert said.out.endswith(f"the file: {out}\nthe report: {out}.json, {out}.png\n")

    said = run_yakusu("vectors", "inspect", out)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(facts)

    (tmp_path / "near.tsv").write_text("king\tqueen\t3\nman\twoman\t2\nw5\tw6\t1\nw5\tnone\t1\n")
    said = run_yakusu("vectors", "evaluate", out, tmp_path / "near.tsv", "--original", glove)
    assert said.code == 0, said.err
    assert re.search(
        r"task +floats +whitened floats +Code +Real +items +left out", " ".join(said.out.split())
    )
    assert re.search(r"^ +near( +-?\d+\.\d){4} +3 +1 *$", said.out, re.MULTILINE)

    said = run_yakusu("vectors", "neighbours", out, "king", "-n", "2")
    found = yakusu.vectors.neighbours(out, "king", 2)
    assert said == Said(0, "".join(f"{near:.4f}\t{word}\n" for word, near in found), "")


def test_vectors_by_whole_numbers_and_within_a_budget(
    run_yakusu: Yakusu, glove: Path, tmp_path: Path
) -> None:
    out = tmp_path / "v"
    said = run_yakusu("vectors", "compress", glove, out, "--uniform", "--max-loss", "0.02")
    assert said.code == 0, said.err
    assert said.out.startswith("1,100 words x 4 numbers as whole numbers: ")
    lost = re.search(r"^lost: (\S+)% of the variance", said.out, re.MULTILINE)
    assert lost and 1.8 < float(lost[1]) <= 2
    said = run_yakusu("vectors", "compress", glove, out, "--bits", "8")
    assert re.match(r"1,100 words x 4 numbers as \d codes of \d+: [78]\.0 bits a word", said.out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--m", "5"], "M = 5 components cannot be taken of 4 dimensions: choose M from 1 to 4"),
        (["--k", "1"], "K = 1 codes tell nothing apart: choose K of 2 or more"),
        (["--ratio", "5000"], "a ratio of 5000 cannot be reached: the most is "),
        (["--step", "1"], "--step belongs to --uniform: add it"),
        (["--bits", "9", "--k", "4"], "--bits, --ratio and --max-loss choose M and K: leave out"),
        (["--bits", "9", "--ratio", "4"], "bits = 9, ratio = 4 is no budget: give one"),
        (["--uniform", "--k", "4"], "--m and --k belong to the paper's codes: leave them or"),
        (["--uniform", "--tiers", "9;8"], "--tiers 9;8: give ranks with commas between, as 10000"),
        (["--uniform", "--tiers", "9,8"], "tiers that begin at the ranks [9, 8] do not fit"),
        (["--uniform", "--step", "1e-9"], "a step of 1e-09 gives numbers of more than 16 bits"),
    ],
)
def test_vectors_cannot_be_compressed_so(
    run_yakusu: Yakusu, glove: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    said = run_yakusu("vectors", "compress", glove, tmp_path / "v", *options)
    assert fails(said).startswith(message)
    assert not (tmp_path / "v").exists()


def test_a_file_without_vectors_or_a_word_that_is_not_there(
    run_yakusu: Yakusu, glove: Path, tmp_path: Path
) -> None:
    for arguments in (
        ["inspect", glove],
        ["neighbours", glove, "king"],
        ["evaluate", glove, glove],
    ):
        assert fails(run_yakusu("vectors", *arguments)) == (
            f"{glove} holds no compressed vectors: make it by yakusu vectors compress"
        )
    none = tmp_path / "none"
    assert "none" in fails(run_yakusu("vectors", "compress", none, tmp_path / "v"))
    assert run_yakusu("vectors", "compress", glove, tmp_path / "v").code == 0
    assert fails(run_yakusu("vectors", "neighbours", tmp_path / "v", "King")) == (
        f"{tmp_path / 'v'}: 'King' has no vector: did you mean 'king'?"
    )
