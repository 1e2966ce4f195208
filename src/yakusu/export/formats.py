"""The formats that models can be exported to, and what each of them can hold."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from yakusu.data.tokenizer import Tokenizer
from yakusu.engine.tables import DenseWeights
from yakusu.errors import ModelError
from yakusu.export.verify import Peer
from yakusu.model.config import ModelConfig, TransformerConfig
from yakusu.translator.folder import ModelFolder, TranslatorConfig


@dataclass(frozen=True)
class Exported:
    """A model as it is written: every table is dense, whatever its own folder stores.

    Attributes:
        config: Sizes, languages and search settings.
        weights: The weights as float32.
        tokenizer: The vocabularies.
    """

    config: TranslatorConfig
    weights: DenseWeights
    tokenizer: Tokenizer

    @classmethod
    def of(cls, folder: ModelFolder) -> "Exported":
        """Read a Transformer.

        Raises:
            ModelError: The folder is inconsistent.
        """
        config = folder.config
        assert isinstance(config.model, TransformerConfig)
        weights = DenseWeights(
            config.model, folder.weights, config.compressed, **config.vocab_sizes
        )
        return cls(config, weights, folder.tokenizer)


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes:
        library: The library that reads it.
        holds: The features of `FEATURES` that it has.
        write: Writes a model into an empty folder.
        peer: Opens such a folder with the library; the second argument is the number of target
            tokens without padding.
    """

    library: str
    holds: frozenset[str]
    write: Callable[[Path, Exported], None]
    peer: Callable[[Path, int], Peer]


def _hf(folder: Path, model: Exported) -> None:
    from yakusu.export.hf_writer import write_hf

    write_hf(folder, model.config, model.weights, model.tokenizer)


def _hf_peer(folder: Path, n_tokens: int) -> Peer:
    from yakusu.export.hf_peer import HfPeer

    return HfPeer(folder, n_tokens)


def _onnx(folder: Path, model: Exported) -> None:
    from yakusu.export.onnx_writer import write_onnx

    write_onnx(folder, model.config, model.weights, model.tokenizer)


def _onnx_peer(folder: Path, n_tokens: int) -> Peer:
    from yakusu.export.onnx_peer import OnnxPeer

    return OnnxPeer(folder)


_IN_ONNX = frozenset(
    (
        "pre-norm layers",
        "learned positions",
        "d_k or d_v other than d_model / n_heads",
        "dot-product or additive compatibility",
        "restricted self-attention",
        "experts",
    )
)
FORMATS = {
    "hf": Format("transformers", frozenset(), _hf, _hf_peer),
    "onnx": Format("onnxruntime", _IN_ONNX, _onnx, _onnx_peer),
}


# ---- what formats do not have --------------------------------------------------------------------


def _has_own_head_sizes(config: TransformerConfig) -> bool:
    return {config.d_k, config.d_v} != {config.d_model / config.n_heads}


FEATURES: dict[str, Callable[[TransformerConfig], bool]] = {
    "pre-norm layers": lambda config: config.norm == "pre",
    "learned positions": lambda config: config.positions == "learned",
    "d_k or d_v other than d_model / n_heads": _has_own_head_sizes,
    "dot-product or additive compatibility": lambda config: config.score != "scaled",
    "restricted self-attention": lambda config: config.mixing == "restricted",
    "convolution or recurrence in place of self-attention": lambda config: (
        config.mixing in ("convolution", "recurrent")
    ),
    "experts": lambda config: config.n_experts > 0,
}


def refuse(config: ModelConfig, to: str) -> None:
    """Check that a format can hold a model.

    Raises:
        ModelError: It cannot.
    """
    if not isinstance(config, TransformerConfig):
        raise ModelError(f"{config.name} models cannot be exported: only Transformers can")
    own = {feature for feature, applies in FEATURES.items() if applies(config)}
    if missing := sorted(own - FORMATS[to].holds):
        others = [name for name, each in FORMATS.items() if own <= each.holds]
        instead = f"choose --to {' or '.join(others)}" if others else "no other format has them"
        raise ModelError(f"the format {to} has no {' and no '.join(missing)}: {instead}")
