"""Copies the weights of a parent into a new network, and excludes parts of it from training."""

from collections.abc import Iterator

import torch
from torch import Tensor

from yakusu.arrays import Floats
from yakusu.data.pieces import Pieces
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import UNK
from yakusu.model.base import Seq2Seq
from yakusu.pipeline.training.parent import Parent
from yakusu.training.config import ParentConfig

_PARTS = {  # of `parent.freeze` -> how the names of its weights begin
    "embeddings": ("src_table.", "tgt_table.", "output_table.", "src_embedding.", "tgt_embedding."),
    "encoder": ("encoder.", "encoder_norm."),
    "decoder": ("decoder.", "decoder_norm."),
}
_OF_TOKENS = ("src_table", "tgt_table", "output_table", "output_bias", "src_words", "tgt_words")


def mark_words(model: Seq2Seq, tokenizer: Tokenizer) -> None:
    """Tell a model that counts words which tokens begin one."""
    weights = model.weights()
    for name, side in ("src_words", tokenizer.src), ("tgt_words", tokenizer.tgt):
        if name in weights:
            begin = [side.begins_word(i) for i in range(len(side))]
            weights[name].data[: len(side)] = torch.tensor(begin)


def inherit(model: Seq2Seq, parent: Parent, tokenizer: Tokenizer) -> None:
    """Copy the weights of a parent into a network of the same sizes.

    Rows of pieces that the parent does not have keep their random values.

    Args:
        model: A network of the sizes of `Parent.resolve`.
        parent: The parent.
        tokenizer: The vocabularies of the network.
    """
    same, weights = parent.tokenizer == tokenizer, dict[str, Tensor]()
    for name, own in model.weights().items():
        table, _, _ = name.partition(".")
        if same or table not in _OF_TOKENS:
            weights[name] = torch.from_numpy(parent.weights[name])
            continue
        both = parent.tokenizer, tokenizer
        old, new = (each.src if table.startswith("src") else each.tgt for each in both)
        weights[name] = _with_shared_rows(own.detach().clone(), parent.weights[name], old, new)
    model.load_weights(weights)


def kept_pieces(old: Tokenizer, new: Tokenizer) -> str:
    """Say how many pieces of a new vocabulary keep the vectors of the parent's."""
    both = ((old.tgt, new.tgt),) if new.joint else ((old.src, new.src), (old.tgt, new.tgt))
    counts = [f"{sum(1 for _ in _shared(*each)):,} of {len(each[1]):,}" for each in both]
    kept = counts[0] if new.joint else f"{counts[0]} source pieces and {counts[1]} target"
    return f"{kept} pieces keep the parent's vectors"


def _shared(old: Pieces, new: Pieces) -> Iterator[tuple[int, int]]:
    """Yield the ids of each piece that both vocabularies have, in the old and the new one."""
    for i in range(len(new)):
        row = old.id_of(new.piece(i))
        if row != UNK or i == UNK:
            yield row, i


def _with_shared_rows(own: Tensor, parent: Floats, old: Pieces, new: Pieces) -> Tensor:
    """Copy the rows of the pieces that both vocabularies have."""
    for row, i in _shared(old, new):
        own[i] = torch.as_tensor(parent[row])
    return own


def freeze(model: Seq2Seq, config: ParentConfig) -> None:
    """Exclude the parts of `parent.freeze` from training."""
    frozen = tuple(prefix for part in config.freeze for prefix in _PARTS[part])
    for name, parameter in model.weights().items():
        if name.startswith(frozen):
            parameter.requires_grad_(False)
