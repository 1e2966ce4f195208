"""The verb `average`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from yakusu.weights import from_int8, has_int8, load_tensors

Yakusu = Callable[..., Any]


def test_average_of_one_checkpoint_is_that_checkpoint_in_8_bits(
    run_yakusu: Yakusu, work: Path, tmp_path: Path
) -> None:
    said = run_yakusu("average", work / "run", "--last", 1, "--out", tmp_path / "model")
    assert (said.code, said.out) == (0, f"{tmp_path / 'model'}\n")
    into = f"wrote the checkpoint of step 6 to {tmp_path / 'model'}: dev BLEU = "
    assert said.err.startswith(into)
    _assert_rounded(tmp_path / "model", work / "run" / "checkpoints" / "step-00000006")


def _assert_rounded(model: Path, checkpoint: Path) -> None:
    """Check that each weight of a model is the nearest of 255 to that of a checkpoint."""
    stored = load_tensors(model / "model.safetensors")
    floats, rounded = load_tensors(checkpoint / "model.safetensors"), from_int8(stored)
    assert has_int8(stored) and floats.keys() == rounded.keys()
    for name, exact in floats.items():
        half_a_step = exact.abs().amax(dim=-1, keepdim=True) / 254 if exact.ndim == 2 else 0
        assert ((rounded[name] - exact).abs() <= 1.0001 * half_a_step).all(), name


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


def test_average_best_takes_the_best_checkpoint(
    run_yakusu: Yakusu, work: Path, tmp_path: Path
) -> None:
    best = json.loads((work / "run" / "log.jsonl").read_text().splitlines()[-1])["best_step"]
    said = run_yakusu("average", work / "run", "--best", "--out", tmp_path / "model")
    assert f"wrote the checkpoint of step {best} to" in said.err
    _assert_rounded(tmp_path / "model", work / "run" / "checkpoints" / f"step-{best:08}")


def test_average_refuses_a_folder_that_is_not_a_run(run_yakusu: Yakusu, tmp_path: Path) -> None:
    assert run_yakusu("average", tmp_path).error == (
        f"{tmp_path} is not a run folder: use a folder that 'yakusu train' wrote"
    )


def test_average_refuses_best_with_last(run_yakusu: Yakusu, tmp_path: Path) -> None:
    assert run_yakusu("average", tmp_path, "--best", "--last", 2).error == (
        "--best and --last are mutually exclusive: use only one of them"
    )
