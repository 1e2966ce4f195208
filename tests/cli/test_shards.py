"""`yakusu translate --ray`: its address, its options, and what it prints."""

import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.translators import save, untrained
from yakusu.pipeline.shards import cluster
from yakusu.pipeline.shards.parts import PartTranslator, ShardConfig, ShardPart, read_parts
from yakusu.pipeline.shards.plan import ShardJob
from yakusu.pipeline.shards.receipt import ShardSettings

Yakusu = Callable[..., Any]


class Here:
    """Takes the place of a cluster: translates in this process."""

    address: ClassVar[str]
    config: ClassVar[ShardConfig]

    def __init__(self, address: str) -> None:
        type(self).address = address

    def __call__(
        self, jobs: Sequence[ShardJob], config: ShardConfig, settings: ShardSettings
    ) -> Generator[ShardPart, None, None]:
        type(self).config = config
        translate = PartTranslator(config, settings)
        for job in jobs:
            yield from map(translate, read_parts(job, config))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("shards") / "model", untrained("bytes"))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Two shards; no Ray is needed."""
    monkeypatch.setattr(cluster, "Cluster", Here)
    (tmp_path / "a.txt").write_text("Der alte Hund.\n\nKaffee, bitte!\n")
    (tmp_path / "b.txt").write_bytes(b"Wo?\n\xff\n")
    return [tmp_path / "a.txt", tmp_path / "b.txt"]


@pytest.mark.parametrize(
    ("given", "address"),
    [
        (["--ray"], "local"),
        (["--ray", "auto"], "auto"),
        (["--ray", "10.0.0.1:6379"], "10.0.0.1:6379"),
        (["--ray=head.example.org:6379"], "head.example.org:6379"),
        (["--ray", "[fe80::1]:6379"], "[fe80::1]:6379"),
        (["--ray", "--beam", "1"], "local"),
    ],
)
def test_the_address_is_optional_wherever_the_option_is(
    run_yakusu: Yakusu,
    model: Path,
    files: list[Path],
    tmp_path: Path,
    given: list[str],
    address: str,
) -> None:
    for number, words in enumerate(
        (
            [model, *files, *given, "--out", tmp_path / "0"],
            [model, *files, "--out", tmp_path / "1", *given],
            [*given, model, *files, "--out", tmp_path / "2"],
            ["--out", tmp_path / "3", *given, "--", model, *files],
        )
    ):
        said = run_yakusu("translate", *words)
        assert said.code == 0, said.err
        assert Here.address == address
        assert (tmp_path / str(number) / "a.txt").exists()


def test_the_same_lines_as_without_ray_and_counts_on_standard_error(
    run_yakusu: Yakusu,
    model: Path,
    files: list[Path],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    plain = [run_yakusu("translate", model, file, "--errors", "replace").out for file in files]
    out = tmp_path / "out"
    said = run_yakusu("translate", model, *files, "--out", out, "--ray")
    assert [(out / file.name).read_text() for file in files] == plain
    assert said.out == ""
    first, second, speed, *_, last = said.err.splitlines()
    assert (first, second) == (f"{out}/a.txt: 3 lines", f"{out}/b.txt: 2 lines")
    assert caplog.messages[-1] == (
        f"{files[1]}: 1 line is not UTF-8 and was read with U+FFFD for each invalid byte: line 2"
    )
    assert speed.startswith("5 lines in ")
    assert last == "2 shards translated; 1 line not UTF-8"
    again = run_yakusu("translate", model, *files, "--out", out, "--ray")
    assert again.err == "2 shards skipped (translated before)\n"


def test_a_worker_has_one_thread_unless_more_are_requested(
    run_yakusu: Yakusu, model: Path, files: list[Path], tmp_path: Path
) -> None:
    run_yakusu("translate", model, *files, "--out", tmp_path / "0", "--ray")
    assert Here.config.engine.threads == 1
    more = ("--threads", 3, "--batch", 32, "--precision", "float32", "--errors", "skip")
    run_yakusu("translate", model, *files, "--out", tmp_path / "1", "--ray", *more)
    assert (Here.config.engine.threads, Here.config.block_size) == (3, 1024)
    assert (Here.config.engine.precision, Here.config.errors) == ("float32", "skip")
    assert Here.config.engine.engine == "native"  # on every machine


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--n-best", "2"], "--n-best does not apply to --ray: remove one of them"),
        (["--format", "json"], "--format does not apply to --ray: remove one of them"),
        (["--prefix", "x"], "--prefix does not apply to --ray: remove one of them"),
        (["--alignments", "x"], "--alignments does not apply to --ray: remove one of them"),
        (["--input-format", "tsv"], "--input-format does not apply to --ray: remove one of them"),
        (["--retranslate"], "--retranslate does not apply to --ray: remove one of them"),
        (["--overwrite"], "--overwrite does not apply to --ray: remove one of them"),
        (
            ["--device", "auto"],
            "--device auto may differ between machines: use cpu or cuda with --ray",
        ),
        (["--ray=head"], "--ray 'head' is not an address: write HOST:PORT, auto or local"),
        (
            ["--ray", "ray://head:10001"],
            "--ray ray://head:10001 is the address of a Ray client: run yakusu on a machine of the "
            "cluster, with --ray HOST:PORT or --ray auto",
        ),
    ],
)
def test_options_that_do_not_apply_are_refused(
    run_yakusu: Yakusu,
    model: Path,
    files: list[Path],
    tmp_path: Path,
    options: list[str],
    message: str,
) -> None:
    out = tmp_path / "out"
    ray = [] if options[0].startswith("--ray") else ["--ray"]
    said = run_yakusu("translate", model, *files, "--out", out, *ray, *options)
    assert said.error == message
    assert not out.exists()


def test_missing_arguments_are_named(run_yakusu: Yakusu, model: Path, files: list[Path]) -> None:
    assert run_yakusu("translate", model, *files, "--ray").error == (
        "--ray writes a file for each input: add --out FOLDER"
    )
    assert run_yakusu("translate", model, "--ray", "--out", "x").error == (
        "--ray translates files, not standard input: name files or folders"
    )
    assert run_yakusu("translate", model, *files).error == (
        f"{files[0]} and {files[1]} are two sources: translate one at a time, or many with --ray"
    )
    assert run_yakusu("translate", model, "--column", "text").error == (
        "--column applies to Parquet files: add --ray, or remove --column"
    )


def test_a_shard_that_fails_is_the_error_after_the_others(
    run_yakusu: Yakusu,
    model: Path,
    files: list[Path],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    files[0].write_bytes(b"\xffEins.\n")
    options = ("--out", tmp_path / "out", "--ray", "--errors", "strict")
    said = run_yakusu("translate", model, *files, *options)
    assert said.code == 2
    sentence = (
        f"{files[0]}, line 1, byte 1: 0xff is not UTF-8: save the file as UTF-8, "
        "correct the line, or add --errors skip"
    )
    assert said.error == f"2 shards not translated: {sentence}"
    assert caplog.messages[0] == sentence
    assert caplog.messages[1].startswith(f"{files[1]}, line 2, byte 1: 0xff is not UTF-8")


def test_without_ray_the_extra_is_named(
    run_yakusu: Yakusu, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("Eins.\n")
    monkeypatch.setitem(sys.modules, "ray", None)
    out = tmp_path / "out"
    said = run_yakusu("translate", model, tmp_path / "a.txt", "--ray", "--out", out)
    assert said.error == (
        "this command needs ray: install yakusu with its extra 'ray', as in pip install '.[ray]'"
    )
    assert not out.exists()
