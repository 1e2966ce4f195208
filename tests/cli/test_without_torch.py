"""Without torch, every verb works or says in one sentence what is missing."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cases import some
from tests.cli.conftest import OVERRIDES, Said
from yakusu.folder import sha256

FILES = Path(__file__).parents[1] / "fixtures" / "format-1"
MODEL = FILES / "transformer"
# The extra `train`, and what only it installs; the interpreter does not find them.
_WITHOUT_TORCH = """
import sys
from importlib.machinery import PathFinder

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name.partition(".")[0] in {"google", "tensorboard", "torch"}
        return None if hidden else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
sys.argv[0] = "yakusu"
from yakusu.cli import main
"""
_HELP = """
for verb in sys.argv[1:]:
    sys.argv = ["yakusu", verb, "--help"]
    try:
        main()
    except SystemExit as done:
        assert not done.code, done
"""
_AUTO = ["--device", "auto"]
WORKING = {
    "translate": [MODEL],
    "score": [MODEL, FILES / "test.en", FILES / "test.de"],
    "evaluate texts": [FILES / "test.de", FILES / "test.de"],
    "evaluate": [MODEL, FILES / "test.de", "--src", FILES / "test.en"],
    "view": [MODEL, "--src-file", FILES / "test.en", "--tgt-file", FILES / "test.de"],
    "verify": [MODEL],
    "check": [FILES / "train.en", FILES / "train.de"],
}
VERBS = [
    *("check", "prepare", "train", "average", "demo", "translate", "score", "evaluate", "verify"),
    *("compress", "view", "vectors"),
]


def without_torch(*args: object, stdin: bytes = b"") -> Said:
    """Run `yakusu ARGS` where torch is not installed."""
    return _run("main()", *args, stdin=stdin)


def _run(code: str, *args: object, stdin: bytes = b"") -> Said:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_TORCH + code, *map(str, args)],
        input=stdin,
        capture_output=True,
        check=False,
    )
    return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("name", some(list(WORKING)))
def test_a_verb_that_does_not_train_prints_the_same_without_torch(
    name: str, run_yakusu: Callable[..., Said]
) -> None:
    lines = (FILES / "test.en").read_bytes()
    args = name.split()[0], *WORKING[name]
    own, other = without_torch(*args, stdin=lines), run_yakusu(*args, stdin=lines)
    assert (own.code, own.out) == (0, other.out) and own.out
    assert "torch" not in own.err


def test_view_draws_the_same_pictures_without_torch(
    tmp_path: Path, run_yakusu: Callable[..., Said]
) -> None:
    hashes = []
    for run in without_torch, run_yakusu:
        said = run("view", MODEL, "--src", "the old ferry", "--out", tmp_path)
        assert said.code == 0, said
        hashes.append([sha256(tmp_path / f"attention.{kind}") for kind in ("svg", "html")])
    assert hashes[0] == hashes[1]


def test_prepare_writes_the_same_bytes_without_torch(
    tmp_path: Path, run_yakusu: Callable[..., Said]
) -> None:
    files = ["--src", FILES / "train.en", "--tgt", FILES / "train.de"]
    sets = [word for item in OVERRIDES for word in ("--set", item)]
    manifests = []
    for run in without_torch, run_yakusu:
        said = run("prepare", "tiny", *files, "--run", tmp_path / "run", *sets)
        assert said.code == 0, said
        manifests.append((tmp_path / "run" / "data" / "manifest.json").read_bytes())
        shutil.rmtree(tmp_path / "run")
    assert manifests[0] == manifests[1]


def test_every_verb_has_a_help_text_without_torch() -> None:
    said = _run(_HELP, *VERBS)
    assert (said.code, said.err) == (0, "")
    for verb in VERBS:
        assert f"Usage: yakusu {verb} [OPTIONS]" in said.out


@pytest.mark.parametrize(
    ("verb", "extra"),
    [("train", "train"), ("average", "train"), ("demo", "demo"), ("compress", "compress")],
)
def test_a_verb_that_trains_or_compresses_names_its_extra_and_writes_nothing(
    verb: str, extra: str, tmp_path: Path
) -> None:
    args: dict[str, list[object]] = {
        "train": ["tiny", "--src", FILES / "train.en", "--tgt", FILES / "train.de"],
        "average": [FILES / "interrupted", "--out", tmp_path / "out"],
        "demo": ["--target", "de", "--folder", tmp_path / "out"],
        "compress": [MODEL, tmp_path / "out"],
    }
    run = ["--run", tmp_path / "out"] if verb == "train" else []
    assert without_torch(verb, *args[verb], *run).error == (
        f"this command needs torch: install yakusu with its extra '{extra}', as in pip install "
        f"'.[{extra}]'"
    )
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("verb", ["translate", "score", "evaluate", "view"])
def test_a_model_that_only_torch_runs_is_refused_in_one_sentence(verb: str) -> None:
    args: dict[str, list[object]] = {
        "translate": [],
        "score": [FILES / "test.en", FILES / "test.de"],
        "evaluate": [FILES / "test.de", "--src", FILES / "test.en"],
        "view": ["--src", "the old ferry"],
    }
    said = without_torch(verb, FILES / "recurrent", *args[verb])
    assert said.err.count("\n") == 1
    assert said.error == (
        "the native engine does not support recurrent models, and torch is not installed: install "
        "yakusu with its extra 'train', as in pip install '.[train]'"
    )


def test_the_device_is_the_cpu_if_there_is_no_torch_to_find_a_gpu() -> None:
    lines = (FILES / "test.en").read_bytes()
    own, other = (without_torch("translate", MODEL, *o, stdin=lines) for o in ([], _AUTO))
    assert (own.code, own.out) == (0, other.out) and own.out


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (["--engine", "torch"], "engine 'torch'"),
        (["--device", "cuda"], "device 'cuda'"),
        (["--device", "gpu"], "device 'gpu'"),
    ],
)
def test_an_option_that_needs_torch_is_named(options: list[str], cause: str) -> None:
    assert without_torch("translate", MODEL, *options).error == (
        f"the {cause} needs torch, which is not installed: install yakusu with its extra 'train', "
        "as in pip install '.[train]'"
    )
