"""Translate a file or sentences with a model folder."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from yakusu.data.corpus import holds_trees, read_sources
from yakusu.device import keep_freed_memory
from yakusu.errors import ModelError, RecipeError
from yakusu.pipeline.evaluate import Text
from yakusu.search import SearchConfig
from yakusu.translator import Translation, Translator


def translate(
    model: str | Path,
    sentences: Text,
    *,
    ensemble: Sequence[str | Path] = (),
    beam: int = 0,
    alpha: float | None = None,
    n_best: int = 1,
    batch: int = 64,
    window: int = 0,
    device: str = "cpu",
) -> Iterator[list[Translation]]:
    """Translate sentences in order, as they come.

    Args:
        model: A model folder.
        sentences: A file, or lines; of trees, which a parser takes too, their words.
        ensemble: Folders of more models of the same vocabulary, to decide together with it.
        beam: Width of the beam; 0 for the recipe's.
        alpha: Of the length penalty; None for the recipe's.
        n_best: How many translations of each sentence.
        batch: Sentences translated together; the result does not depend on it.
        window: Sentences read ahead and sorted by length; 0 for 32 batches.
        device: Where to translate.

    Raises:
        ModelError: A folder is incomplete or corrupt, or holds another vocabulary; or the file is
            trees and the model no parser.
        DataError: The file cannot be read.
    """
    keep_freed_memory()
    translator = Translator.load(model, ensemble=ensemble, device=device)
    if isinstance(sentences, str | Path):
        if translator.task_name != "parsing" and holds_trees(sentences):
            raise ModelError(f"{model} translates and {sentences} are trees: name a parser")
        sentences = read_sources(sentences)
    changes = {"beam": beam or None, "alpha": alpha, "n_best": n_best}
    search = translator.search.model_dump() | {k: v for k, v in changes.items() if v is not None}
    try:
        translator.search = SearchConfig.model_validate(search)
    except ValidationError as error:
        raise RecipeError(error.errors()[0]["msg"].removeprefix("Value error, ")) from error
    return translator.stream(sentences, batch=batch, window=window)
