"""Training and search on a GPU give what they give on the CPU; skipped without a GPU."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from yakusu.data.batches import BatchConfig, pad
from yakusu.data.pairs import Pairs
from yakusu.metrics import Score
from yakusu.model.base import Seq2Seq
from yakusu.progress import Silent
from yakusu.search.beam import beam_search
from yakusu.search.config import SearchConfig
from yakusu.search.forced import score_targets
from yakusu.training.config import TrainingConfig
from yakusu.training.step import ModelLoss
from yakusu.training.trainer import Trainer, TrainingData, TrainingOutput

Tiny = Callable[..., Seq2Seq]
Sentences = list[list[int]]

MODELS: dict[str, dict[str, Any]] = {
    "transformer": {},
    "learned positions, pre-norm": {"positions": "learned", "max_positions": 64, "norm": "pre"},
    "experts": {"n_experts": 4, "top_k": 2},
    "convolutional": {"name": "convolutional"},
    "bytenet": {"name": "bytenet"},
    "LSTM": {"name": "recurrent", "attention": "none"},
    "LSTM with attention": {"name": "recurrent", "attention": "general"},
    "GNMT": {"name": "recurrent", "decoder": "gnmt", "attention": "additive", "residual": True},
}


@pytest.fixture(autouse=True)
def gpu() -> None:
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")


def batch_of(model: Seq2Seq, sequences: Callable[..., Sentences]) -> tuple[Tensor, Tensor]:
    return (
        pad(sequences(40, seed=1), model.src_pad),
        pad(sequences(40, seed=2), model.tgt_pad),
    )


def gradients(model: Seq2Seq, src: Tensor, tgt: Tensor, **settings: Any) -> tuple[float, Tensor]:
    """The loss per batch and the gradient of all parameters, on the CPU."""
    options = {"epsilon": 0.1, "bf16": False, "compiled": False, **settings}
    device = model.output_weight.device
    model.zero_grad()
    loss = ModelLoss(model, **options)(src.to(device), tgt.to(device)).smoothed
    loss.backward()
    found = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
    return loss.item(), torch.cat(found).cpu()


def difference(one: Tensor, other: Tensor) -> float:
    """The relative difference between two gradients."""
    return float((one - other).norm() / other.norm())


# ---- training ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MODELS)
def test_loss_and_gradient_are_those_of_the_cpu(
    kind: str, tiny: Tiny, sequences: Callable[..., Sentences]
) -> None:
    model = tiny(**MODELS[kind], dropout=0.0).train()
    batch = batch_of(model, sequences)
    loss, gradient = gradients(model, *batch)
    on_gpu, of_gpu = gradients(model.to("cuda"), *batch)
    assert on_gpu == pytest.approx(loss, rel=1e-3)
    assert difference(of_gpu, gradient) < 5e-3  # convolutions are computed in TF32


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_compiled_model_in_bfloat16_has_nearly_the_same_gradient(
    tiny: Tiny, sequences: Callable[..., Sentences]
) -> None:
    model = tiny(dropout=0.0).train()
    batch = batch_of(model, sequences)
    loss, gradient = gradients(model, *batch)
    on_gpu, of_gpu = gradients(model.to("cuda"), *batch, bf16=True, compiled=True)
    assert on_gpu == pytest.approx(loss, rel=1e-2)
    assert difference(of_gpu, gradient) < 5e-2


def trainer_of(
    model: Seq2Seq,
    folder: Path,
    pairs: Pairs,
    batches: BatchConfig,
    record: Callable[[Any], None] = lambda event: None,
    **config: Any,
) -> Trainer:
    return Trainer(
        model,
        TrainingData(pairs, pairs, batches, seed=1),
        config=TrainingConfig(
            **{
                **{"warmup_steps": 100, "max_steps": 300, "validate_steps": 150, "log_steps": 50},
                **{"compile": "no"},
                **config,
            }
        ),
        score=lambda _: Score("BLEU", 0.0, "of a test"),
        output=TrainingOutput(folder, record=record, progress=Silent()),
    )


@pytest.mark.parametrize("config", [{}, {"ema_decay": 0.9}, {"r_drop": 5.0}])
def test_model_learns_to_copy_on_a_gpu_and_resumes(
    config: dict[str, Any],
    tiny: Tiny,
    sequences: Callable[..., Sentences],
    write_pairs: Callable[..., Pairs],
    tmp_path: Path,
) -> None:
    ids = sequences(2000, seed=1)
    pairs, folder = write_pairs(tmp_path / "data", ids, ids), tmp_path / "checkpoints"
    sizes = {"n_layers": 1, "d_model": 32, "d_ff": 64, "dropout": 0.1 if config else 0.0}
    events: list[Any] = []

    def train(max_steps: int) -> Trainer:
        model = tiny(**sizes).to("cuda")
        batches = BatchConfig(step_tokens=1000)  # joined on a GPU
        trainer = trainer_of(
            model, folder, pairs, batches, events.append, max_steps=max_steps, **config
        )
        trainer.resume()
        trainer.run()
        return trainer

    train(300)
    trainer = train(600)
    assert trainer.state.made_by.hardware.device == torch.cuda.get_device_name()
    validated = [event for event in events if hasattr(event, "dev_perplexity")]
    assert [event.step for event in validated] == [150, 300, 450, 600]
    assert validated[-1].dev_perplexity < 1.6


def test_step_that_does_not_fit_on_the_gpu_is_repeated_with_smaller_batches(
    tiny: Tiny,
    sequences: Callable[..., Sentences],
    write_pairs: Callable[..., Pairs],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    ids = sequences(8000, seed=1)
    pairs = write_pairs(tmp_path / "data", ids, ids)
    model = tiny(d_model=512, d_ff=2048).to("cuda")
    batches = BatchConfig(step_tokens=100_000, batch_tokens=100_000)
    trainer = trainer_of(model, tmp_path / "checkpoints", pairs, batches, max_steps=1)
    torch.cuda.empty_cache()
    limit = torch.cuda.memory_reserved() + 2e9  # enough to validate, not to train
    torch.cuda.set_per_process_memory_fraction(limit / torch.cuda.mem_get_info()[1])
    try:
        trainer.run()
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert trainer.state.step == 1
    assert "repeating the step with smaller batches" in caplog.text


# ---- search --------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"beam": 1}, {"n_best": 3, "alpha": 0.0}])
@pytest.mark.parametrize("kind", MODELS)
def test_search_finds_what_it_finds_on_the_cpu(
    kind: str, settings: dict[str, Any], tiny: Tiny, sequences: Callable[..., Sentences]
) -> None:
    model = tiny(**MODELS[kind])
    src = pad(sequences(40, seed=1), model.src_pad)
    config = SearchConfig(max_extra=6, **settings)
    on_cpu = beam_search(model, src, config)
    on_gpu = beam_search(model.to("cuda"), src.to("cuda"), config)
    same = sum(a[0].tokens == b[0].tokens for a, b in zip(on_cpu, on_gpu, strict=True))
    assert same >= 38  # rounding may decide between two hypotheses
    for ours, theirs in zip(on_gpu, on_cpu, strict=True):
        assert ours[0].score == pytest.approx(theirs[0].score, abs=1e-2)


@pytest.mark.parametrize("kind", MODELS)
def test_forced_scores_are_those_of_the_cpu(
    kind: str, tiny: Tiny, sequences: Callable[..., Sentences]
) -> None:
    model = tiny(**MODELS[kind])
    pairs = list(zip(sequences(20, seed=1), sequences(20, seed=2), strict=True))
    on_cpu = score_targets(model, pairs, alternatives=2, batch=8)
    on_gpu = score_targets(model.to("cuda"), pairs, alternatives=2, batch=8)
    for ours, theirs in zip(on_gpu, on_cpu, strict=True):
        assert ours.token_log_probs == pytest.approx(theirs.token_log_probs, abs=1e-2)
