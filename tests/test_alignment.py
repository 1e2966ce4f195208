"""Word alignments: words of pieces, links, the Pharaoh format, and the alignment error rate."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translators import ENGINES, decoder_of
from yakusu.alignment import (
    alignment_error_rate,
    content_words,
    pharaoh,
    read_pharaoh,
    token_weights,
    word_links,
    word_weights,
)
from yakusu.arrays import Floats
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS, TokenizerConfig
from yakusu.errors import DataError
from yakusu.model.base import Seq2Seq
from yakusu.model.ensemble import Ensemble
from yakusu.search.decoder import Decoder, IdPair
from yakusu.search.torch_decoder import TorchDecoder

GOLD = Path(__file__).parent / "fixtures" / "alignment"


def read(name: str) -> list[str]:
    return (GOLD / f"{name}.txt").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    """A joint vocabulary, with a few words of several pieces each."""
    config = TokenizerConfig(
        kind=request.param,
        vocab_size=220,
        normalization="nmt_nfkc",  # changes the length of words
        character_coverage=1.0,
        byte_fallback=False,
        placeholder_share=0,
    )
    return Tokenizer.train(read("en"), read("de"), config, seed=1)


# ---- words of pieces -----------------------------------------------------------------------------


def text_of_words(tokenizer: Tokenizer, sentence: str) -> list[str]:
    """The pieces that belong to each word, concatenated."""
    words = [""] * len(sentence.split())
    for piece, word in zip(
        tokenizer.source_surfaces(sentence)[:-1], tokenizer.source_words(sentence), strict=True
    ):
        words[word] += piece.replace("▁", "")
    return words


def test_every_piece_belongs_to_its_word(tokenizer: Tokenizer) -> None:
    for sentence in [*read("en"), *read("de")]:
        assert text_of_words(tokenizer, sentence) == sentence.split()


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("  the   dog ", ["the", "dog"]),
        ("the\u3000dog", ["the", "dog"]),  # a full-width space
        ("the\tdog\u00a0sits", ["the", "dog", "sits"]),
        ("the ½ dog", ["the", "1⁄2", "dog"]),  # three characters from one
        ("the ﬁsh sits", ["the", "fish", "sits"]),  # a ligature
        ("ｔｈｅ ㌔ dog", ["the", "キロ", "dog"]),
        ("e\u0301 dog", ["é", "dog"]),  # one character from two
        ("the\u200bdog sits", ["thedog", "sits"]),  # only white space separates words
        ("東京に行く", ["東京に行く"]),
        ("“the dog”, (sits)", ["“the", "dog”,", "(sits)"]),
        ("¿the ...dog", ["¿the", "...dog"]),
        ("the ▁ dog", ["the", "", "dog"]),  # SentencePiece's sign of a space has no piece
        ("", []),
        (" \u3000", []),
    ],
)
def test_words_are_those_of_the_original_text(
    sentence: str, words: list[str], tokenizer: Tokenizer
) -> None:
    assert text_of_words(tokenizer, sentence) == words


def test_a_piece_that_is_a_space_belongs_to_the_next_word(tokenizer: Tokenizer) -> None:
    sentence = "the 東京"
    assert tokenizer.source_surfaces(sentence)[-3:-1] == ["▁", "東京"]
    assert tokenizer.source_words(sentence)[-2:] == [1, 1]


_ANY = Tokenizer.train(
    read("en"),
    read("de"),
    TokenizerConfig(byte_fallback=False, placeholder_share=0, vocab_size=220),
    seed=1,
)


@given(sentence=st.text(st.sampled_from("ab ½ﬁ\u3000\u200b▁\t\u0301.東ｔ\x85"), max_size=12))
def test_each_piece_of_any_text_has_a_word(sentence: str) -> None:
    tokenizer = _ANY
    words = tokenizer.source_words(sentence)
    assert len(words) == len(tokenizer.encode_source([sentence])[0]) - 1
    assert words == sorted(words)
    assert set(words) <= set(range(max(1, len(sentence.split()))))


# ---- attention -----------------------------------------------------------------------------------

ARCHITECTURES = ["transformer", "convolutional", "recurrent"]
SRC = [[2, 3, 4, 5, 6, EOS], [7, 3, EOS], [5, 5, 9, EOS]]
TGT = [[3, 4, EOS], [8, 2, 6, 6, 4, EOS], [10, EOS]]
PAIRS = list(zip(SRC, TGT, strict=True))


def weights_of(decoder: Decoder, pairs: Sequence[IdPair]) -> list[Floats]:
    """A of each pair."""
    found = decoder.attentions(pairs, ["cross"])
    return [token_weights([maps["cross"] for maps in members]) for members in found]


def cross(model: Seq2Seq, pair: IdPair) -> Floats:
    """The cross-attention of a pair: (N, H, T, S)."""
    ((maps,),) = TorchDecoder(model).attentions([pair], ["cross"])
    assert maps.keys() == {"cross"}
    return maps["cross"]


@pytest.mark.parametrize("name", [*ARCHITECTURES, "native"])
def test_weights_of_a_sentence_are_the_same_bits_in_every_batch(
    name: str, tiny: Callable[..., Seq2Seq]
) -> None:
    one = decoder_of(tiny(), "native") if name == "native" else decoder_of(tiny(name))
    pairs = [*PAIRS, ([*range(2, 11)] * 3 + [EOS], [*range(2, 11)] * 2 + [EOS]), PAIRS[0]]
    for weights, pair in zip(weights_of(one, pairs), pairs, strict=True):
        (alone,) = weights_of(one, [pair])
        assert weights.shape == (len(pair[1]), len(pair[0]))
        assert (weights > 0).all()
        np.testing.assert_array_equal(weights, alone)


def test_both_engines_have_the_same_weights(tiny: Callable[..., Seq2Seq]) -> None:
    model = tiny(n_layers=3)
    native, other = (weights_of(decoder_of(model, engine), PAIRS) for engine in ENGINES)
    for own, expected in zip(native, other, strict=True):
        np.testing.assert_allclose(own, expected, rtol=0, atol=1e-6)


def test_the_first_layer_counts_where_it_reads_a_token_and_others_where_they_predict_it(
    tiny: Callable[..., Seq2Seq],
) -> None:
    weights = cross(tiny(n_layers=3), PAIRS[0])
    squares, found = np.square(weights).mean(axis=1), token_weights([weights])  # (N, T, S)
    for t in range(2):  # the tokens before eos
        expected = (squares[1, t] + squares[2, t]) / 2 + squares[0, t + 1]
        np.testing.assert_allclose(found[t], expected, rtol=1e-6)


def test_a_single_layer_counts_where_it_predicts_a_token(tiny: Callable[..., Seq2Seq]) -> None:
    weights = cross(tiny(n_layers=1), PAIRS[0])  # (1, H, T, S)
    np.testing.assert_allclose(
        token_weights([weights]), np.square(weights[0]).mean(axis=0), rtol=1e-6
    )


def test_only_cross_attention_is_computed(
    tiny: Callable[..., Seq2Seq], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny()
    for role in ("encoder", "decoder"):
        for layer in model.attention_layers()[role]:
            monkeypatch.setattr(type(layer), "weights", lambda *_: pytest.fail("not needed"))
    assert cross(model, PAIRS[0]).shape == (2, 2, 3, 6)


def test_an_ensemble_has_the_mean_weights_of_its_members(tiny: Callable[..., Seq2Seq]) -> None:
    members = [tiny("transformer", seed=1), tiny("convolutional"), tiny("recurrent", seed=2)]
    mean = sum(weights_of(TorchDecoder(member), PAIRS)[0] for member in members) / 3
    found = weights_of(TorchDecoder(Ensemble(members)), PAIRS)[0]
    np.testing.assert_allclose(found, mean, rtol=1e-6)


def test_a_model_without_cross_attention_has_no_such_role(tiny: Callable[..., Seq2Seq]) -> None:
    model = tiny("recurrent", attention="none")
    for own in (model, Ensemble([tiny(), model])):
        assert "cross" not in TorchDecoder(own).roles


def test_a_model_that_copies_aligns_the_diagonal(copy_task: Any) -> None:
    sentences = copy_task.unseen
    found = weights_of(TorchDecoder(copy_task.model), [(ids, ids) for ids in sentences])
    n_right = n_links = 0
    for weights, sentence in zip(found, sentences, strict=True):
        words = range(len(sentence) - 1)
        links = word_links(weights, words, words)
        n_right += sum(source == target for source, target in links)
        n_links += len(links)
    assert n_links == sum(len(sentence) - 1 for sentence in sentences)
    assert n_right / n_links > 0.9


# ---- links ---------------------------------------------------------------------------------------


def array(rows: Sequence[Sequence[float]]) -> Floats:
    return np.array(rows, np.float32)


def test_pieces_are_summed_over_source_words_and_averaged_over_target_words() -> None:
    weights = array([[0.4, 0.3, 0.2, 0.1], [0.2, 0.1, 0.1, 0.6], [0.0, 0.0, 0.5, 0.5]])
    expected = array([[0.5, 0.15], [0.0, 0.5]])  # eos, the last source token, is left out
    np.testing.assert_allclose(word_weights(weights, [0, 0, 1], [0, 0, 1]), expected, atol=1e-7)


def test_a_target_word_links_to_the_source_word_with_the_largest_share() -> None:
    # Source word 1 receives the most weight from every target word: 0.5 of 1.1, and 0.6 of 1.1.
    weights = array([[0.4, 0.5, 0.1], [0.1, 0.6, 0.3]])
    assert word_links(weights, [0, 1], [0, 1]) == [(0, 0), (1, 1)]


def test_eos_and_padding_are_never_linked() -> None:
    weights = array([[0.1, 0.0, 0.9, 0.0], [0.0, 0.1, 0.9, 0.0], [0.5, 0.5, 0.0, 0.0]])
    assert word_links(weights, [0, 1], [0, 1]) == [(0, 0), (1, 1)]


def test_punctuation_belongs_to_no_word_that_has_other_pieces() -> None:
    words, pieces = [0, 0, 1, 2, 2, 2, 3], ["▁", "A", "▁–", "▁“", "b", "”.", "▁7"]
    assert content_words(words, [*pieces, "</s>"]) == [-1, 0, 1, -1, 2, -1, 3]
    assert content_words([0, 0], ["▁", "—"]) == [0, 0]  # a word of punctuation only
    assert content_words([], ["</s>"]) == []


def test_full_stops_do_not_link_the_last_words() -> None:
    # The words are "b a." and "a b."; the full stops attend to each other.
    weights = array([[0.1, 0.9, 0.0], [0.8, 0.1, 0.1], [0.0, 0.1, 0.9]])
    src, tgt = (
        content_words([0, 1, 1], pieces) for pieces in (["▁b", "▁a", "."], ["▁a", "▁b", "."])
    )
    assert word_links(weights, src, tgt) == [(0, 1), (1, 0)]


def test_a_sentence_without_words_has_no_links() -> None:
    weights = np.ones((1, 1), np.float32)
    assert word_links(weights, [], [0]) == word_links(weights, [0], []) == []


def test_a_word_without_pieces_has_no_links() -> None:
    weights = array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]])
    assert word_links(weights, [0, 2], [1, 2]) == [(0, 1), (2, 2)]


# ---- the format and the error rate ---------------------------------------------------------------


def test_links_are_written_in_the_pharaoh_format() -> None:
    assert pharaoh([(0, 0), (1, 2), (10, 11)]) == "0-0 1-2 10-11"
    assert pharaoh([]) == ""


def test_what_is_written_is_read() -> None:
    links = {(0, 0), (1, 2), (10, 11)}
    assert read_pharaoh(pharaoh(links)) == (links, links)
    assert read_pharaoh("0-0 1?2") == ({(0, 0)}, {(0, 0), (1, 2)})


@pytest.mark.parametrize("word", ["1", "1-", "1-2-3", "a-1", "-1-2", "1–2"])
def test_what_is_not_a_link_is_reported(word: str) -> None:
    with pytest.raises(DataError, match=f"^'{word}' is not a link: write 3-4"):
        read_pharaoh(f"0-0 {word}")


def test_the_error_rate_equals_values_computed_by_hand() -> None:
    sure, possible = [{(0, 0), (1, 1), (2, 2)}], [{(2, 3)}]
    # |L & U| = 2, |L & P| = 3, |L| = 3, |U| = 3
    assert alignment_error_rate([{(0, 0), (1, 1), (2, 3)}], sure, possible) == pytest.approx(1 / 6)
    assert alignment_error_rate(sure, sure, possible) == 0
    assert alignment_error_rate([sure[0] | possible[0]], sure, possible) == 0
    assert alignment_error_rate([{(5, 5)}], sure, possible) == 1
    assert alignment_error_rate([set()], sure, possible) == 1


def test_the_error_rate_counts_the_links_of_all_sentences() -> None:
    sure = [{(0, 0)}, {(0, 0), (1, 1), (2, 2)}]
    links = [{(0, 1)}, {(0, 0), (1, 1), (2, 2)}]
    assert alignment_error_rate(links, sure, sure) == pytest.approx(1 - 6 / 8)


def test_sentences_that_do_not_match_are_refused() -> None:
    with pytest.raises(DataError, match=r"links of 1 sentences, .* sure links of 2"):
        alignment_error_rate([[(0, 0)]], [[(0, 0)], []], [[], []])
    with pytest.raises(DataError, match="no sentence has a link"):
        alignment_error_rate([[]], [[]], [[(0, 0)]])


# ---- gold alignments -----------------------------------------------------------------------------


def test_the_gold_alignments_are_well_formed() -> None:
    sources, targets, gold = (
        [line.split() for line in read(name)] for name in ("en", "de", "gold")
    )
    assert len(sources) == len(targets) == len(gold) == 50
    for src, tgt, words in zip(sources, targets, gold, strict=True):
        sure, possible = read_pharaoh(" ".join(words))
        assert sure and len(possible) == len(words)  # no pair of words is linked twice
        assert 5 <= len(src) <= 16 and 5 <= len(tgt) <= 16
        assert {source for source, _ in possible} == set(range(len(src)))
        assert {target for _, target in possible} == set(range(len(tgt)))
