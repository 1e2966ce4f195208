"""The folder of a translator.

config.json         task, sizes of the model, languages, search settings
model.safetensors   weights
tokenizer.model     or source.model and target.model
codebook.safetensors  codes of decoder states, to learn from a memory (optional)
shortlist.safetensors  probable translations of each token (optional)
quality.json        calibration of the estimated quality (optional)
receipt.json        provenance and cost of training; README.md is the model card
memory.json         the name of a translation memory, if the model has one
manifest.json       sizes and SHA-256 of these files

This module does not import torch. `opening.py` opens folders for the native engine, `network.py`
for torch.
"""

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from yakusu.arrays import Array, ArraysOnDisk, Decoded
from yakusu.config import Config
from yakusu.data.languages import LanguageCode
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import ModelError
from yakusu.folder import read_json, read_utf8, save_folder, sha256, verify_folder
from yakusu.model.config import AnyConfig
from yakusu.model.table_plans import AnyTablePlan
from yakusu.search.config import SearchConfig
from yakusu.translator.folder.named_memory import NAMED_MEMORY
from yakusu.translator.folder.sizes import check_sizes
from yakusu.typed import ValidationError

CONFIG, WEIGHTS = "config.json", "model.safetensors"
QUALITY = "quality.json"
_FOREIGN = ("model_type", "graphs", "add_source_eos")  # in config.json: HF, ONNX, CTranslate2
# Translations do not depend on them, apart from those of the memory.
_DESCRIPTIONS = {"receipt.json", "README.md", NAMED_MEMORY, QUALITY}


class TranslatorConfig(Config):
    """config.json of a model folder."""

    task: Literal["translation", "parsing"] = "translation"  # missing in older folders
    source_language: LanguageCode  # "" if unknown
    target_language: LanguageCode
    src_vocab_size: int
    tgt_vocab_size: int
    model: AnyConfig
    compressed: tuple[AnyTablePlan, ...] = ()
    search: SearchConfig

    @property
    def vocab_sizes(self) -> dict[str, int]:
        """Both vocabulary sizes, including padding, as keyword arguments of `build`."""
        return {"src_vocab_size": self.src_vocab_size, "tgt_vocab_size": self.tgt_vocab_size}


class ModelFolder(NamedTuple):
    """A model folder whose files are complete and intact.

    Attributes:
        path: The folder.
        config: What config.json has.
        tokenizer: Its tokenizer.
        weights_hash: The SHA-256 of its weights; "": the manifest does not list them.
    """

    path: Path
    config: TranslatorConfig
    tokenizer: Tokenizer
    weights_hash: str

    @classmethod
    def open(cls, path: Path) -> "ModelFolder":
        """Verify a folder; read its configuration, its tokenizer and the shapes of its weights.

        Raises:
            ModelError: The folder is incomplete, corrupted or inconsistent.
        """
        if (path / "model" / "manifest.json").exists():
            raise ModelError(f"{path} is a run folder: use its model, {path / 'model'}")
        manifest = verify_folder(path)
        config, tokenizer = _read_config(path), Tokenizer.load(path)
        sizes = tokenizer.src_vocab_size, tokenizer.tgt_vocab_size
        if sizes != (config.src_vocab_size, config.tgt_vocab_size):
            raise ModelError(
                f"{path} is inconsistent: its tokenizer has {sizes[0]} source and {sizes[1]} "
                f"target tokens, and {CONFIG} {config.src_vocab_size} and {config.tgt_vocab_size}"
            )
        with consistent(path):
            stored = ArraysOnDisk(path / WEIGHTS)
            check_sizes(config.model, config.compressed, stored, **config.vocab_sizes)
        weights = manifest.files.get(WEIGHTS)
        return cls(path, config, tokenizer, weights.sha256 if weights else "")

    @property
    def weights(self) -> Mapping[str, Array]:
        """The weights by name, each read when it is accessed."""
        return Decoded(ArraysOnDisk(self.path / WEIGHTS))

    def has_same_weights(self) -> bool:
        """Whether the weights are still those that were verified.

        Raises:
            OSError: They cannot be read.
        """
        return sha256(self.path / WEIGHTS) == self.weights_hash


def model_hash(folder: Path) -> str:
    """Return a SHA-256 of the files of a model folder that its translations depend on.

    Models that were made twice in the same way have the same hash, although the times in their
    receipts differ.
    """
    files = read_json(folder / "manifest.json")["files"]
    lines = [f"{files[name]['sha256']}  {name}\n" for name in sorted(files.keys() - _DESCRIPTIONS)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def weights_hash(folder: Path) -> str:
    """Return the SHA-256 of the weights in a model folder."""
    return str(read_json(folder / "manifest.json")["files"][WEIGHTS]["sha256"])


def add_to_folder(folder: Path, name: str, write: Callable[[Path], None]) -> None:
    """Add a file to a model folder, or replace it, completely or not at all.

    Args:
        folder: The folder, which was verified.
        name: The name of the file.
        write: Writes it into the temporary folder that it receives.
    """
    files = read_json(folder / "manifest.json")["files"]

    def fill(temporary: Path) -> None:
        for each in files.keys() - {name}:
            shutil.copyfile(folder / each, temporary / each)
        write(temporary)

    save_folder(folder, fill)


def _read_config(folder: Path) -> TranslatorConfig:
    with consistent(folder):
        text = read_utf8(folder / CONFIG)
    try:
        return TranslatorConfig.model_validate_json(text)
    except ValidationError as error:
        if any(f'"{key}":' in text for key in _FOREIGN):
            raise ModelError(
                f"{folder} is a model for another library: use the model that it was exported "
                "from or, unless it is an ONNX model, convert it with 'yakusu import'"
            ) from error
        raise ModelError(f"{folder}/{CONFIG} is invalid: {error}") from error


@contextmanager
def consistent(folder: Path) -> Iterator[None]:
    """Report any error while the files of a folder are decoded, and name the folder.

    Raises:
        ModelError: The folder is inconsistent.
    """
    try:
        yield
    except ModelError as error:
        named = str(error).startswith(str(folder))  # by the reader of one of its files
        raise ModelError(str(error) if named else f"{folder}: {error}") from error
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(f"{folder} is inconsistent: {error}") from error
