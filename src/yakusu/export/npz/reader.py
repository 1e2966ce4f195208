"""Reads a model in the form of the original Marian, such as Opus-MT.

model.npz                       weights, and the options of the model in YAML
decoder.yml                     names the files of the weights and the vocabularies
vocab.yml                       the row of each piece; or .json, or a SentencePiece model .spm
source.spm, target.spm          SentencePiece models, if the vocabularies are not
README.md, LICENSE              licence

Its tensors are read under the names of marian.py, so that a model has the same weights whether it
is imported from these files or from those that Hugging Face's converter made of them. The sinusoids
are Marian's own (`positions = "tensor2tensor"`); the converters of other toolkits give the model
those of section 3.5, with which its log-probabilities differ.
"""

from collections.abc import Iterator
from pathlib import Path

import sentencepiece as spm

from yakusu.arrays import Array
from yakusu.data.pieces import read_segmenter
from yakusu.errors import ModelError
from yakusu.export.foreign import ForeignModel, ForeignSide
from yakusu.export.marian import BIAS, OUTPUT, POSITIONS, SHARED, TABLES, stack_parts
from yakusu.export.npz.files import NpzArrays, Option, read_yaml
from yakusu.export.npz.options import Options, sizes
from yakusu.export.origin import Origin
from yakusu.export.reading import Renamed, in_order, read_bytes, read_rows, row_of
from yakusu.model.config import TransformerConfig

_OPTIONS = "special:model.yml"


def read_npz(path: Path) -> ForeignModel:
    """Read a model that Marian trained.

    Args:
        path: Its folder, or one of the .npz files in its folder.

    Raises:
        ModelError: The model is inconsistent, or has an option without an equivalent.
    """
    folder = path if path.is_dir() else path.parent
    decoder = _decoder_options(path)
    weights = path if path.is_file() else _weights_file(folder, decoder)
    arrays = NpzArrays(weights)
    if _OPTIONS not in arrays:
        raise ModelError(f"{weights} has no '{_OPTIONS}': it is not a model of Marian")
    options = Options.read(arrays[_OPTIONS].tobytes().rstrip(b"\0"), weights)
    config = sizes(options, arrays)
    src, tgt = _sides(folder, decoder, options)
    return ForeignModel(
        config=config,
        tensors=_tensors(arrays, config, options),
        src=src,
        tgt=tgt,
        shared="Wemb" in arrays,
        start=None,
        halved=not options.learns_positions,
        languages=("", ""),
        origin=Origin.of(folder, format="Marian", name=weights.name),
    )


# ---- tensors -------------------------------------------------------------------------------------

_ATTENTION = {"self_attn": "self", "encoder_attn": "context"}
_LAYER_NORMS = {
    "self_attn_layer_norm": "self_Wo",
    "encoder_attn_layer_norm": "context_Wo",
    "final_layer_norm": "ffn_ffn",
}


def _tensors(arrays: NpzArrays, config: TransformerConfig, options: Options) -> Renamed:
    """Return the tensors under the names of marian.py; unknown ones keep theirs."""
    names = {part.marian: original_name(part.marian, config) for part in stack_parts(config)}
    if "Wemb" in arrays:
        names[SHARED] = "Wemb"
    else:
        names |= {table: f"{side}_Wemb" for side, table in TABLES.items()}
    if options.learns_positions:
        names |= dict.fromkeys(POSITIONS.values(), "Wpos")
    if not (options.tied_embeddings or options.tied_embeddings_all):
        transposed = "decoder_ff_logit_out_Wt" in arrays  # in older versions
        names[OUTPUT] = f"decoder_ff_logit_out_W{'t' if transposed else ''}"
    names[BIAS] = "decoder_ff_logit_out_b"
    known = {*names.values(), _OPTIONS}
    names |= {name: name for name in arrays if name not in known}

    def convert(name: str, array: Array) -> Array:
        if name.endswith(".bias") or "norm.weight" in name:  # (1, n)
            return array[0] if array.ndim == 2 and len(array) == 1 else array
        is_matrix = name.endswith("proj.weight") or ".fc" in name
        return array.T if is_matrix or names[name] == "decoder_ff_logit_out_W" else array

    return Renamed(arrays, names, convert)


def original_name(part: str, config: TransformerConfig) -> str:
    """Return Marian's name of a tensor of a layer or of the LayerNorm above the layers.

    Args:
        part: The name in marian.py.
        config: Sizes of the model.
    """
    words = part.split(".")
    if words[1] == "layer_norm":  # of both stacks
        return f"{words[0]}_top_ln_{_norm_part(words[2])}"
    side, _, layer, kind, *rest = words
    prefix = f"{side}_l{int(layer) + 1}"
    if kind in _LAYER_NORMS:
        suffix = "_pre" if config.norm == "pre" else ""
        return f"{prefix}_{_LAYER_NORMS[kind]}_ln_{_norm_part(rest[0])}{suffix}"
    letter = "W" if rest[-1] == "weight" else "b"
    if kind in _ATTENTION:
        return f"{prefix}_{_ATTENTION[kind]}_{letter}{rest[0][0]}"
    return f"{prefix}_ffn_{letter}{kind[-1]}"  # fc1, fc2


def _norm_part(name: str) -> str:
    return "scale" if name == "weight" else "bias"


# ---- files ---------------------------------------------------------------------------------------


def _decoder_options(path: Path) -> dict[str, Option]:
    """Return the options of the first file that names vocabularies; {} if there is none."""
    folder = path if path.is_dir() else path.parent
    names = [f"{path.name}.decoder.yml"] if path.is_file() else []
    others = sorted(each.name for each in folder.glob("*.npz.decoder.yml"))
    for name in (*names, "decoder.yml", *others, "config.yml"):
        if (folder / name).is_file():
            return read_yaml(read_bytes(folder / name), folder / name)
    return {}


def _named(decoder: dict[str, Option], option: str) -> list[str]:
    """Return the names of files, without the folders of the machine that wrote them."""
    value = decoder.get(option, [])
    names = [value] if isinstance(value, str) else value
    return [name.replace("\\", "/").rpartition("/")[2] for name in names]


def _weights_file(folder: Path, decoder: dict[str, Option]) -> Path:
    """Return the file of the weights.

    Raises:
        ModelError: There are several, or none.
    """
    present = {each.name for each in folder.glob("*.npz")}
    named = [name for name in _named(decoder, "models") if name in present]
    found = named or sorted(name for name in present if not name.endswith(".optimizer.npz"))
    if len(found) != 1:
        listed = ", ".join(found) or "no file *.npz"
        raise ModelError(f"{folder} has {listed}: give the path of one file *.npz")
    return folder / found[0]


def _sides(
    folder: Path, decoder: dict[str, Option], options: Options
) -> tuple[ForeignSide, ForeignSide]:
    """Read the vocabularies.

    Raises:
        ModelError: A file is missing or invalid.
    """
    paths = [folder / name for name in _named(decoder, "vocabs")] or list(_vocabularies(folder))
    if len(paths) not in (1, 2):
        raise ModelError(
            f"{folder} has {len(paths)} vocabularies: name that of the source and that of the "
            "target in decoder.yml, as in 'vocabs: [vocab.spm, vocab.spm]'"
        )
    names, sizes = ("source", "target"), options.dim_vocabs
    src, tgt = (
        _side(folder, path, name, size)
        for path, name, size in zip((paths[0], paths[-1]), names, sizes, strict=True)
    )
    return src, tgt


def _vocabularies(folder: Path) -> Iterator[Path]:
    """Find the vocabularies, that of the source first."""
    kinds = (".yml", ".yaml", ".json", ".spm")
    found = [each for each in sorted(folder.glob("*vocab*")) if each.suffix in kinds]
    first = [each for each in found if ".src." in each.name or "source" in each.name]
    yield from (*first, *(each for each in found if each not in first))


def _side(folder: Path, path: Path, name: str, n_rows: int) -> ForeignSide:
    """Read a vocabulary; Marian uses its first `n_rows` pieces, unless that is 0."""
    if path.suffix == ".spm":
        model = read_segmenter(path)
        pieces, special = _all_pieces(model), {"eos": model.eos_id(), "unk": model.unk_id()}
    elif path.suffix in (".yml", ".yaml", ".json"):
        pieces = _listed(path)
        special = {"eos": row_of("</s>", pieces, path), "unk": row_of("<unk>", pieces, path)}
        model = read_segmenter(_segmenter(folder, name))
    else:
        raise ModelError(f"{path} is not a supported vocabulary: known are .yml, .json and .spm")
    pieces = pieces[: n_rows or None]
    for token, row in special.items():
        if not 0 <= row < len(pieces):
            raise ModelError(f"{path} has no token for {token} among its {len(pieces):,} tokens")
    return ForeignSide(segmenter=model, pieces=pieces, **special, pad=None)


def _all_pieces(model: spm.SentencePieceProcessor) -> list[str]:
    return [str(model.id_to_piece(i)) for i in range(model.get_piece_size())]


def _listed(path: Path) -> list[str]:
    """Read the pieces of a vocabulary in JSON or YAML."""
    if path.suffix == ".json":
        return in_order(read_rows(path), path)
    found = read_yaml(read_bytes(path), path)
    try:
        rows = {piece: int(str(row)) for piece, row in found.items()}
    except ValueError as error:
        raise ModelError(f"{path} has a token whose id is not a number") from error
    return in_order(rows, path)


def _segmenter(folder: Path, name: str) -> Path:
    """Return the SentencePiece model of a side: its own, or the only one of the folder."""
    if (folder / f"{name}.spm").exists():
        return folder / f"{name}.spm"
    found = sorted(folder.glob("*.spm"))
    if len(found) != 1:
        raise ModelError(
            f"{folder} has no {name}.spm: only vocabularies of SentencePiece can be imported"
        )
    return found[0]
