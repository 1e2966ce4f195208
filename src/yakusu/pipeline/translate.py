"""Translates a file or a list of sentences with a model folder."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from yakusu.config import Config, fault_message
from yakusu.data.files.long_lines import WholeLines
from yakusu.data.files.text import Text, raw_lines
from yakusu.data.files.tree_files import holds_trees
from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.layout import Layout
from yakusu.engine.config import Engine, EngineConfig
from yakusu.errors import DataError, ModelError, RecipeError
from yakusu.search.config import SearchConfig
from yakusu.shipped import model_path
from yakusu.translator import Translation, Translator
from yakusu.translator.folder.named_memory import named_memory
from yakusu.translator.request import Request
from yakusu.typed import ValidationError


def translate(
    model: str | Path,
    sentences: str | Path | Iterable[str | Request],
    options: SearchConfig | None = None,
    *,
    text: TextConfig | None = None,
    ensemble: Sequence[str | Path] = (),
    batch: int = 64,
    window: int | None = None,
    engine: EngineConfig | Engine | None = None,
) -> Iterator[list[Translation]]:
    """Translate sentences in order, as they arrive.

    Args:
        model: Model folder.
        sentences: The path of a text file, or an iterable of texts or requests. A parser also
            accepts a file of trees and parses their words.
        options: Settings of the search; those that are not given are the model's.
        text: How text is read: what is copied, and whether lines are divided into sentences.
        ensemble: Additional model folders with the same vocabulary; probabilities are averaged.
        batch: Maximum number of sentences translated together; the result does not depend on it.
        window: Number of sentences read ahead, which torch groups by length (default: 32 batches,
            and at least 512).
        engine: What runs the model: "native", "torch" or an `EngineConfig`; None: the native engine
            on the CPU, if it supports the model, and torch otherwise.

    Yields:
        The `n_best` best translations of each line or text, best first.

    Raises:
        ModelError: A folder is incomplete or corrupt, the vocabularies of an ensemble differ, or
            the file contains trees, but the model is not a parser.
        DataError: The file or the glossary does not exist or cannot be read, a regular expression
            is not valid, or a prefix or phrase cannot be spelled with the vocabulary.
        RecipeError: `n_best` is larger than the beam, or the engine is unknown, or the device is
            not available.

    Example:
        `[best[0].text for best in yakusu.translate("runs/en-de/model", ["A sentence."])]`
    """
    translator = open_translator(model, options, text=text, ensemble=ensemble, engine=engine)
    layout = None
    if isinstance(sentences, str | Path):
        sentences, layout = sentences_for(translator, sentences, name=str(model)), Layout()
    return translator.stream(sentences, batch=batch, window=window, layout=layout)


def open_translator(
    model: str | Path,
    options: SearchConfig | None = None,
    *,
    text: TextConfig | None = None,
    ensemble: Sequence[str | Path] = (),
    engine: EngineConfig | Engine | None = None,
) -> Translator:
    """Load a model folder and override its search settings; arguments as in `translate`."""
    engine, text = EngineConfig.of(engine), text or TextConfig()
    if text.own_memory and not text.memory:
        text = text.model_copy(update={"memory": named_memory(model_path(model))})
    if options is not None and options.coverage and engine.requested is None:
        engine = engine.model_copy(update={"engine": "torch"})  # the native engine refuses it
    translator = Translator.load(model, ensemble=ensemble, engine=engine, text=text)
    if options is not None and (given := _given(options)):
        if translator.search.sampling and options.sampling:
            own = _given(options.sampling)
            given["sampling"] = translator.search.sampling.model_copy(update=own)
        try:
            search = SearchConfig.model_validate(dict(translator.search) | given)
        except ValidationError as error:
            raise RecipeError(fault_message(error, [*map(str, error.path)])) from error
        return translator.with_settings(search=search)
    return translator


def _given(config: Config) -> dict[str, Any]:
    """The settings that were given a value."""
    return {key: getattr(config, key) for key in config.model_fields_set}


def sentences_for(translator: Translator, sentences: Text, *, name: str) -> Iterable[str]:
    """Return the texts to translate: an iterable unchanged, or the lines of a file.

    Args:
        translator: Translator or parser.
        sentences: Path of a file, or an iterable of sentences.
        name: Name of the model in error messages.

    Raises:
        ModelError: The file contains trees, but the model is not a parser.
        DataError: `sentences` is a string, but not the path of a file, or a folder of texts.
    """
    if not isinstance(sentences, str | Path):
        return sentences
    if isinstance(sentences, str) and not Path(sentences).exists():
        raise DataError(
            f"{sentences!r} is not an existing file: pass sentences as a list, as in "
            f"[{sentences!r}], or the path of a text file"
        )
    if translator.task_name != "parsing" and Path(sentences).is_dir():
        raise DataError(f"{sentences} is a folder: give a text file")
    if translator.task_name != "parsing" and holds_trees(sentences):
        raise ModelError(f"{sentences} contains trees, but {name} is not a parser: use a parser")
    if holds_trees(sentences):
        from yakusu.data.corpus import read_sources  # loads the readers of all formats

        return read_sources(sentences)
    return raw_lines(sentences, long=WholeLines())
