"""A run folder belongs to one recipe; a key may change until it has had an effect."""

import errno
from pathlib import Path

import pytest

from yakusu.errors import RunError
from yakusu.pipeline.training.run import locked_run
from yakusu.recipe import Recipe, load_recipe, save_recipe


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """A run with prepared data."""
    (tmp_path / "a").write_text("x\n")
    run = tmp_path / "run"
    with locked_run(first := recipe(run, "training.device=cuda")):
        (run / "data").mkdir()
        save_recipe(first, run / "recipe.toml")
    return run


def recipe(run: Path, *overrides: str) -> Recipe:
    corpus = run.parent / "a"
    files = [f"run='{run}'", f"data.train={{src='{corpus}', tgt='{corpus}'}}"]
    return load_recipe("tiny", [*files, *overrides])


def test_training_keys_may_change_until_the_first_checkpoint(prepared: Path) -> None:
    with locked_run(later := recipe(prepared, "training.device=cpu")):
        save_recipe(later, prepared / "recipe.toml")
    (prepared / "checkpoints").mkdir()
    with (
        pytest.raises(RunError, match=r"different recipe \(training\.device = 'cpu', not 'cuda'\)"),
        locked_run(recipe(prepared, "training.device=cuda")),
    ):
        pass


def test_keys_that_determine_the_data_may_not_change(prepared: Path) -> None:
    with (
        pytest.raises(RunError, match=r"different recipe \(tokenizer\.vocab_size"),
        locked_run(
            recipe(
                prepared,
                "training.device=cuda",
                "tokenizer.vocab_size=99",
                "tokenizer.byte_fallback=false",
                "tokenizer.placeholder_share=0",
            )
        ),
    ):
        pass


@pytest.mark.parametrize(
    ("name", "overrides", "fix"),
    [
        (
            "tiny",
            ["seed=3", "data.target_language=de"],
            "with --set seed=1 --set 'data.target_language=\"\"', or",
        ),
        (
            "tiny",
            ["tokenizer.joint=false", "model.tied=decoder"],
            "with --set tokenizer.joint=true",
        ),
        ("lstm", [], "with the recipe .*recipe.toml, or choose another folder with --run"),
    ],
)
def test_the_error_of_another_recipe_suggests_how_to_repeat_the_saved_one(
    tmp_path: Path, name: str, overrides: list[str], fix: str
) -> None:
    run = tmp_path / "run"
    (run / "data").mkdir(parents=True)
    save_recipe(load_recipe("tiny", run=run), run / "recipe.toml")
    with pytest.raises(RunError, match=fix):
        locked_run(load_recipe(name, overrides, run=run)).__enter__()


def test_a_run_folder_in_a_closed_folder_is_refused(
    prepared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exists(path: Path) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    recipe = load_recipe(prepared / "recipe.toml")
    monkeypatch.setattr(Path, "exists", exists)  # as in a folder of another user
    with pytest.raises(RunError, match=r"run cannot be written \(Permission denied\): choose"):
        locked_run(recipe).__enter__()
