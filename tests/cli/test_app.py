"""The command line as a program: help, version, exit codes, streams."""

import errno
import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import yakusu
from tests.cases import some
from yakusu import cli
from yakusu.cli.app import set_environment
from yakusu.cli.console import LogFormatter, command
from yakusu.cli.verbs import Verbs

Yakusu = Callable[..., Any]


def text(lines: list[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


def test_square_brackets_in_a_path_are_printed_unchanged(
    run_yakusu: Yakusu, tmp_path: Path
) -> None:
    name = "[bold]x[/bold] [1]"
    assert run_yakusu("translate", tmp_path / name).error == (
        f"{tmp_path / name} is not a model folder: check the path"
    )


@pytest.mark.parametrize(
    "verb", ["prepare", "train", "average", "translate", "score", "evaluate", "demo"]
)
def test_the_help_of_each_verb_shows_an_example(run_yakusu: Yakusu, verb: str) -> None:
    said = run_yakusu(verb, "--help")
    assert said.code == 0
    assert re.search(rf"Example: yakusu {verb}\b", said.out)


@pytest.mark.parametrize(
    ("verb", "flag"),
    [("score", "--help"), ("evaluate", "--help"), ("view", "--help"), ("translate", "--help-all")],
)
def test_the_help_lists_the_options_of_the_engine(run_yakusu: Yakusu, verb: str, flag: str) -> None:
    said = run_yakusu(verb, flag)
    assert all(option in said.out for option in ("--engine", "--precision", "--threads"))


@pytest.mark.parametrize("columns", ["60", "120"])
def test_the_overview_is_what_typer_prints(
    columns: str, run_yakusu: Yakusu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    own = run_yakusu("--help")
    monkeypatch.delattr(Verbs, "format_help")  # otherwise, it prints the overview, too
    typers = run_yakusu("--help", "--help")
    assert (own.code, own.out.rstrip()) == (typers.code, typers.out.rstrip())
    assert "translate" in own.out


def test_usage_errors_exit_with_2(run_yakusu: Yakusu) -> None:
    assert run_yakusu("trane").code == 2
    assert run_yakusu("translate").code == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("translate m --engine x", "'--engine': 'x' is not one of 'native', 'torch'."),
        (
            "translate m --precision x",
            "'--precision': 'x' is not one of 'auto', 'int8', 'int16', 'float32'.",
        ),
        ("translate m --format x", "'--format': 'x' is not one of 'text', 'json'."),
        ("evaluate m r --engine x", "'--engine': 'x' is not one of 'native', 'torch'."),
        ("score m s t --format x", "'--format': 'x' is not one of 'text', 'json'."),
        ("view m --role x", "'--role': 'x' is not one of 'encoder', 'decoder', 'cross'."),
        ("check s t --errors x", "'--errors': 'x' is not one of 'strict', 'skip', 'replace'."),
        ("translate m --margin -1", "'--margin': Input should be greater than or equal to 0"),
        ("translate m --beam 0", "'--beam': Input should be greater than or equal to 1"),
    ],
)
def test_an_invalid_value_of_an_option_is_a_plain_sentence(
    run_yakusu: Yakusu, words: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    said = run_yakusu(*words.split())
    assert (said.code, said.out) == (2, "")
    assert f"Invalid value for {told}" in " ".join(said.err.replace("│", "").split())


def test_the_version_is_that_of_the_package(run_yakusu: Yakusu) -> None:
    assert run_yakusu("--version").out == f"yakusu {yakusu.__version__}\n"


def test_python_m_yakusu_has_the_same_output_and_exit_codes(
    tmp_path: Path, yakusu_process: Yakusu
) -> None:
    said = yakusu_process("--version")
    assert (said.code, said.out, said.err) == (0, f"yakusu {yakusu.__version__}\n", "")
    assert yakusu_process("translate", tmp_path / "none").error == (
        f"{tmp_path / 'none'} is not a model folder: check the path"
    )


@pytest.mark.parametrize(
    ("verb", "pipe"),
    some([("translate --window 2", "| head -1"), ("verify", "| true"), ("verify", "|& true")]),
)
def test_a_closed_output_pipe_stops_without_a_traceback(model: Path, verb: str, pipe: str) -> None:
    command = f"set -o pipefail; {sys.executable} -m yakusu {verb} {model} {pipe}"
    done = subprocess.run(
        ["bash", "-c", command],
        input=text(["the old ferry"] * 3000),
        capture_output=True,
        check=False,
    )
    assert done.stdout.count(b"\n") <= 1
    assert done.returncode == 128 + signal.SIGPIPE
    assert (b"output closed, stopping" in done.stderr) == (pipe != "|& true")
    assert b"Traceback" not in done.stderr and b"Exception" not in done.stderr


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "latin-1"}])
def test_output_is_utf8_in_every_locale(
    model: Path, run_yakusu: Yakusu, locale: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "yakusu", "translate", str(model)],
        input=text(["the old ferry 猫"]),
        capture_output=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path), **locale},
    )
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout.decode() == run_yakusu("translate", model, stdin=text(["the old ferry 猫"])).out
    )


def test_a_file_name_that_is_not_utf8_is_printed_as_it_is(model: Path, tmp_path: Path) -> None:
    source, out = (os.fsencode(tmp_path) + b"/" + name for name in (b"a\xff.txt", b"b\xff.txt"))
    Path(os.fsdecode(source)).write_text("the old ferry\n")
    done = subprocess.run(
        [sys.executable, "-m", "yakusu", "translate", str(model), source, "--out", out],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
    )
    assert (done.returncode, done.stdout) == (0, out + b": 1 text\n"), done.stderr


_FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")


@_FULL
def test_a_full_disk_is_named_if_it_is_that_of_the_output(model: Path) -> None:
    done = _to_full("stdout", model)
    assert done.returncode == 2
    assert done.stderr.decode().splitlines()[-1] == (
        "error: the output cannot be written (No space left on device): free some space, or write "
        "to another disk"
    )


@_FULL
def test_messages_that_cannot_be_written_change_neither_the_output_nor_the_exit_code(
    model: Path, run_yakusu: Yakusu, tmp_path: Path
) -> None:
    done = _to_full("stderr", model)
    expected = run_yakusu("translate", model, stdin=text(["the old ferry"])).out
    assert (done.returncode, done.stdout.decode()) == (0, expected)
    assert _to_full("stderr", tmp_path / "none").returncode == 2


def _to_full(stream: str, model: Path) -> subprocess.CompletedProcess[bytes]:
    """Translate a line, with one of the standard streams on a full disk."""
    with Path("/dev/full").open("wb") as full:
        return subprocess.run(
            [sys.executable, "-m", "yakusu", "translate", str(model)],
            input=text(["the old ferry"]),
            stdout=full if stream == "stdout" else subprocess.PIPE,
            stderr=full if stream == "stderr" else subprocess.PIPE,
            check=False,
        )


@pytest.mark.parametrize("module", ["yakusu.cli.app", "typer"])
def test_ctrl_c_during_the_imports_stops_without_a_traceback(module: str) -> None:
    interrupted = f"""if True:
        import sys
        class Interrupted:
            def find_spec(self, name, *_):
                if name == "{module}":
                    raise KeyboardInterrupt
        sys.meta_path.insert(0, Interrupted())
        from yakusu.cli import main
        main()
    """
    done = subprocess.run([sys.executable, "-c", interrupted], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, b"", b"")


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ("stdin", "standard input is closed: specify a file, or redirect it, as in < FILE"),
        ("stdout", "standard output is closed: redirect it, as in > FILE"),
    ],
)
def test_a_closed_standard_stream_is_refused(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    model: Path,
    stream: str,
    message: str,
) -> None:
    monkeypatch.setattr(sys, "argv", ["yakusu", "translate", str(model)])
    monkeypatch.setattr(sys, stream, None)
    with pytest.raises(SystemExit, match="2"):
        cli.main()
    assert message in capfd.readouterr().err


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (errno.EROFS, "s cannot be written (Read-only file system): choose a folder that you can"),
        (errno.ENOTDIR, "s cannot be written (Not a directory): choose a folder that you can"),
        (errno.EACCES, "s is not accessible (Permission denied): change its permissions or"),
        (errno.EIO, "s: Input/output error"),
    ],
)
def test_an_error_of_the_operating_system_is_printed_with_its_fix(
    run_yakusu: Yakusu, monkeypatch: pytest.MonkeyPatch, code: int, message: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code), "s")

    monkeypatch.setattr(yakusu, "average", fail, raising=False)
    assert run_yakusu("average", "run").error.startswith(message)


def test_an_output_below_a_file_is_refused_with_the_path_as_typed(
    run_yakusu: Yakusu, work: Path, tmp_path: Path
) -> None:
    out = tmp_path / "news.en" / "a"
    out.parent.write_text("dear\n")
    assert run_yakusu("average", work / "run", "--last", 1, "--out", out).error == (
        f"{out} cannot be written (Not a directory): choose a folder that you can write to"
    )


def test_records_of_the_log_are_printed_with_their_level() -> None:
    record = logging.LogRecord("yakusu", logging.WARNING, "", 0, "%s is slow", ("it",), None)
    assert LogFormatter().format(record) == "warning: it is slow"


def test_a_suggested_command_is_the_short_name_only_if_it_starts_this_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    for folder in (own, tmp_path / "other"):
        folder.mkdir()
        for name in ("yakusu", "python"):
            (folder / name).touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(own / "python"))
    monkeypatch.setattr(sys, "argv", [str(own / "yakusu")])
    monkeypatch.setenv("PATH", str(own))
    assert command() == "yakusu"
    monkeypatch.setenv("PATH", str(tmp_path / "other"))
    assert command() == str(own / "yakusu")
    monkeypatch.setattr(sys, "argv", ["__main__.py"])
    assert command() == f"{own / 'python'} -m yakusu"
    monkeypatch.setenv("PATH", "")
    assert command() == f"{own / 'python'} -m yakusu"


# ---- environment ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "policy", "count"),
    [({}, "PASSIVE", "1000"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE", None)],
)
def test_waiting_threads_spin_briefly_unless_the_user_has_chosen(
    given: dict[str, str], policy: str, count: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", dict(given))
    set_environment()
    assert os.environ["OMP_WAIT_POLICY"] == policy
    assert os.environ.get("GOMP_SPINCOUNT") == count
