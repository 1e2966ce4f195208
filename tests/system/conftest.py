"""The corpus of tiny runs, and what a run that nothing disturbs gives."""

from pathlib import Path

import pytest

from tests.system.runs import child, finished, recipe_for, result, write_corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def straight(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The result of a run that was never stopped."""
    run = tmp_path_factory.mktemp("straight") / "run"
    assert finished(child(recipe_for(corpus, run))) == 0
    return result(run)
