"""A small translator with random weights."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.translators import ENGINES, Engine, decoder_of, sharpened
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import TokenizerConfig
from yakusu.model.config import TransformerConfig
from yakusu.model.transformer import Transformer
from yakusu.search.config import SearchConfig
from yakusu.translator import Translator

WORDS = ("the", "red", "boat", "sails", "home", "slowly", "under", "two", "small", "clouds")


def _make(engine: Engine = "torch", **sizes: Any) -> Translator:
    corpus = [" ".join(words) for words in itertools.permutations(WORDS, 3)]
    tokenizer = Tokenizer.train(
        corpus,
        corpus,
        TokenizerConfig(byte_fallback=False, placeholder_share=0, vocab_size=48),
        seed=1,
    )
    torch.manual_seed(0)
    config = TransformerConfig(
        **{"n_layers": 2, "d_model": 32, "d_ff": 64, "n_heads": 4, "tied": "none", **sizes}
    )
    model = Transformer(
        config, src_vocab_size=tokenizer.src_vocab_size, tgt_vocab_size=tokenizer.tgt_vocab_size
    )
    with torch.no_grad():  # sharper attention, so that the heads differ
        for layers in model.attention_layers().values():
            for layer in layers:
                layer.w_qkv.mul_(3.0)
    return Translator(
        decoder_of(sharpened(model), engine),
        tokenizer,
        languages=("en", "xx"),
        search=SearchConfig(max_extra=5),
    )


@pytest.fixture
def make_translator() -> Callable[..., Translator]:
    """Return a function that creates a translator: make_translator(engine, n_layers=..., ...)."""
    return _make


@pytest.fixture(params=ENGINES)
def translator(request: pytest.FixtureRequest) -> Translator:
    """A translator that each engine runs."""
    return _make(request.param)


@pytest.fixture
def torch_translator() -> Translator:
    return _make()
