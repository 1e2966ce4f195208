"""Forced prefixes: what follows them is what the search finds when it starts there."""

import random
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.cases import THOROUGH
from tests.search.naive import NaiveSearch
from yakusu.data.vocabulary import EOS
from yakusu.errors import DataError
from yakusu.model.base import Seq2Seq
from yakusu.search.config import SearchConfig
from yakusu.search.hypothesis import Hypothesis
from yakusu.translator import Translator
from yakusu.translator.request import Request

Clear = Callable[..., Seq2Seq]
Search = Callable[..., list[list[Hypothesis]]]
Sequences = Callable[..., list[list[int]]]
NAMES = ("transformer", "recurrent", "convolutional")
FIXTURES = Path(__file__).parents[1] / "fixtures" / "format-1"


@pytest.mark.parametrize("prefix", [(3,), (4, 2), (2, 2, 2)])
def test_a_wide_beam_finds_every_continuation_of_a_prefix(
    clear: Clear, search: Search, prefix: tuple[int, ...]
) -> None:
    # Words 2, 3 and 4; at most two words more than the prefix.
    model, source = clear(vocab_size=6), [2, EOS]
    config = SearchConfig(beam=100, n_best=100, max_extra=2, alpha=0.8, max_repeats=0)
    (found,) = search(model, [source], config, [prefix])
    rests = [rest for n in range(3) for rest in product((2, 3, 4), repeat=n)]
    assert {h.tokens for h in found} == {(*prefix, *rest) for rest in rests}
    assert len(found) == 1 + 3 + 9
    naive = NaiveSearch(model, source, config)
    for h in found:
        tokens = (*h.tokens, EOS)
        expected = sum(
            naive.next_log_probs([tokens[:end]])[0][token] for end, token in enumerate(tokens)
        )
        assert h.log_prob == pytest.approx(expected, abs=1e-4)
        assert h.score == pytest.approx(expected / ((5 + len(tokens)) / 6) ** 0.8, abs=1e-4)


def test_a_prefix_of_the_best_translation_gives_that_translation(
    clear: Clear, search: Search, sequences: Sequences
) -> None:
    ids, n_words = sequences(6, seed=1, vocab_size=6), list[int]()
    config = SearchConfig(beam=200, max_length=4, max_repeats=0)  # exhaustive
    for seed in range(2):
        model = clear(vocab_size=6, seed=seed)
        best = [found[0] for found in search(model, ids, config)]
        n_words += [len(h.tokens) for h in best]
        for length in range(5):
            again = search(model, ids, config, [h.tokens[:length] for h in best])
            for expected, (found,) in zip(best, again, strict=True):
                assert found.tokens == expected.tokens
                assert found.score == pytest.approx(expected.score, abs=1e-5)
    assert max(n_words) == 4


@pytest.mark.parametrize("beam", [1, 2, 4, 5])
def test_a_continuation_equals_that_of_the_naive_search(
    clear: Clear, search: Search, sequences: Sequences, beam: int
) -> None:
    numbers = random.Random(beam)
    for seed in range(4):
        model, ids = clear(vocab_size=9, seed=seed), sequences(5, seed=seed, vocab_size=9)
        config = SearchConfig(
            beam=beam,
            n_best=beam,
            alpha=numbers.choice((0.0, 0.6, 2.0)),
            margin=numbers.choice((None, 1.0)),
            max_extra=numbers.randint(0, 3),
            max_length=numbers.choice((None, 1, 5)),
            max_repeats=numbers.choice((0, 1, 2)),
            no_repeat_ngram=numbers.choice((0, 1, 2)),
        )
        prefixes = [numbers.choices(range(2, 8), k=numbers.randint(0, 6)) for _ in ids]
        found = search(model, ids, config, prefixes)
        for sentence, prefix, best in zip(ids, prefixes, found, strict=True):
            expected = NaiveSearch(model, sentence, config, prefix).run()
            assert [h.tokens for h in best] == [h.tokens for h in expected]
            assert [h.score for h in best] == pytest.approx([h.score for h in expected], abs=1e-4)


@pytest.mark.parametrize("beam", [1, 4])
def test_a_prefix_longer_than_the_source_and_max_length_is_kept(
    clear: Clear, search: Search, beam: int
) -> None:
    prefix = [5, 6, 7, 5, 5, 8, 9, 10, 4, 4, 3]
    for max_length in (1, 5, 11):
        config = SearchConfig(beam=beam, max_length=max_length)
        (found,) = search(clear(), [[3, EOS]], config, [prefix])
        assert [list(h.tokens) for h in found] == [prefix]
    config = SearchConfig(beam=beam, max_extra=2)
    (found,) = search(clear(), [[3, EOS]], config, [prefix])
    assert list(found[0].tokens[:11]) == prefix and len(found[0].tokens) <= 13


@pytest.mark.parametrize("length", [13, 14, 15])
def test_a_prefix_as_long_as_the_model_allows_is_kept(
    clear: Clear, search: Search, length: int
) -> None:
    model = clear(positions="learned", max_positions=16)
    (found,) = search(model, [[3, 4, EOS]], SearchConfig(), [[5] * length])
    assert found[0].tokens[:length] == (5,) * length
    assert len(found[0].tokens) <= model.max_length - 1


def test_an_empty_prefix_is_no_prefix(clear: Clear, search: Search, sequences: Sequences) -> None:
    model, ids = clear(), sequences(9, seed=3)
    config = SearchConfig(n_best=4, max_extra=5)
    assert search(model, ids, config, [[]] * 9) == search(model, ids, config)


@pytest.mark.parametrize(
    ("name", "beam"),
    [(name, beam) for name in NAMES for beam in (1, 4)]
    if THOROUGH
    else [("transformer", 4), ("recurrent", 1), ("convolutional", 4)],
)
def test_a_sentence_with_a_prefix_does_not_depend_on_the_prefixes_of_others(
    clear: Clear, search: Search, sequences: Sequences, name: str, beam: int
) -> None:
    n = 16 if THOROUGH else 8
    model, ids = clear(name=name, vocab_size=30), sequences(n, seed=7, vocab_size=30, longest=24)
    numbers = random.Random(beam)
    prefixes = [numbers.choices(range(2, 28), k=numbers.choice((0, 1, 3, 9))) for _ in ids]
    config = SearchConfig(beam=beam, n_best=beam, max_extra=6)
    alone = [search(model, [i], config, [p])[0] for i, p in zip(ids, prefixes, strict=True)]
    assert search(model, ids, config, prefixes) == alone
    assert search(model, ids[::-1], config, prefixes[::-1]) == alone[::-1]


@pytest.mark.parametrize(
    "limit",
    [{"max_repeats": 1}, {"max_repeats": 2}, {"no_repeat_ngram": 1}, {"no_repeat_ngram": 2}],
)
def test_a_prefix_may_repeat_what_the_search_may_not(
    clear: Clear, search: Search, limit: dict[str, Any]
) -> None:
    prefix, config = [5, 5, 5, 5, 6, 7, 6, 7, 6, 7], SearchConfig(max_extra=4, **limit)
    (found,) = search(clear(), [[3, 4, EOS]], config, [prefix])
    assert list(found[0].tokens[:10]) == prefix and len(found[0].tokens) > 10
    assert found[0].tokens == NaiveSearch(clear(), [3, 4, EOS], config, prefix).run()[0].tokens


# ---- as text -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(FIXTURES / "transformer")


def test_a_translation_begins_with_its_prefix(translator: Translator) -> None:
    requests = [Request("the red boat", prefix) for prefix in ("", "der alte", " der  Baum ", "  ")]
    texts = translator.translate(requests)
    assert texts[0] == texts[3] == translator.translate(["the red boat"])[0]
    assert texts[1].startswith("der alte") and texts[2].startswith("der Baum")


def test_a_prefix_that_cannot_be_spelled_is_refused_with_its_sentence(
    translator: Translator,
) -> None:
    with pytest.raises(DataError) as error:
        translator.translate([Request("the boat"), Request("the boat", "der 小舟")])
    assert str(error.value) == (
        "sentence 2: the prefix 'der 小舟' has characters that the vocabulary lacks"
    )


def test_a_prefix_that_is_too_long_is_refused_with_its_sentence(translator: Translator) -> None:
    with pytest.raises(DataError) as error:
        translator.translate([Request("the boat"), Request("the boat", "." * 1025)])
    assert str(error.value) == (
        "sentence 2: the prefix has 1,025 tokens, more than 1,024: shorten it"
    )


def test_a_parser_takes_no_prefix() -> None:
    parser = Translator.load(FIXTURES / "parser")
    with pytest.raises(DataError) as error:
        parser.translate([Request("the boat", "(S")])
    assert str(error.value) == (
        "sentence 1: a parser takes no prefix and no phrases to include or exclude"
    )
