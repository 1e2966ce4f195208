"""A model of another toolkit -> the sizes, weights and tokenizer of a model folder.

    eos = 0    unk = 1    the other tokens in their order    pad = V - 1

Another toolkit may give these tokens any ids, and start the decoder with any token. The rows of its
tables are put into this order, so that the rest of yakusu needs to know only one
(docs/decisions/0036-interoperability.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import sentencepiece as spm

from yakusu.arrays import Array, Floats
from yakusu.data.pieces import Pieces
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import ModelError
from yakusu.export.marian import (
    BIAS,
    NEVER,
    OUTPUT,
    POSITIONS,
    SHARED,
    TABLES,
    checked,
    from_marian,
    own_columns,
    stack_parts,
)
from yakusu.export.origin import Origin
from yakusu.export.reading import Renamed
from yakusu.model.config import TransformerConfig


@dataclass(frozen=True)
class ForeignSide:
    """The vocabulary of one side.

    Attributes:
        segmenter: The SentencePiece model.
        pieces: The piece of each row of the table.
        eos: Row of the token that ends a sentence.
        unk: Row of the unknown token.
        pad: Row of the padding token; None: there is none.
    """

    segmenter: spm.SentencePieceProcessor
    pieces: Sequence[str]
    eos: int
    unk: int
    pad: int | None

    @property
    def rows(self) -> list[int]:
        """The row of each own id except pad."""
        special = self.eos, self.unk, self.pad
        return [self.eos, self.unk, *(i for i in range(len(self.pieces)) if i not in special)]


@dataclass(frozen=True)
class ForeignModel:
    """A model of another toolkit.

    Attributes:
        config: Its sizes; `tied`, `start_id`, `biases` and `output_bias` are found in the tensors.
        tensors: Its tensors, with the names of marian.py.
        src: The source vocabulary.
        tgt: The target vocabulary.
        shared: Whether both sides share one table.
        start: Row of the first decoder input; None: the zero vector.
        halved: Whether all sines precede all cosines.
        languages: Codes of source and target; "" if unknown.
        origin: Where the model is from.
    """

    config: TransformerConfig
    tensors: Mapping[str, Array]
    src: ForeignSide
    tgt: ForeignSide
    shared: bool
    start: int | None
    halved: bool
    languages: tuple[str, str]
    origin: Origin


def own_model(foreign: ForeignModel) -> tuple[TransformerConfig, dict[str, Floats], Tokenizer]:
    """Return the sizes, the weights and the tokenizer of a model.

    Raises:
        ModelError: A tensor is missing, unknown, has another shape, or contains NaN or infinity.
    """
    _refuse_unknown(foreign)
    tables, bias = _tables(foreign), _output_bias(foreign)
    src_rows, tgt_rows, start_id = foreign.src.rows, foreign.tgt.rows, None
    if foreign.start is not None and tables["tgt_table"][foreign.start].any():
        if foreign.start == foreign.tgt.pad:
            bias[foreign.start] = NEVER
            tgt_rows.append(foreign.start)
            src_rows = tgt_rows if len(tables) == 1 else src_rows
        start_id = tgt_rows.index(foreign.start)
    columns = own_columns(foreign.config.d_model, halved=foreign.halved)
    weights = from_marian(foreign.tensors, foreign.config, columns)
    for name, table in tables.items():
        rows = src_rows if name == "src_table" else tgt_rows
        padding = np.zeros_like(table[:1])
        weights[f"{name}.weight"] = np.concatenate([table[rows], padding])[:, columns]
    weights |= _positions(foreign, shared=len(tables) == 1)
    weights["output_bias"] = bias[tgt_rows]
    used = {
        "biases": _any(weights, (".b_qkv", ".b_o")),
        "output_bias": _any(weights, ("output_bias",)),
    }
    tied = {1: "three-way", 2: "decoder", 3: "none"}[len(tables)]
    config = foreign.config.model_copy(update={"tied": tied, "start_id": start_id, **used})
    src, tgt = _pieces(foreign.src, src_rows), _pieces(foreign.tgt, tgt_rows)
    return config, weights, Tokenizer(src, src if src == tgt else tgt)


def _refuse_unknown(foreign: ForeignModel) -> None:
    """Check that the model computes nothing else.

    Raises:
        ModelError: A tensor has no equivalent.
    """
    tensors = foreign.tensors
    known = {part.marian for part in stack_parts(foreign.config)}
    known |= {SHARED, *TABLES.values(), *POSITIONS.values(), OUTPUT, BIAS}
    if unknown := next((name for name in tensors if name not in known), None):
        name = tensors.original(unknown) if isinstance(tensors, Renamed) else unknown
        raise ModelError(f"the tensor '{name}' is not part of a Marian model of these sizes")


def _tables(foreign: ForeignModel) -> dict[str, Floats]:
    """Return the tables that differ, by the name of the first own table that they are."""
    tensors = foreign.tensors
    if foreign.shared:
        found = {"tgt_table": _table(foreign, SHARED, foreign.tgt)}
        # Own tables that are one object also share their order and their positions.
        if foreign.src.rows != foreign.tgt.rows or _positions_differ(foreign):
            found["src_table"] = _table(foreign, SHARED, foreign.src)
    else:
        found = {
            "tgt_table": _table(foreign, TABLES["decoder"], foreign.tgt),
            "src_table": _table(foreign, TABLES["encoder"], foreign.src),
        }
    if OUTPUT in tensors:
        output = _table(foreign, OUTPUT, foreign.tgt)
        if not np.array_equal(output, found["tgt_table"]):
            found = {"src_table": found["tgt_table"], **found, "output_table": output}
    return found


def _table(foreign: ForeignModel, name: str, side: ForeignSide) -> Floats:
    shape = len(side.pieces), foreign.config.d_model
    try:
        return checked(foreign.tensors, name, shape)
    except ModelError as error:
        found = foreign.tensors[name].shape if name in foreign.tensors else shape
        if found[:1] == shape[:1]:
            raise
        raise ModelError(
            f"the vocabulary has {shape[0]:,} tokens and the model {found[0]:,} embeddings: the "
            "vocabulary belongs to another model"
        ) from error


def _positions(foreign: ForeignModel, *, shared: bool) -> dict[str, Floats]:
    """Return learned positions; {} with sinusoids."""
    sides = {"tgt": "decoder"} if shared else {"tgt": "decoder", "src": "encoder"}
    return (
        {f"{own}_embedding.positions.table": _learned(foreign, side) for own, side in sides.items()}
        if foreign.config.positions == "learned"
        else {}
    )


def _positions_differ(foreign: ForeignModel) -> bool:
    if foreign.config.positions != "learned":
        return False
    return not np.array_equal(_learned(foreign, "encoder"), _learned(foreign, "decoder"))


def _learned(foreign: ForeignModel, side: str) -> Floats:
    shape = foreign.config.max_positions, foreign.config.d_model
    return checked(foreign.tensors, POSITIONS[side], shape)


def _output_bias(foreign: ForeignModel) -> Floats:
    shape = (1, len(foreign.tgt.pieces))
    if BIAS not in foreign.tensors:
        return np.zeros(shape[1], np.float32)
    bias: Floats = checked(foreign.tensors, BIAS, shape)[0].copy()
    return bias


def _any(weights: dict[str, Floats], suffixes: tuple[str, ...]) -> bool:
    """Remove the weights whose names end in one of these if all of them are zero."""
    names = [name for name in weights if name.endswith(suffixes)]
    if any(weights[name].any() for name in names):
        return True
    for name in names:
        del weights[name]
    return False


def _pieces(side: ForeignSide, rows: Sequence[int]) -> Pieces:
    """Return a side's pieces, without a table if its SentencePiece model has the same ids."""
    table = [side.pieces[row] for row in rows]
    own = [side.segmenter.id_to_piece(i) for i in range(side.segmenter.get_piece_size())]
    return Pieces(side.segmenter, None if table == own else table)
