"""Opens model folders for the engine that runs them."""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from yakusu.data.languages import same_language
from yakusu.data.tokenizer import Tokenizer
from yakusu.engine.cache import PackedCache, packed_key
from yakusu.engine.config import EngineConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.engine.library import MatrixFormat, why_unavailable
from yakusu.engine.model import NativeModel
from yakusu.engine.support import unsupported
from yakusu.engine.workers import Threads
from yakusu.errors import ModelError
from yakusu.model.config import TransformerConfig
from yakusu.native.library import REPAIR
from yakusu.search.decoder import Decoder
from yakusu.search.neighbours import StateCodebook
from yakusu.translator.folder.codebook import read_codebook
from yakusu.translator.folder.folder import (
    ModelFolder,
    TranslatorConfig,
    consistent,
    model_hash,
)
from yakusu.translator.folder.shortlist import read_lexicon

_log = logging.getLogger(__name__)
_INSTALL_TORCH = "install yakusu with its extra 'train', as in pip install '.[train]'"


def open_decoder(
    paths: Sequence[Path], config: EngineConfig
) -> tuple[TranslatorConfig, Tokenizer, Decoder]:
    """Open a model folder, or several as an ensemble.

    Args:
        paths: Model folders; the first one gives the languages and the search settings.
        config: What runs the models.

    Raises:
        ModelError: A folder is incomplete or corrupted, has a different vocabulary or other
            languages, or the engine cannot run its model.
        RecipeError: The device is not available, or $YAKUSU_ENGINE is invalid.
    """
    folders = [ModelFolder.open(path) for path in paths]
    first, *others = folders
    for other in others:
        _check_ensemble(first, other)
    decoder = _native(folders, config) if _is_native(folders, config) else _torch(folders, config)
    return first.config, first.tokenizer, decoder


def _check_ensemble(first: ModelFolder, other: ModelFolder) -> None:
    """Check that two models can be members of an ensemble.

    Raises:
        ModelError: Their vocabularies or known languages differ.
    """
    if other.tokenizer != first.tokenizer:
        raise ModelError(
            f"the vocabulary of {other.path} differs from that of {first.path}: train the models "
            "of an ensemble on the same text with the same tokenizer settings"
        )
    if first.tokenizer.src.language_tokens:
        return  # `config` states only the default language
    pairs = [
        (folder.config.source_language, folder.config.target_language) for folder in (first, other)
    ]
    if any(one and two and not same_language(one, two) for one, two in zip(*pairs, strict=True)):
        one, two = ("-".join(code or "?" for code in pair) for pair in pairs)
        raise ModelError(
            f"{first.path} translates {one}, but {other.path} translates {two}: name models for "
            "the same languages"
        )


def _is_native(folders: Sequence[ModelFolder], config: EngineConfig) -> bool:
    """Whether the native engine runs the models.

    Raises:
        ModelError: It cannot, although it was requested, or torch is needed and not installed.
    """
    wanted = config.requested
    if wanted == "torch" or (wanted is None and not config.on_cpu):
        return False
    reason = _why_not(folders, config)
    if wanted and reason:
        repair = f"{REPAIR}, or " if reason == why_unavailable() else ""
        raise ModelError(f"the native engine {reason}: {repair}use --engine torch")
    if reason and find_spec("torch") is None:
        repair = f", or {REPAIR}" if reason == why_unavailable() else ""
        raise ModelError(
            f"the native engine {reason}, and torch is not installed: {_INSTALL_TORCH}{repair}"
        )
    if reason:
        _log.warning("the native engine %s: torch runs this model, which is slower", reason)
    return not reason


def _why_not(folders: Sequence[ModelFolder], config: EngineConfig) -> str | None:
    """The reason why the native engine cannot run the models; None: it can."""
    if not config.on_cpu:
        return f"runs on the CPU only, not on '{config.device}'"
    search = folders[0].config.search  # that of an ensemble
    found = (unsupported(folder.config.model, search) for folder in folders)
    if missing := next(filter(None, found), None):
        return f"does not support {missing}"
    return why_unavailable()


def _native(folders: Sequence[ModelFolder], config: EngineConfig) -> NativeDecoder:
    models = [_packed(each, config.matrices(each.config.model.d_model)) for each in folders]
    threads, first = Threads(config.n_threads), folders[0]
    if len(folders) > 1:
        return NativeDecoder(models, threads)
    lexicon = read_lexicon(first.path, **first.config.vocab_sizes)
    shortlists = None
    if lexicon:
        from yakusu.search.shortlist import Shortlists

        shortlists = Shortlists(lexicon, first.tokenizer)
    return NativeDecoder(
        models,
        threads,
        codebook=_codebook(first, models[0].matrices),
        shortlists=shortlists,
    )


def _codebook(folder: ModelFolder, matrices: MatrixFormat) -> StateCodebook | None:
    """The codebook of a model in a precision, on which its states depend."""
    if (found := read_codebook(folder.path, folder.config.model.d_model)) is None:
        return None
    text = f"{model_hash(folder.path)} {matrices.name}"
    digest = hashlib.sha256(text.encode()).digest()
    return replace(found, key=int.from_bytes(digest[:8], "little", signed=True))


def _packed(folder: ModelFolder, matrices: MatrixFormat) -> NativeModel:
    """The packed model of a folder; processes that open the same one share its memory."""
    model, plans, sizes = folder.config.model, folder.config.compressed, folder.config.vocab_sizes
    assert isinstance(model, TransformerConfig)
    cache = PackedCache.of_user()
    key = packed_key(folder.weights_hash, model, plans, sizes, matrices)
    if (file := cache.find(key)) is not None and (
        mapped := NativeModel.mapped(file, model, plans, **sizes, matrices=matrices)
    ):
        return mapped
    with consistent(folder.path):
        packed = NativeModel.load(model, folder.weights, plans, **sizes, matrices=matrices)
    cache.add(key, packed.arrays(), confirm=folder.has_same_weights)
    return packed


def _torch(folders: Sequence[ModelFolder], config: EngineConfig) -> Decoder:
    if find_spec("torch") is None:
        asked = f"device '{config.device}'" if config.requested is None else "engine 'torch'"
        raise ModelError(f"the {asked} needs torch, which is not installed: {_INSTALL_TORCH}")
    from yakusu.translator.folder.network import torch_decoder  # loads torch

    if config.precision in ("int8", "int16"):
        _log.warning(
            "torch computes in float32: precision %s applies to the native engine only",
            config.precision,
        )
    n_cores = EngineConfig().n_threads
    threads = min(config.threads, n_cores) if config.threads else None
    return torch_decoder(folders, device=config.device, threads=threads)
