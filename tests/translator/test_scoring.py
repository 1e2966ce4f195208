"""The log-probability of translations given as text; both engines agree."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.translators import ENGINES, Engine, decoder_of, sharpened, small_tokenizer, untrained
from yakusu.data.lines.placeholders import IS_SLOT
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import UNK
from yakusu.errors import DataError
from yakusu.model.base import Seq2Seq
from yakusu.search.config import SearchConfig
from yakusu.search.hypothesis import length_penalty
from yakusu.translator import Translator
from yakusu.translator.scoring import Scored

Tiny = Callable[..., Seq2Seq]
WORDS = ("the", "red", "boat", "sails", "home", "slowly", "under", "two", "small", "clouds")
SENTENCES = [" ".join(words) for n in (1, 2, 3) for words in itertools.permutations(WORDS[:5], n)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return small_tokenizer(WORDS)


def translator(tokenizer: Tokenizer, tiny: Tiny, engine: Engine, **options: int) -> Translator:
    model = sharpened(tiny(vocab_size=tokenizer.src_vocab_size, d_model=32, n_heads=4, tied="none"))
    search, decoder = SearchConfig(max_extra=5), decoder_of(model, engine, **options)
    return Translator(decoder, tokenizer, languages=("en", "xx"), search=search)


@pytest.fixture(params=ENGINES)
def ours(tokenizer: Tokenizer, tiny: Tiny, request: pytest.FixtureRequest) -> Translator:
    """A translator that each engine runs."""
    return translator(tokenizer, tiny, request.param)


def score_one(translator: Translator, source: str, target: str, **options: Any) -> Scored:
    (found,) = translator.score([source], [target], **options)
    return found


def test_scores_come_in_order_and_do_not_depend_on_batch_and_window(ours: Translator) -> None:
    targets = SENTENCES[::-1]
    whole = list(ours.score(SENTENCES, targets))
    assert whole == list(ours.score(SENTENCES, targets, batch=3, window=10))
    assert whole[7] == score_one(ours, SENTENCES[7], targets[7])


def test_both_engines_give_the_same_scores(tokenizer: Tokenizer, tiny: Tiny) -> None:
    sources, targets = [*SENTENCES, "", "the 訳"], [*SENTENCES[::-1], "home", "訳 red"]
    found, expected = (
        list(translator(tokenizer, tiny, engine).score(sources, targets, alternatives=4))
        for engine in ENGINES
    )
    for own, other in zip(found, expected, strict=True):
        assert (own.tokens, own.n_tokens) == (other.tokens, other.n_tokens)
        assert own.token_log_probs == pytest.approx(other.token_log_probs, abs=1e-5)
        assert own.score == pytest.approx(other.score, abs=1e-5)
        for best, of_other in zip(own.alternatives, other.alternatives, strict=True):
            assert [piece for piece, _ in best] == [piece for piece, _ in of_other]
            values = [log_prob for _, log_prob in of_other]
            assert [log_prob for _, log_prob in best] == pytest.approx(values, abs=1e-5)


def test_scores_do_not_depend_on_the_number_of_threads(tokenizer: Tokenizer, tiny: Tiny) -> None:
    one, three = (translator(tokenizer, tiny, "native", threads=n) for n in (1, 3))
    targets = SENTENCES[::-1]
    assert list(one.score(SENTENCES, targets)) == list(three.score(SENTENCES, targets, batch=4))


def test_the_fields_of_a_score_agree_with_each_other(ours: Translator) -> None:
    found = score_one(ours, "the red boat", "two small clouds", alternatives=3)
    assert found.log_prob == math.fsum(found.token_log_probs)
    assert found.score == found.log_prob / length_penalty(found.n_tokens, ours.search.alpha)
    assert found.n_tokens == len(found.tokens) == len(found.token_log_probs)
    assert "".join(found.tokens) == "▁two▁small▁clouds</s>"
    assert [len(best) for best in found.alternatives] == [3] * found.n_tokens


def test_the_stream_reads_only_one_window_ahead(ours: Translator) -> None:
    n_read = 0

    def endless() -> Iterator[str]:
        nonlocal n_read
        for sentence in itertools.cycle(SENTENCES):
            n_read += 1
            yield sentence

    found = ours.score(endless(), itertools.cycle(["home"]), batch=2, window=6)
    assert n_read == 0
    for _ in range(7):
        next(found)
    assert n_read == 12


def test_an_empty_side_is_only_the_end_of_the_sentence(ours: Translator) -> None:
    for source, target in (("the boat", ""), ("", " "), ("", "home")):
        found = score_one(ours, source, target)
        ids = ours.tokenizer.encode_source([source])[0], ours.tokenizer.encode_target([target])[0]
        (expected,) = ours.decoder.score([ids], alternatives=0, batch=1)
        assert found.log_prob == expected.log_prob
    assert score_one(ours, "", "").tokens == ("</s>",)


def test_a_character_outside_the_vocabulary_is_scored_as_the_unknown_token(
    ours: Translator,
) -> None:
    (ids,) = ours.tokenizer.encode_target(["home 訳"])
    assert UNK in ids
    found = score_one(ours, "the boat", "home 訳")
    (source,) = ours.tokenizer.encode_source(["the boat"])
    (expected,) = ours.decoder.score([(source, ids)], alternatives=0, batch=1)
    assert found.log_prob == expected.log_prob
    assert "訳" in found.tokens


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["bytes", "plain"])
def test_spans_are_shown_as_in_the_text(engine: Engine, kind: str) -> None:
    one = untrained(kind, engine=engine)
    sources = ["<b>Hund</b> {x} und 猫 oder %s", "Hund {x}", "Hund {x}"]
    targets = ["dog %s and 猫 <b>x</b> {x}", "dog", "\ue000 dog"]
    first, second, third = one.score(sources, targets, alternatives=4)
    spans = [token for token in first.tokens if token in ("{x}", "猫", "%s", "<b>", "</b>")]
    assert spans == ["%s", "猫", "{x}"]
    assert not IS_SLOT.search("".join(first.tokens + second.tokens))
    if kind == "bytes":
        assert third.tokens.count("<placeholder 1>") == 1
    shown = [piece for best in first.alternatives for piece, _ in best]
    assert not IS_SLOT.search("".join(shown))
    assert all(len({piece for piece, _ in best}) == len(best) for best in first.alternatives)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_tokens_of_a_translation_are_those_that_translating_shows(engine: Engine) -> None:
    one = untrained("bytes", engine=engine)
    source = "Hund {x} und " + " ".join(f"{{y{i}}} Katze" for i in range(12))
    (best,) = next(one.stream([source], details=True))
    assert best.details
    scored = score_one(one, source, best.text)
    spans = [token for token in scored.tokens if token.startswith("{")]
    assert spans == [token for token in best.details.tokens if token.startswith("{")]
    assert len(spans) == 13


def reading_at_most(translator: Translator, n_tokens: int) -> Translator:
    """A translator with another maximum length of sources."""
    return Translator(
        translator.decoder,
        translator.tokenizer,
        languages=translator.languages,
        search=translator.search,
        max_source_tokens=n_tokens,
    )


def test_text_that_is_too_long_is_refused_with_its_line_and_the_limit(ours: Translator) -> None:
    ours = reading_at_most(ours, 6)
    long = " ".join(SENTENCES[60:64])
    n_tokens = len(ours.tokenizer.encode_source([long])[0])
    for source, target, side, most in ((long, "home", "source", 6), ("home", long, "target", 11)):
        message = (
            f"line 3: the {side} has {n_tokens} tokens, more than the maximum of {most}: split"
        )
        with pytest.raises(DataError, match=message):
            list(ours.score(["the", "red", source], ["the", "red", target], window=2))


def test_the_longest_target_is_that_of_the_search(ours: Translator) -> None:
    target = " ".join(SENTENCES[60:64])
    n_tokens = len(ours.tokenizer.encode_target([target])[0])
    longest = n_tokens - ours.search.max_extra
    assert score_one(reading_at_most(ours, longest), "the", target).n_tokens == n_tokens
    with pytest.raises(DataError, match=f"the target has {n_tokens} tokens"):
        score_one(reading_at_most(ours, longest - 1), "the", target)


def test_different_numbers_of_sources_and_targets_are_refused_with_both(ours: Translator) -> None:
    for n_src, n_tgt in ((2, 3), (3, 2)):
        with pytest.raises(DataError) as error:
            list(ours.score(["the"] * n_src, ["red"] * n_tgt))
        assert str(error.value) == (
            f"the sources and the targets differ in length ({n_src} and {n_tgt} lines): align them "
            "line by line"
        )


def test_a_string_in_place_of_sentences_is_a_type_error(ours: Translator) -> None:
    with pytest.raises(TypeError, match=r"pass \[sentence\]"):
        list(ours.score("the boat", ["home"]))
