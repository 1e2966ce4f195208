"""The models that are exported: Transformers with random weights, and a vocabulary of real text."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from yakusu.compress.config import CompressConfig
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import TokenizerConfig
from yakusu.device import versions
from yakusu.export.origin import Origin
from yakusu.model.config import TransformerConfig
from yakusu.model.transformer import Transformer
from yakusu.pipeline.compress import compress_translator
from yakusu.pipeline.demo.phrasebook import phrasebook
from yakusu.pipeline.receipts.card import documents
from yakusu.pipeline.receipts.receipt import ImportReceipt
from yakusu.search.config import SearchConfig
from yakusu.translator.folder.folder import TranslatorConfig
from yakusu.translator.folder.network import save_translator

LANGUAGES = "en", "de"
_BOOK_PAIRS = 1000
_SIZES = {"n_layers": 2, "d_model": 64, "d_ff": 128, "n_heads": 4}
_NOISE = 0.1  # added to all weights, so that biases are not zero and translations differ


@dataclass(frozen=True)
class Variant:
    """How a model differs from the paper's.

    Attributes:
        settings: Keys of the section [model] of a recipe.
        joint: Whether both sides have one vocabulary.
        compress: How the model is compressed; None: it is not.
    """

    settings: dict[str, Any] = field(default_factory=dict)
    joint: bool = True
    compress: CompressConfig | None = None


VARIANTS = {
    "as in the paper": Variant(),
    "pre-norm": Variant({"norm": "pre"}),
    "learned positions": Variant({"positions": "learned", "max_positions": 512}),
    "two vocabularies": Variant({"tied": "decoder"}, joint=False),
    "three tables": Variant({"tied": "none"}),
    "other activation, biases, start token": Variant(
        {"activation": "silu", "biases": True, "output_bias": True, "start_id": 0}
    ),
    "other depths": Variant({"n_encoder_layers": 3, "n_decoder_layers": 1}),
    "other d_k and d_v": Variant({"d_k": 20, "d_v": 12}),
    "experts": Variant({"n_experts": 4}),
    "convolutions": Variant({"mixing": "convolution"}),
    "compressed tables, int8 matrices": Variant(compress=CompressConfig(int8=True)),
}


def sentences(n: int) -> list[str]:
    """Return English sentences that are not in the text of the vocabularies; 200 at most."""
    return [source for source, _ in phrasebook(LANGUAGES[1], n_pairs=_BOOK_PAIRS).test[:n]]


def write_model(name: str, folder: Path) -> Path:
    """Write the model folder of a variant and return it; `folder` is for this variant only."""
    variant = VARIANTS[name]
    tokenizer = _tokenizer(joint=variant.joint)
    config = TransformerConfig.model_validate(_sizes(variant.settings) | variant.settings)
    settings = TranslatorConfig(
        source_language=LANGUAGES[0],
        target_language=LANGUAGES[1],
        model=config,
        search=SearchConfig(),
        **tokenizer.vocab_sizes,
    )
    network = _network(config, tokenizer)
    receipt = ImportReceipt(
        versions=versions(),
        languages=LANGUAGES,
        parameters=sum(weight.numel() for weight in network.weights().values()),
        origin=Origin(format="random numbers", name=name, licence="", files={}),
    )
    model = folder / "model"
    texts = documents(receipt)
    save_translator(model, network.weights(), tokenizer, settings, documents=texts)
    if variant.compress:
        compress_translator(model, folder / "compressed", config=variant.compress)
        return folder / "compressed"
    return model


def _sizes(settings: dict[str, Any]) -> dict[str, Any]:
    """The sizes, without a number of layers that would have no effect."""
    both = {"n_encoder_layers", "n_decoder_layers"} <= settings.keys()
    return {key: value for key, value in _SIZES.items() if not (both and key == "n_layers")}


def _tokenizer(*, joint: bool) -> Tokenizer:
    pairs = phrasebook(LANGUAGES[1], n_pairs=_BOOK_PAIRS).train
    sides: Sequence[list[str]] = [[pair[side] for pair in pairs] for side in (0, 1)]
    return Tokenizer.train(*sides, TokenizerConfig(vocab_size=900, joint=joint), seed=1)


def _network(config: TransformerConfig, tokenizer: Tokenizer) -> Transformer:
    torch.manual_seed(1)
    network = Transformer(config, **tokenizer.vocab_sizes).eval()
    with torch.no_grad():
        for weight in network.weights().values():
            weight.add_(_NOISE * torch.randn_like(weight))
        for table in {network.src_table, network.tgt_table, network.output_table}:
            table.weight[-1] = 0  # of padding
    return network
