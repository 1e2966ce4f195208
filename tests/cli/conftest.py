"""Runs `yakusu` in this process or in its own; a run that all tests of the verbs share."""

import io
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from yakusu import cli

WORDS = {
    "the": "die",
    "old": "alte",
    "ferry": "fähre",
    "baker": "bäckerin",
    "sees": "sieht",
    "paints": "malt",
    "small": "kleine",
    "bridge": "brücke",
    "window": "scheibe",
    "through": "durch",
}
OVERRIDES = [
    "tokenizer.vocab_size=70",
    "tokenizer.byte_fallback=false",
    "tokenizer.placeholder_share=0",
    "batches.step_tokens=500",
    "model.n_layers=1",
    "model.d_model=16",
    "model.d_ff=32",
    "model.n_heads=2",
    "training.max_steps=6",
    "training.validate_steps=3",
    "training.log_steps=2",
    "search.max_extra=4",
    "data.hold_out=8",
]


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


def _yakusu_process(*args: object, stdin: bytes = b"") -> Said:
    done = subprocess.run(
        [sys.executable, "-m", "yakusu", *map(str, args)],
        input=stdin,
        capture_output=True,
        check=False,
    )
    return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def yakusu_process() -> Callable[..., Said]:
    """Run `python -m yakusu ARGS` as its own process: yakusu_process(*args, stdin=b"")."""
    return _yakusu_process


@pytest.fixture
def overrides() -> list[str]:
    """Options that make a recipe small: --set KEY=VALUE ..."""
    return _sets()


def _sets(*more: str) -> list[str]:
    return [word for item in (*OVERRIDES, *more) for word in ("--set", item)]


def _train_options(folder: Path, run: str | Path = "run", *more: str) -> list[str]:
    files = ["--src", str(folder / "a.en"), "--tgt", str(folder / "a.de")]
    return ["tiny", "--run", str(folder / run), *files, *_sets(*more)]


@pytest.fixture
def train_options() -> Callable[..., list[str]]:
    """Arguments of `train` for the corpus in a folder: train_options(folder, run, *overrides)."""
    return _train_options


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus and a run, trained once for all processes of pytest; read only."""
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    folder = root / "command-line"
    with FileLock(root / "command-line.lock"):
        if not (folder / "train.err").exists():
            _train(folder)
    return folder


def _train(folder: Path) -> None:
    folder.mkdir()
    rng = random.Random(7)
    src = sorted({" ".join(rng.choices(list(WORDS), k=rng.randint(3, 7))) for _ in range(300)})
    tgt = [" ".join(WORDS[word] for word in line.split()) for line in src]
    for name, lines in (("a.en", src), ("a.de", tgt)):
        (folder / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    said = _yakusu_process("train", *_train_options(folder))
    assert said.code == 0, said.err
    (folder / "train.out").write_text(said.out)
    (folder / "train.err").write_text(said.err)


@pytest.fixture
def model(work: Path) -> Path:
    """The translator of the shared run; read only."""
    return work / "run" / "model"


@pytest.fixture
def own(work: Path, tmp_path: Path) -> Path:
    """A copy of the shared run that a test may change."""
    for name in ("a.en", "a.de"):
        shutil.copy(work / name, tmp_path / name)
    shutil.copytree(work / "run", tmp_path / "run")
    recipe = tmp_path / "run" / "recipe.toml"
    recipe.write_text(recipe.read_text().replace(str(work), str(tmp_path)))
    return tmp_path
