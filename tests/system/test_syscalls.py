"""Killed by the kernel on its way into a system call that changes a run's folder (strace)."""

import ctypes
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

import yakusu
from yakusu.folder import sha256
from yakusu.recipe import Recipe, load_recipe
from yakusu.training.checkpoint import checkpoints

OVERRIDES = [
    "tokenizer.vocab_size=60",
    "batches.step_tokens=300",
    "model.n_layers=1",
    "model.d_model=16",
    "model.d_ff=32",
    "model.n_heads=2",
    "training.max_steps=8",
    "training.validate_steps=4",
    "training.checkpoint_steps=1",
    "training.keep_last=2",
    "training.device=cpu",
    "search.beam=1",
    "search.max_extra=2",
]
CALLS = (
    "openat", "write", "ftruncate", "fsync", "?mkdir", "mkdirat", "?chmod", "fchmodat", "?rename",
    "?renameat", "renameat2", "?unlink", "unlinkat", "?rmdir",
)  # fmt: skip
PR_SET_PTRACER, PR_SET_PTRACER_ANY = 0x59616D61, -1  # linux/prctl.h

_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload(["yakusu.pipeline.train", "yakusu.recipe"])


def recipe_for(corpus: Path, run: Path, *overrides: str) -> Recipe:
    files = [f'run="{run}"', f'data.train={{src="{corpus}/a.en", tgt="{corpus}/a.de"}}']
    return load_recipe("tiny", [*files, *OVERRIDES, *overrides])


def result(run: Path) -> dict[str, str]:
    """The hashes of the model and of the last weights and moments."""
    folders = (run / "model", checkpoints(run / "checkpoints")[-1])
    files = [file for folder in folders for file in folder.glob("*.safetensors")]
    return {str(file.relative_to(run)): sha256(file) for file in files}


def _train_when_told(recipe: Recipe) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY)  # where not every process may
    os.kill(os.getpid(), signal.SIGSTOP)
    yakusu.train(recipe)


def wait_for_status(pid: int, pattern: str, strace: subprocess.Popen[bytes] | None = None) -> None:
    while not re.search(pattern, Path(f"/proc/{pid}/status").read_text()):
        if strace and strace.poll():
            os.kill(pid, signal.SIGKILL)
            pytest.skip("strace may not trace here")
        time.sleep(0.005)


def train_traced(recipe: Recipe, trace: Path, *options: str) -> int | None:
    """Train under strace; the exit code, minus the signal that killed the process."""
    process = _server.Process(target=_train_when_told, args=(recipe,))
    process.start()
    assert process.pid
    wait_for_status(process.pid, r"State:\tT")
    command = ["strace", "-y", "-s0", "-o", str(trace), "-e", f"trace={','.join(CALLS)}", *options]
    strace = subprocess.Popen([*command, "-p", str(process.pid)], stderr=subprocess.DEVNULL)
    wait_for_status(process.pid, r"TracerPid:\t[1-9]", strace)
    os.kill(process.pid, signal.SIGCONT)
    process.join()
    strace.wait()
    return process.exitcode


def calls(trace: Path, run: Path) -> dict[str, list[int]]:
    """By name: which of a process's calls of that name change the run's folder, or sync it."""
    seen: Counter[str] = Counter()
    found: dict[str, list[int]] = {}
    for line in trace.read_text().splitlines():
        name = line.partition("(")[0]
        seen[name] += 1
        if f"{run}/" in line and "O_RDONLY" not in line:
            found.setdefault(name, []).append(seen[name])
    return found


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_killed_in_a_system_call_of_each_kind_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    rng = random.Random(5)
    lines = ["".join(rng.choices("abcdefgh ", k=rng.randint(5, 30))) for _ in range(200)]
    (tmp_path / "a.en").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "a.de").write_text("".join(f"{line[::-1]}\n" for line in lines))
    run, begun, trace = tmp_path / "run", tmp_path / "begun", tmp_path / "trace"
    recipe = recipe_for(tmp_path, run)
    yakusu.train(recipe)
    straight = result(run)
    yakusu.train(recipe_for(tmp_path, begun, "training.max_steps=4"))  # a model to replace
    shutil.rmtree(run)
    shutil.copytree(begun, run)
    assert train_traced(recipe, trace) == 0
    kinds = calls(trace, run)
    assert {"openat", "write", "fsync", "unlinkat", "renameat2"} <= set(kinds)
    for name, places in kinds.items():
        shutil.rmtree(run)
        shutil.copytree(begun, run)
        kill = f"inject={name}:signal=SIGKILL:when={places[len(places) // 2]}"
        assert train_traced(recipe, trace, "-e", kill) == -signal.SIGKILL
        last = trace.read_text().splitlines()[-2]
        yakusu.train(recipe)
        assert result(run) == straight, last
        assert not list(run.glob("**/.saving-*")), last
