"""Limits on repetition compared with counting n-grams in a list."""

import random
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch

from tests.search.naive import LONGEST_PERIOD, occurrences, occurrences_at_end, repeats_ngram
from yakusu.data.vocabulary import EOS, UNK
from yakusu.model.base import Seq2Seq
from yakusu.search.config import SearchConfig
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.repetition import LoopLimit, NoRepeatedNgram, repetitions

Clear = Callable[..., Seq2Seq]
Search = Callable[..., list[list[Hypothesis]]]
Sequences = Callable[..., list[list[int]]]
PAD = 9


def looping(numbers: random.Random, n_words: int) -> list[int]:
    """A random sequence, parts of which are repeated."""
    tokens = list[int]()
    while len(tokens) < n_words:
        part = numbers.choices((2, 3, 4), k=numbers.randint(1, 4))
        tokens += part * numbers.randint(1, 4)
    return tokens[:n_words]


# ---- counting ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [("a", 1), ("aa", 2), ("abab", 2), ("ababa", 2), ("xabcabcabcy", 3), ("aabaab", 2), ("", 1)],
)
def test_the_occurrences_in_a_row_of_an_ngram(words: str, expected: int) -> None:
    ids = [*(ord(word) for word in words), EOS]
    assert occurrences(ids) == expected
    assert repetitions(torch.tensor([ids]), pad=UNK).tolist() == [expected]


def test_repetitions_are_counted_in_padded_sentences() -> None:
    numbers = random.Random(1)
    for width in (1, 2, 7, 30):
        rows = [[*looping(numbers, numbers.randint(0, width - 1)), EOS] for _ in range(40)]
        for more in (0, 5, 20):
            padded = [row + [PAD] * (width - len(row) + more) for row in rows]
            found = repetitions(torch.tensor(padded), PAD).tolist()
            assert found == [occurrences(row) for row in rows]


@pytest.mark.parametrize("period", [1, 2, 63, 64])
def test_the_longest_period_is_counted(period: int) -> None:
    ids = [*list(range(2, 2 + period)) * 3, EOS]
    assert repetitions(torch.tensor([ids]), pad=200).tolist() == [3]
    longer = [*list(range(2, 3 + LONGEST_PERIOD)) * 3, EOS]
    assert repetitions(torch.tensor([longer]), pad=200).tolist() == [1]


# ---- which tokens are excluded -------------------------------------------------------------------


Banned = Callable[[list[int], int, int], bool]  # of tokens, the next token, the sentence


def follow_at_random(limit: Any, banned: Banned, *, n_sentences: int, seed: int) -> int:
    """Extend hypotheses at random; compare the excluded tokens; return how many there were."""
    numbers, n_excluded, n_beams = random.Random(seed), 0, 3
    rows = list(range(n_sentences))
    tokens: list[list[list[int]]] = [[[]] * n_beams for _ in rows]
    for step in range(24):
        logits = torch.zeros(len(rows), n_beams, 7)
        limit.restrict(logits)
        for row, k in product(range(len(rows)), range(n_beams)):
            excluded = {i for i in range(2, 7) if logits[row, k, i] == -torch.inf}
            expected = {i for i in range(2, 7) if banned(tokens[row][k], i, rows[row])}
            assert excluded == expected
            assert logits[row, k, EOS] == 0
            n_excluded += len(excluded)
        beams = [[numbers.randrange(n_beams) for _ in range(n_beams)] for _ in rows]
        ids = [[numbers.choice((2, 2, 3, 3, 4, 6)) for _ in range(n_beams)] for _ in rows]
        limit.follow(torch.tensor(beams), torch.tensor(ids))
        tokens = [
            [[*tokens[row][b], i] for b, i in zip(beams[row], ids[row], strict=True)]
            for row in range(len(rows))
        ]
        if step == 9:
            kept = [len(rows) - 1, 0, 1]
            limit = limit.keep(torch.tensor(kept))
            rows, tokens = [rows[i] for i in kept], [tokens[i] for i in kept]
    return n_excluded


@pytest.mark.parametrize("most", [1, 2, 3])
def test_a_token_that_completes_one_repetition_too_many_is_excluded(most: int) -> None:
    numbers = random.Random(most)
    sources = [[*looping(numbers, n), EOS] for n in (1, 4, 9, 16)]
    src = torch.tensor([row + [PAD] * (20 - len(row)) for row in sources])
    allowed = [max(most, occurrences(row)) for row in sources]

    def banned(tokens: list[int], token: int, sentence: int) -> bool:
        return occurrences_at_end([*tokens, token]) > allowed[sentence]

    n_excluded = 0
    for seed in range(4):
        limit = LoopLimit(src, PAD, n_beams=3, most=most)
        n_excluded += follow_at_random(limit, banned, n_sentences=4, seed=seed)
    assert n_excluded > 20


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_token_that_completes_an_ngram_again_is_excluded(n: int) -> None:
    def banned(tokens: list[int], token: int, sentence: int) -> bool:
        return repeats_ngram([*tokens, token], n)

    for seed in range(4):
        limit = NoRepeatedNgram(4, 3, n=n, device=torch.device("cpu"))
        assert follow_at_random(limit, banned, n_sentences=4, seed=seed) > 20


# ---- what a search finds -------------------------------------------------------------------------


@pytest.fixture
def repetitive(clear: Clear) -> Callable[..., Seq2Seq]:
    """Factory of models whose translations fall into loops: eos is unlikely."""

    def make(seed: int, **sizes: Any) -> Seq2Seq:
        model: Any = clear(seed=seed, factor=3.0, **sizes)
        with torch.no_grad():
            bias = model.decoder[-1].residuals[-1].norm.bias
            bias.copy_(-model.output_weight[EOS])
        assert isinstance(model, Seq2Seq)
        return model

    return make


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_translation_repeats_an_ngram_more_often_than_allowed(
    repetitive: Callable[..., Seq2Seq], search: Search, most: int, beam: int
) -> None:
    numbers, n_shortened = random.Random(1), 0
    ids = [[*looping(numbers, numbers.randint(1, 9)), EOS] for _ in range(8)]
    free = SearchConfig(beam=beam, n_best=beam, max_extra=20, max_repeats=0)
    limited = free.model_copy(update={"max_repeats": most})
    for seed in range(2):
        model = repetitive(seed)
        pairs = zip(ids, search(model, ids, free), search(model, ids, limited), strict=True)
        for source, before, after in pairs:
            allowed = max(most, occurrences(source))
            assert all(occurrences(h.tokens) <= allowed for h in after)
            n_shortened += any(occurrences(h.tokens) > allowed for h in before)
    assert n_shortened > 3


def test_greedy_translations_without_repetitions_do_not_change(
    clear: Clear, search: Search, sequences: Sequences
) -> None:
    ids, n_equal = sequences(30, seed=1, vocab_size=20), 0
    for seed in range(3):
        model = clear(vocab_size=20, seed=seed, factor=1.0)
        free = SearchConfig(beam=1, max_extra=3, max_repeats=0)
        limited = free.model_copy(update={"max_repeats": 2, "no_repeat_ngram": 4})
        for before, after in zip(
            search(model, ids, free), search(model, ids, limited), strict=True
        ):
            tokens = before[0].tokens
            loops = occurrences(tokens) > 2
            again = any(repeats_ngram(tokens[:end], 4) for end in range(4, len(tokens) + 1))
            if not (loops or again):
                assert after == before
                n_equal += 1
    assert n_equal > 10


def test_the_probabilities_of_allowed_translations_do_not_change(
    clear: Clear, search: Search
) -> None:
    model, ids = clear(vocab_size=6), [[2, EOS], [4, 3, EOS]]
    free = SearchConfig(beam=200, n_best=200, max_length=4, max_repeats=0)  # exhaustive
    limited = free.model_copy(update={"max_repeats": 1, "no_repeat_ngram": 2})
    for before, after in zip(search(model, ids, free), search(model, ids, limited), strict=True):
        allowed = [
            h
            for h in before
            if occurrences(h.tokens) == 1
            and not any(repeats_ngram(h.tokens[:end], 2) for end in range(2, 5))
        ]
        assert [h.tokens for h in after] == [h.tokens for h in allowed]
        assert [h.score for h in after] == pytest.approx([h.score for h in allowed], abs=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("beam", [1, 4])
def test_no_ngram_occurs_twice(
    repetitive: Callable[..., Seq2Seq], search: Search, sequences: Sequences, beam: int, n: int
) -> None:
    ids = sequences(8, seed=2)
    config = SearchConfig(beam=beam, n_best=beam, max_extra=20, no_repeat_ngram=n)
    longest = 0
    for found in search(repetitive(0), ids, config):
        for h in found:
            ngrams = [h.tokens[start : start + n] for start in range(len(h.tokens) - n + 1)]
            assert len(ngrams) == len(set(ngrams))
            longest = max(longest, len(h.tokens))
    assert longest > 5


@pytest.mark.parametrize("beam", [1, 3])
def test_a_limited_translation_does_not_depend_on_its_batch(
    repetitive: Callable[..., Seq2Seq], search: Search, beam: int
) -> None:
    numbers = random.Random(3)
    ids = [[*looping(numbers, numbers.randint(1, 20)), EOS] for _ in range(14)]
    model = repetitive(1, vocab_size=30)
    config = SearchConfig(beam=beam, n_best=beam, max_extra=20, max_repeats=1, no_repeat_ngram=3)
    alone = [search(model, [source], config)[0] for source in ids]
    assert search(model, ids, config) == alone
    assert search(model, ids[::-1], config) == alone[::-1]
