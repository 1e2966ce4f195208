"""The configurations of all architectures: section [model] of a recipe. Does not import torch.

`model.name` selects the class; the default is "transformer".
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from yakusu.config import Config, did_you_mean, requirement
from yakusu.typed import setting

Role = Literal["encoder", "decoder", "cross"]  # of attention: in a stack, or between them
UNLIMITED = 2**31
DEFAULT = "transformer"
DROPOUTS = ("dropout", "attention_dropout", "activation_dropout")


class ModelConfig(Config):
    """The settings that all architectures share; each adds its own."""

    name: str
    d_model: int = setting(512, ge=2, multiple_of=2)  # width of embeddings and hidden states
    dropout: float = setting(0.1, ge=0, lt=1)  # P_drop
    tied: Literal["three-way", "decoder", "none"] = "three-way"  # section 3.4

    @property
    def max_length(self) -> int:
        """The longest sentence, in tokens, that the model can process."""
        return UNLIMITED

    @property
    def attends(self) -> bool:
        """Whether the decoder has attention to the source."""
        return True

    @property
    def packs(self) -> bool:
        """Whether training on a CPU computes the tokens of a batch without its padding."""
        return False


class TransformerConfig(ModelConfig):
    """The hyperparameters that Tables 1 to 3 vary; the defaults are those of the base model."""

    name: Literal["transformer"] = "transformer"
    n_layers: int = setting(6, ge=1)  # N
    n_encoder_layers: int | None = setting(None, ge=1)  # None: n_layers
    n_decoder_layers: int | None = setting(None, ge=1)  # None: n_layers
    d_ff: int = setting(2048, ge=1)
    n_heads: int = setting(8, ge=1)  # h
    d_k: int = setting(64, ge=1)  # default: d_model / h
    d_v: int = setting(64, ge=1)  # default: d_model / h
    attention_dropout: float = setting(0.0, ge=0, lt=1)  # of the weights; section 6.3 tunes it
    activation_dropout: float = setting(0.0, ge=0, lt=1)  # of the inner values of Eq. 2
    # "tensor2tensor": sinusoids at the frequencies of Tensor2Tensor and Marian, not the paper's;
    # "words": half of the sinusoids count words instead of tokens, docs/decisions/0066.
    positions: Literal["sinusoidal", "tensor2tensor", "learned", "words"] = "sinusoidal"
    max_positions: int = setting(1024, ge=1)  # only for learned positions; sinusoids are unlimited
    norm: Literal["post", "pre"] = "post"  # "pre" departs from the paper, docs/decisions/0001
    # Departures from the paper for imported models and fast students: docs/decisions/0034.
    activation: Literal["relu", "silu", "gelu"] = "relu"  # of feed-forward networks
    biases: bool = False  # of the projections of attention
    output_bias: bool = False  # of the logits
    scale_embeddings: bool = True  # by sqrt(d_model), section 3.4
    start_id: int | None = setting(None, ge=0)  # first decoder input; None: the zero vector
    source_eos: bool = True  # False: the encoder leaves out the eos of a source
    score: Literal["scaled", "dot", "additive"] = "scaled"  # compatibility, section 3.2.1
    # The layer used for self-attention: docs/decisions/0022.
    mixing: Literal["attention", "restricted", "convolution", "recurrent"] = "attention"
    neighbourhood: int = setting(32, ge=1, le=UNLIMITED)  # r, for mixing = "restricted"
    kernel: int = setting(3, ge=1)  # k, for mixing = "convolution"
    n_experts: int = setting(0, ge=0)  # per feed-forward layer; 0: a plain feed-forward network
    top_k: int = setting(2, ge=1)  # experts per token
    balance: float = setting(0.01, ge=0)  # weight of the balance loss per target token

    @property
    def packs(self) -> bool:
        """Not with experts, whose load counts the positions of a batch."""
        return not self.n_experts

    @property
    def depths(self) -> tuple[int, int]:
        """The numbers of layers of the encoder and of the decoder."""
        return self.n_encoder_layers or self.n_layers, self.n_decoder_layers or self.n_layers

    @property
    def position_divisor(self) -> int:
        """D in 10000^(2i / D): d_model in section 3.5, d_model - 2 in Tensor2Tensor."""
        return max(self.d_model - 2, 1) if self.positions == "tensor2tensor" else self.d_model

    @property
    def counts_words(self) -> bool:
        """Whether positions depend on the tokens that begin words."""
        return self.positions == "words"

    @property
    def max_length(self) -> int:
        """`max_positions` with learned positions; unlimited with sinusoids."""
        return self.max_positions if self.positions == "learned" else UNLIMITED

    @classmethod
    def _prepared(cls, values: Any) -> Any:
        """Divide the width among the heads."""
        if not isinstance(values, dict):
            return values
        d_model, n_heads = values.get("d_model", 512), values.get("n_heads", 8)
        if not (isinstance(d_model, int) and isinstance(n_heads, int) and n_heads > 0):
            return values  # the validators of these fields report the error
        missing = {"d_k", "d_v"} - values.keys()
        if missing and d_model % n_heads:
            raise ValueError(
                f"model.d_model = {d_model} is not divisible by model.n_heads = {n_heads}: set "
                "model.d_k and model.d_v"
            )
        return {**values, **dict.fromkeys(missing, d_model // n_heads)}

    @requirement
    def _no_size_without_effect(self) -> None:
        """Reject sizes of layers that are not selected, because they would have no effect."""
        both = self.n_encoder_layers is not None and self.n_decoder_layers is not None
        if both and self.n_layers != self.model_fields()["n_layers"].default:
            raise ValueError(
                f"model.n_layers = {self.n_layers} has no effect if model.n_encoder_layers and "
                "model.n_decoder_layers are set: remove one of the three"
            )
        chosen = {
            "neighbourhood": (self.mixing == "restricted", "mixing = 'restricted'"),
            "kernel": (self.mixing == "convolution", "mixing = 'convolution'"),
            "top_k": (self.n_experts > 0, "n_experts is above 0"),
            "balance": (self.n_experts > 0, "n_experts is above 0"),
            "max_positions": (self.positions == "learned", "positions = 'learned'"),
        }
        for key, (used, choice) in chosen.items():
            value = getattr(self, key)
            if not used and value != self.model_fields()[key].default:
                raise ValueError(
                    f"model.{key} = {value} has no effect unless model.{choice}: set that too, or "
                    f"remove model.{key}"
                )

    @requirement
    def _enough_experts(self) -> None:
        if 0 < self.n_experts < self.top_k:
            raise ValueError(
                f"model.top_k = {self.top_k} exceeds model.n_experts = {self.n_experts}: lower "
                "model.top_k or raise model.n_experts"
            )


class RecurrentConfig(ModelConfig):
    """The sizes of an LSTM translator; embeddings, both stacks and h~ have width `d_model`."""

    name: Literal["recurrent"] = "recurrent"
    dropout: float = setting(0.3, ge=0, lt=1)  # before each layer and before the output projection
    n_layers: int = setting(2, ge=1)  # per stack
    attention: Literal["dot", "general", "additive", "none"] = "general"  # score, Eq. 8
    residual: bool = False  # residual connections from the third layer on (GNMT, arXiv:1609.08144)
    decoder: Literal["luong", "gnmt"] = "luong"  # what attends and what reads the context: gnmt.py
    # The encoder's layers above the first read from right to left (Sutskever et al. 2014).
    reversed_source: bool = False

    @property
    def attends(self) -> bool:
        """Whether attention is not switched off."""
        return self.attention != "none"

    @requirement
    def _gnmt_attends(self) -> None:
        if self.decoder == "gnmt" and self.attention == "none":
            raise ValueError(
                "model.decoder = 'gnmt' needs attention, but model.attention = 'none': set "
                "model.attention = 'additive'"
            )

    @requirement
    def _no_reversal_without_effect(self) -> None:
        if self.reversed_source and self.n_layers == 1:
            raise ValueError(
                "model.reversed_source = true has no effect with model.n_layers = 1, because the "
                "first layer reads in both directions: set model.n_layers to 2 or more, or remove "
                "model.reversed_source"
            )


class ConvolutionalConfig(ModelConfig):
    """The sizes of both stacks; dilations may grow with the layer, as in ByteNet."""

    name: Literal["convolutional"] = "convolutional"
    n_layers: int = setting(15, ge=1)  # per stack
    d_conv: int = setting(512, ge=1)  # width of the blocks
    encoder_kernel: int = setting(3, ge=1)  # k
    decoder_kernel: int = setting(3, ge=1)
    dilations: tuple[Annotated[int, setting(ge=1)], ...] = setting((1,), min_length=1)  # per layer
    max_positions: int = setting(1024, ge=1)

    @requirement
    def _no_dilation_without_effect(self) -> None:
        if len(self.dilations) > self.n_layers:
            raise ValueError(
                f"model.dilations has {len(self.dilations)} values and model.n_layers = "
                f"{self.n_layers}: give at most one value per layer"
            )
        if max(self.dilations) > self.max_positions:
            raise ValueError(
                f"model.dilations has {max(self.dilations)}, which exceeds model.max_positions = "
                f"{self.max_positions}: lower it"
            )

    @property
    def max_length(self) -> int:
        """`max_positions`, because positions are learned."""
        return self.max_positions

    def dilation(self, layer: int) -> int:
        """The distance between the taps of a layer; layers are counted from 0."""
        return self.dilations[layer % len(self.dilations)]


class ByteNetConfig(ModelConfig):
    """The sizes of both stacks of ByteNet (Kalchbrenner et al. 2016); `d_model` is its 2d."""

    name: Literal["bytenet"] = "bytenet"
    n_layers: int = setting(30, ge=1)  # residual blocks per stack
    kernel: int = setting(3, ge=1)  # k, of both stacks; odd
    unfolding: float = setting(1.2, ge=1, le=10)  # a: positions per source token, section 3.2

    @property
    def attends(self) -> bool:
        """There is no attention."""
        return False

    @requirement
    def _odd_kernel(self) -> None:
        if self.kernel % 2 == 0:
            raise ValueError(
                f"model.kernel = {self.kernel} is even, so that the dilated convolutions of the "
                "encoder would not read their own position: set an odd model.kernel"
            )

    def dilation(self, layer: int) -> int:
        """The distance between the taps of a block: sets of five with 1, 2, 4, 8 and 16."""
        return 2 ** (layer % 5)  # type: ignore[no-any-return]


CONFIGS: dict[str, type[ModelConfig]] = {
    "transformer": TransformerConfig,
    "recurrent": RecurrentConfig,
    "convolutional": ConvolutionalConfig,
    "bytenet": ByteNetConfig,
}


def config_of(values: Any) -> Any:
    """The configuration with the values that `model_dump` returned; one is returned unchanged.

    Raises:
        ValidationError: The values are not valid for the architecture.
        ValueError: No architecture has the name in `values`.
    """
    if not isinstance(values, Mapping):
        return values
    name = str(values.get("name", DEFAULT))
    if name not in CONFIGS:
        raise ValueError(f"there is no model '{name}': {did_you_mean(name, list(CONFIGS))}")
    return CONFIGS[name].model_validate(values)


AnyConfig = Annotated[
    TransformerConfig | RecurrentConfig | ConvolutionalConfig | ByteNetConfig,
    setting(first=config_of),
]
