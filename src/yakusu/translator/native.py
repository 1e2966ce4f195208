"""The model of a model folder, for the CPU engine; does not import torch."""

from pathlib import Path

from yakusu.data.tokenizer import Tokenizer
from yakusu.engine.model import NativeModel
from yakusu.translator.folder import ModelFolder, TranslatorConfig, consistent


def open_native(folder: Path, *, int8: bool) -> tuple[TranslatorConfig, NativeModel, Tokenizer]:
    """Verify and read a model folder.

    Compressed tables stay small on disk only: the engine holds them like dense ones, which costs
    one byte per number if `int8` is set.

    Args:
        folder: A model folder.
        int8: Compute with integers of 8 bits.

    Raises:
        ModelError: The folder is incomplete, corrupted or inconsistent, or the engine does not run
            its model.
    """
    opened = ModelFolder.open(folder)
    config = opened.config
    with consistent(folder):
        model = NativeModel.load(
            config.model, opened.weights, config.compressed, **config.vocab_sizes, int8=int8
        )
    return config, model, opened.tokenizer
