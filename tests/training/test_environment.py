"""A run that resumes in another environment warns, or refuses with `exact`."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from yakusu.errors import RunError
from yakusu.training.environment import Environment
from yakusu.training.state import read_state
from yakusu.training.trainer import Trainer

MakeTrainer = Callable[..., Trainer]
ONE = Environment(
    threads=2,
    precision="fp32",
    device="CPU A",
    features=["avx2", "avx512f", "ATen AVX512"],
    variables={"MKL_CBWR": "AVX2"},
    versions={"torch": "2.12.0", "numpy": "2.4.6"},
)
BYTES = "so the bytes of the model will differ from those of an uninterrupted run"


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (replace(ONE, threads=4), "threads: 2, now 4"),
        (replace(ONE, precision="bf16"), "precision: fp32, now bf16"),
        (replace(ONE, device="CPU B"), "device: CPU A, now CPU B"),
        (
            replace(ONE, features=["avx2", "amx_tile", "ATen AVX2"]),
            "processor features: now without ATen AVX512, avx512f and with ATen AVX2, amx_tile",
        ),
        (replace(ONE, features=["avx2", "ATen AVX512"]), "processor features: now without avx512f"),
        (replace(ONE, variables={}), "MKL_CBWR: AVX2, now none"),
        (replace(ONE, versions={"torch": "2.13.0", "numpy": "2.4.6"}), "torch: 2.12.0, now 2.13.0"),
        (ONE, ""),
    ],
)
def test_each_difference_is_named(other: Environment, told: str) -> None:
    assert "; ".join(ONE.changes(other)) == told


def test_another_environment_is_warned_of_once(
    make_trainer: MakeTrainer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    make_trainer(max_steps=2).run()
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    for steps in (4, 6):
        again = make_trainer(max_steps=steps, precision="bf16")
        again.resume()
        again.run()
    (warning,) = caplog.messages
    assert warning == (
        f"{tmp_path / 'checkpoints' / 'step-00000002'} comes from training in another environment "
        f"(precision: fp32, now bf16; MKL_CBWR: none, now COMPATIBLE), {BYTES}"
    )
    stored = read_state(tmp_path / "checkpoints" / "step-00000006").environments
    assert [each.precision for each in stored] == ["fp32", "bf16"]


def test_exact_refuses_what_any_earlier_part_of_the_run_differs_in(
    make_trainer: MakeTrainer, caplog: pytest.LogCaptureFixture
) -> None:
    make_trainer(max_steps=2).run()
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(threads + 1)
        with pytest.raises(RunError, match=rf"\(threads: {threads}, now .*\), {BYTES}: restore th"):
            make_trainer(max_steps=4).resume(exact=True)
        assert not caplog.messages
        other = make_trainer(max_steps=4)
        other.resume()
        other.run()
        with pytest.raises(RunError, match="resume without --exact"):
            make_trainer(max_steps=6).resume(exact=True)
    finally:
        torch.set_num_threads(threads)


def test_exact_resumes_in_the_same_environment_silently(
    make_trainer: MakeTrainer, caplog: pytest.LogCaptureFixture
) -> None:
    make_trainer(max_steps=2).run()
    assert make_trainer(max_steps=4).resume(exact=True)
    assert not caplog.messages


def test_a_checkpoint_without_environments_resumes_silently_unless_exact(
    make_trainer: MakeTrainer, caplog: pytest.LogCaptureFixture
) -> None:
    first = make_trainer(max_steps=2)
    first.state.environments.clear()
    first.run()
    with pytest.raises(RunError, match="does not record the environment of training"):
        make_trainer(max_steps=4).resume(exact=True)
    for stop in (4, 6):
        again = make_trainer(max_steps=stop)
        assert again.resume()
        again.run()
    assert not caplog.messages
    with pytest.raises(RunError, match=r"\(precision: unknown, now fp32; .*resume without --exact"):
        make_trainer(max_steps=8).resume(exact=True)


def test_a_finished_run_is_not_warned_of(
    make_trainer: MakeTrainer, caplog: pytest.LogCaptureFixture
) -> None:
    make_trainer(max_steps=2).run()
    assert make_trainer(max_steps=2, precision="bf16").resume(exact=True)
    assert not caplog.messages
