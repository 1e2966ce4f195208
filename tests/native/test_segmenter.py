"""Encoding and decoding in C equal SentencePiece's, to the last id and byte."""

import io
import os
import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import sentencepiece as spm

from tests.cases import THOROUGH, examples, some
from tests.native.segmenters import Segmenter, difference
from yakusu.data.vocabulary import TokenizerConfig, learn

SYMBOLS = ["<BT>", "<BT>y", "q q", "the", "ö"]
TEXTS = [
    *("", " ", " a", "a ", "a  b", "\t\n tab\nnl", "\u3000", "\u00a0x\u2003y", "\u2581", "\u200b"),
    *("\u200b a", "a\u200b", "a\u200bb\u200dc\ufeffd", "\0a\x01", "\ufffd", "\U0010ffff\ue000"),
    *("ﬁne ﷺ ﷽ ½ ² ™ Å A\u030a é e\u0301 x\u0301\u0302", "ｆｕｌｌ ﾊﾝｶｸ ｶﾞ", "Ⅷ ㎏ ㍿ ﬃ", "İı ẞ"),
    *("日本語のテキスト。中文字符", "한국어 조선말", "नमस्ते ไทย العربية", "👩‍👩‍👧‍👦 🇩🇪 😀"),
    *("<s></s><unk><0x41>▁▁x▁ y", "<BT><BT>x <BT>y z<BT", "a<BT>b", "▁<BT>▁", "q q q  q"),
    *("12345 1,234.5", "x" * 30, "ab" * 40, "theöthe the"),
]
INVALID = {
    b"\xff": "\ufffd",
    b"a\xc3": "a\ufffd",
    b"\xe6\x97": "\ufffd\ufffd",
    b"\xed\xa0\x80x": "\ufffd\ufffd\ufffdx",
    b"\xf4\x90\x80\x80": "\ufffd" * 4,
    b"\xc0\x80": "\ufffd\ufffd",
    b"\xf8\x88\x80": "\ufffd" * 3,
    b"a\x80b\xf0\x9f\x98": "a\ufffdb\ufffd\ufffd\ufffd",
}
WORDS = ["the", "dog", "runs", "in", "a", "park", "with", "two", "children", "red", "höher", "öl"]
KINDS = ["bpe", "unigram"]
SPACES: list[dict[str, Any]] = [
    {},
    {"remove_extra_whitespaces": False},
    {"add_dummy_prefix": False},
    {"add_dummy_prefix": False, "remove_extra_whitespaces": False},
]
OTHERS = list(product(("nmt_nfkc", "nmt_nfkc_cf", "identity"), (True, False), SPACES))


def sentences(n: int) -> Iterator[str]:
    """Random sentences, some of them with characters of `TEXTS`."""
    generator, characters = random.Random(7), "".join(TEXTS)
    for _ in range(n):
        words = generator.choices(WORDS, k=generator.randrange(12))
        others = generator.choices(characters, k=generator.randrange(12))
        mixed = [*words, *SYMBOLS, *others] if others else words
        yield generator.choice(["", " "]).join(generator.sample(mixed, len(mixed)))


def trained(kind: str, **options: Any) -> bytes:
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter([*sentences(400), *WORDS * 9]),
        model_writer=model,
        model_type=kind,
        vocab_size=600,
        hard_vocab_limit=False,
        character_coverage=0.98,
        user_defined_symbols=SYMBOLS,
        eos_id=0,
        unk_id=1,
        bos_id=-1,
        pad_id=-1,
        num_threads=1,
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def compare(proto: bytes, texts: list[str]) -> list[tuple[str, str]]:
    """The texts for which something differs from SentencePiece, with its name."""
    model, own = spm.SentencePieceProcessor(model_proto=proto), Segmenter(proto)
    found = [(what, text) for text in texts if (what := difference(model, own, text))]
    own.close()
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rule", "byte_fallback", "spaces"), some(OTHERS))
def test_ids_origins_and_texts_are_those_of_sentencepiece(
    kind: str, rule: str, byte_fallback: bool, spaces: dict[str, Any]
) -> None:
    options = {"normalization_rule_name": rule, "byte_fallback": byte_fallback, **spaces}
    proto = trained(kind, **options)
    assert compare(proto, [*TEXTS, *sentences(examples(600))]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_that_are_not_utf8_become_replacement_characters(kind: str) -> None:
    proto = trained(kind, byte_fallback=True, normalization_rule_name="identity")
    model, own = spm.SentencePieceProcessor(model_proto=proto), Segmenter(proto)
    for data, text in INVALID.items():
        assert own.encode(data).text.decode() == f"\u2581{text}", data
        assert own.encode(data).ids == model.encode(text), data
    own.close()


@pytest.mark.parametrize("kind", KINDS)
def test_long_words_are_divided_as_by_sentencepiece(kind: str) -> None:
    texts = [
        "x" * 20_000,
        "ab" * 10_000,
        "日本" * 5_000,
        " ".join(WORDS * 500),
        "".join(WORDS * 500),
    ]
    model, own = spm.SentencePieceProcessor(model_proto=trained(kind)), Segmenter(trained(kind))
    for text in texts:
        assert own.encode(text.encode()).ids == model.encode(text)
    own.close()


def test_foreign_pieces_are_only_decoded_to_themselves() -> None:
    proto = trained("bpe")
    model = spm.SentencePieceProcessor(model_proto=proto)
    token = model.encode("the dog")[-1]
    own = Segmenter(proto, {token: 0})
    assert token not in own.encode(b"the dog").ids
    assert own.decode([token]).text.decode() == model.id_to_piece(token)
    own.close()


def test_ids_that_the_vocabulary_lacks_add_nothing() -> None:
    own = Segmenter(trained("bpe"))
    assert own.decode([-1, 2**30, 0]).text == b""
    assert own.decode([-1, 2**30, 0]).ranges == [(0, 0)] * 3
    own.close()


def test_vocabularies_that_differ_from_those_of_training_are_refused() -> None:
    proto = trained("bpe")
    with pytest.raises(ValueError, match="not a vocabulary"):
        Segmenter(proto, {1: 2 + 1})  # no unknown token
    with pytest.raises(ValueError, match="not a vocabulary"):
        Segmenter(proto, {20: 5})  # an unused piece, which BPE would have to divide again


@pytest.mark.data
@pytest.mark.skipif("YAKUSU_DATA" not in os.environ, reason="YAKUSU_DATA is not set")
@pytest.mark.skipif(not THOROUGH, reason="needs YAKUSU_TESTS=thorough")
@pytest.mark.parametrize("kind", KINDS)
def test_lines_of_corpora_are_encoded_as_by_sentencepiece(kind: Any) -> None:
    data = Path(os.environ["YAKUSU_DATA"])
    paths = [data / name for name in ("multi30k/train.de", "enja/train.en", "enja/train.ja")]
    texts = [line for path in paths for line in path.read_text("utf-8").splitlines()]
    assert len(texts) > 100_000
    model = learn(texts[::4], TokenizerConfig(kind=kind), 0, side="joint")
    assert compare(model.serialized_model_proto(), texts) == []
