"""`training.engine`: the engine that translates the dev set is part of a run."""

import shutil
from pathlib import Path

import pytest

import yakusu
from tests.system.runs import recipe_for, result, write_corpus
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import RecipeError, RunError
from yakusu.folder import read_json
from yakusu.metrics import Score
from yakusu.model.architectures import build
from yakusu.native import library
from yakusu.pipeline.receipts.receipt import read_receipt
from yakusu.pipeline.training import validation
from yakusu.pipeline.training.validation import DevScore
from yakusu.progress import Silent
from yakusu.recipe import Recipe, load_recipe, save_recipe
from yakusu.training.checkpoint import checkpoints
from yakusu.training.config import TrainingEngine
from yakusu.training.distributed import Group
from yakusu.training.state import read_state
from yakusu.weights import load_tensors

# Checkpoints of steps 60 and 90; the latter has a BLEU of 10.48.
RUN = Path(__file__).parents[1] / "fixtures" / "format-1" / "interrupted"
NATIVE = "training.engine=native"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def native_run(tmp_path: Path) -> Path:
    """A copy of the run, as if it had been trained with the native engine."""
    run = shutil.copytree(RUN, tmp_path / "run")
    save_recipe(load_recipe(run / "recipe.toml", [NATIVE]), run / "recipe.toml")
    return run


@pytest.fixture
def not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "why_unavailable", lambda: "was not compiled")


@pytest.fixture
def no_torch_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "TorchDecoder", None)


def dev_score(engine: TrainingEngine) -> Score:
    recipe = load_recipe(RUN / "recipe.toml", [f"training.engine={engine}"])
    tokenizer = Tokenizer.load(RUN / "data")
    model = build(recipe.model, **tokenizer.vocab_sizes)
    model.load_weights(load_tensors(RUN / "checkpoints" / "step-00000090" / "model.safetensors"))
    return DevScore(recipe, tokenizer, RUN / "data", Group(), Silent())(model)


# ---- scores --------------------------------------------------------------------------------------


def test_torch_is_the_default() -> None:
    assert load_recipe("tiny").training.engine == "torch"


def test_both_engines_give_a_model_the_same_score() -> None:
    native = dev_score("native")
    assert str(native).startswith("BLEU = 10.48 (")
    assert native == dev_score("torch")


def test_an_average_is_scored_by_the_engine_of_its_run(
    native_run: Path, no_torch_search: None
) -> None:
    receipt = read_receipt(yakusu.average(native_run, best=True))
    assert receipt.scores[0].startswith("BLEU = 10.82 (")  # with 8 bits per weight
    assert receipt.recipe.training.engine == "native"
    assert any("by the native engine" in line for line in receipt.lines())
    assert "by the native engine" in (native_run / "model" / "README.md").read_text()


# ---- runs ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with the native engine."""
    run = tmp_path_factory.mktemp("native") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validation, "TorchDecoder", None)
        yakusu.train(recipe_for(corpus, run, NATIVE))
    return run


def test_two_runs_with_the_native_engine_are_the_same_bytes(
    corpus: Path, trained: Path, tmp_path: Path
) -> None:
    yakusu.train(recipe_for(corpus, tmp_path / "run", NATIVE))
    assert result(tmp_path / "run") == result(trained)


def test_a_run_with_the_native_engine_is_resumed_with_the_same_bytes(
    corpus: Path, trained: Path, tmp_path: Path
) -> None:
    yakusu.train(recipe_for(corpus, tmp_path / "run", NATIVE, "training.max_steps=4"))
    yakusu.train(recipe_for(corpus, tmp_path / "run", NATIVE))
    assert result(tmp_path / "run") == result(trained)


def test_checkpoints_and_receipts_name_the_engine(trained: Path) -> None:
    for checkpoint in checkpoints(trained / "checkpoints"):
        assert read_json(checkpoint / "state.json")["engine"] == "native"
    assert read_receipt(trained / "model").recipe.training.engine == "native"


def test_a_run_is_not_resumed_with_another_engine(corpus: Path, trained: Path) -> None:
    before = (trained / "recipe.toml").read_bytes()
    with pytest.raises(RunError) as refused:
        yakusu.train(recipe_for(corpus, trained))
    assert str(refused.value) == (
        f"{trained} holds a run with a different recipe (training.engine = 'native', not 'torch'): "
        "repeat the command with --set training.engine=native, or choose another folder with --run"
    )
    assert (trained / "recipe.toml").read_bytes() == before


def test_a_run_of_an_older_version_is_one_with_torch(corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    yakusu.train(recipe_for(corpus, run))
    recipe = run / "recipe.toml"
    recipe.write_text(recipe.read_text().replace('engine = "torch"\n', ""))
    with pytest.raises(RunError, match=r"\(training\.engine = 'torch', not 'native'\)"):
        yakusu.train(recipe_for(corpus, run, NATIVE))


def test_a_checkpoint_is_not_resumed_with_another_engine_if_the_recipe_was_edited(
    corpus: Path, trained: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(trained, tmp_path / "run")
    recipe = recipe_for(corpus, run)
    save_recipe(recipe, run / "recipe.toml")
    newest = checkpoints(run / "checkpoints")[-1]
    assert read_state(newest).engine == "native"
    with pytest.raises(RunError) as refused:
        yakusu.train(recipe)
    assert str(refused.value) == (
        f"{newest} was made with training.engine = 'native', not 'torch': restore this value in "
        "the recipe, or start a new run"
    )


# ---- refused at the start ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "missing"),
    [
        ("model.mixing=restricted", "restricted self-attention"),
        ("search.coverage=0.2", "search.coverage"),
    ],
)
def test_what_the_native_engine_does_not_support_is_refused_before_anything_is_written(
    corpus: Path, tmp_path: Path, setting: str, missing: str
) -> None:
    with pytest.raises(RecipeError) as refused:
        yakusu.train(recipe_for(corpus, tmp_path / "run", NATIVE, setting))
    assert str(refused.value) == (
        f"training.engine = 'native', but the native engine does not support {missing}: set "
        "training.engine=torch"
    )
    assert not [*tmp_path.iterdir()]


NOT_INSTALLED = (
    "training.engine = 'native', but the native engine was not compiled: install yakusu again "
    "with a C compiler or the package ziglang, or set training.engine=torch in a new run"
)


def test_an_engine_that_is_not_installed_is_refused_before_anything_is_written(
    corpus: Path, tmp_path: Path, not_installed: None
) -> None:
    recipe: Recipe = recipe_for(corpus, tmp_path / "run", NATIVE)
    with pytest.raises(RecipeError) as refused:
        yakusu.train(recipe)
    assert str(refused.value) == NOT_INSTALLED
    assert not [*tmp_path.iterdir()]


def test_averaging_needs_the_engine_of_the_run(native_run: Path, not_installed: None) -> None:
    with pytest.raises(RecipeError) as refused:
        yakusu.average(native_run)
    assert str(refused.value) == NOT_INSTALLED
    assert not (native_run / "model").exists()


def test_torch_needs_no_compiled_engine(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "PATH", tmp_path / "missing")
    monkeypatch.setattr(validation, "NativeModel", None)
    yakusu.train(recipe_for(corpus, tmp_path / "run"))
    assert read_receipt(tmp_path / "run" / "model").recipe.training.engine == "torch"
