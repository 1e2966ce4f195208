"""Every failure of a command is one sentence and an exit code; tracebacks are for --debug."""

import errno
import lzma
import os
import re
import subprocess
import sys
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import yakusu
from yakusu.cli.failures import FailureHandler
from yakusu.errors import ModelError

LINUX = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="there is no /proc")
Yakusu = Callable[..., Any]


Ended = Callable[[BaseException], tuple[int, str]]


@pytest.fixture
def ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> Ended:
    """The exit code and the messages after an exception; temporary files are in `tmp_path`."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def raise_error(error: BaseException) -> tuple[int, str]:
        with pytest.raises(SystemExit) as left, FailureHandler():
            raise error
        assert isinstance(left.value.code, int)
        return left.value.code, capfd.readouterr().err

    return raise_error


def array_too_large() -> MemoryError:
    with pytest.raises(MemoryError) as caught:
        np.empty(2**50)
    return caught.value


MEMORY = "free some, raise the limit of the process, or use smaller files or batches"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ModelError("m is corrupt"), "m is corrupt"),
        (MemoryError(), f"there is not enough memory: {MEMORY}"),
        (
            array_too_large(),
            "there is not enough memory (Unable to allocate 8.00 PiB for an array with shape "
            f"(1125899906842624,) and data type float64): {MEMORY}",
        ),
        (
            RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"),
            f"there is not enough memory (CUDA out of memory. Tried to allocate 2 GiB): {MEMORY}",
        ),
        (RuntimeError("std::bad_alloc"), f"there is not enough memory (std::bad_alloc): {MEMORY}"),
        (
            ImportError("Read this:\n\na.so: failed to map segment from shared object\n"),
            "there is not enough memory (a.so: failed to map segment from shared object): "
            f"{MEMORY}",
        ),
        (
            OSError(errno.ENOMEM, "Cannot allocate memory", "a"),
            f"there is not enough memory ([Errno 12] Cannot allocate memory: 'a'): {MEMORY}",
        ),
        (
            RecursionError("maximum recursion depth exceeded"),
            "an input is nested too deeply (RecursionError): find it with --debug, and simplify it "
            "or leave it out",
        ),
        (
            OverflowError("Python int too large to convert to C long"),
            "a number is too large (OverflowError: Python int too large to convert to C long): "
            "choose a smaller one, or find the file that contains it with --debug",
        ),
        (
            RuntimeError("\n---\nFailed initializing MeCab. Please see the README\n"),
            "MeCab cannot open its dictionary: check that there is enough memory, or reinstall "
            "yakusu with its extra 'mecab'",
        ),
        (
            BrokenProcessPool("terminated abruptly"),
            "a worker process was ended from outside, probably because there is not enough memory: "
            "free some, or use fewer processes",
        ),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", b"run/tensorboard/events"),
            "run/tensorboard/events: No such file or directory",
        ),
    ],
)
def test_a_known_cause_is_one_sentence_and_exit_code_2(
    ended: Ended, error: BaseException, sentence: str, tmp_path: Path
) -> None:
    assert ended(error) == (2, f"error: {sentence}\n")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("error", [ModelError("m is inconsistent"), KeyError("m")])
def test_an_error_that_missing_memory_has_caused_is_not_blamed_on_a_file(
    ended: Ended, error: Exception
) -> None:
    error.__cause__ = RuntimeError("DefaultCPUAllocator: can't allocate memory")
    assert ended(error) == (
        2,
        "error: there is not enough memory (DefaultCPUAllocator: can't allocate memory): "
        f"{MEMORY}\n",
    )


@pytest.mark.parametrize(
    "error",
    [
        *(zlib.error("invalid block type"), zipfile.BadZipFile("bad"), lzma.LZMAError("bad")),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"),
    ],
)
def test_a_file_that_a_library_cannot_decode_is_a_known_cause(
    ended: Ended, error: BaseException
) -> None:
    code, said = ended(error)
    assert code == 2
    assert re.fullmatch(
        rf"error: a file is truncated or corrupted \({type(error).__name__}: .*\): find it with "
        "--debug, and copy it again\n",
        said,
    )


def test_the_early_end_of_a_file_is_not_taken_for_that_of_the_input(
    run_yakusu: Yakusu, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise EOFError("ended early")

    monkeypatch.setattr(yakusu, "average", fail, raising=False)
    assert run_yakusu("average", "run").error == (
        "a file is truncated (EOFError: ended early): find it with --debug, and copy it again"
    )


def test_an_internal_error_names_a_private_file_with_its_traceback(
    ended: Ended, tmp_path: Path
) -> None:
    said = ended(KeyError("src"))
    (file,) = tmp_path.iterdir()
    assert said == (
        1,
        f"internal error: KeyError: 'src', the details are in {file}: please report it\n",
    )
    assert file.stat().st_mode & 0o777 == 0o600
    details = file.read_text()
    assert details.startswith(f"yakusu {yakusu.__version__}, Python ")
    assert "Traceback (most recent call last)" in details
    assert details.endswith("KeyError: 'src'\n")


def test_ctrl_c_is_the_exit_code_of_its_signal_and_no_message(ended: Ended) -> None:
    assert ended(KeyboardInterrupt()) == (130, "")


@pytest.mark.parametrize("words", [["--debug", "average"], ["average", "--debug"]])
def test_debug_prints_the_traceback_before_the_sentence(
    run_yakusu: Yakusu, words: list[str], tmp_path: Path
) -> None:
    said = run_yakusu(*words, tmp_path / "none")
    sentence = f"{tmp_path / 'none'} is not a run folder: use a folder that 'yakusu train' wrote"
    assert said.code == 2
    assert said.err.startswith("Traceback (most recent call last)")
    assert said.err.endswith(f"yakusu.errors.RunError: {sentence}\nerror: {sentence}\n")


# ---- processes -----------------------------------------------------------------------------------


def run_failing(body: str, **how: Any) -> subprocess.CompletedProcess[bytes]:
    """Run `yakusu average run` in a process of its own, where it runs `body` instead."""
    program = f"""if True:
        import os, sys, threading, yakusu, tempfile
        def average(*_, **__):
            {body}
        yakusu.average = average
        sys.argv = ["yakusu", "average", "run"]
        from yakusu.cli import main
        main()
    """
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=False, timeout=60, **how
    )


@LINUX
def test_memory_that_is_used_up_by_small_objects_is_reported() -> None:
    done = run_failing("""
            import resource
            pages = int(open("/proc/self/statm").read().split()[0])
            limit = pages * resource.getpagesize() + (16 << 20)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            held = []
            while True:
                held.append([held])""")
    assert done.returncode == 2
    assert re.fullmatch(rb"error: there is not enough memory.*\n", done.stderr)


@LINUX
def test_a_strange_error_of_a_library_at_the_limit_of_memory_is_one_of_memory() -> None:
    done = run_failing("""
            import resource
            pages = int(open("/proc/self/statm").read().split()[0])
            limit = pages * resource.getpagesize() + (2 << 20)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            raise RuntimeError("could not create a primitive")""")
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "error: there is not enough memory (RuntimeError: could not create a primitive): "
        f"{MEMORY}\n"
    )


def test_too_little_memory_for_the_libraries_is_reported() -> None:
    done = subprocess.run(
        ["bash", "-c", "ulimit -v 50000; exec $0 -m yakusu translate a", sys.executable],
        input=b"a\n",
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert re.fullmatch(rb"error: there is not enough memory.*\n", done.stderr)


def test_without_a_place_for_the_file_an_internal_error_is_still_reported() -> None:
    done = run_failing("tempfile.tempdir = '/none'; os.getcwd = lambda: '/none'; {}['src']")
    assert (done.returncode, done.stderr.decode()) == (
        1,
        "internal error: KeyError: 'src', the details cannot be written to a file, but --debug "
        "prints them: please report it\n",
    )


def test_an_error_in_a_thread_ends_a_command_that_waits_for_the_thread(tmp_path: Path) -> None:
    done = run_failing(
        "threading.Thread(target=lambda: {}['a']).start(); threading.Event().wait()",
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    (file,) = tmp_path.iterdir()
    assert (done.returncode, done.stderr.decode()) == (
        1,
        f"internal error: KeyError: 'a', the details are in {file}: please report it\n",
    )


def test_an_error_of_the_writer_of_tensorboard_is_left_to_the_main_thread(
    capfd: pytest.CaptureFixture[str],
) -> None:
    writer = type("Writer", (threading.Thread,), {"__module__": "tensorboard.summary.writer"})

    def fail() -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "events")

    with FailureHandler():
        thread = writer(target=fail)
        thread.start()
        thread.join()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(("error", "code"), [("OSError('x')", 2), ("KeyError('x')", 1)])
def test_a_closed_standard_error_changes_no_exit_code(
    error: str, code: int, tmp_path: Path
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\nfrom yakusu.cli.failures import FailureHandler\nwith "
         f"FailureHandler(): raise {error}"],
        stderr=writer,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    os.close(writer)
    assert done.returncode == code
