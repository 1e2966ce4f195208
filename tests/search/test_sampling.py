"""Samples: their distribution, counted; what they depend on; how they combine with limits."""

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from tests.cases import THOROUGH
from tests.search.naive import NaiveSearch, repeats_ngram
from yakusu.data.vocabulary import EOS, UNK
from yakusu.model.base import Seq2Seq
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.sampling import Sampler

Clear = Callable[..., Seq2Seq]
Search = Callable[..., list[list[Hypothesis]]]
Sequences = Callable[..., list[list[int]]]


def sampled(n: int = 1, *, max_length: int = 8, **settings: Any) -> SearchConfig:
    """Settings that draw n samples per sentence."""
    drawn = SamplingConfig(**settings)
    return SearchConfig(n_best=n, max_length=max_length, max_repeats=0, sampling=drawn)


# ---- the distribution ----------------------------------------------------------------------------


def distribution(log_probs: Sequence[float], config: SamplingConfig) -> dict[int, float]:
    """The probabilities of the tokens that may be drawn, from the model's log-probabilities."""
    weights = {
        token: math.exp(value / config.temperature)
        for token, value in enumerate(log_probs)
        if token != UNK
    }
    likely = sorted(weights, key=lambda token: -weights[token])[: config.top_k]
    total, nucleus, mass = sum(weights[token] for token in likely), list[int](), 0.0
    while likely and mass < config.top_p * total:
        nucleus.append(likely.pop(0))
        mass += weights[nucleus[-1]]
    return {token: weights[token] / mass for token in nucleus}


def chi_square_limit(n_cells: int) -> float:
    """The value that chi-square with n - 1 degrees of freedom exceeds once in 10,000 cases.

    Wilson and Hilferty 1931.
    """
    d = n_cells - 1
    return float(d * (1 - 2 / (9 * d) + 3.72 * math.sqrt(2 / (9 * d))) ** 3)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"temperature": 0.5},
        {"temperature": 2.0},
        {"top_k": 3},
        {"top_k": 100},
        {"top_p": 0.7},
        {"temperature": 2.0, "top_p": 0.5},
        {"temperature": 1.5, "top_k": 4, "top_p": 0.6},
    ],
    ids=str,
)
def test_the_first_two_tokens_are_drawn_from_the_models_distribution(
    clear: Clear, search: Search, settings: dict[str, Any]
) -> None:
    model, source, n = clear(vocab_size=8, seed=3, factor=1.0), [3, 5, EOS], 0
    drawn = SamplingConfig(**settings)
    naive = NaiveSearch(model, source, SearchConfig())
    expected: dict[tuple[int, ...], float] = {}
    for first, p in distribution(naive.next_log_probs([()])[0], drawn).items():
        if first == EOS:
            expected[()] = p
            continue
        rest = distribution(naive.next_log_probs([(first,)])[0], drawn)
        for second, q in rest.items():
            expected[(first, second) if second != EOS else (first,)] = p * q
    counts: Counter[tuple[int, ...]] = Counter()
    n_seeds = 20 if THOROUGH else 8
    for seed in range(n_seeds):
        (found,) = search(model, [source], sampled(150, max_length=2, seed=seed, **settings))
        counts.update(h.tokens[:2] for h in found)
        n += len(found)
    assert set(counts) <= set(expected)
    rare = {key for key, p in expected.items() if n * p < 5}
    cells = [(counts[key], n * p) for key, p in expected.items() if key not in rare]
    if rare:
        cells.append((sum(counts[key] for key in rare), n * sum(expected[key] for key in rare)))
    assert len(cells) > 1 and sum(count for count, _ in cells) == n == 150 * n_seeds
    chi_square = sum((count - mean) ** 2 / mean for count, mean in cells)
    assert chi_square < chi_square_limit(len(cells))


@pytest.mark.parametrize("seed", range(40))
def test_a_draw_inverts_the_cumulative_distribution(seed: int) -> None:
    numbers = random.Random(seed)
    config = SamplingConfig(
        temperature=numbers.choice((0.1, 0.7, 1.0, 3.0)),
        top_k=numbers.choice((None, 1, 2, 5, 50)),
        top_p=numbers.choice((1.0, 0.9, 0.5, 0.01)),
        seed=seed,
    )
    sampler = Sampler(config, [2, EOS], n_samples=6, n_steps=4)
    logits = np.random.default_rng(seed).standard_normal((6, 11)).astype(np.float32)
    logits[:, UNK] = -np.inf
    for step in range(4):
        for sample, token in enumerate(sampler.draw(logits, step).tolist()):
            p = distribution(logits[sample].tolist(), config)
            u, reached = sampler.uniform[sample, step], 0.0
            expected = next(
                candidate
                for candidate, probability in p.items()
                if (reached := reached + probability) > u
            )
            assert token == expected
        same = sampler.draw(logits[:1].repeat(6, axis=0), step)
        assert sampler.draw(logits[:1], step).tolist() == same.tolist()


def test_a_draw_without_a_possible_token_is_a_token() -> None:
    """Its log-probability is -inf, so the search drops the sample."""
    sampler = Sampler(SamplingConfig(), [2, EOS], n_samples=2, n_steps=1)
    for value in (-np.inf, np.nan):
        drawn = sampler.draw(np.full((2, 5), value, dtype=np.float32), 0)
        assert ((drawn >= 0) & (drawn < 5)).all()


def test_samples_keep_their_random_numbers_when_others_end() -> None:
    sampler = Sampler(SamplingConfig(), [2, EOS], n_samples=4, n_steps=3)
    before = sampler.uniform.tolist()
    sampler.follow(np.array([3, 1]))
    assert sampler.uniform.tolist() == [before[3], before[1]]


@pytest.mark.parametrize(
    "greedy", [{"temperature": 1e-6}, {"temperature": 1e-320}, {"top_k": 1}, {"top_p": 1e-9}]
)
def test_sampling_the_most_likely_token_is_greedy_search(
    clear: Clear, search: Search, sequences: Sequences, greedy: dict[str, Any]
) -> None:
    ids = sequences(12, seed=1, vocab_size=12)
    for seed in range(3):
        model = clear(seed=seed)
        best = search(model, ids, SearchConfig(beam=1, max_length=8, max_repeats=0))
        drawn = search(model, ids, sampled(2, seed=seed, **greedy))
        for (expected,), found in zip(best, drawn, strict=True):
            assert [h.tokens for h in found] == [expected.tokens] * 2
            assert found[0].log_prob == pytest.approx(expected.log_prob, abs=1e-4)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 4.0])
def test_the_log_probability_of_a_sample_is_the_models_at_temperature_1(
    clear: Clear, search: Search, sequences: Sequences, temperature: float
) -> None:
    model, ids = clear(seed=2), sequences(6, seed=2)
    for source, found in zip(
        ids, search(model, ids, sampled(5, temperature=temperature, top_p=0.9)), strict=True
    ):
        naive = NaiveSearch(model, source, SearchConfig())
        for h in found:
            tokens = (*h.tokens, EOS)
            prefixes = [tokens[:end] for end in range(len(tokens))]
            expected = sum(
                naive.next_log_probs([prefix])[0][token]
                for prefix, token in zip(prefixes, tokens, strict=True)
            )
            assert h.log_prob == pytest.approx(expected, abs=1e-4)
            assert h.score == pytest.approx(h.log_prob / ((5 + len(tokens)) / 6) ** 0.6)


# ---- what a sample depends on --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "n_best"),
    [
        *(("transformer", 3), ("recurrent", 1)),
        *((("transformer", 1), ("recurrent", 3)) if THOROUGH else ()),
    ],
)
def test_samples_do_not_depend_on_the_batch_or_the_number_of_threads(
    clear: Clear, search: Search, sequences: Sequences, name: str, n_best: int
) -> None:
    model = clear(name=name, vocab_size=30, factor=1.0)
    ids = sequences(14, seed=4, vocab_size=30, longest=24)
    config = sampled(n_best, temperature=1.5)
    alone = [search(model, [source], config)[0] for source in ids]
    numbers = random.Random(1)
    for _ in range(5):
        rows = numbers.choices(range(len(ids)), k=numbers.randint(2, 20))
        torch.set_num_threads(numbers.choice((1, 2, 3)))
        together = search(model, [ids[row] for row in rows], config)
        assert together == [alone[row] for row in rows]


def test_more_samples_contain_the_fewer(clear: Clear, search: Search) -> None:
    model, ids = clear(vocab_size=30, factor=1.0), [[3, 4, 5, EOS], [7, EOS]]
    few, many = (search(model, ids, sampled(n)) for n in (3, 9))
    for some, more in zip(few, many, strict=True):
        assert Counter(h.tokens for h in some) <= Counter(h.tokens for h in more)


def test_other_seeds_samples_and_sentences_have_other_random_numbers() -> None:
    sources = [[2, 3, EOS], [3, 2, EOS], [23, EOS], [2, 3, 3, EOS]]
    streams = [
        tuple(stream)
        for seed in (0, 1, 2, 2**40)
        for source in sources
        for stream in Sampler(
            SamplingConfig(seed=seed), source, n_samples=4, n_steps=5
        ).uniform.tolist()
    ]
    assert len(streams) == len(set(streams)) == 64
    flat = sorted(number for stream in streams for number in stream)
    largest_gap = max(abs(x - (i + 0.5) / len(flat)) for i, x in enumerate(flat))
    assert 0 <= flat[0] < flat[-1] < 1 and largest_gap < 0.11  # Kolmogorov-Smirnov, 320 numbers


def test_other_seeds_give_other_samples(clear: Clear, search: Search) -> None:
    model = clear(vocab_size=40, factor=0.1)  # nearly uniform
    found = {search(model, [[3, 4, EOS]], sampled(seed=seed))[0][0].tokens for seed in range(30)}
    assert len(found) >= 25


def test_equal_samples_are_all_returned(clear: Clear, search: Search) -> None:
    (found,) = search(clear(), [[3, 4, EOS]], sampled(7, top_k=1))
    assert len(found) == 7 and len(set(found)) == 1


# ---- together with limits ------------------------------------------------------------------------


def test_samples_respect_length_prefix_and_repeated_ngrams(
    clear: Clear, search: Search, sequences: Sequences
) -> None:
    ids = sequences(8, seed=5)
    prefixes = [[5] * (row % 4) for row in range(len(ids))]
    numbers = {"max_length": 5, "no_repeat_ngram": 2, "max_repeats": 3}
    config = sampled(6, temperature=2.0).model_copy(update=numbers)
    for seed in range(3):
        found = search(clear(seed=seed), ids, config, prefixes)
        for prefix, samples in zip(prefixes, found, strict=True):
            assert len(samples) == 6
            for h in samples:
                assert len(h.tokens) <= 5 and list(h.tokens[: len(prefix)]) == prefix
                ends = range(len(prefix) + 1, len(h.tokens) + 1)
                assert not any(repeats_ngram(h.tokens[:end], 2) for end in ends)


def test_a_margin_drops_no_sample(clear: Clear, search: Search, sequences: Sequences) -> None:
    model, ids, config = clear(seed=1, factor=1.0), sequences(5, seed=6), sampled(6)
    narrow = config.model_copy(update={"margin": 0.0})
    assert search(model, ids, narrow) == search(model, ids, config)


def test_the_number_of_samples_may_exceed_the_beam(clear: Clear, search: Search) -> None:
    config = sampled(9).model_copy(update={"beam": 1})
    assert [len(found) for found in search(clear(), [[3, EOS]], config)] == [9]
