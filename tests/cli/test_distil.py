"""The verbs `distil` and `backtranslate`, with the model of the shared run as teacher."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from yakusu.folder import sha256

Yakusu = Callable[..., Any]


@pytest.fixture
def options(work: Path, tmp_path: Path, overrides: list[str]) -> list[str]:
    """Arguments of `distil` for the corpus of the teacher."""
    files = ["--src", str(work / "a.en"), "--tgt", str(work / "a.de")]
    small = ["model.n_encoder_layers=1", "model.n_decoder_layers=1", "model.n_layers=6"]
    sets = [word for setting in small for word in ("--set", setting)]
    return [*files, "--run", str(tmp_path / "student"), *overrides, *sets]


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_the_corpus_of_the_teacher_contains_its_dev_set(
    run_yakusu: Yakusu, model: Path, work: Path, options: list[str]
) -> None:
    dev = work / "run" / "data" / "dev.src.txt"
    assert run_yakusu("distil", model, *options).error == (
        f"{work}/a.en, line 1, is also in {dev}, line 1 (8 such lines): remove held-out text, or "
        "leave it out with --drop-held-out"
    )


def test_a_student_has_the_dev_set_of_its_teacher(
    run_yakusu: Yakusu, model: Path, work: Path, tmp_path: Path, options: list[str]
) -> None:
    said = run_yakusu("distil", model, *options, "--drop-held-out", "--no-references")
    assert said.code == 0, said.err
    student, data = tmp_path / "student", work / "run" / "data"
    assert f"model: {student}/model\n" in said.out
    for side in ("src", "tgt"):
        dev = lines_of(data / f"dev.{side}.txt")
        assert lines_of(student / "data" / f"dev.{side}.txt") == dev
    sources = lines_of(student / "corpus" / "train.src")
    assert sorted([*sources, *lines_of(data / "dev.src.txt")]) == lines_of(work / "a.en")
    verified = run_yakusu("verify", student / "corpus").out
    assert f"teacher 1: {sha256(model / 'model.safetensors')}\n" in verified
    assert "8 held out" in verified


@pytest.mark.parametrize("changed", [False, True])
def test_the_dev_files_that_the_receipt_of_a_teacher_names_are_held_out(
    run_yakusu: Yakusu,
    train_options: Callable[..., list[str]],
    work: Path,
    tmp_path: Path,
    changed: bool,
) -> None:
    for name in ("a.en", "a.de"):
        shutil.copy(work / name, tmp_path / name)
        lines = lines_of(work / name)[:20]
        (tmp_path / f"dev.{name[2:]}").write_text("".join(f"{line}\n" for line in lines))
    dev = [word for s in ("src", "tgt") for word in (f"--dev-{s}", tmp_path / f"dev.{_code(s)}")]
    assert run_yakusu("train", *train_options(tmp_path), *dev).code == 0
    shutil.copytree(tmp_path / "run" / "model", tmp_path / "teacher")
    if changed:
        (tmp_path / "dev.en").write_text("another line\n" * 20)
    files = ["--src", tmp_path / "a.en", "--run", tmp_path / "student", "--corpus-only"]
    said = run_yakusu("distil", tmp_path / "teacher", *files)
    if changed:
        assert said.code == 0, said.err
        assert said.out.startswith(f"corpus: {tmp_path}/student/corpus\nnext: ")
    else:
        assert f"is also in {tmp_path}/dev.en, line 1 (20 such lines)" in said.error


def _code(side: str) -> str:
    return {"src": "en", "tgt": "de"}[side]


def test_backtranslations_are_printed_as_options_of_train(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    text, out = tmp_path / "mono.en", tmp_path / "bt"
    text.write_text("the old ferry ferry ferry ferry\n\nthe ferry the ferry the ferry\n")
    said = run_yakusu("backtranslate", model, "--tgt", text, "--out", out, "--sample")
    assert said.code == 0, said.err
    assert said.out.splitlines()[0] == "3 read, 1 empty, 0 duplicate, 2 kept"
    assert said.out.rstrip().endswith(
        f"--set data.extra.src={out}/corpus/train.src --set data.extra.tgt={out}/corpus/train.tgt "
        """--set data.extra.share=0.5 --set 'tokenizer.symbols=["<BT>"]'"""
    )


def test_a_tag_with_white_space_is_an_error_of_one_sentence(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    text = tmp_path / "mono.en"
    text.write_text("the ferry\n")
    said = run_yakusu("backtranslate", model, "--tgt", text, "--out", tmp_path, "--tag", "my tag")
    assert said.error == "the tag 'my tag' contains white space: choose one without"


def test_a_threshold_without_a_round_trip_is_refused(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    said = run_yakusu("backtranslate", model, "--tgt", "a", "--out", "b", "--min-chrf", "50")
    assert said.error == ("--min-chrf applies to a round trip: add --forward MODEL, or remove it")
