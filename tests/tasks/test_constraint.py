"""The constraint allows exactly the trees that fit, checked by enumeration and by search."""

import copy
import math
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from yakusu.arrays import Flags, Longs
from yakusu.data.batches import pad
from yakusu.data.brackets import MAX_DEPTH, delinearise
from yakusu.data.trees import tree_over, words_of
from yakusu.data.vocabulary import EOS
from yakusu.errors import DataError
from yakusu.model.base import Seq2Seq
from yakusu.search.beam import beam_search
from yakusu.search.config import SearchConfig
from yakusu.search.restrictions import Restrictions
from yakusu.search.tokens import TokenRules
from yakusu.tasks.constraint import MAX_CHAIN, BracketRules, TreeConstraint

Tiny = Callable[..., Seq2Seq]

TOKENS = ["</s>", "<unk>", "NN", ".", "(A", ")A", "(B", ")B"]
V = len(TOKENS) + 1  # pad


def constraint(n_words: int, tokens: list[str] = TOKENS) -> TreeConstraint:
    return TreeConstraint(BracketRules(tokens, eos=EOS), n_words)


def restrictions(*n_words: int) -> list[Restrictions]:
    rules = TokenRules(len(TOKENS))
    return [Restrictions(rules, [constraint(n)]) for n in n_words]


def allowed(state: TreeConstraint, left: int) -> list[list[int]]:
    """The tokens that may follow each hypothesis."""
    return [np.flatnonzero(flags).tolist() for flags in state.allowed(np.array([left]))]


def follow(state: TreeConstraint, beams: list[int], tokens: list[int]) -> None:
    state.follow(np.array(beams), np.array(tokens))


def outputs(state: TreeConstraint, limit: int, before: tuple[int, ...] = ()) -> Iterator[str]:
    """All outputs of at most `limit` tokens, including eos, that the constraint allows."""
    for token in allowed(state, limit - len(before))[0]:
        if token == EOS:
            yield " ".join(TOKENS[i] for i in before)
            continue
        after = copy.deepcopy(state)
        follow(after, [0], [token])
        yield from outputs(after, limit, (*before, token))


def is_tree(tokens: tuple[str, ...], n_words: int) -> bool:
    try:
        delinearise(tokens, ["w"] * n_words)
    except DataError:
        return False
    return True


def trees(found: list[list[int]], n_words: list[int]) -> bool:
    """Whether each sequence of ids is a tree over the given number of words."""
    each = zip(found, n_words, strict=True)
    return all(is_tree(tuple(TOKENS[i] for i in ids), n) for ids, n in each)


@pytest.fixture
def model(tiny: Tiny) -> Seq2Seq:
    return tiny(vocab_size=12, tgt_vocab_size=V, tied="none")


def sources(*lengths: int) -> Tensor:
    return pad([[*([3] * n), EOS] for n in lengths], 11, multiple=16)


@pytest.mark.parametrize(("n_words", "limit"), [(1, 4), (1, 7), (2, 5), (2, 7), (3, 6), (3, 7)])
def test_exactly_the_trees_within_the_limit_are_allowed(n_words: int, limit: int) -> None:
    every = {
        " ".join(tokens)
        for length in range(limit)
        for tokens in product(TOKENS[2:], repeat=length)
        if is_tree(tokens, n_words)
    }
    found = list(outputs(constraint(n_words), limit))
    assert len(found) == len(set(found))
    assert set(found) == every


def test_no_token_is_allowed_if_no_tree_fits() -> None:
    assert list(outputs(constraint(2), limit=4)) == []


def test_the_number_of_consecutive_opening_brackets_is_limited() -> None:
    state = constraint(1)
    for _ in range(MAX_CHAIN):
        assert TOKENS.index("(A") in allowed(state, 1000)[0]
        follow(state, [0], [TOKENS.index("(A")])
    assert allowed(state, 1000) == [[TOKENS.index(tag) for tag in ("NN", ".")]]


def test_a_label_that_cannot_be_closed_is_never_opened() -> None:
    state = constraint(1, tokens=[*TOKENS, "(C"])
    assert allowed(state, 9) == [[TOKENS.index(label) for label in ("(A", "(B")]]


def test_reordered_hypotheses_keep_their_open_brackets() -> None:
    state = constraint(1)
    a, b, word = (TOKENS.index(token) for token in ("(A", "(B", "NN"))
    follow(state, [0, 0], [a, b])
    follow(state, [1, 0, 0], [word] * 3)
    closing = [[TOKENS.index(token)] for token in (")B", ")A", ")A")]
    assert allowed(state, 9) == closing
    follow(state, [2, 0], [TOKENS.index(")A"), TOKENS.index(")B")])
    assert allowed(state, 7) == [[EOS], [EOS]]


@pytest.mark.parametrize("beam", [1, 4, 21])
@pytest.mark.parametrize("max_extra", [2, 3, 9, 40])
def test_an_untrained_model_generates_trees_over_the_words(
    model: Seq2Seq, beam: int, max_extra: int
) -> None:
    n_words = [1, 2, 3, 5, 8, 13]
    found = beam_search(
        model,
        sources(*n_words),
        SearchConfig(beam=beam, alpha=0.3, max_extra=max_extra, n_best=beam, max_repeats=0),
        restrictions=restrictions(*n_words),
    )
    for n, best in zip(n_words, found, strict=True):
        assert best
        assert trees([list(h.tokens) for h in best], [n] * len(best))
        assert all(len(h.tokens) <= n + max_extra for h in best)
        assert len({h.tokens for h in best}) == len(best)


def test_a_wide_beam_finds_all_trees_with_their_probabilities(
    model: Seq2Seq,
) -> None:
    src, every = sources(2), list(outputs(constraint(2), limit=7))
    config = SearchConfig(beam=60, n_best=60, alpha=0.0, max_extra=4, max_repeats=0)
    (found,) = beam_search(model, src, config, restrictions=restrictions(2))
    assert sorted(" ".join(TOKENS[i] for i in h.tokens) for h in found) == sorted(every)
    with torch.inference_mode():
        memory = model.encode(src)
        for h in found:
            tgt = torch.tensor([[*h.tokens, EOS]])
            tgt_in = torch.tensor([[model.tgt_pad, *h.tokens]])
            log_p = model.decode(tgt_in, memory).log_softmax(dim=-1)
            log_prob = log_p.gather(2, tgt[:, :, None]).sum().item()
            assert h.log_prob == pytest.approx(log_prob, abs=1e-4)


def test_a_parse_is_independent_of_other_sentences_in_the_batch(model: Seq2Seq) -> None:
    n_words, config = [7, 2, 5, 3, 9, 1], SearchConfig(beam=4, alpha=0.3, max_extra=30)
    together = beam_search(model, sources(*n_words), config, restrictions=restrictions(*n_words))
    for n, found in zip(n_words, together, strict=True):
        alone = beam_search(model, sources(n), config, restrictions=restrictions(n))
        assert alone == [found]


class Anything:
    """A constraint that allows every token."""

    def allowed(self, left: Longs) -> Flags:
        return np.ones((len(left), len(TOKENS)), dtype=np.bool_)

    def follow(self, beams: Longs, ids: Longs) -> None:
        assert beams.shape == ids.shape


def test_a_constraint_that_allows_everything_changes_nothing(model: Seq2Seq) -> None:
    config = SearchConfig(beam=4, n_best=4)
    free = beam_search(model, sources(3, 5, 8), config)
    anything = [Restrictions(TokenRules(len(TOKENS)), [Anything()]) for _ in range(3)]
    assert beam_search(model, sources(3, 5, 8), config, restrictions=anything) == free


def test_the_output_is_empty_if_no_token_is_allowed(model: Seq2Seq) -> None:
    config = SearchConfig(beam=2, max_extra=0)
    (found,) = beam_search(model, sources(3), config, restrictions=restrictions(3))
    assert [(h.tokens, h.log_prob) for h in found] == [((), -math.inf)]


def test_the_deepest_output_can_be_parsed() -> None:
    words = [f"w{i}" for i in range(60)]
    state, tokens = constraint(len(words)), list[int]()
    while not tokens or tokens[-1] != EOS:
        (may_follow,) = allowed(state, 1000 - len(tokens))
        # Open as many brackets as possible, and close each as late as possible.
        token = next(i for i in (4, 2, 5, EOS) if i in may_follow)
        follow(state, [0], [token])
        tokens.append(token)
    line = delinearise([TOKENS[i] for i in tokens[:-1]], words)
    assert words_of(tree_over(words, line)) == words
    assert state.labels.shape[1] > MAX_DEPTH  # MAX_DEPTH was reached
