"""Averaging: the better of the average and the best checkpoint, and what the model card says."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import yakusu
from yakusu.errors import RunError
from yakusu.folder import read_json, write_json
from yakusu.metrics import Score
from yakusu.pipeline.receipts.receipt import read_receipt
from yakusu.pipeline.training import average as module
from yakusu.pipeline.training.finished import finished_model
from yakusu.progress import Silent
from yakusu.recipe import Recipe, load_recipe
from yakusu.training.checkpoint import checkpoints
from yakusu.training.state import read_state
from yakusu.weights import has_int8, load_tensors, to_int8

# Checkpoints of steps 60 and 90; the latter is the best so far, with a BLEU of 10.48.
RUN = Path(__file__).parents[1] / "fixtures" / "format-1" / "interrupted"


class Messages(Silent):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return shutil.copytree(RUN, tmp_path / "run")


@pytest.fixture
def dev_scores(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Scores of the models in the order in which they are scored."""
    values: list[float] = []

    class FakeDevScore:
        pairs, translations = (("a", "b"),), ("c",)

        def __init__(self, *_: Any) -> None:
            pass

        def __call__(self, _: Any) -> Score:
            return Score("BLEU", values.pop(0), "of a test")

    monkeypatch.setattr(module, "DevScore", FakeDevScore)
    return values


def integers(folder: Path) -> dict[str, Any]:
    """The weights of a model or a checkpoint, as a model folder stores them."""
    stored = load_tensors(folder / "model.safetensors")
    return stored if has_int8(stored) else to_int8(stored)


def test_the_best_checkpoint_is_used_if_the_average_scores_lower(
    run: Path, dev_scores: list[float]
) -> None:
    dev_scores += [9.0, 10.48]
    progress = Messages()
    model = yakusu.average(run, progress=progress)
    torch.testing.assert_close(
        integers(model), integers(run / "checkpoints" / "step-00000090"), rtol=0, atol=0
    )
    receipt = read_receipt(model)
    assert (receipt.averaged_steps, receipt.scores) == ((90,), ("BLEU = 10.48 (of a test)",))
    assert receipt.rejected and receipt.rejected.steps == (60, 90)
    assert progress.said == [
        "the mean of the checkpoints of steps 60, 90 scores lower (dev BLEU 9.00) than the best "
        "checkpoint: using the best checkpoint",
        f"wrote the checkpoint of step 90 to {model}: dev BLEU = 10.48 (of a test)",
    ]
    line = "not used, lower score: mean of the checkpoints of steps 60, 90, dev BLEU = 9.00"
    assert any(text.startswith(line) for text in yakusu.verify(model))


def test_the_average_is_used_if_it_scores_as_high_as_the_best_checkpoint(
    run: Path, dev_scores: list[float]
) -> None:
    dev_scores += [10.5]
    receipt = read_receipt(yakusu.average(run))
    assert (receipt.averaged_steps, receipt.rejected) == ((60, 90), None)


@pytest.mark.parametrize(("best", "used"), [(9.5, (90,)), (9.0, (60, 90)), (8.0, (60, 90))])
def test_the_best_by_perplexity_is_scored_before_it_is_compared(
    run: Path, dev_scores: list[float], best: float, used: tuple[int, ...]
) -> None:
    recipe = run / "recipe.toml"
    recipe.write_text(recipe.read_text().replace('best_by = "score"', 'best_by = "perplexity"'))
    dev_scores += [9.0, best]
    assert read_receipt(yakusu.average(run)).averaged_steps == used


def test_a_number_of_checkpoints_given_by_the_user_is_averaged(
    run: Path, dev_scores: list[float]
) -> None:
    dev_scores += [9.0]
    assert read_receipt(yakusu.average(run, last=2)).averaged_steps == (60, 90)
    for n in (0, 3):
        with pytest.raises(RunError, match=f"keeps 2 checkpoints to average, not {n}: choose"):
            yakusu.average(run, last=n)
    with pytest.raises(RunError, match="best and last are mutually exclusive"):
        yakusu.average(run, last=1, best=True)


def test_gradients_of_frozen_parts_are_not_counted(
    run: Path, dev_scores: list[float], tmp_path: Path
) -> None:
    dev_scores += [10.5, 10.5]
    whole = read_receipt(yakusu.average(run, out=tmp_path / "whole"))
    with (run / "recipe.toml").open("a") as recipe:
        recipe.write('[parent]\nmodel = "parent"\nfreeze = ["encoder"]\n')
    frozen = read_receipt(yakusu.average(run, out=tmp_path / "frozen"))
    saved = (whole.flops.counted - frozen.flops.counted) / whole.target_tokens
    matrices = 4 * 16 * 16 + 2 * 16 * 32  # of the encoder; each side of a pair has as many tokens
    assert saved == pytest.approx(2 * matrices, rel=0.02)


@pytest.fixture
def later(run: Path) -> Iterator[Path]:
    """The run, stopped at step 97: a checkpoint that is not averaged."""
    last = run / "checkpoints" / "step-00000097"
    shutil.copytree(run / "checkpoints" / "step-00000090", last)
    write_json(last / "state.json", read_json(last / "state.json") | {"step": 97})
    yield run


def kept(run: Path, recipe: Recipe) -> Path | None:
    """The model that `train` keeps at the newest checkpoint."""
    return finished_model(run, recipe, read_state(checkpoints(run / "checkpoints")[-1]))


def test_a_model_is_made_again_only_if_the_run_has_changed(
    run: Path, later: Path, dev_scores: list[float]
) -> None:
    shutil.move(later / "checkpoints" / "step-00000097", later / "aside")
    recipe = load_recipe(run / "recipe.toml")
    assert kept(run, recipe) is None
    for scores in ([9.0, 10.48], [10.5]):
        dev_scores += scores
        model = yakusu.average(run)
        assert kept(run, recipe) == model
    other = recipe.search.model_copy(update={"beam": 3})
    assert kept(run, recipe.model_copy(update={"search": other})) is None
    shutil.move(later / "aside", later / "checkpoints" / "step-00000097")
    assert kept(run, recipe) is None


def test_the_best_checkpoint_chosen_by_the_user_is_kept_by_train(
    run: Path, dev_scores: list[float]
) -> None:
    dev_scores += [10.48]
    model = yakusu.average(run, best=True)
    assert kept(run, load_recipe(run / "recipe.toml")) == model


def test_the_card_names_the_averaged_checkpoints_and_the_length_of_the_run(
    later: Path, dev_scores: list[float]
) -> None:
    dev_scores += [10.5]
    model = yakusu.average(later)
    card = (model / "README.md").read_text()
    assert "| weights | mean of the checkpoints of steps 60, 90 |" in card
    assert "| training run | 97 steps, " in card
    assert "weights: mean of the checkpoints of steps 60, 90" in yakusu.verify(model)
