"""Translates a file or a list of sentences with a model folder."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from yakusu.data.corpus import holds_trees, read_sources
from yakusu.data.text import Text
from yakusu.device import keep_freed_memory
from yakusu.errors import DataError, ModelError, RecipeError
from yakusu.search import SearchConfig
from yakusu.translator import Translation, Translator


def translate(
    model: str | Path,
    sentences: Text,
    *,
    ensemble: Sequence[str | Path] = (),
    beam: int | None = None,
    alpha: float | None = None,
    n_best: int | None = None,
    batch: int = 64,
    window: int | None = None,
    device: str = "cpu",
) -> Iterator[list[Translation]]:
    """Translate sentences in order, as they arrive.

    Args:
        model: Model folder.
        sentences: The path of a file with one sentence per line, or an iterable of sentences.
            A parser also accepts a file of trees and parses their words.
        ensemble: Additional model folders with the same vocabulary; probabilities are averaged.
        beam: Beam width (default: the model's setting).
        alpha: Exponent of the length penalty (default: the model's setting).
        n_best: Number of translations per sentence (default: the model's setting).
        batch: Number of sentences translated together; the result does not depend on it.
        window: Number of sentences read ahead and sorted by length (default: 32 batches).
        device: Device to translate on: "cpu", "cuda" or "auto".

    Yields:
        The `n_best` best translations of each sentence, best first.

    Raises:
        ModelError: A folder is incomplete or corrupt, the vocabularies of an ensemble differ, or
            the file contains trees, but the model is not a parser.
        DataError: The file does not exist or cannot be read.
        RecipeError: `n_best` is larger than the beam.

    Example:
        `[best[0].text for best in yakusu.translate("runs/en-de/model", ["A sentence."])]`
    """
    translator = open_translator(
        model, ensemble=ensemble, beam=beam, alpha=alpha, n_best=n_best, device=device
    )
    lines = sentences_for(translator, sentences, name=str(model))
    return translator.stream(lines, batch=batch, window=window)


def open_translator(
    model: str | Path,
    *,
    ensemble: Sequence[str | Path] = (),
    beam: int | None = None,
    alpha: float | None = None,
    n_best: int | None = None,
    device: str = "cpu",
) -> Translator:
    """Load a model folder and override its search settings; arguments as in `translate`."""
    keep_freed_memory()
    translator = Translator.load(model, ensemble=ensemble, device=device)
    given = {"beam": beam, "alpha": alpha, "n_best": n_best}
    changes = {key: value for key, value in given.items() if value is not None}
    try:
        search = SearchConfig.model_validate(translator.search.model_dump() | changes)
    except ValidationError as error:
        fault = error.errors()[0]["msg"].removeprefix("Value error, ")
        options = " (--beam or --n-best)" if fault.startswith("n_best") else ""
        raise RecipeError(fault + options) from error
    translator.search = search
    return translator


def sentences_for(translator: Translator, sentences: Text, *, name: str) -> Iterable[str]:
    """Return the sentences to translate: an iterable unchanged, or the lines of a file.

    Args:
        translator: Translator or parser.
        sentences: Path of a file, or an iterable of sentences.
        name: Name of the model in error messages.

    Raises:
        ModelError: The file contains trees, but the model is not a parser.
        DataError: `sentences` is a string, but not the path of a file.
    """
    if not isinstance(sentences, str | Path):
        return sentences
    if isinstance(sentences, str) and not Path(sentences).exists():
        raise DataError(
            f"{sentences!r} is not an existing file: pass sentences as a list, as in "
            f"[{sentences!r}], or the path of a text file"
        )
    if translator.task_name != "parsing" and holds_trees(sentences):
        raise ModelError(f"{sentences} contains trees, but {name} is not a parser: use a parser")
    return read_sources(sentences)
