"""The single file: what it starts with, and how it unpacks itself."""

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

from yakusu.version import __version__

DEPLOY = Path(__file__).parents[2] / "deploy"
PROGRAM = '#!/bin/sh\necho "$0 $*"\nexit 7\n'


def standalone(*arguments: str) -> str:
    command = [sys.executable, str(DEPLOY / "standalone.py"), *arguments]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout


def test_the_single_file_is_the_command_line() -> None:
    assert __version__ in standalone("--version")


def test_the_single_file_runs_code_as_an_interpreter_does() -> None:
    code = "import sys; print(sys.argv, __name__)"
    assert standalone("-P", "-c", code, "7", "a b") == "['-c', '7', 'a b'] __main__\n"


def packed(path: Path, cut: int = 0) -> Path:
    """The file that scripts/standalone would build of a small program, without its last bytes."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as files:
        member = tarfile.TarInfo("yakusu")
        member.mode, member.size = 0o755, len(PROGRAM)
        files.addfile(member, io.BytesIO(PROGRAM.encode()))
    head = (DEPLOY / "standalone.sh").read_text()
    head = head.replace("@DIGEST@", "abc").replace("@LINE@", str(head.count("\n") + 1))
    data = archive.getvalue()
    path.write_bytes(head.encode() + data[: len(data) - cut])
    path.chmod(0o755)
    return path


def started(path: Path, cache: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [path, "translate", "a b"],
        env={"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def unpacked(cache: Path) -> list[str]:
    return [path.name for path in (cache / "yakusu").iterdir()]


def test_it_unpacks_itself_once_and_passes_arguments_and_exit_code(tmp_path: Path) -> None:
    file, program = packed(tmp_path / "one"), tmp_path / "yakusu" / "abc" / "yakusu"
    first = started(file, tmp_path)
    assert first.communicate() == (f"{program} translate a b\n", "")
    assert first.returncode == 7
    program.write_text("#!/bin/sh\necho again")
    assert started(file, tmp_path).communicate() == ("again\n", "")
    assert unpacked(tmp_path) == ["abc"]


def test_first_starts_at_the_same_time_all_succeed(tmp_path: Path) -> None:
    file = packed(tmp_path / "one")
    runs = [started(file, tmp_path) for _ in range(6)]
    assert [(run.communicate()[1], run.returncode) for run in runs] == [("", 7)] * 6
    assert unpacked(tmp_path) == ["abc"]


def test_a_truncated_file_leaves_nothing(tmp_path: Path) -> None:
    run = started(packed(tmp_path / "one", cut=30), tmp_path)
    output, errors = run.communicate()
    assert (output, run.returncode) == ("", 2)
    assert errors.splitlines()[-1].startswith(f"error: {tmp_path}/yakusu: the program could not be")
    assert unpacked(tmp_path) == []


def test_a_cache_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "yakusu").write_text("a file")
    run = started(packed(tmp_path / "one"), tmp_path)
    assert run.communicate() == (
        "",
        f"error: {tmp_path}/yakusu: it cannot be created: make it writable, or set XDG_CACHE_HOME "
        "to another folder\n",
    )
    assert run.returncode == 2
