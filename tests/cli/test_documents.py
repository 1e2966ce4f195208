"""The verb `translate` with documents: files that are refused, and their limits."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.documents.packages import workbook

Yakusu = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an invalid file, a file that takes much memory, and two others."""
    found = tmp_path / "in"
    (found / "sub").mkdir(parents=True)
    (found / "a.json").write_text("{")
    (found / "b.json").write_text(json.dumps([f"{number}" for number in range(100_000)]))
    (found / "c.md").write_text("the old ferry\n")
    (found / "sub" / "d.txt").write_text("a baker\n")
    return found


def test_a_folder_goes_on_after_files_that_are_refused(
    run_yakusu: Yakusu,
    model: Path,
    folder: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    out = tmp_path / "out"
    said = run_yakusu("translate", model, folder, "--out", out, "--file-memory", 16)
    assert said.code == 2
    assert sorted(path.name for path in out.rglob("*.*")) == ["c.md", "d.txt"]
    assert f"{out / 'c.md'}: 1 text" in said.out
    *_, invalid, large = caplog.messages
    assert f"not translated: {folder / 'a.json'}: line 1" in invalid
    assert large == (
        f"not translated: {folder / 'b.json'}: reading or writing it takes more memory than "
        "--file-memory 16 (MB): split it, or raise the limit"
    )
    assert said.err.splitlines()[-1] == f"error: {folder}: 2 of 4 files not translated: see above"


def test_files_with_text_that_are_copied_are_named(
    run_yakusu: Yakusu, model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    (folder / "a.md").write_text("the old ferry\n")
    for name in ("b.adoc", "c.pdf", "d.csv", "e.png", "f.css", "g.ts", "h.woff2", "README"):
        (folder / name).write_bytes(b"id,the text\n1,a baker\n" if name[0] in "bdfgR" else b"\xff")
    names = ", ".join(str(folder / name) for name in ("README", "b.adoc", "c.pdf", "d.csv"))
    run = ("translate", model, folder, "--out", out)
    said = run_yakusu(*run)
    assert said.code == 1
    warning = f"4 files copied untranslated: {names}"
    fix = "convert them, name the columns of tables with --columns, or add --copy-unknown"
    assert caplog.messages[-1] == f"{warning} ({fix} to accept this)"
    assert len(list(out.iterdir())) == 9
    said = run_yakusu(*run, "--overwrite", "--copy-unknown")
    assert said.code == 0 and caplog.messages[-1] == warning
    said = run_yakusu(*run, "--overwrite", "--columns", "the text")
    assert said.code == 1 and f"{out / 'd.csv'}: 1 text" in said.out
    assert caplog.messages[-1].startswith("3 files copied untranslated")


def test_files_in_other_languages_are_copied_and_named(
    run_yakusu: Yakusu, model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    contents = {"a_fr.arb": '{"x": "le vieux bac"}', "a.arb": '{"x": "the old ferry"}'}
    folder.mkdir()
    for name, content in contents.items():
        (folder / name).write_text(content)
    said = run_yakusu("translate", model, folder, "--out", out)
    assert said.code == 0
    assert said.out.splitlines()[:2] == [f"{out / 'a.arb'}: 1 text", f"{out / 'a_fr.arb'}: copied"]
    assert (out / "a_fr.arb").read_text() == contents["a_fr.arb"]
    named = f"1 file copied because its name states another language: {folder / 'a_fr.arb'} (fr)"
    assert caplog.messages[-1] == named
    said = run_yakusu("translate", model, folder / "a_fr.arb", "--out", tmp_path / "b_fr.arb")
    assert said.out.startswith(f"{tmp_path / 'b_fr.arb'}: 1 text")


def test_names_of_sheets_are_translated_on_request(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    path, out = tmp_path / "a.xlsx", tmp_path / "b.xlsx"
    path.write_bytes(workbook("<si><t>a baker</t></si>"))
    run = ("translate", model, path, "--out", out)
    assert run_yakusu(*run).out.startswith(f"{out}: 1 text\n")
    said = run_yakusu(*run, "--sheet-names", "--overwrite")
    assert said.out.startswith(f"{out}: 2 texts\n")


def test_a_table_needs_the_names_of_columns(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_text("id,text\n1,a baker\n")
    said = run_yakusu("translate", model, path, "--out", out)
    assert said.code == 2 and "line 1 has the columns id, text: name those to" in said.error
    assert not out.exists()


def test_the_limits_of_a_document_can_be_lifted(
    run_yakusu: Yakusu, model: Path, folder: Path, tmp_path: Path
) -> None:
    path, out, lifted = folder / "b.json", tmp_path / "b.json", ("--file-memory", 0)
    said = run_yakusu("translate", model, path, "--out", out, "--file-memory", 16)
    assert said.code == 2 and "more memory than --file-memory 16 (MB)" in said.error
    said = run_yakusu("translate", model, path, "--out", out, *lifted, "--file-seconds", 0)
    assert said.code == 0
    assert out.read_bytes() == path.read_bytes()


def test_limits_of_documents_are_refused_for_lines(run_yakusu: Yakusu, model: Path) -> None:
    said = run_yakusu("translate", model, "--file-memory", 0, stdin=b"the ferry\n")
    assert said.error == (
        "--file-memory applies to documents: add --out PATH, or remove --file-memory"
    )
