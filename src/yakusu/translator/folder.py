"""The folder of a translator.

config.json         task, sizes of the model, languages, search settings
model.safetensors   weights
tokenizer.model     or source.model and target.model
receipt.json        provenance and cost of training; README.md is the model card
manifest.json       sizes and SHA-256 of these files
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from pydantic import ValidationError

from yakusu.config import Config
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import ModelError
from yakusu.folder import save_folder, verify_folder, write_json
from yakusu.model.architectures import build
from yakusu.model.base import Seq2Seq
from yakusu.model.coded_tables import CodedTablePlan, IntegerTablePlan
from yakusu.model.config import AnyConfig
from yakusu.search.config import SearchConfig
from yakusu.weights import Tensors, from_int8, from_streams, load_tensors, save_tensors

AnyTablePlan = CodedTablePlan | IntegerTablePlan


class TranslatorConfig(Config):
    """config.json of a model folder."""

    task: Literal["translation", "parsing"] = "translation"  # missing in older folders
    source_language: str  # "" if unknown
    target_language: str
    src_vocab_size: int
    tgt_vocab_size: int
    model: AnyConfig
    compressed: list[AnyTablePlan] = []  # noqa: RUF012  (pydantic copies it)
    search: SearchConfig


def open_model(folder: Path) -> tuple[TranslatorConfig, Seq2Seq, Tokenizer]:
    """Verify and read a model folder.

    Raises:
        ModelError: The folder is incomplete, corrupted or inconsistent.
    """
    if (folder / "model" / "manifest.json").exists():
        raise ModelError(f"{folder} is a run folder: use its model, {folder / 'model'}")
    verify_folder(folder)
    try:
        text = (folder / "config.json").read_text(encoding="utf-8")
        config = TranslatorConfig.model_validate_json(text)
        sizes = {"src_vocab_size": config.src_vocab_size, "tgt_vocab_size": config.tgt_vocab_size}
        model = build(config.model, **sizes)
        for plan in config.compressed:
            plan.put(model, plan.empty(model))
        weights = load_tensors(folder / "model.safetensors")
        model.load_weights(from_streams(from_int8(weights)))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        message = first["msg"].removeprefix("Value error, ")
        raise ModelError(f"{folder}/config.json is invalid: {key}: {message}") from error
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(f"{folder} is inconsistent: {error}") from error
    return config, model, Tokenizer.load(folder)


def save_translator(
    folder: Path,
    weights: Tensors,
    tokenizer: Tokenizer,
    config: TranslatorConfig,
    *,
    documents: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write a model folder atomically.

    Args:
        folder: Path of the new folder.
        weights: The weights of the model; matrices may be int8 rows.
        tokenizer: The tokenizer that the model was trained with.
        config: Task, sizes, languages and search settings.
        documents: Contents of further text files, by file name.
    """

    def fill(temporary: Path) -> None:
        write_json(temporary / "config.json", config.model_dump())
        save_tensors(temporary / "model.safetensors", weights)
        tokenizer.save(temporary)
        for name, text in documents.items():
            (temporary / name).write_text(text, encoding="utf-8")

    save_folder(folder, fill)
