"""The configurations of every architecture: a recipe's section [model]. Imports no torch.

A configuration is found by the name that it carries: `name = "transformer"` unless another is given.
"""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, PositiveInt, Tag, TypeAdapter, model_validator

from yakusu.config import Config

UNLIMITED = 2**31
DEFAULT = "transformer"


class ModelConfig(Config):
    """What every architecture is told; each adds its own sizes."""

    name: str
    d_model: int = Field(512, ge=2, multiple_of=2)  # width of embeddings and hidden states
    dropout: float = Field(0.1, ge=0, lt=1)  # P_drop
    tied: Literal["three-way", "decoder", "none"] = "three-way"  # section 3.4

    @property
    def max_length(self) -> int:
        """The longest sentence, in tokens, that the model can represent."""
        return UNLIMITED


class TransformerConfig(ModelConfig):
    """The quantities that Tables 1 to 3 vary; the defaults are the base model's."""

    name: Literal["transformer"] = "transformer"
    n_layers: int = Field(6, ge=1)  # N
    d_ff: int = Field(2048, ge=1)
    n_heads: int = Field(8, ge=1)  # h
    d_k: int = Field(64, ge=1)  # d_model / h where it is not given
    d_v: int = Field(64, ge=1)  # likewise
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    max_positions: int = Field(1024, ge=1)  # of learned positions; sinusoids have no end
    norm: Literal["post", "pre"] = "post"  # "pre" departs from the paper, docs/decisions/0001
    score: Literal["scaled", "dot", "additive"] = "scaled"  # compatibility, section 3.2.1
    # In place of self-attention, docs/decisions/0022.
    mixing: Literal["attention", "restricted", "convolution", "recurrent"] = "attention"
    neighbourhood: int = Field(32, ge=1)  # r of mixing = "restricted"
    kernel: int = Field(3, ge=1)  # k of mixing = "convolution"
    n_experts: int = Field(0, ge=0)  # of each feed-forward layer; 0: it is a plain one
    top_k: int = Field(2, ge=1)  # experts that a token goes to
    balance: float = Field(0.01, ge=0)  # weight of the experts' balance loss, a target token

    @property
    def max_length(self) -> int:
        """Sinusoids reach any length; learned positions end."""
        return self.max_positions if self.positions == "learned" else UNLIMITED

    @model_validator(mode="before")
    @classmethod
    def _split_width_among_heads(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        d_model, n_heads = values.get("d_model", 512), values.get("n_heads", 8)
        if not (isinstance(d_model, int) and isinstance(n_heads, int) and n_heads > 0):
            return values  # the fields' own rules say what is wrong
        missing = {"d_k", "d_v"} - values.keys()
        if missing and d_model % n_heads:
            raise ValueError(
                f"model.d_model = {d_model} does not divide into model.n_heads = {n_heads}: set "
                "model.d_k and model.d_v"
            )
        return {**values, **dict.fromkeys(missing, d_model // n_heads)}

    @model_validator(mode="after")
    def _sizes_are_of_use(self) -> "TransformerConfig":
        """A size of a layer that is not chosen is refused, for it would change nothing."""
        chosen = {
            "neighbourhood": (self.mixing == "restricted", "mixing = 'restricted'"),
            "kernel": (self.mixing == "convolution", "mixing = 'convolution'"),
            "top_k": (self.n_experts > 0, "n_experts above 0"),
            "balance": (self.n_experts > 0, "n_experts above 0"),
            "max_positions": (self.positions == "learned", "positions = 'learned'"),
        }
        for key, (used, choice) in chosen.items():
            value = getattr(self, key)
            if not used and value != type(self).model_fields[key].default:
                raise ValueError(
                    f"model.{key} = {value} is of use with model.{choice} alone: set that too"
                )
        return self

    @model_validator(mode="after")
    def _experts_suffice(self) -> "TransformerConfig":
        if 0 < self.n_experts < self.top_k:
            raise ValueError(
                f"model.top_k = {self.top_k} is more than model.n_experts = {self.n_experts}: "
                "lower the one or raise the other"
            )
        return self


class RecurrentConfig(ModelConfig):
    """The sizes of an LSTM translator. Embeddings, both stacks and h~ are `d_model` wide."""

    name: Literal["recurrent"] = "recurrent"
    dropout: float = Field(0.3, ge=0, lt=1)  # before each layer and before the output matrix
    n_layers: int = Field(2, ge=1)  # of the encoder, and of the decoder
    attention: Literal["dot", "general", "additive", "none"] = "general"  # score, Eq. 8
    residual: bool = False  # layers from the third on add their input (GNMT, arXiv:1609.08144)


class ConvolutionalConfig(ModelConfig):
    """Sizes of both stacks; growing dilations are ByteNet's (Kalchbrenner et al. 2016)."""

    name: Literal["convolutional"] = "convolutional"
    n_layers: int = Field(15, ge=1)  # of the encoder, and of the decoder
    d_conv: int = Field(512, ge=1)  # width of the blocks
    encoder_kernel: int = Field(3, ge=1)  # k
    decoder_kernel: int = Field(3, ge=1)
    dilations: tuple[PositiveInt, ...] = Field((1,), min_length=1, strict=False)  # layer by layer
    max_positions: int = Field(1024, ge=1)

    @model_validator(mode="after")
    def _dilations_are_of_use(self) -> "ConvolutionalConfig":
        if len(self.dilations) > self.n_layers:
            raise ValueError(
                f"model.dilations has {len(self.dilations)} values and model.n_layers = "
                f"{self.n_layers}: give at most one a layer"
            )
        return self

    @property
    def max_length(self) -> int:
        """Learned positions end."""
        return self.max_positions

    def dilation(self, layer: int) -> int:
        """The distance between the taps of this layer, counted from 0."""
        return self.dilations[layer % len(self.dilations)]


def _name_of(values: Any) -> str:
    if isinstance(values, dict):
        return str(values.get("name", DEFAULT))
    return str(getattr(values, "name", DEFAULT))


AnyConfig = Annotated[
    Annotated[TransformerConfig, Tag("transformer")]
    | Annotated[RecurrentConfig, Tag("recurrent")]
    | Annotated[ConvolutionalConfig, Tag("convolutional")],
    Discriminator(_name_of),
]
CONFIGS: dict[str, type[ModelConfig]] = {
    "transformer": TransformerConfig,
    "recurrent": RecurrentConfig,
    "convolutional": ConvolutionalConfig,
}
_any_config: TypeAdapter[AnyConfig] = TypeAdapter(AnyConfig)


def config_of(values: dict[str, Any]) -> AnyConfig:
    """The configuration that `model_dump` turned into `values`.

    Raises:
        ValidationError: pydantic's, where no architecture has such a configuration.
    """
    return _any_config.validate_python(values)
