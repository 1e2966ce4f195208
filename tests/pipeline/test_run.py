"""A run folder belongs to one recipe, as far as that has had an effect."""

from pathlib import Path

import pytest

from yakusu.errors import RunError
from yakusu.pipeline.run import opened
from yakusu.recipe import Recipe, load_recipe


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A run of which the data were prepared."""
    (tmp_path / "a").write_text("x\n")
    run = tmp_path / "run"
    with opened(recipe(run, "training.device=cuda")):
        (run / "data").mkdir()
    return run


def recipe(run: Path, *overrides: str) -> Recipe:
    corpus = run.parent / "a"
    files = [f"run='{run}'", f"data.train={{src='{corpus}', tgt='{corpus}'}}"]
    return load_recipe("tiny", [*files, *overrides])


def test_how_to_train_may_change_until_the_first_checkpoint(begun: Path) -> None:
    with opened(recipe(begun, "training.device=cpu")):
        pass
    (begun / "checkpoints").mkdir()
    with (
        pytest.raises(RunError, match=r"another recipe \(training\.device = 'cpu', not 'cuda'\)"),
        opened(recipe(begun, "training.device=cuda")),
    ):
        pass


def test_what_was_prepared_may_not_change(begun: Path) -> None:
    with (
        pytest.raises(RunError, match=r"another recipe \(tokenizer\.vocab_size"),
        opened(recipe(begun, "training.device=cuda", "tokenizer.vocab_size=99")),
    ):
        pass
