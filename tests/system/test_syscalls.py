"""A run killed by the kernel on entry to a system call that changes its folder (strace)."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.system.runs import child, finished, recipe_for, result
from yakusu.recipe import Recipe

CALLS = (
    "openat", "write", "ftruncate", "fsync", "?mkdir", "mkdirat", "?chmod", "fchmodat", "?rename",
    "?renameat", "renameat2", "?unlink", "unlinkat", "?rmdir",
)  # fmt: skip
MAIN = ("write", "renameat2", "unlinkat")
PR_SET_PTRACER, PR_SET_PTRACER_ANY = 0x59616D61, -1  # linux/prctl.h


def stop_to_be_traced() -> None:
    """Stop the process until strace has attached to it."""
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY)  # some kernels allow only parents
    os.kill(os.getpid(), signal.SIGSTOP)


def wait_for_status(pid: int, pattern: str, strace: subprocess.Popen[bytes] | None = None) -> None:
    while not re.search(pattern, Path(f"/proc/{pid}/status").read_text()):
        if strace and strace.poll():
            os.kill(pid, signal.SIGKILL)
            pytest.skip("strace is not allowed to trace here")
        time.sleep(0.005)


def train_traced(recipe: Recipe, trace: Path, *options: str) -> int | None:
    """Train under strace; return the exit code, -N if signal N killed the process."""
    process = child(recipe, stop_to_be_traced)
    assert process.pid
    wait_for_status(process.pid, r"State:\tT")
    command = ["strace", "-y", "-s0", "-o", str(trace), "-e", f"trace={','.join(CALLS)}", *options]
    strace = subprocess.Popen([*command, "-p", str(process.pid)], stderr=subprocess.DEVNULL)
    wait_for_status(process.pid, r"TracerPid:\t[1-9]", strace)
    os.kill(process.pid, signal.SIGCONT)
    code = finished(process)
    strace.wait()
    return code


def calls(trace: Path, run: Path) -> dict[str, list[int]]:
    """Return, by name, which calls of that name change or sync a file of the run's folder."""
    seen: Counter[str] = Counter()
    found: dict[str, list[int]] = {}
    for line in trace.read_text().splitlines():
        name = line.partition("(")[0]
        seen[name] += 1
        if f"{run}/" in line and "O_RDONLY" not in line:
            found.setdefault(name, []).append(seen[name])
    return found


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_killed_in_a_system_call_of_each_kind_a_run_ends_with_the_same_bytes(
    corpus: Path, straight: dict[str, str], tmp_path: Path, thorough: bool
) -> None:
    """In a write, and when a file is replaced or deleted; thorough: at every kind of change."""
    run, begun, trace = tmp_path / "run", tmp_path / "begun", tmp_path / "trace"
    recipe = recipe_for(corpus, run)
    assert finished(child(recipe_for(corpus, begun, "training.max_steps=4"))) == 0
    shutil.copytree(begun, run)  # with a model to replace
    assert train_traced(recipe, trace) == 0
    kinds = calls(trace, run)
    assert {"openat", "write", "fsync", "renameat2", "unlinkat"} <= set(kinds)
    for name in kinds if thorough else MAIN:
        places = kinds[name]
        shutil.rmtree(run)
        shutil.copytree(begun, run)
        kill = f"inject={name}:signal=SIGKILL:when={places[len(places) // 2]}"
        assert train_traced(recipe, trace, "-e", kill) == -signal.SIGKILL
        last = trace.read_text().splitlines()[-2]
        assert finished(child(recipe)) == 0, last
        assert result(run) == straight, last
        assert not list(run.glob("**/.saving-*")), last
