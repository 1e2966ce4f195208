"""Opens model folders for an engine."""

import logging
from collections.abc import Sequence
from pathlib import Path

from yakusu.data.tokenizer import Tokenizer
from yakusu.engine.config import EngineConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.engine.library import is_installed
from yakusu.engine.model import NativeModel
from yakusu.engine.support import unsupported
from yakusu.errors import ModelError
from yakusu.search.decoder import Decoder
from yakusu.translator.folder import ModelFolder, TranslatorConfig

_log = logging.getLogger(__name__)


def open_decoder(
    folders: Sequence[Path], config: EngineConfig, *, device: str
) -> tuple[TranslatorConfig, Tokenizer, Decoder]:
    """Open a model folder, or several as an ensemble.

    Args:
        folders: Model folders; the first one gives languages and search settings.
        config: Settings of inference.
        device: "cpu", "cuda" or "auto".

    Raises:
        ModelError: A folder is incomplete or corrupted, has a different vocabulary, or the engine
            cannot run its model.
        RecipeError: There is no such device, or $YAKUSU_ENGINE names no engine.
    """
    opened = [ModelFolder.open(folder) for folder in folders]
    first, *others = opened
    for folder, other in zip(folders[1:], others, strict=True):
        if other.tokenizer != first.tokenizer:
            raise ModelError(
                f"the vocabulary of {folder} differs from that of {folders[0]}: train the models "
                "of an ensemble on the same text with the same tokenizer settings"
            )
    ...
