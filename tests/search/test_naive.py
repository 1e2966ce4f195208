"""Beam search compared with the naive search of naive.py on hundreds of random cases."""

import random
from collections.abc import Callable
from itertools import product

import pytest

from tests.cases import THOROUGH, some
from tests.search.naive import NaiveSearch
from yakusu.data.vocabulary import EOS
from yakusu.model.base import Seq2Seq
from yakusu.search.config import SearchConfig
from yakusu.search.hypothesis import Hypothesis

Clear = Callable[..., Seq2Seq]
Search = Callable[..., list[list[Hypothesis]]]
Sequences = Callable[..., list[list[int]]]


def agree(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [h.tokens for h in found] == [h.tokens for h in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)
        assert one.score == pytest.approx(other.score, abs=1e-4)


# By default each beam with one of the penalties.
CASES = [
    (beam, alpha)
    for beam in range(1, 7)
    for number, alpha in enumerate((0.0, 0.6, 2.0))
    if THOROUGH or (beam + number) % 3 == 0
]


@pytest.mark.parametrize(("beam", "alpha"), some(CASES))
def test_beam_search_finds_what_the_naive_search_finds(
    clear: Clear, search: Search, sequences: Sequences, beam: int, alpha: float
) -> None:
    numbers, lengths = random.Random(10 * beam), set[int]()
    for seed, margin in product(range(2), (None, 0.5, 2.0)):
        model = clear(vocab_size=9, seed=seed, factor=numbers.choice((1.0, 2.0, 4.0)))
        config = SearchConfig(
            beam=beam,
            alpha=alpha,
            n_best=numbers.randint(1, beam),
            margin=margin,
            max_extra=numbers.randint(0, 4),
            max_length=numbers.choice((None, 5)),
            max_repeats=numbers.choice((0, 1, 3)),
            no_repeat_ngram=numbers.choice((0, 0, 1, 2)),
        )
        ids = sequences(5, seed=seed, vocab_size=9, longest=6)
        for sentence, found in zip(ids, search(model, ids, config), strict=True):
            agree(found, NaiveSearch(model, sentence, config).run())
            lengths |= {len(h.tokens) for h in found}
    assert len(lengths) > 3


@pytest.mark.parametrize("name", ["recurrent", "convolutional"])
def test_the_search_of_other_architectures_equals_the_naive_search(
    clear: Clear, search: Search, sequences: Sequences, name: str
) -> None:
    for seed, beam in product(range(2 if THOROUGH else 1), (1, 2, 5)):
        model = clear(name=name, vocab_size=9, seed=seed)
        config = SearchConfig(beam=beam, n_best=beam, max_extra=3)
        ids = sequences(4, seed=seed, vocab_size=9)
        for sentence, found in zip(ids, search(model, ids, config), strict=True):
            agree(found, NaiveSearch(model, sentence, config).run())


def test_a_vocabulary_of_one_word_has_one_translation_of_each_length(
    clear: Clear, search: Search
) -> None:
    model = clear(vocab_size=4, factor=1.0)  # eos, unk, one word, pad
    config = SearchConfig(beam=6, n_best=6, max_extra=3, max_repeats=0)
    (found,) = search(model, [[2, EOS]], config)
    agree(found, NaiveSearch(model, [2, EOS], config).run())
    assert sorted(len(h.tokens) for h in found) == [0, 1, 2, 3, 4]


def test_a_margin_of_zero_keeps_one_hypothesis(clear: Clear, search: Search) -> None:
    model = clear(vocab_size=9, seed=5)
    config = SearchConfig(beam=4, margin=0.0, max_extra=3)
    (found,) = search(model, [[3, 4, 5, EOS]], config)
    agree(found, NaiveSearch(model, [3, 4, 5, EOS], config).run())
