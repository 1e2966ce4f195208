"""Attention weights of a model for one sentence, as data.

N layers, H heads, S source tokens, T target tokens; both counts include eos.

Row t of a decoder map belongs to the position that predicts target token t. At that position the
decoder has read the start vector and the tokens before t. Column 0 of decoder self-attention is
therefore the start and column j is target token j - 1; the diagonal is the token read last, never
the predicted token.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from yakusu import lazy
from yakusu.arrays import Floats
from yakusu.data.vocabulary import EOS, UNK
from yakusu.errors import DataError, ModelError
from yakusu.model.config import Role
from yakusu.translator import Translator

MAX_TOKENS = 256  # per sentence: maps grow quadratically, and a larger picture is unreadable
FORMAT = 1  # version of the JSON document
_DECIMALS = 4
_WORD_MARK = "\u2581"  # SentencePiece's symbol for a space
_NOT_IN_XML = lazy.compile(r"[\p{Cc}\p{Cs}\ufffe\uffff]")


@dataclass(frozen=True)
class Token:
    """A vocabulary piece in readable form.

    Attributes:
        text: The piece without the space in front of it.
        spaced: Whether a space precedes the piece in the sentence.
        special: Whether the piece is eos, the start, an unknown piece or a single space.
    """

    text: str
    spaced: bool = False
    special: bool = False


START = Token("(start)", special=True)


@dataclass(frozen=True)
class Axis:
    """Labels of the rows or columns of a map.

    Attributes:
        what: "source", "predicted" or "read".
        tokens: One token per row or column.
    """

    what: str
    tokens: tuple[Token, ...]


class AxisDocument(TypedDict):
    """`Axis` in JSON."""

    what: str
    tokens: list[dict[str, str | bool]]


class RoleDocument(TypedDict):
    """Maps of one role in JSON; the weights are indexed by layer, head, row and column."""

    rows: AxisDocument
    columns: AxisDocument
    weights: list[list[list[list[float]]]]


class MapsDocument(TypedDict):
    """`AttentionMaps` in JSON."""

    format: int
    src: str
    tgt: str
    roles: dict[Role, RoleDocument]


@dataclass(frozen=True)
class AttentionMaps:
    """All attention weights of a model that predicts one target sentence from one source sentence.

    Attributes:
        src: The source sentence.
        tgt: The target sentence.
        source: The S source tokens.
        target: The T target tokens.
        weights: (N, H, rows, columns) for each role that the model has.
    """

    src: str
    tgt: str
    source: tuple[Token, ...]
    target: tuple[Token, ...]
    weights: dict[Role, Floats]

    def axes(self, role: Role) -> tuple[Axis, Axis]:
        """Return the rows and the columns of a role's maps; each row attends to the columns."""
        source, predicted = Axis("source", self.source), Axis("predicted", self.target)
        if role == "encoder":
            return source, source
        return predicted, source if role == "cross" else Axis("read", (START, *self.target[:-1]))

    def select_layer(
        self, role: Role | None = None, *, layer: int | None = None
    ) -> tuple[Role, int, Floats]:
        """Return the weights of one layer.

        Args:
            role: Kind of attention. None: cross-attention if the model has it, otherwise the first.
            layer: Layer number, from 1. None: the last layer.

        Returns:
            The role, the layer number and the weights (H, rows, columns).

        Raises:
            DataError: The model does not have this role or layer.
        """
        role = role or ("cross" if "cross" in self.weights else next(iter(self.weights)))
        if role not in self.weights:
            known = " or ".join(self.weights)
            raise DataError(f"this model has no {role} attention: choose {known}")
        n_layers = len(self.weights[role])
        layer = n_layers if layer is None else layer
        if not 1 <= layer <= n_layers:
            raise DataError(
                f"there is no layer {layer} of {role} attention: choose from 1 to {n_layers}"
            )
        return role, layer, self.weights[role][layer - 1]  # (H, rows, columns)

    def as_json(self) -> MapsDocument:
        """Return the JSON document of docs/view.md, with weights rounded to 4 decimals."""
        roles: dict[Role, RoleDocument] = {}
        for role, weights in self.weights.items():
            rows, columns = map(_axis_document, self.axes(role))
            roles[role] = {"rows": rows, "columns": columns, "weights": _rounded(weights)}
        return {"format": FORMAT, "src": self.src, "tgt": self.tgt, "roles": roles}

    def for_bertviz(self) -> dict[str, Any]:
        """Return keyword arguments for bertviz: `head_view(**maps.for_bertviz())`, or `model_view`.

        The decoder tokens are the tokens that the decoder reads, so the first one is the start.

        Returns:
            `encoder_attention`, `decoder_attention` and `cross_attention`, if the model has them,
            each a tuple of N tensors (1, H, rows, columns); `encoder_tokens` and
            `decoder_tokens`, lists of strings.
        """
        import torch  # bertviz expects tensors

        maps = {
            f"{role}_attention": tuple(torch.from_numpy(layer)[None] for layer in weights)
            for role, weights in self.weights.items()
        }
        return maps | {
            "encoder_tokens": [token.text for token in self.source],
            "decoder_tokens": [token.text for token in (START, *self.target[:-1])],
        }


def attention_maps(translator: Translator, src: str, tgt: str | None = None) -> AttentionMaps:
    """Compute the attention weights of a translator that predicts `tgt` from `src`.

    Args:
        translator: A translator with an attention model.
        src: The source sentence.
        tgt: The target sentence. None: the translator's own output, token for token as the search
            found it.

    Raises:
        DataError: A sentence is empty, too long or not valid text.
        ModelError: The model has no attention, or is an ensemble, or has no default among several
            target languages.
    """
    translator.require_target()
    roles, tokenizer, task = attention_roles(translator), translator.tokenizer, translator.task
    max_src, max_tgt = token_limits(translator)
    _check_text("source sentence", src)
    src_ids = tokenizer.encode_source([task.preprocess_source(src)])[0]
    _check_length(max_src, "source sentence", src, src_ids)
    if tgt is None:
        label = "model's own translation"
        tgt, tgt_ids, tgt_pieces = _translate(translator, src, src_ids)
    else:
        label = "target sentence"
        _check_text(label, tgt)
        tgt = task.normalise_target(tgt, src)
        tgt_ids = tokenizer.encode_target([task.preprocess_target(tgt)])[0]
        tgt_pieces = tokenizer.target_surfaces(task.preprocess_target(tgt))
    _check_length(max_tgt, label, tgt, tgt_ids)
    ((maps,),) = translator.decoder.attentions([(src_ids, tgt_ids)], roles)
    return AttentionMaps(
        src=src.strip(),
        tgt=tgt.strip(),
        source=_tokens(src_ids, tokenizer.source_surfaces(task.preprocess_source(src))),
        target=_tokens(tgt_ids, tgt_pieces),
        weights=maps,
    )


def token_limits(translator: Translator) -> tuple[int, int]:
    """Return the maximum numbers of source and target tokens of a map, including eos."""
    return (
        min(MAX_TOKENS, translator.max_source_tokens),
        min(MAX_TOKENS, translator.decoder.max_length),
    )


def attention_roles(translator: Translator) -> Collection[Role]:
    """Return the kinds of attention that the model of a translator has.

    Raises:
        ModelError: The model has no attention, or is an ensemble.
    """
    decoder = translator.decoder
    if decoder.n_members > 1 or not decoder.roles:
        raise ModelError(
            "this model has no attention to show: use a single model with attention layers"
        )
    return decoder.roles


def _translate(
    translator: Translator, src: str, src_ids: list[int]
) -> tuple[str, list[int], list[str]]:
    """Return the best translation as text, ids with eos, and pieces."""
    tokenizer = translator.tokenizer
    ((best, *_),) = translator.hypotheses([(src, src_ids)], batch=1)
    tokens = list(best.tokens)
    text = translator.task.postprocess(tokenizer.decode_target([tokens])[0], src)
    ids = [*tokens, EOS]  # every search ends in eos; at the maximum length no other choice is left
    return text, ids, tokenizer.target_pieces(ids)


def _check_text(label: str, text: str) -> None:
    """Reject lone surrogates, which stand for bytes of the command line that are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"the {label}, character {error.start + 1}: {text[error.start]!a} is not valid text: "
            "encode the sentence as UTF-8"
        ) from error


def _check_length(limit: int, label: str, text: str, ids: list[int]) -> None:
    if len(ids) < 2:  # only eos
        raise DataError(
            f"the {label} is empty, so there is no attention to show: use another sentence"
        )
    if len(ids) > limit:
        raise DataError(
            f"the {label} '{text.strip()[:40]}...' has {len(ids)} tokens, including eos, but the "
            f"limit is {limit}: shorten the sentence"
        )


def _rounded(weights: Floats) -> list[list[list[list[float]]]]:
    rounded: list[list[list[list[float]]]] = weights.astype(np.float64).round(_DECIMALS).tolist()
    return rounded


def _axis_document(axis: Axis) -> AxisDocument:
    tokens: list[dict[str, str | bool]] = [
        {"text": token.text, "spaced": token.spaced, "special": token.special}
        for token in axis.tokens
    ]
    return {"what": axis.what, "tokens": tokens}


def _tokens(ids: Sequence[int], pieces: Sequence[str]) -> tuple[Token, ...]:
    return tuple(_token(i, piece) for i, piece in zip(ids, pieces, strict=True))


def _token(id_: int, piece: str) -> Token:
    """Convert a piece; control characters, which XML cannot contain, become U+FFFD."""
    text = piece.replace(_WORD_MARK, " ").strip()
    printable = _NOT_IN_XML.sub("\ufffd", text)
    special = id_ in (EOS, UNK) or not printable
    return Token(printable or "\u2423", spaced=piece.startswith(_WORD_MARK), special=special)
