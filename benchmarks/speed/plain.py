"""Models in a form that every system reads: float32 weights, sizes and vocabularies.

plain.json          the sizes, the tokens of both vocabularies, and those that are never generated
model.safetensors   the weights, in float32, under the names of yakusu
source.model, target.model   SentencePiece models, if there are any
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

import yakusu
from yakusu.data.vocabulary import EOS
from yakusu.engine.tables import DenseWeights
from yakusu.errors import ModelError
from yakusu.model.config import TransformerConfig
from yakusu.translator.folder.folder import ModelFolder

NAME = "plain.json"
SOURCE_LENGTHS = 8, 56  # tokens
UNLIKELY = -1e4  # logit of eos in models with random weights


@dataclass(frozen=True)
class Shape:
    """A model with random weights.

    recipe: The recipe that gives its sizes.
    vocab_size: V, padding included.
    sentences: Number of sentences that take long enough to be timed.
    settings: Keys of the recipe's [model] that differ.
    """

    recipe: str
    vocab_size: int
    sentences: int
    settings: dict[str, Any] = field(default_factory=dict)


# How an imported Opus-MT model differs from a model with the paper's layers.
_IMPORTED = {"activation": "silu", "biases": True}


SHAPES = {
    "base": Shape("base", 32_000, 32),
    "base, imported": Shape("base", 32_000, 32, _IMPORTED),
    "tiny": Shape("tiny", 6_000, 512),
    "small": Shape("tiny", 200, 4),  # for --quick
}


def write_trained(model: Path, out: Path) -> None:
    """Write the model of a model folder.

    Raises:
        ModelError: The folder is incomplete or corrupted, or the model is not a Transformer.
    """
    folder = ModelFolder.open(model)
    config, tokenizer = folder.config.model, folder.tokenizer
    if not isinstance(config, TransformerConfig):
        raise ModelError(f"{model} is a {config.name} model: choose a Transformer")
    sizes = folder.config.vocab_sizes
    weights = DenseWeights(config, folder.weights, folder.config.compressed, **sizes)
    out.mkdir(parents=True)
    tokenizer.save(out)
    if (joint := out / "tokenizer.model").exists():
        for side in ("source", "target"):
            (out / f"{side}.model").write_bytes(joint.read_bytes())
    source, target = (_pieces(out / f"{side}.model") for side in ("source", "target"))
    never = sorted(tokenizer.target_slots.values())
    _write(out, weights.config, dict(weights), source=source, target=target, never=never)


def write_random(shape: Shape, out: Path, *, seed: int) -> None:
    """Write a model with random weights in which eos has almost no probability."""
    import torch

    from yakusu.model.architectures import build

    settings = {"output_bias": True, **shape.settings}
    config = yakusu.load_recipe(shape.recipe).model.model_copy(update=settings)
    assert isinstance(config, TransformerConfig)
    torch.manual_seed(seed)
    vocab_size = shape.vocab_size
    model = build(config, src_vocab_size=vocab_size, tgt_vocab_size=vocab_size)
    weights = {name: each.detach().numpy() for name, each in model.weights().items()}
    weights["output_bias"] = np.zeros(vocab_size - 1, np.float32)
    weights["output_bias"][EOS] = UNLIKELY
    tokens = ["</s>", "<unk>", *(f"t{i}" for i in range(2, vocab_size - 1))]
    out.mkdir(parents=True)
    _write(out, config, weights, source=tokens, target=tokens, never=[1])


def random_sources(n: int, shape: Shape, *, lengths: tuple[int, int], seed: int) -> list[list[int]]:
    """Sentences of random ids, of lengths between two limits, eos included."""
    numbers = np.random.default_rng(seed)
    sizes = numbers.integers(lengths[0], lengths[1] + 1, n)
    return [[*numbers.integers(2, shape.vocab_size - 1, size - 1).tolist(), EOS] for size in sizes]


def _pieces(path: Path) -> list[str]:
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [model.id_to_piece(i) for i in range(len(model))]


def _write(
    out: Path,
    config: TransformerConfig,
    weights: dict[str, Any],
    *,
    source: list[str],
    target: list[str],
    never: list[int],
) -> None:
    info = {
        "model": config.model_dump(mode="json"),
        "source": source,
        "target": target,
        "never": never,
    }
    (out / NAME).write_text(json.dumps(info), encoding="utf-8")
    floats = {name: np.ascontiguousarray(w, np.float32) for name, w in weights.items()}
    save_file(floats, out / "model.safetensors")
