"""Without what only Unix has, texts are translated, and other commands say what they need.

No test runs on Windows itself; these hide the modules, functions and signals that it lacks.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from yakusu import Translator

FILES = Path(__file__).parents[1] / "fixtures" / "format-1"
MODEL = str(FILES / "transformer")
_WITHOUT_UNIX = """
import os, signal, socket, sys

lacking = {
    os: "fork geteuid getuid posix_spawn sched_getaffinity sysconf",
    signal: "SIGALRM SIGHUP SIGKILL SIGPIPE SIGUSR1 SIGXCPU",
    socket: "AF_UNIX recv_fds send_fds",
}
for module, names in lacking.items():
    for name in names.split():
        delattr(module, name)
sys.modules.update(dict.fromkeys(("fcntl", "grp", "pwd", "resource", "termios", "uvloop")))
sys.argv[0] = "yakusu"
from yakusu.cli import main

main()
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT_UNIX, *arguments],
        input="the old ferry\n",
        capture_output=True,
        encoding="utf-8",
    )


def test_texts_are_translated_and_scored() -> None:
    made = run("translate", MODEL)
    expected = Translator.load(MODEL).translate(["the old ferry"])
    assert made.stdout.splitlines() == expected, made.stderr
    scores = run("score", MODEL, str(FILES / "test.en"), str(FILES / "test.de"))
    assert len(scores.stdout.splitlines()) == 12, scores.stderr


@pytest.mark.parametrize("verb", ["serve", "translate"])
def test_what_needs_processes_with_limits_says_where_it_runs(verb: str, tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    page.write_text("<p>the old ferry</p>")
    files = [] if verb == "serve" else [str(page), "--out", str(tmp_path / "b.html")]
    said = run(verb, MODEL, *files)
    assert said.returncode == 2
    assert said.stderr.endswith(
        "error: this command needs Linux or macOS: on Windows, use WSL "
        "(docs/windows-and-macos.md)\n"
    )
    assert not (tmp_path / "b.html").exists()
