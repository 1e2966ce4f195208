"""How a model attends while it translates one sentence, as data.

N layers, H heads, S source, T target; eos counts in S and in T.

Row t of a decoder's map is the position that predicts target token t. When it does so it has read
the start and the tokens before t: column 0 of its self-attention is the start, column j is target
token j - 1, and the diagonal is the token just read, never the one that is predicted.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from yakusu.data.tokenizer import EOS, UNK
from yakusu.errors import DataError, ModelError
from yakusu.model.base import Role, Seq2Seq
from yakusu.translator import Translator

MAX_TOKENS = 256  # a side; weights grow by the square, and a picture of more shows nothing
FORMAT = 1  # of the JSON
_DECIMALS = 4
_WORD_MARK = "\u2581"  # what SentencePiece writes for a space
Weights = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Token:
    """A piece of a sentence as a reader sees it."""

    text: str
    spaced: bool = False  # a space stands before it
    special: bool = False  # eos, the start, what the vocabulary does not know, a lone space


START = Token("(start)", special=True)


@dataclass(frozen=True)
class Axis:
    """The rows or the columns of a map."""

    what: str  # "source", "predicted" or "read"
    tokens: tuple[Token, ...]


@dataclass(frozen=True)
class AttentionMaps:
    """All that a model attended to while it predicted one sentence from another."""

    src: str
    tgt: str
    source: tuple[Token, ...]  # S
    target: tuple[Token, ...]  # T
    weights: dict[Role, Weights]  # of each role that the model has (N, H, rows, columns)

    def axes(self, role: Role) -> tuple[Axis, Axis]:
        """What the rows of a map are, and its columns; each row attends to the columns."""
        source, predicted = Axis("source", self.source), Axis("predicted", self.target)
        if role == "encoder":
            return source, source
        return predicted, source if role == "cross" else Axis("read", (START, *self.target[:-1]))

    def one(self, role: Role | None = None, *, layer: int = 0) -> tuple[Role, int, Weights]:
        """The heads of one layer.

        Args:
            role: None: how the decoder attends to the source, or else the first that there is.
            layer: From 1; 0 is the last.

        Returns:
            The role, the number of the layer, and its weights (H, rows, columns).

        Raises:
            DataError: The model has no such role or layer.
        """
        role = role or ("cross" if "cross" in self.weights else next(iter(self.weights)))
        if role not in self.weights:
            known = " or ".join(self.weights)
            raise DataError(f"this model has no {role} attention: choose {known}")
        n_layers = len(self.weights[role])
        if not 0 <= layer <= n_layers:
            raise DataError(
                f"there is no layer {layer} of {role} attention: choose from 1 to {n_layers}"
            )
        layer = layer or n_layers
        return role, layer, self.weights[role][layer - 1]  # (H, rows, columns)

    def as_json(self) -> dict[str, Any]:
        """The document that docs/view.md describes; weights have four decimals."""
        return {
            "format": FORMAT,
            "src": self.src,
            "tgt": self.tgt,
            "roles": {
                role: {
                    "rows": asdict(self.axes(role)[0]),
                    "columns": asdict(self.axes(role)[1]),
                    "weights": weights.astype(np.float64).round(_DECIMALS).tolist(),
                }
                for role, weights in self.weights.items()
            },
        }

    def for_bertviz(self) -> dict[str, Any]:
        """What bertviz takes: `head_view(**maps.for_bertviz())`, `model_view` likewise.

        Its decoder tokens are those that the decoder reads, the start first.

        Returns:
            `encoder_attention`, `decoder_attention` and `cross_attention`, each N tensors
            (1, H, rows, columns), of the roles that the model has; `encoder_tokens` and
            `decoder_tokens`.
        """
        maps = {
            f"{role}_attention": tuple(torch.from_numpy(layer)[None] for layer in weights)
            for role, weights in self.weights.items()
        }
        return maps | {
            "encoder_tokens": [token.text for token in self.source],
            "decoder_tokens": [token.text for token in (START, *self.target[:-1])],
        }


def attention_maps(translator: Translator, src: str, tgt: str | None = None) -> AttentionMaps:
    """How a translator attends when it predicts `tgt` from `src`.

    Args:
        translator: Its model must be one that attends.
        src: A sentence.
        tgt: Its translation; None: the translator's own, token for token as it was found. Every
            search ends in eos; at the greatest length nothing else was left to predict.

    Raises:
        DataError: A sentence is empty or too long, or is no text.
        ModelError: The model does not attend.
    """
    model, tokenizer, task = attentive(translator), translator.tokenizer, translator.task
    n_src, n_tgt = limits(translator)
    _require_text("source sentence", src)
    src_ids = tokenizer.encode_source([task.preprocess_source(src)])[0]
    src_ids = _within(n_src, "source sentence", src, src_ids)
    if tgt is None:
        side = "model's own translation"
        found = list(translator.hypotheses([src], [src_ids])[0][0].tokens)
        tgt = task.postprocess(tokenizer.decode_target([found])[0], src)
        tgt_ids = [*found, EOS]
        tgt_pieces = tokenizer.target_pieces(tgt_ids)
    else:
        side = "target sentence"
        _require_text(side, tgt)
        tgt = task.normalise_target(tgt, src)
        tgt_ids = tokenizer.encode_target([task.preprocess_target(tgt)])[0]
        tgt_pieces = tokenizer.target_surfaces(task.preprocess_target(tgt))
    tgt_ids = _within(n_tgt, side, tgt, tgt_ids)
    seen = attentions(model, *(torch.tensor([ids]) for ids in (src_ids, tgt_ids)))
    return AttentionMaps(
        src=src.strip(),
        tgt=tgt.strip(),
        source=_tokens(src_ids, tokenizer.source_surfaces(task.preprocess_source(src))),
        target=_tokens(tgt_ids, tgt_pieces),
        weights={role: weights[0].float().cpu().numpy() for role, weights in seen.items()},
    )


def limits(translator: Translator) -> tuple[int, int]:
    """The most tokens of a source and of a target, eos too, that are looked at."""
    return (
        min(MAX_TOKENS, translator.max_source_tokens),
        min(MAX_TOKENS, translator.model.max_length),
    )


def attentive(translator: Translator) -> Seq2Seq:
    """The model of a translator, if it attends.

    Raises:
        ModelError: It does not, or it is an ensemble.
    """
    model = translator.model
    if not (isinstance(model, Seq2Seq) and model.attention_layers()):
        raise ModelError("this model has no attention to show: view one model that attends")
    return model


@torch.inference_mode()
def attentions(model: Seq2Seq, src: Tensor, tgt: Tensor) -> dict[Role, Tensor]:
    """`Seq2Seq.attentions` of ids on any device, without gradients."""
    device = next(model.parameters()).device
    return model.attentions(src.to(device), tgt.to(device))


def _require_text(side: str, text: str) -> None:
    """Refuse halves of surrogate pairs: what a shell's bytes become where they are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"the {side}, character {error.start + 1}: {text[error.start]!a} is no text: "
            "give the sentence in UTF-8"
        ) from error


def _within(limit: int, side: str, text: str, ids: list[int]) -> list[int]:
    if len(ids) < 2:  # eos alone
        raise DataError(f"the {side} is empty, so there is nothing to show: give another")
    if len(ids) > limit:
        raise DataError(
            f"the {side} '{text.strip()[:40]}...' has {len(ids)} tokens and can have {limit}: "
            "view a part of it"
        )
    return ids


def _tokens(ids: Sequence[int], pieces: Sequence[str]) -> tuple[Token, ...]:
    return tuple(_token(i, piece) for i, piece in zip(ids, pieces, strict=True))


def _token(number: int, piece: str) -> Token:
    """A piece as text shows it; controls, which no picture can hold, are U+FFFD."""
    text = piece.replace(_WORD_MARK, " ").strip()
    shown = "".join(
        "\ufffd" if unicodedata.category(c) in ("Cc", "Cs") or c in "\ufffe\uffff" else c
        for c in text
    )
    special = number in (EOS, UNK) or not shown
    return Token(shown or "\u2423", spaced=piece.startswith(_WORD_MARK), special=special)
