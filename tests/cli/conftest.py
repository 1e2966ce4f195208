"""Runs `yakusu` in this process."""

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from yakusu import cli


@dataclass
class Said:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The message of a command that failed: exit code 2, one line, nothing on stdout."""
        assert self.code == 2, self
        assert self.out == ""
        assert "Traceback" not in self.err
        *before, last = self.err.splitlines()
        assert last.startswith("error: ") and not any("error" in line for line in before)
        return last.removeprefix("error: ")


@pytest.fixture
def run_yakusu(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., Said]:
    """Run `yakusu ARGS` in this process: run_yakusu(*args, stdin=b"")."""

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
