"""Copies the weights of a parent into a new network, and excludes parts of it from training."""

import torch
from torch import Tensor

from yakusu.data.pieces import Pieces
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import UNK
from yakusu.engine.tables import Floats
from yakusu.model.base import Seq2Seq
from yakusu.pipeline.parent import Parent
from yakusu.training.config import ParentConfig

_PARTS = {  # of `parent.freeze` -> how the names of its weights begin
    "embeddings": ("src_table.", "tgt_table.", "output_table.", "src_embedding.", "tgt_embedding."),
    "encoder": ("encoder.", "encoder_norm."),
    "decoder": ("decoder.", "decoder_norm."),
}


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
        if same or table not in ("src_table", "tgt_table", "output_table", "output_bias"):
            weights[name] = torch.from_numpy(parent.weights[name])
            continue
        both = parent.tokenizer, tokenizer
        old, new = (each.src if table == "src_table" else each.tgt for each in both)
        weights[name] = _with_shared_rows(own.detach().clone(), parent.weights[name], old, new)
    model.load_weights(weights)


def _with_shared_rows(own: Tensor, parent: Floats, old: Pieces, new: Pieces) -> Tensor:
    """Copy the rows of the pieces that both vocabularies have."""
    for i in range(len(new)):
        row = old.id_of(new.piece(i))
        if row != UNK or i == UNK:
            own[i] = torch.as_tensor(parent[row])
    return own


def freeze(model: Seq2Seq, config: ParentConfig) -> None:
    """Exclude the parts of `parent.freeze` from training."""
    frozen = tuple(prefix for part in config.freeze for prefix in _PARTS[part])
    for name, parameter in model.weights().items():
        parameter.requires_grad_(not name.startswith(frozen))
