"""Maps contain the model's attention weights and the right tokens; bad input is rejected."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.translators import network_of
from yakusu.data.vocabulary import EOS, UNK
from yakusu.engine.decoder import NativeDecoder
from yakusu.errors import DataError, ModelError
from yakusu.model.ensemble import Ensemble
from yakusu.model.transformer import Transformer
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.translator import Translator
from yakusu.view import AttentionMaps, Token, attention_maps
from yakusu.view.maps import MAX_TOKENS, START, _token

SRC, TGT = "the red boat", "two small clouds sails"


def texts(tokens: tuple[Token, ...]) -> list[str]:
    return [token.text for token in tokens]


def joined(tokens: tuple[Token, ...]) -> str:
    return "".join(" " * token.spaced + token.text for token in tokens).strip()


@pytest.fixture
def maps(translator: Translator) -> AttentionMaps:
    return attention_maps(translator, SRC, TGT)


def test_maps_equal_the_attention_of_the_model(
    translator: Translator, torch_translator: Translator, maps: AttentionMaps
) -> None:
    src, tgt = (torch.tensor(translator.tokenizer.encode_source([text])) for text in (SRC, TGT))
    seen = network_of(torch_translator).attentions(src, tgt)
    assert seen.keys() == maps.weights.keys() == {"encoder", "decoder", "cross"}
    for role, weights in seen.items():
        expected = weights[0].detach().numpy()
        np.testing.assert_allclose(maps.weights[role], expected, rtol=0, atol=1e-5)


def test_tokens_join_to_the_sentence_and_end_in_eos(maps: AttentionMaps) -> None:
    for tokens, sentence in ((maps.source, SRC), (maps.target, TGT)):
        assert joined(tokens) == f"{sentence}</s>"
        assert [token.special for token in tokens] == [False] * (len(tokens) - 1) + [True]


def test_decoder_rows_are_predicted_tokens_and_columns_are_read_tokens(
    translator: Translator, maps: AttentionMaps
) -> None:
    rows, columns = maps.axes("decoder")
    assert (rows.what, columns.what) == ("predicted", "read")
    assert columns.tokens == (START, *rows.tokens[:-1])
    assert texts(rows.tokens)[-1] == "</s>"
    assert not np.triu(maps.weights["decoder"], 1).any()
    # The decoder predicts the last token before eos in the row before it reads that token.
    *tgt, last, eos = translator.tokenizer.encode_target([TGT])[0]
    (src,) = translator.tokenizer.encode_source([SRC])
    other = [*tgt, 5 if last != 5 else 6, eos]
    ((moved,),) = translator.decoder.attentions([(src, other)], ["decoder"])
    own = maps.weights["decoder"]
    np.testing.assert_array_equal(moved["decoder"][:, :, :-1], own[:, :, :-1])
    assert (moved["decoder"][:, :, -1] != own[:, :, -1]).any()


def test_cross_rows_are_predicted_tokens_and_columns_are_source_tokens(maps: AttentionMaps) -> None:
    assert [axis.what for axis in maps.axes("cross")] == ["predicted", "source"]
    assert [axis.what for axis in maps.axes("encoder")] == ["source", "source"]
    for role, weights in maps.weights.items():
        assert weights.shape == (2, 4, *(len(axis.tokens) for axis in maps.axes(role)))


def test_the_default_target_is_the_models_translation(translator: Translator) -> None:
    maps = attention_maps(translator, SRC)
    assert maps.tgt == translator.translate([SRC])[0]
    (ids,) = translator.tokenizer.encode_source([SRC])
    found = translator.hypotheses([(SRC, ids)])[0][0].tokens
    assert len(maps.target) == len(found) + 1  # and eos


def test_unknown_pieces_keep_their_text(translator: Translator) -> None:
    maps = attention_maps(translator, f"{SRC} 東京", f"{TGT} ∑")
    assert Token("東京", special=True) in maps.source
    assert Token("∑", special=True) in maps.target


def test_whitespace_around_a_sentence_is_ignored(
    translator: Translator, maps: AttentionMaps
) -> None:
    other = attention_maps(translator, f"  {SRC}\n", f"\t{TGT} ")
    assert other.as_json() == maps.as_json()


@pytest.mark.parametrize(
    ("id_", "piece", "token"),
    [
        (7, "▁red", Token("red", spaced=True)),
        (7, "day", Token("day")),
        (7, "電車", Token("電車")),
        (7, "▁", Token("␣", spaced=True, special=True)),
        (EOS, "</s>", Token("</s>", special=True)),
        (UNK, "<unk>", Token("<unk>", special=True)),
        (UNK, "▁東京", Token("東京", spaced=True, special=True)),
        (7, "a\x00\x1b", Token("a\ufffd\ufffd")),
        (7, "a\ufffe\uffff", Token("a\ufffd\ufffd")),
        (7, "a▁b", Token("a b")),
    ],
)
def test_a_piece_becomes_readable_text(id_: int, piece: str, token: Token) -> None:
    assert _token(id_, piece) == token


def test_json_contains_tokens_and_weights_with_four_decimals(maps: AttentionMaps) -> None:
    read = json.loads(json.dumps(maps.as_json()))
    assert (read["format"], read["src"], read["tgt"]) == (1, SRC, TGT)
    assert read["roles"]["decoder"]["columns"]["what"] == "read"
    assert read["roles"]["cross"]["rows"]["tokens"][0] == {
        "text": maps.target[0].text,
        "spaced": True,
        "special": False,
    }
    for role, weights in maps.weights.items():
        written = np.array(read["roles"][role]["weights"])
        np.testing.assert_allclose(written, weights, atol=0.5001e-4, rtol=0)
        assert all(len(repr(value)) <= 6 for value in written.ravel().tolist())


def test_for_bertviz_returns_the_shapes_that_bertviz_documents(maps: AttentionMaps) -> None:
    given = maps.for_bertviz()
    n_src, n_tgt = len(maps.source), len(maps.target)
    shapes = {
        "encoder_attention": (1, 4, n_src, n_src),
        "decoder_attention": (1, 4, n_tgt, n_tgt),
        "cross_attention": (1, 4, n_tgt, n_src),
    }
    for name, shape in shapes.items():
        assert [tuple(layer.shape) for layer in given[name]] == [shape] * 2
    assert given["encoder_tokens"] == texts(maps.source)
    assert given["decoder_tokens"] == ["(start)", *texts(maps.target[:-1])]


@pytest.mark.filterwarnings("ignore")
def test_bertviz_accepts_the_result_of_for_bertviz(maps: AttentionMaps) -> None:
    bertviz = pytest.importorskip("bertviz")
    for view in (bertviz.head_view, bertviz.model_view):
        assert "(start)" in view(**maps.for_bertviz(), html_action="return").data


# ---- errors -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("src", "tgt", "side"), [("", TGT, "source"), (" \n", None, "source"), (SRC, " ", "target")]
)
def test_an_empty_sentence_is_rejected(
    translator: Translator, src: str, tgt: str | None, side: str
) -> None:
    with pytest.raises(DataError, match=f"the {side} sentence is empty"):
        attention_maps(translator, src, tgt)


def test_the_error_for_an_empty_translation_says_that_the_model_made_it(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = [[Hypothesis((), -math.inf, -math.inf)]]
    monkeypatch.setattr(translator, "hypotheses", lambda jobs, batch: empty)
    with pytest.raises(DataError, match="the model's own translation is empty"):
        attention_maps(translator, SRC)


@pytest.mark.parametrize(
    ("src", "tgt", "side"), [("a \udcff", TGT, "source"), (SRC, "b \ud800", "target")]
)
def test_a_lone_surrogate_is_rejected(
    translator: Translator, src: str, tgt: str, side: str
) -> None:
    with pytest.raises(
        DataError, match=rf"the {side} sentence, character 3: '\\ud\w+' is not valid text"
    ):
        attention_maps(translator, src, tgt)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_sentence_that_is_too_long_is_rejected_not_truncated(
    translator: Translator, side: str
) -> None:
    long = "boat " * MAX_TOKENS
    src, tgt = (long, SRC) if side == "source" else (SRC, long)
    n_tokens = len(translator.tokenizer.encode_source([long.strip()])[0])
    with pytest.raises(
        DataError,
        match=rf"the {side} sentence 'boat .*' has {n_tokens} tokens, .* limit is {MAX_TOKENS}: ",
    ):
        attention_maps(translator, src, tgt)


def test_a_shorter_limit_of_the_model_applies(
    make_translator: Callable[..., Translator],
) -> None:
    short = make_translator(positions="learned", max_positions=5)
    with pytest.raises(
        DataError, match=r"the source sentence .* the limit is 5: shorten the sentence"
    ):
        attention_maps(short, "the red boat sails home slowly")


def test_a_model_without_attention_is_rejected(
    torch_translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Transformer, "attention_layers", lambda model: {})
    with pytest.raises(ModelError, match="this model has no attention to show"):
        attention_maps(torch_translator, SRC)


def test_an_ensemble_is_rejected(translator: Translator) -> None:
    if isinstance(translator.decoder, NativeDecoder):
        translator.decoder.models = [*translator.decoder.models] * 2
    else:
        network = network_of(translator)
        translator.decoder = TorchDecoder(Ensemble([network, network]))
    with pytest.raises(ModelError, match="use a single model with attention"):
        attention_maps(translator, SRC)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"layer": 3}, "there is no layer 3 of cross attention: choose from 1 to 2"),
        ({"layer": 0}, "there is no layer 0"),
        ({"layer": -1}, "there is no layer -1"),
        ({"role": "encoder", "layer": 9}, "no layer 9 of encoder attention"),
    ],
)
def test_an_invalid_layer_is_rejected(
    maps: AttentionMaps, chosen: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        maps.select_layer(**chosen)


def test_a_missing_role_is_rejected_and_the_first_role_is_the_default(
    maps: AttentionMaps,
) -> None:
    del maps.weights["cross"]
    with pytest.raises(DataError, match="no cross attention: choose encoder or decoder"):
        maps.select_layer("cross")
    assert maps.select_layer()[:2] == ("encoder", 2)
