"""The verb `translate` with documents: files that are refused, and their limits."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
