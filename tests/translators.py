"""Translators that either engine runs, and their folders."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import pytest
import torch

from tests.phrases import phrases
from yakusu.data.coverage import Coverage
from yakusu.data.lines.config import TextConfig
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import TokenizerConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.engine.library import MatrixFormat
from yakusu.engine.model import NativeModel
from yakusu.engine.workers import Threads
from yakusu.model.base import Seq2Seq
from yakusu.model.config import TransformerConfig
from yakusu.model.transformer import Transformer
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.search.decoder import Decoder
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.translator import Translation, Translator
from yakusu.translator.folder.folder import TranslatorConfig
from yakusu.translator.folder.network import save_translator

Engine = Literal["torch", "native"]
ENGINES: tuple[Engine, ...] = ("torch", "native")


def small_tokenizer(words: Iterable[str], *, languages: Sequence[str] = ()) -> Tokenizer:
    """A joint vocabulary of 48 tokens, without byte and placeholder tokens."""
    corpus = [" ".join(three) for three in itertools.permutations(words, 3)]
    return Tokenizer.train(
        corpus,
        corpus,
        TokenizerConfig(byte_fallback=False, placeholder_share=0, vocab_size=48),
        seed=1,
        languages=languages,
    )


def decoder_of(
    model: Seq2Seq,
    engine: Engine = "torch",
    *,
    threads: int = 1,
    matrices: MatrixFormat = MatrixFormat.FLOAT32,
) -> Decoder:
    """A model that an engine runs; torch in float32."""
    if engine == "torch":
        return TorchDecoder(model)
    weights = {name: weight.detach().numpy() for name, weight in model.weights().items()}
    sizes = {"src_vocab_size": model.src_vocab_size, "tgt_vocab_size": model.tgt_vocab_size}
    native = NativeModel.load(model.config, weights, (), **sizes, matrices=matrices)
    return NativeDecoder([native], Threads(threads))


@cache
def untrained(
    kind: str,
    beam: int = 2,
    sampling: bool = False,
    engine: Engine = "torch",
    threads: int = 1,
    matrices: MatrixFormat = MatrixFormat.FLOAT32,
) -> Translator:
    """An untrained translator whose vocabulary has slots and bytes, or neither."""
    pairs = phrases("de").train[:200]
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    config = (
        TokenizerConfig(vocab_size=400, character_coverage=0.99)
        if kind == "bytes"
        else TokenizerConfig(vocab_size=150, byte_fallback=False, placeholder_share=0)
    )
    tokenizer = Tokenizer.train(*sides, config, seed=1)
    source, target = ("".join(sorted({*"".join(side)})) for side in sides)
    if kind == "bytes":
        tokenizer.coverage = Coverage(
            source_characters=source, target_characters=target, longest_source=12
        )
    torch.manual_seed(3)
    model = Transformer(
        TransformerConfig(n_layers=1, d_model=16, d_ff=32, n_heads=2, tied="none"),
        **tokenizer.vocab_sizes,
    )
    search = SearchConfig(
        beam=beam, max_extra=3, sampling=SamplingConfig(seed=3) if sampling else None
    )
    decoder = decoder_of(sharpened(model), engine, threads=threads, matrices=matrices)
    text = TextConfig(check=False)  # its numbers are those of chance
    return Translator(decoder, tokenizer, languages=("de", "en"), search=search, text=text)


def opened_by_default() -> Translator:
    """`untrained("bytes")`, as a folder with it is opened by default."""
    return untrained("bytes", engine="native", matrices=MatrixFormat.INT16)


def network_of(translator: Translator) -> Seq2Seq:
    """The network of a translator that torch runs."""
    assert isinstance(translator.decoder, TorchDecoder)
    assert isinstance(translator.decoder.model, Seq2Seq)
    return translator.decoder.model


def config_of(translator: Translator) -> TranslatorConfig:
    """The config.json of a translator that torch runs."""
    source, target = translator.languages
    return TranslatorConfig(
        task=translator.task_name,
        source_language=source,
        target_language=target,
        **translator.tokenizer.vocab_sizes,
        model=network_of(translator).config,
        search=translator.search,
    )


def save(
    folder: Path,
    translator: Translator,
    *,
    documents: Mapping[str, str] = MappingProxyType({}),
    **changes: Any,
) -> Path:
    """Write a translator that torch runs as a model folder; `changes` are to its config.json."""
    weights = network_of(translator).weights()
    config = config_of(translator).model_copy(update=changes)
    save_translator(folder, weights, translator.tokenizer, config, documents=documents)
    return folder


def sharpened(model: Seq2Seq, factor: float = 3.0) -> Seq2Seq:
    """Scale the output weights of an untrained model, so that its hypotheses differ clearly."""
    with torch.no_grad():
        model.output_weight.data.mul_(factor)
    return model


def same_translations(
    found: Iterable[list[Translation]], expected: Iterable[list[Translation]]
) -> None:
    """Assert that translations are the same texts, and their scores equal to 1e-5."""
    for own, other in zip(found, expected, strict=True):
        assert [each.text for each in own] == [each.text for each in other]
        assert [each.n_tokens for each in own] == [each.n_tokens for each in other]
        for name in ("score", "log_prob"):
            values = [getattr(each, name) for each in other]
            assert [getattr(each, name) for each in own] == pytest.approx(values, abs=1e-5)
