"""Signals that stop training."""

import os
import signal
from collections.abc import Iterator

import pytest

from yakusu.training.signals import StopSignal


@pytest.fixture
def hangup() -> Iterator[None]:
    """Restores what SIGHUP does."""
    before = signal.getsignal(signal.SIGHUP)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hangup")
def test_a_hangup_is_stored_and_a_second_one_ends_the_process(
    capfd: pytest.CaptureFixture[str],
) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with StopSignal() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        assert stop.number == signal.SIGHUP
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL
    assert capfd.readouterr().err.startswith("SIGHUP: saving after this step; send the signal ag")


@pytest.mark.usefixtures("hangup")
def test_a_hangup_that_nohup_ignores_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with StopSignal() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        assert stop.number == 0
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


@pytest.mark.usefixtures("hangup")
def test_a_hangup_is_stored_if_the_terminal_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(descriptor: int, text: bytes) -> int:
        raise OSError("Input/output error")

    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with StopSignal() as stop, monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        os.kill(os.getpid(), signal.SIGHUP)
        assert stop.number == signal.SIGHUP
