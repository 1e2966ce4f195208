"""Reads a Transformer of CTranslate2.

model.bin                   weights and sizes (ctranslate2_file.py)
config.json                 special tokens; in older folders, model.bin has them
receipt.json                languages, if yakusu exported the model
*_vocabulary.json           the piece of each row, shared or of each side; .txt in older folders
source.spm, target.spm      SentencePiece models, or one *.model for both sides

CTranslate2 itself needs no SentencePiece model, so it must be added to most folders.
"""

from pathlib import Path

import numpy as np
import sentencepiece as spm
from pydantic import BaseModel, TypeAdapter, ValidationError

from yakusu.arrays import Floats
from yakusu.data.pieces import read_segmenter
from yakusu.errors import ModelError
from yakusu.export.ctranslate2.file import Variables
from yakusu.export.ctranslate2.tensors import read_stacks
from yakusu.export.foreign import ForeignModel, ForeignSide
from yakusu.export.marian import BIAS, NEVER, OUTPUT, SHARED, TABLES
from yakusu.export.origin import Origin
from yakusu.export.reading import read_bytes, read_json_as, row_of

SPECIFICATIONS = ("TransformerSpec", "TransformerBase", "TransformerBig")
_PIECES: TypeAdapter[list[str]] = TypeAdapter(list[str])
_EPSILON = 1e-5  # of LayerNorm


class _Config(BaseModel):
    """What is needed of config.json."""

    unk_token: str = "<unk>"
    bos_token: str = "<s>"
    eos_token: str = "</s>"
    decoder_start_token: str | None = "<s>"
    add_source_bos: bool = False
    add_source_eos: bool = False
    layer_norm_epsilon: float | None = None


class _Receipt(BaseModel):
    """What is needed of receipt.json, which yakusu writes and CTranslate2 does not."""

    languages: tuple[str, str] = ("", "")


def read_ctranslate2(
    folder: Path, segmenters: tuple[spm.SentencePieceProcessor, ...] = ()
) -> ForeignModel:
    """Read a folder with a model of CTranslate2.

    Args:
        folder: The folder.
        segmenters: The SentencePiece models of source and target; (): they are in the folder.

    Raises:
        ModelError: The folder is not a Transformer, it is inconsistent, or there is no
            SentencePiece model.
    """
    variables = Variables(folder / "model.bin")
    if variables.specification not in SPECIFICATIONS or variables.revision < 2:
        raise ModelError(
            f"{folder / 'model.bin'} is a model of the kind '{variables.specification}', revision "
            f"{variables.revision}: only those of the kind {' or '.join(SPECIFICATIONS)} from "
            "revision 2 on can be imported"
        )
    config, (source, target) = _config(folder, variables), _vocabularies(folder)
    stacks = read_stacks(variables)
    source_eos = config.add_source_eos or _is_marian(variables, config)
    unused = [config.unk_token] if source_eos else [config.unk_token, config.eos_token]
    tensors, source = _with_tokens(stacks.tensors, "encoder", source, unused)
    tensors, target = _with_tokens(tensors, "decoder", target, [config.unk_token])
    src_segmenter, tgt_segmenter = segmenters or _segmenters(folder)
    return ForeignModel(
        config=stacks.config.model_copy(update={"source_eos": source_eos}),
        tensors=tensors | {SHARED: tensors[TABLES["decoder"]]},
        src=_side(src_segmenter, source, config, "source"),
        tgt=_side(tgt_segmenter, target, config, "target"),
        shared=stacks.shared and source == target,
        start=_start(variables, config, target),
        halved=stacks.halved,
        languages=_languages(folder / "receipt.json"),
        origin=Origin.of(folder, format="CTranslate2", name=folder.resolve().name),
    )


def _languages(receipt: Path) -> tuple[str, str]:
    """The languages in the receipt of a model that yakusu exported; "": unknown."""
    return read_json_as(_Receipt, receipt).languages if receipt.exists() else ("", "")


# ---- special tokens ------------------------------------------------------------------------------


def _config(folder: Path, variables: Variables) -> _Config:
    """Return the special tokens.

    Raises:
        ModelError: A source begins with a token of its own, or LayerNorm has another epsilon.
    """
    config = (
        read_json_as(_Config, folder / "config.json")
        if variables.version >= 6
        else _older_config(variables)
    )
    if config.add_source_bos:
        raise ModelError(
            f"{folder}: sources that begin with a token of their own are not supported"
        )
    if not 0 <= (config.layer_norm_epsilon or 0) <= 2 * _EPSILON:
        raise ModelError(
            f"{folder / 'config.json'}: layer_norm_epsilon = {config.layer_norm_epsilon} is not "
            f"supported, only {_EPSILON}"
        )
    return config


def _older_config(variables: Variables) -> _Config:
    """Return the special tokens of a file before version 6."""
    bos, eos = (variables.text(f"{name}_token", default) for name, default in _BOUNDARIES)
    start: str | None = bos if variables.number("with_target_bos", 1) else eos
    if variables.number("user_decoder_start_tokens", 0):
        start = None
    return _Config(
        unk_token=variables.text("unk_token", "<unk>"),
        bos_token=bos,
        eos_token=eos,
        decoder_start_token=start,
        add_source_bos=bool(variables.number("with_source_bos", 0)),
        add_source_eos=bool(variables.number("with_source_eos", 0)),
    )


_BOUNDARIES = ("bos", "<s>"), ("eos", "</s>")


def _is_marian(variables: Variables, config: _Config) -> bool:
    """Whether CTranslate2 converted the model from Hugging Face's form of Marian.

    Sources of these models end with eos, but the configuration says the opposite, because the
    tokenizer of Hugging Face adds it. Exports of yakusu have eos as `bos_token`.
    """
    starts_from_zero = bool(variables.number("decoder/start_from_zero_embedding", 0))
    return starts_from_zero and config.bos_token != config.eos_token


def _start(variables: Variables, config: _Config, target: list[str]) -> int | None:
    """Return the row of the first decoder input; None for the zero vector."""
    if variables.number("decoder/start_from_zero_embedding", 0):
        return None
    if config.decoder_start_token is None:
        raise ModelError(
            "the model has no start token, because translations begin with a token for the "
            "language: set decoder_start_token in config.json to this token"
        )
    return row_of(config.decoder_start_token, target, "the target vocabulary")


# ---- vocabularies --------------------------------------------------------------------------------


def _vocabularies(folder: Path) -> tuple[list[str], list[str]]:
    """Return the piece of each row of the source and of the target."""
    if (shared := _vocabulary(folder, "shared")) is not None:
        return shared, shared
    source, target = (_vocabulary(folder, side) for side in ("source", "target"))
    if source is None or target is None:
        raise ModelError(
            f"{folder} has no shared_vocabulary.json, and no source_vocabulary.json and "
            "target_vocabulary.json: the folder is incomplete"
        )
    return source, target


def _vocabulary(folder: Path, side: str) -> list[str] | None:
    path = folder / f"{side}_vocabulary.json"
    if path.exists():
        try:
            return _PIECES.validate_json(read_bytes(path))
        except ValidationError as error:
            raise ModelError(f"{path} is not a list of tokens") from error
    older = path.with_suffix(".txt")
    if not older.exists():
        return None
    try:
        return read_bytes(older).decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise ModelError(f"{older} is not encoded as UTF-8") from error


def _with_tokens(
    tensors: dict[str, Floats], side: str, pieces: list[str], tokens: list[str]
) -> tuple[dict[str, Floats], list[str]]:
    """Return the tensors and pieces of a side with the tokens that it lacks, as zero vectors.

    No translation has them. Without a row for unk, CTranslate2 reads and writes beyond its tables.
    """
    if not (missing := [token for token in tokens if token not in pieces]):
        return tensors, pieces
    rows = (0, len(missing)), (0, 0)
    added = {TABLES[side]: np.pad(tensors[TABLES[side]], rows)}
    if side == "decoder":
        added[OUTPUT] = np.pad(tensors[OUTPUT], rows)
        added[BIAS] = np.pad(tensors[BIAS], rows[::-1], constant_values=NEVER)
    return tensors | added, pieces + missing


def _side(
    segmenter: spm.SentencePieceProcessor, pieces: list[str], config: _Config, side: str
) -> ForeignSide:
    vocabulary = f"the {side} vocabulary"
    return ForeignSide(
        segmenter=segmenter,
        pieces=pieces,
        eos=row_of(config.eos_token, pieces, vocabulary),
        unk=row_of(config.unk_token, pieces, vocabulary),
        pad=None,
    )


def _segmenters(folder: Path) -> tuple[spm.SentencePieceProcessor, spm.SentencePieceProcessor]:
    """Return the SentencePiece models next to model.bin."""
    for names in ("source.spm", "target.spm"), ("source.model", "target.model"):
        paths = [folder / name for name in names]
        if all(path.exists() for path in paths):
            return read_segmenter(paths[0]), read_segmenter(paths[1])
    found = sorted([*folder.glob("*.model"), *folder.glob("*.spm")])
    if len(found) != 1:
        raise ModelError(
            f"{folder} has no SentencePiece models: add source.spm and target.spm, or "
            "sentencepiece.model for both sides, with which the model was trained"
        )
    segmenter = read_segmenter(found[0])
    return segmenter, segmenter
