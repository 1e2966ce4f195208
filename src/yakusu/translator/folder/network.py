"""The network of a model folder, in torch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import torch

from yakusu.arrays import ArraysOnDisk
from yakusu.data.tokenizer import Tokenizer
from yakusu.device import keep_freed_memory, pick_device
from yakusu.errors import ModelError
from yakusu.folder import save_folder, write_json
from yakusu.model.architectures import build
from yakusu.model.base import Seq2Seq
from yakusu.model.coded_tables import empty_table
from yakusu.model.ensemble import Ensemble
from yakusu.model.table_plans import Shapes
from yakusu.search.neighbours import StateCodebook
from yakusu.search.shortlist import TokenLexicon
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.translator.folder.codebook import write_codebook
from yakusu.translator.folder.folder import (
    CONFIG,
    WEIGHTS,
    ModelFolder,
    TranslatorConfig,
    consistent,
)
from yakusu.translator.folder.quality import write_calibration
from yakusu.translator.folder.shortlist import write_lexicon
from yakusu.translator.folder.sizes import check_shapes
from yakusu.translator.quality import Calibration
from yakusu.weights import Tensors, from_int8, from_streams, load_tensors, save_tensors


def open_model(folder: Path) -> tuple[TranslatorConfig, Seq2Seq, Tokenizer]:
    """Verify and read a model folder.

    Raises:
        ModelError: The folder is incomplete, corrupted or inconsistent.
    """
    opened = ModelFolder.open(folder)
    return opened.config, _network(opened), opened.tokenizer


def torch_decoder(
    folders: Sequence[ModelFolder], *, device: str, threads: int | None = None
) -> TorchDecoder:
    """The decoder of a model, or of an ensemble, that torch runs.

    Args:
        folders: The models.
        device: "cpu", "cuda", or "auto".
        threads: Number of threads that torch uses in this process; None: it is not changed.

    Raises:
        ModelError: A folder is inconsistent, or the sizes of the vocabularies differ.
        RecipeError: The device is not available.
    """
    keep_freed_memory()
    if threads is not None:
        torch.set_num_threads(threads)
    place = pick_device(device)
    networks = [_network(folder) for folder in folders]
    return TorchDecoder(networks[0] if len(networks) == 1 else Ensemble(networks), device=place)


def _network(folder: ModelFolder) -> Seq2Seq:
    with consistent(folder.path):
        check_shapes(_shapes(folder), ArraysOnDisk(folder.path / WEIGHTS))
        model = _empty(folder)
        weights = from_streams(from_int8(load_tensors(folder.path / WEIGHTS)))
        for name, weight in weights.items():
            if not weight.isfinite().all():
                raise ModelError(f"the weight '{name}' has a number that is NaN or infinite")
        model.load_weights(weights)
    return model


def _shapes(folder: ModelFolder) -> Shapes:
    """Return the shapes of the weights, which torch's device "meta" knows without memory.

    Raises:
        ModelError: A size is too large for torch.
    """
    try:
        with torch.device("meta"):
            return {name: tuple(each.shape) for name, each in _empty(folder).weights().items()}
    except (TypeError, RuntimeError, OverflowError) as error:
        raise ModelError("config.json has a size that no model can have") from error


def _empty(folder: ModelFolder) -> Seq2Seq:
    """Build the network of a folder, without its weights."""
    model = build(folder.config.model, **folder.config.vocab_sizes)
    for plan in folder.config.compressed:
        plan.put(model, empty_table(plan, model))
    return model


def save_translator(
    folder: Path,
    weights: Tensors,
    tokenizer: Tokenizer,
    config: TranslatorConfig,
    *,
    codebook: StateCodebook | None = None,
    lexicon: TokenLexicon | None = None,
    calibration: Calibration | None = None,
    documents: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write a model folder atomically.

    Args:
        folder: Path of the new folder.
        weights: The weights of the model; matrices may be int8 rows.
        tokenizer: The tokenizer that the model was trained with.
        config: Task, sizes, languages and search settings.
        codebook: That of its decoder states.
        lexicon: That of its shortlists.
        calibration: That of its quality.
        documents: Contents of further text files, by file name.
    """

    def fill(temporary: Path) -> None:
        write_json(temporary / CONFIG, config.model_dump())
        save_tensors(temporary / WEIGHTS, weights)
        tokenizer.save(temporary)
        if codebook:
            write_codebook(temporary, codebook)
        if lexicon:
            write_lexicon(temporary, lexicon)
        if calibration:
            write_calibration(temporary, calibration)
        for name, text in documents.items():
            (temporary / name).write_text(text, encoding="utf-8")

    save_folder(folder, fill)
