"""The verb `align`: what it prints, and the inputs that it refuses."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bitexts import bitext

Yakusu = Callable[..., Any]
SRC, TGT = (("".join(f"{line}\n" for line in side)).encode() for side in bitext(60))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.en").write_bytes(SRC)
    Path("a.de").write_bytes(TGT)


@pytest.mark.usefixtures("files")
def test_the_pairs_and_the_sentences_left_out_are_counted(run_yakusu: Yakusu) -> None:
    said = run_yakusu("align", "a.en", "a.de", "--out", "pairs.tsv")
    first, second = said.out.splitlines()
    assert first.startswith("pairs.tsv: 60 pairs (1-1: 60) of 60 source and 60 target sentences, ")
    assert second == "pairs.left.tsv: 0 source and 0 target sentences left out"
    assert (said.code, said.err) == (0, "")


@pytest.mark.usefixtures("files")
def test_only_pairs_are_replaced(run_yakusu: Yakusu) -> None:
    refused = {
        "kept.tsv": "kept.tsv exists, and has no aligned pairs: choose another --out",
        "more.tsv": "more.left.tsv exists, and has no aligned pairs: choose another --out",
        "no/pairs.tsv": "no is not a folder: create it, or choose another --out",
    }
    Path("kept.tsv").write_text("a term\tits translation\n")
    Path("more.left.tsv").write_text("one\ttwo\tthree\n")
    for out, message in refused.items():
        said = run_yakusu("align", "a.en", "a.de", "--out", out)
        assert (said.code, said.err) == (2, f"error: {message}\n")
    assert Path("kept.tsv").read_text() == "a term\tits translation\n"
    assert not Path("kept.left.tsv").exists() and not Path("more.tsv").exists()
    for least in ("0.2", "0", "0"):  # some sentences are left out, then none
        said = run_yakusu("align", "a.en", "a.de", "--out", "pairs.tsv", "--min-score", least)
        assert said.code == 0 and bool(Path("pairs.left.tsv").read_text()) == (least == "0.2")


@pytest.mark.usefixtures("files")
def test_texts_in_one_language_are_named(run_yakusu: Yakusu) -> None:
    Path("b.en").write_bytes(SRC.partition(b"\n")[2])
    said = run_yakusu("align", "a.en", "b.en", "--out", "pairs.tsv")
    assert "warning: 59 pairs have the same text on both sides: check that the files" in said.out


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("content", "options", "refusal"),
    [
        (b"", (), "a.de has no sentences: check the file"),
        (b"\x7fELF" + bytes(range(256)), (), "a.de is a program, not text"),
        (SRC, (), "a.en and a.de contain the same text: pass a text and its translation"),
        (TGT, ("--encoding", "x"), "--encoding x: 'x' is not a known text encoding"),
        (TGT, ("--min-score", "99"), "no sentence of a.en has a translation in a.de"),
        (TGT, ("--model", "no/none"), "no/none is not a model folder: check the path"),
    ],
)
def test_bad_input_has_one_sentence_and_writes_nothing(
    content: bytes, options: tuple[str, ...], refusal: str, run_yakusu: Yakusu
) -> None:
    Path("a.de").write_bytes(content)
    said = run_yakusu("align", "a.en", "a.de", "--out", "pairs.tsv", *options)
    assert said.code == 2
    assert said.err.startswith(f"error: {refusal}") and said.err.count("\n") == 1
    assert not Path("pairs.tsv").exists()
