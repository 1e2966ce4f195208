"""The verb `view`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Yakusu = Callable[..., Any]


def test_view_writes_a_picture_and_a_page_and_prints_the_translation(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    out, numbers = tmp_path / "new" / "folder", tmp_path / "maps.json"
    said = run_yakusu(
        "view", model, "--src", "the old ferry", "--out", out, "--json", numbers, "--layer", 1
    )
    assert said.code == 0, said.err
    files = [out / "attention.svg", out / "attention.html", numbers]
    translation = json.loads(numbers.read_text())["tgt"]
    assert said.out.splitlines() == [translation, *map(str, files)]
    assert translation == run_yakusu("translate", model, stdin=b"the old ferry\n").out.strip()
    assert "cross-attention, layer 1 of 1" in files[0].read_text()
    assert translation in files[1].read_text()


def test_view_of_a_file_as_a_sentence_is_refused(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "t.en").write_text("a\n")
    said = run_yakusu("view", model, "--src", tmp_path / "t.en").error
    assert said.endswith("is a file: pass a sentence, or the file as --src-file")


def test_view_writes_the_one_file_that_is_named(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    for name, start in (("own.SVG", "<svg"), ("own.html", "<!doctype html>")):
        said = run_yakusu(
            "view", model, "--src", "the ferry", "--tgt", "die fähre", "--out", tmp_path / name
        )
        assert said.out.splitlines() == ["die fähre", str(tmp_path / name)]
        assert (tmp_path / name).read_text().lower().startswith(start)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.SVG", "own.html"]


def test_view_creates_missing_folders_for_its_output(
    run_yakusu: Yakusu, work: Path, model: Path, tmp_path: Path
) -> None:
    sentence = ["--src", "the ferry", "--out", tmp_path / "a.svg"]
    corpus = ["--src-file", work / "a.en", "--tgt-file", work / "a.de"]
    for name, of in (("one", sentence), ("all", corpus)):
        numbers = tmp_path / "new" / name / "numbers.json"
        assert run_yakusu("view", model, *of, "--json", numbers).code == 0
        assert json.loads(numbers.read_text())


def test_view_writes_into_a_folder_whatever_its_name(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "en-de.v2").mkdir()
    run_yakusu("view", model, "--src", "the", "--tgt", "die", "--out", tmp_path / "en-de.v2")
    names = sorted(path.name for path in (tmp_path / "en-de.v2").iterdir())
    assert names == ["attention.html", "attention.svg"]


def test_view_of_a_corpus_prints_a_row_for_each_head(
    run_yakusu: Yakusu, work: Path, model: Path, tmp_path: Path
) -> None:
    files = ["--src-file", work / "a.en", "--tgt-file", work / "a.de"]
    said = run_yakusu("view", model, *files, "--json", tmp_path / "heads.json")
    lines = said.out.splitlines()
    names = "role layer head entropy maximum distance previous itself eos start"
    assert lines[0].split() == names.split()
    assert [line.split()[:3] for line in lines[1:7]] == [
        [role, "1", head] for role in ("encoder", "decoder", "cross") for head in "12"
    ]
    found = json.loads((tmp_path / "heads.json").read_text())
    for line, head in zip(lines[1:7], found["heads"], strict=True):
        numbers = [None if word == "-" else float(word) for word in line.split()[3:]]
        values = [head[name] for name in names.split()[3:]]
        assert numbers == pytest.approx(values, abs=0.000501)
    n = len((work / "a.en").read_text().splitlines())
    assert f"{n} pairs; 0 left out" in said.out


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "view needs one sentence or a corpus: use --src SENTENCE, --src-file with"),
        (["--src-file", "a.en"], "--src-file a.en has no translations: add --tgt-file"),
        (
            ["--src-file", "a.mrg"],
            "--src-file a.mrg contains trees: pass sentences, or use a parser",
        ),
        (["--src-file", "a.mrg", "--tgt-file", "b"], "--src-file a.mrg contains trees: pass"),
        (["--src", "the", "--src-file", "a", "--tgt-file", "b"], "view needs one sentence or"),
        (["--src", " "], "the source sentence is empty"),
        (["--src", "the", "--layer", "7"], "there is no layer 7 of cross attention: choose from"),
        (["--src", "the", "--heads", "1,5"], "there is no head 5: choose from 1 to 2"),
        (["--src", "the", "--heads", "x"], "--heads x is not a list of numbers: separate them by"),
        (
            ["--src", "a \udcff man"],
            r"the source sentence, character 3: '\udcff' is not valid text: ",
        ),
        (["--src", "a", "--tgt", "\udcff"], r"the target sentence, character 1: '\udcff' is not"),
        (["--src-file", "/no.en", "--tgt-file", "/no.de"], "/no.en does not exist"),
        (["--src", "the", "--out", "a.png"], "--out a.png does not end in .svg or .html: choose"),
        (["--src", "the", "--out", "a.svg", "--json", "a.svg"], "a.svg is used twice: choose a"),
        (["--src", "the", "--json", "./attention.html"], "attention.html is used twice"),
        (["--src", "the", "--json", "/dev/null/a"], "/dev/null/a cannot be written: choose a"),
        (["--src-file", "a", "--tgt-file", "b", "--json", "b"], "b is used twice"),
        (
            ["--src-file", "a", "--tgt-file", "b", "--out", "c"],
            "statistics over a corpus do not use --out: omit --out, or use --src",
        ),
        (
            ["--src-file", "a", "--tgt-file", "b", "--role", "cross", "--layer", 1, "--heads", 1],
            "statistics over a corpus do not use --role, --layer, --heads: omit --role,",
        ),
    ],
    ids=ascii,
)
def test_view_refuses_what_it_cannot_show_and_writes_nothing(
    run_yakusu: Yakusu,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    args: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_yakusu("view", model, *args).error.startswith(message)
    assert not list(tmp_path.iterdir())
