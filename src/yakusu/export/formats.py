"""The formats that models can be exported to, and what each of them can hold."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from yakusu.data.tokenizer import Tokenizer
from yakusu.engine.tables import DenseWeights
from yakusu.errors import ModelError
from yakusu.export.verify import Peer
from yakusu.folder import read_utf8
from yakusu.model.config import ModelConfig, TransformerConfig
from yakusu.translator.folder.folder import ModelFolder, TranslatorConfig

ExportPrecision = Literal["float32", "int8"]


@dataclass(frozen=True)
class ExportedModel:
    """A model as it is written: every table is dense, whatever its own folder stores.

    Attributes:
        config: Sizes, languages and search settings.
        weights: The weights as float32.
        tokenizer: The vocabularies.
        precision: How a format that has 8-bit weights writes them.
        card: The model card; "" if there is none.
    """

    config: TranslatorConfig
    weights: DenseWeights
    tokenizer: Tokenizer
    precision: ExportPrecision = "float32"
    card: str = ""

    @classmethod
    def of(cls, folder: ModelFolder, precision: ExportPrecision = "float32") -> "ExportedModel":
        """Read a Transformer.

        Raises:
            ModelError: The folder is inconsistent.
        """
        config = folder.config
        assert isinstance(config.model, TransformerConfig)
        weights = DenseWeights(
            config.model, folder.weights, config.compressed, **config.vocab_sizes
        )
        card = folder.path / "README.md"
        text = read_utf8(card) if card.exists() else ""
        return cls(config, weights, folder.tokenizer, precision, text)


@dataclass(frozen=True)
class ExportFormat:
    """A format.

    Attributes:
        library: The library that reads it.
        holds: The features of `FEATURES` that it has.
        write: Writes a model into an empty folder.
        peer: Opens such a folder with the library; the second argument is the number of target
            tokens without padding.
        precisions: How it can store weights.
    """

    library: str
    holds: frozenset[str]
    write: Callable[[Path, ExportedModel], None]
    peer: Callable[[Path, int], Peer]
    precisions: frozenset[ExportPrecision] = frozenset({"float32"})


def _hf(folder: Path, model: ExportedModel) -> None:
    from yakusu.export.hf.writer import write_hf

    write_hf(folder, model.config, model.weights, model.tokenizer)


def _hf_peer(folder: Path, n_tokens: int) -> Peer:
    from yakusu.export.hf.peer import HfPeer

    return HfPeer(folder, n_tokens)


def _onnx(folder: Path, model: ExportedModel) -> None:
    from yakusu.export.onnx.writer import write_onnx

    write_onnx(folder, model.config, model.weights, model.tokenizer)


def _onnx_peer(folder: Path, n_tokens: int) -> Peer:
    from yakusu.export.onnx.peer import OnnxPeer

    return OnnxPeer(folder)


_IN_ONNX = frozenset(
    (
        "pre-norm layers with more than one table",
        "learned positions",
        "positions of Tensor2Tensor",
        "d_k or d_v other than d_model / n_heads",
        "dot-product or additive compatibility",
        "restricted self-attention",
        "experts",
    )
)


def _ctranslate2(folder: Path, model: ExportedModel) -> None:
    for name, pieces in ("source", model.tokenizer.src), ("target", model.tokenizer.tgt):
        (folder / f"{name}.spm").write_bytes(pieces.proto)
    _without_segmenters(folder, model)


def _without_segmenters(folder: Path, model: ExportedModel) -> None:
    from yakusu.export.ctranslate2.writer import write_ctranslate2

    source, target = (
        [pieces.piece(i) for i in range(len(pieces))]
        for pieces in (model.tokenizer.src, model.tokenizer.tgt)
    )
    write_ctranslate2(
        folder,
        model.weights,
        model.weights.config,
        source=source,
        target=target,
        precision=model.precision,
    )


def _ctranslate2_peer(folder: Path, _: int) -> Peer:
    from yakusu.export.ctranslate2.peer import CTranslate2Peer

    return CTranslate2Peer(folder)


def _argos(folder: Path, model: ExportedModel) -> None:
    from yakusu.export.argos import write_argos

    config, tokenizer = model.config, model.tokenizer
    languages = config.source_language, config.target_language
    if tokenizer.src.proto != tokenizer.tgt.proto:
        raise ModelError(
            "the format argos has one SentencePiece model for both sides, and this model has two: "
            "choose --to hf, ctranslate2 or onnx"
        )
    if tokenizer.src.language_tokens:
        raise ModelError(
            "the format argos has no tokens for target languages, and this model needs them: "
            "choose --to hf, ctranslate2 or onnx"
        )
    if "" in languages:
        raise ModelError("the format argos needs the codes of both languages: config.json has none")
    with TemporaryDirectory() as temporary:
        _without_segmenters(Path(temporary), model)
        write_argos(
            folder,
            Path(temporary),
            sentencepiece=tokenizer.src.proto,
            languages=languages,
            card=model.card,
        )


def _argos_peer(folder: Path, _: int) -> Peer:
    from yakusu.export.argos import SUFFIX, unpacked
    from yakusu.export.ctranslate2.peer import CTranslate2Peer

    (package,) = folder.glob(f"*{SUFFIX}")
    with unpacked(package) as unpacked_package:
        return CTranslate2Peer(unpacked_package / "model")


_CTRANSLATE2 = frozenset(
    (
        "pre-norm layers with more than one table",
        "learned positions",
        "positions of Tensor2Tensor",
        "sources without eos",
    )
)
_ROUNDED: frozenset[ExportPrecision] = frozenset({"float32", "int8"})
FORMATS = {
    "hf": ExportFormat("transformers", frozenset(), _hf, _hf_peer),
    "onnx": ExportFormat("onnxruntime", _IN_ONNX, _onnx, _onnx_peer),
    "ctranslate2": ExportFormat(
        "ctranslate2", _CTRANSLATE2, _ctranslate2, _ctranslate2_peer, _ROUNDED
    ),
    "argos": ExportFormat("ctranslate2", _CTRANSLATE2, _argos, _argos_peer, _ROUNDED),
}


# ---- what formats do not have --------------------------------------------------------------------


def _has_own_head_sizes(config: TransformerConfig) -> bool:
    return {config.d_k, config.d_v} != {config.d_model / config.n_heads}


FEATURES: dict[str, Callable[[TransformerConfig], bool]] = {
    "pre-norm layers with more than one table": lambda config: (
        config.norm == "pre" and config.tied != "three-way"
    ),
    "learned positions": lambda config: config.positions == "learned",
    "positions of Tensor2Tensor": lambda config: config.positions == "tensor2tensor",
    "positions that count words": lambda config: config.counts_words,
    "d_k or d_v other than d_model / n_heads": _has_own_head_sizes,
    "dot-product or additive compatibility": lambda config: config.score != "scaled",
    "restricted self-attention": lambda config: config.mixing == "restricted",
    "convolution or recurrence in place of self-attention": lambda config: (
        config.mixing in ("convolution", "recurrent")
    ),
    "sources without eos": lambda config: not config.source_eos,
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
