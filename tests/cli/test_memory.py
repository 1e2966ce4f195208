"""`yakusu memory`: add, search, export, merge, info, remove."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from yakusu.data.lines.private_use import closing, opening
from yakusu.data.segments import MemorySegment
from yakusu.memory.memory import TranslationMemory

ROWS = (
    "source\ttarget\tfile\twho\n"
    "Save\tSpeichern\tmenu.html\tAnna\n"
    "Page 3 of 10\tSeite 3 von 10\tmenu.html\tBen\n"
    "Save the file\tDatei speichern\thelp.html\tAnna\n"
)
Run = Callable[..., Any]


@pytest.fixture
def team(tmp_path: Path, run_yakusu: Run) -> Path:
    """A memory of three segments."""
    (tmp_path / "team.tsv").write_text(ROWS, encoding="utf-8")
    path = tmp_path / "team.db"
    said = run_yakusu(
        *("memory", "add", path, tmp_path / "team.tsv", "--source", "eng", "--target", "de_DE")
    )
    assert (said.code, said.out) == (0, f"{path}: 3 segments added\n")
    return path


def test_what_is_there_already_is_not_added_again(team: Path, run_yakusu: Run) -> None:
    said = run_yakusu("memory", "add", team, team.with_suffix(".tsv"))
    assert said.out == f"{team}: 0 segments added, 3 already there or repeated\n"


def test_segments_that_are_left_out_are_counted(team: Path, run_yakusu: Run) -> None:
    file = team.with_name("b.csv")
    file.write_text('source,target\nOpen,Öffnen\nClose,\n"",x\n', encoding="utf-8")
    said = run_yakusu("memory", "add", team, file, "--origin", "old", "--who", "Mia")
    assert said.out == f"{team}: 1 segment added\nleft out: 2 empty\n"
    with TranslationMemory.open(team) as memory:
        (found,) = memory.exact("Open")
    assert (found.segment.origin, found.segment.who) == ("old", "Mia")


def test_a_corrected_document_is_added(team: Path, run_yakusu: Run) -> None:
    source, out, edited = (team.with_name(f"{name}.html") for name in ("in", "out", "out.edited"))
    source.write_text("<p>Open the door.</p><p>Close it.</p><p>Turn 2 keys!</p>", "utf-8")
    out.write_text("<p>Öffne die Tür.</p><p>Es zu.</p><p>Drehe 2 Tasten!</p>", "utf-8")
    edited.write_text("<p>Öffne die Tür.</p><p>Schließe sie.</p><p>Drehe 2 Schlüssel!</p>", "utf-8")
    given = ("memory", "add", team, "--corrected", edited, "--who", "Mia", "--from")
    said = run_yakusu(*given, source, "--translated", out)
    assert said.out == f"{team}: 2 segments added\nleft out: 1 unchanged\n"
    assert (
        run_yakusu(*given, source).out == f"{team}: 1 segment added, 2 already there or repeated\n"
    )
    assert "in the language of" in run_yakusu(*given, out).error
    with TranslationMemory.open(team) as memory:
        (found,) = memory.exact("Turn 2 keys!")
    assert (found.segment.target, found.segment.who) == ("Drehe 2 Schlüssel!", "Mia")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Save", "100%\tSpeichern\tSave\tteam.tsv\n"),
        ("Page 4 of 12", "99%\tSeite 4 von 12\tPage 3 of 10\tteam.tsv\n"),
        ("save THE file!", "98%\tDatei speichern\tSave the file\tteam.tsv\n"),
        ("Save the new file", "75%\tDatei speichern\tSave the file\tteam.tsv\n"),
        ("Something else", ""),
    ],
)
def test_a_text_is_searched(text: str, expected: str, team: Path, run_yakusu: Run) -> None:
    said = run_yakusu("memory", "search", team, text)
    assert (said.code, said.out) == (0, expected)
    assert said.err == (
        "" if expected else "no matches of 75% or more: lower it with --threshold\n"
    )


def test_matches_are_printed_as_json(team: Path, run_yakusu: Run) -> None:
    found = json.loads(run_yakusu("memory", "search", team, "Page 5 of 10", "--json").out)
    assert [found[0].pop("time")[-1:], found] == [
        "Z",
        [
            {
                "match": 99,
                "translation": "Seite 5 von 10",
                "id": 2,
                "source": "Page 3 of 10",
                "target": "Seite 3 von 10",
                "file": "menu.html",
                "origin": "team.tsv",
                "who": "Ben",
            }
        ],
    ]


def test_fewer_matches_are_printed_and_lower_ones_on_request(team: Path, run_yakusu: Run) -> None:
    said = run_yakusu("memory", "search", team, "Save a file", "--threshold", "30")
    assert [line.partition("\t")[0] for line in said.out.splitlines()] == ["66%", "33%"]
    said = run_yakusu("memory", "search", team, "Save a file", "--threshold", "30", "-n", "1")
    assert said.out.startswith("66%") and said.out.count("\n") == 1


def test_inline_markup_and_line_breaks_are_shown_in_one_line(team: Path, run_yakusu: Run) -> None:
    marks = opening(0), closing(0)
    with TranslationMemory.open(team, writable=True) as memory:
        source = f"Press {marks[0]}Go{marks[1]}"
        memory.add([MemorySegment(source, f"{marks[0]}Los{marks[1]}\ndrücken")])
    said = run_yakusu("memory", "search", team, "Press Go")
    assert said.out == "98%\t<0>Los</0> drücken\tPress <0>Go</0>\t\n"


@pytest.mark.parametrize("form", ["tmx", "tsv", "jsonl"])
def test_an_exported_memory_is_the_same_after_it_is_added(
    form: str, team: Path, run_yakusu: Run
) -> None:
    out, again = team.with_name(f"out.{form}"), team.with_name("again.db")
    assert run_yakusu("memory", "export", team, out).code == 0
    assert run_yakusu("memory", "export", team, "--to", form).out.encode() == out.read_bytes()
    run_yakusu("memory", "add", again, out, "--source", "en", "--target", "de")
    with TranslationMemory.open(team) as one, TranslationMemory.open(again) as other:
        assert [*one] == [*other]
    said = run_yakusu("memory", "export", team, out)
    assert said.error == f"{out} exists: choose another name, or remove it"


def test_a_part_of_a_memory_is_exported(team: Path, run_yakusu: Run) -> None:
    said = run_yakusu("memory", "export", team, "--to", "jsonl", "--who", "Anna", "--id", 3)
    assert [json.loads(line)["source"] for line in said.out.splitlines()] == ["Save the file"]
    assert "--to tmx" in run_yakusu("memory", "export", team).error


def test_memories_are_merged(team: Path, run_yakusu: Run) -> None:
    other, all_ = team.with_name("other.db"), team.with_name("all.db")
    with TranslationMemory.open(other, ("en", "de"), writable=True) as memory:
        memory.add([MemorySegment("Open", "Öffnen")])
    assert run_yakusu("memory", "merge", all_, team, other).out == f"{all_}: 4 segments added\n"
    said = run_yakusu("memory", "merge", all_, team)
    assert said.out == f"{all_}: 0 segments added, 3 already there or repeated\n"
    assert "merged with itself" in run_yakusu("memory", "merge", team, other, team).error
    french = team.with_name("fr.db")
    TranslationMemory.open(french, ("en", "fr"), writable=True).close()
    assert "not of en-de" in run_yakusu("memory", "merge", team, other, french).error
    with TranslationMemory.open(team) as memory:
        assert len(memory) == 3


def test_the_facts_of_a_memory_are_printed(team: Path, run_yakusu: Run) -> None:
    lines = run_yakusu("memory", "info", team).out.splitlines()
    assert lines[0].startswith(f"{team}: en-de, 3 segments, ") and lines[0].endswith("revision 1")
    assert [line.split() for line in lines[1:4]] == [
        ["confirmed", "by:"],
        ["2", "Anna"],
        ["1", "Ben"],
    ]
    facts = json.loads(run_yakusu("memory", "info", team, "--json").out)
    assert facts["file"] == {"menu.html": 2, "help.html": 1}
    assert facts["languages"] == ["en", "de"]


def test_segments_are_removed_only_if_the_user_agrees(team: Path, run_yakusu: Run) -> None:
    assert "nothing says which" in run_yakusu("memory", "remove", team, "--yes").error
    said = run_yakusu("memory", "remove", team, "--who", "Anna")
    assert said.error == f"2 segments of 3 would be removed from {team}: add --yes to remove them"
    said = run_yakusu("memory", "remove", team, "--pattern", "*von 1?", "--yes")
    assert (said.err, said.out) == ("removing 1 segment of 3\n", f"{team}: 1 segment removed\n")
    said = run_yakusu("memory", "remove", team, "--file", "none.html")
    assert said.out == f"{team}: 0 segments removed\n"
    for answer, left in ((b"n\n", 2), (b"y\n", 0)):
        leader, follower = pty.openpty()
        os.write(leader, answer)
        command = [sys.executable, "-m", "yakusu", "memory", "remove", str(team), "--who", "Anna"]
        said = subprocess.check_output(command, stdin=follower, text=True)
        assert said.startswith(f"Remove 2 segments of 2 from {team}?")
        with TranslationMemory.open(team) as memory:
            assert len(memory) == left


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add", "new.db", "a.tsv"], "new.db does not exist: give its languages, as in --source"),
        (["add", "new.db", "a.tsv", "--source", "en"], "--source and --target belong together"),
        (["add", "new.db", "a.tsv", "--source", "en", "--target", "xx"], "there is no language"),
        (["add", "new.db", "a.tsv", "--source", "en", "--target", "eng"], "are both en"),
        (["add", "a.tsv", "b.tsv"], "name the memory first, as in team.db a.tsv"),
        (["add", "team.db", "none.tmx"], "none.tmx does not exist"),
        (["add", "team.db"], "there is nothing to add"),
        (["add", "team.db", "."], ". is a folder"),
        (["add", "team.db", "--corrected", "a.html"], "--corrected and --from name documents"),
        (["add", "a.tsv", "--corrected", "a.tsv", "--from", "b.tsv"], "a.tsv is a table"),
        (["add", "team.db", "a.tsv", "--source", "en", "--target", "fr"], "is a memory of en-de"),
        (["add", "team.db", "a.tsv", "--columns", "1"], "--columns 1: give a source and a target"),
        (["search", ".", "a"], ". is a folder: give the file of a memory"),
        (["search", "none.db", "a"], "none.db does not exist: check the path"),
        (["search", "/dev/null", "a"], "/dev/null is not a regular file"),
        (["info", "a.tsv"], "a.tsv is not a memory, or is damaged"),
        (["merge", "new.db", "none.db"], "none.db does not exist"),
        (["merge", "new.db", "damaged.db"], "damaged.db is not a memory, or is damaged"),
        (["search", "team.db", "\udcff"], "the text is not UTF-8"),
        (["remove", "team.db", "--who", "\udcff", "--yes"], "--who is not UTF-8"),
        (["export", "team.db", "no-folder/a.tmx"], "no-folder/a.tmx"),
        (["export", "team.db", "a.tmx.gz"], "a.tmx.gz would not be compressed"),
        (["export", "team.db", "a.xlf"], "a.xlf has no suffix of a format: add --to tmx"),
        (["export", "team.db"], "the format is missing: add --to tmx"),
        (["add", "team.db", "a.html"], "a.html is a document in one language: give a translation"),
        (["add", "team.db", "a.epub"], "a.epub is a document in one language: give a translation"),
        (["add", "team.db", "a.ods"], "a.ods does not exist"),
        (["add", "team.db", "a.xlsx"], "a.xlsx: the file is not a valid zip archive"),
        (
            ["add", "no-folder/a.db", "a.tsv", "--source", "en", "--target", "de"],
            "cannot be opened",
        ),
    ],
)
def test_a_mistake_gets_one_sentence_and_changes_nothing(
    arguments: list[str], message: str, team: Path, run_yakusu: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(team.parent)
    (team.parent / "a.tsv").write_text("a\tb\n" * 100, encoding="utf-8")
    (team.parent / "damaged.db").write_bytes(_without_page_3(team))
    (team.parent / "a.xlsx").write_bytes(b"PK\3\4" + bytes(40))
    before = {path: path.read_bytes() for path in team.parent.iterdir()}
    assert message in run_yakusu("memory", *arguments).error
    assert {path: path.read_bytes() for path in team.parent.iterdir()} == before


def _without_page_3(path: Path) -> bytes:
    """A memory whose table of segments is damaged."""
    data = path.read_bytes()
    return data[:8192] + bytes(4096) + data[12288:]
