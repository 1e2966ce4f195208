"""The options of a Marian model: what they mean for the sizes of the network."""

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, NonNegativeInt, PositiveInt, ValidationError

from yakusu.errors import ModelError
from yakusu.export.npz.files import NpzArrays, Option, read_yaml
from yakusu.export.reading import first_error
from yakusu.model.config import TransformerConfig

_ACTIVATIONS = {"relu": "relu", "swish": "silu", "gelu": "gelu"}
_NORMS = {  # preprocess, postprocess, postprocess-top, without dropout -> `norm`
    ("", "an", ""): "post",
    ("n", "a", "n"): "pre",
}
_ONLY = {  # option -> the only value that has an equivalent
    "type": "transformer",
    "transformer-decoder-autoreg": "self-attention",
    "transformer-ffn-depth": "2",
}
_UNSUPPORTED = (  # options that change what a model computes
    *("right-left", "ulr", "ulr-dim-emb", "lemma-dim-emb", "lemma-dependency", "factors-dim-emb"),
    *("transformer-no-projection", "transformer-tied-layers", "transformer-pool"),
    *("transformer-decoder-dim-ffn", "transformer-decoder-ffn-depth"),
    *("transformer-train-type-embeddings", "transformer-no-bias", "transformer-no-affine"),
    *("transformer-disable-position-embeddings", "transformer-alibi-shift"),
    *("transformer-alibi-trainable", "transformer-rms-norm"),
)


class Options(BaseModel):
    """The options that give the sizes of a model."""

    model_config = ConfigDict(alias_generator=lambda name: name.replace("_", "-"))

    dim_emb: PositiveInt
    dim_vocabs: tuple[NonNegativeInt, NonNegativeInt] = (0, 0)
    enc_depth: PositiveInt
    dec_depth: PositiveInt
    transformer_heads: PositiveInt
    transformer_dim_ffn: PositiveInt
    transformer_ffn_activation: str = "swish"
    transformer_dropout: float = 0.1
    transformer_preprocess: str = ""
    transformer_postprocess: str = "dan"
    transformer_postprocess_top: str = ""
    transformer_postprocess_emb: str = "d"
    transformer_train_positions: bool = False
    transformer_train_position_embeddings: bool = False
    tied_embeddings: bool = False
    tied_embeddings_src: bool = False
    tied_embeddings_all: bool = False

    @classmethod
    def read(cls, text: bytes, path: Path) -> "Options":
        """Read the options of a model.

        Args:
            text: In YAML.
            path: The file of the model.

        Raises:
            ModelError: An option is invalid, or has no equivalent.
        """
        given = read_yaml(text, path)
        _refuse(given)
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise ModelError(f"{path}: {first_error(error)}") from error

    @property
    def norm(self) -> str:
        """The setting `norm` of the model.

        Raises:
            ModelError: There is none.
        """
        options = "preprocess", "postprocess", "postprocess-top", "postprocess-emb"
        given = [getattr(self, f"transformer_{name.replace('-', '_')}") for name in options]
        *layers, embeddings = (ops.replace("d", "") for ops in given)
        if tuple(layers) not in _NORMS or embeddings:
            values = ", ".join(
                f"transformer-{name} = '{value}'"
                for name, value in zip(options, given, strict=True)
            )
            raise ModelError(
                f"the model has {values}: known are post-norm ('', 'dan', '', 'd') and pre-norm "
                "('n', 'da', 'n', 'd')"
            )
        return _NORMS[tuple(layers)]

    @property
    def learns_positions(self) -> bool:
        """Whether positions are learned, by the name of the option in older or newer versions."""
        return self.transformer_train_positions or self.transformer_train_position_embeddings


def _refuse(given: dict[str, Option]) -> None:
    """Check that all options have an equivalent.

    Raises:
        ModelError: One of them does not.
    """
    for name, value in _ONLY.items():
        if given.get(name, value) != value:
            raise ModelError(
                f"the model has {name} = {given[name]}, which is not supported: only {value} is"
            )
    for name in _UNSUPPORTED:
        if given.get(name, "false") not in ("false", "0", "", []):
            raise ModelError(f"the model has {name} = {given[name]}, which is not supported")


def sizes(options: Options, arrays: NpzArrays) -> TransformerConfig:
    """Return the sizes of the model.

    Raises:
        ModelError: A size or an option is invalid.
    """
    activation, width = options.transformer_ffn_activation, options.dim_emb
    if activation not in _ACTIVATIONS:
        raise ModelError(
            f"the model has transformer-ffn-activation = {activation}: known are "
            f"{', '.join(_ACTIVATIONS)}"
        )
    if options.enc_depth + options.dec_depth > len(arrays):
        raise ModelError("the options of the model name more layers than it has tensors")
    if width % 2 or width % options.transformer_heads:
        raise ModelError(
            f"the model has dim-emb = {width}, which is not an even number divisible by "
            f"transformer-heads = {options.transformer_heads}"
        )
    values: dict[str, Any] = {
        "d_model": width,
        "n_encoder_layers": options.enc_depth,
        "n_decoder_layers": options.dec_depth,
        "d_ff": options.transformer_dim_ffn,
        "n_heads": options.transformer_heads,
        "norm": options.norm,
        "activation": _ACTIVATIONS[activation],
        "dropout": options.transformer_dropout,
        "scale_embeddings": not options.learns_positions,
        "positions": "tensor2tensor",
    }
    if options.learns_positions:
        if "Wpos" not in arrays:
            raise ModelError("the tensor 'Wpos' is missing")
        values |= {"positions": "learned", "max_positions": len(np.atleast_1d(arrays["Wpos"]))}
    try:
        return TransformerConfig.model_validate(values)
    except ValueError as error:
        raise ModelError(f"the options of the model are invalid: {error}") from error
