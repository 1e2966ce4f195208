"""The verb `average`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Yakusu = Callable[..., Any]


def test_average_of_one_checkpoint_is_that_checkpoint(
    run_yakusu: Yakusu, work: Path, tmp_path: Path
) -> None:
    said = run_yakusu("average", work / "run", "--last", 1, "--out", tmp_path / "model")
    assert (said.code, said.out) == (0, f"{tmp_path / 'model'}\n")
    into = f"wrote the checkpoint of step 6 to {tmp_path / 'model'}: dev BLEU = "
    assert said.err.startswith(into)
    last = work / "run" / "checkpoints" / "step-00000006" / "model.safetensors"
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == last.read_bytes()


def test_average_never_replaces_a_folder_named_with_out(
    run_yakusu: Yakusu, work: Path, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    out.mkdir()
    assert run_yakusu("average", work / "run", "--out", out).code == 0  # it was empty
    (out / "dear.txt").write_text("dear")
    assert run_yakusu("average", work / "run", "--out", out).error == (
        f"{out} already exists: choose another folder with --out"
    )
    assert (out / "dear.txt").read_text() == "dear"


def test_average_best_copies_the_best_checkpoint(
    run_yakusu: Yakusu, work: Path, tmp_path: Path
) -> None:
    best = json.loads((work / "run" / "log.jsonl").read_text().splitlines()[-1])["best_step"]
    said = run_yakusu("average", work / "run", "--best", "--out", tmp_path / "model")
    assert f"wrote the checkpoint of step {best} to" in said.err
    weights = [
        (folder / "model.safetensors").read_bytes()
        for folder in (tmp_path / "model", work / "run" / "checkpoints" / f"step-{best:08}")
    ]
    assert weights[0] == weights[1]


def test_average_refuses_a_folder_that_is_not_a_run(run_yakusu: Yakusu, tmp_path: Path) -> None:
    assert run_yakusu("average", tmp_path).error == (
        f"{tmp_path} is not a run folder: use a folder that 'yakusu train' wrote"
    )


def test_average_refuses_best_with_last(run_yakusu: Yakusu, tmp_path: Path) -> None:
    assert run_yakusu("average", tmp_path, "--best", "--last", 2).error == (
        "--best and --last are mutually exclusive: use only one of them"
    )
