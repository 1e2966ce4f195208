"""Progress bars on a terminal that is closed while they are shown."""

import os
import sys

import pytest

from yakusu.cli.standard_error import standard_error


def test_what_is_written_after_the_terminal_is_closed_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal, own = os.openpty()
    with os.fdopen(own, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        bars = standard_error()
        assert bars.isatty()
        bars.write("one")
        bars.flush()
        assert os.read(terminal, 10) == b"one"
        os.close(terminal)
        bars.write("two" * 9999)  # more than a buffer holds
        bars.flush()
        assert not bars.isatty()
        stream.write("three")  # as `say` does then
        stream.flush()
        monkeypatch.undo()
