"""The constraint allows exactly the trees that fit, checked by enumeration and by search."""

import copy
import math
from collections.abc import Callable, Iterator
from itertools import product

import pytest
import torch
from torch import Tensor

from yakusu.data.batches import pad
from yakusu.data.brackets import MAX_DEPTH, delinearise
from yakusu.data.trees import tree_over, words_of
from yakusu.data.vocabulary import EOS
from yakusu.errors import DataError
from yakusu.model.base import Seq2Seq
from yakusu.search.beam import beam_search
from yakusu.search.config import SearchConfig
from yakusu.tasks.constraint import MAX_CHAIN, BracketRules, TreeConstraint

Tiny = Callable[..., Seq2Seq]

TOKENS = ["</s>", "<unk>", "NN", ".", "(A", ")A", "(B", ")B"]
V = len(TOKENS) + 1  # pad


def constraint(*n_words: int, n_beams: int = 1, tokens: list[str] = TOKENS) -> TreeConstraint:
    rules = BracketRules(tokens, eos=EOS, device=torch.device("cpu"))
    return TreeConstraint(rules, n_words, n_beams=n_beams)


def allowed(state: TreeConstraint, left: Tensor, n_tokens: int = len(TOKENS)) -> Tensor:
    """The tokens that may follow each hypothesis: (B, K, V - 1)."""
    logits = torch.zeros(*state.depth.shape, n_tokens)
    state.restrict(logits, left[:, None].expand(state.depth.shape))
    return logits == 0


def outputs(state: TreeConstraint, limit: int, before: tuple[int, ...] = ()) -> Iterator[str]:
    """All outputs of at most `limit` tokens, including eos, that the constraint allows."""
    may_follow = allowed(state, torch.tensor([limit - len(before)]))[0, 0]
    for token in may_follow.nonzero().flatten().tolist():
        if token == EOS:
            yield " ".join(TOKENS[i] for i in before)
            continue
        after = copy.deepcopy(state)
        after.follow(torch.tensor([[0]]), torch.tensor([[token]]))
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
    state, left = constraint(1), torch.tensor([1000])
    for _ in range(MAX_CHAIN):
        assert allowed(state, left)[0, 0, TOKENS.index("(A")]
        state.follow(torch.tensor([[0]]), torch.tensor([[TOKENS.index("(A")]]))
    assert allowed(state, left)[0, 0].nonzero().flatten().tolist() == [
        TOKENS.index(tag) for tag in ("NN", ".")
    ]


def test_a_label_that_cannot_be_closed_is_never_opened() -> None:
    state = constraint(1, tokens=[*TOKENS, "(C"])
    assert allowed(state, torch.tensor([9]), len(TOKENS) + 1)[0, 0].tolist() == [
        t in ("(A", "(B") for t in TOKENS
    ] + [False]


def test_reordered_hypotheses_keep_their_open_brackets() -> None:
    state, left = constraint(1, 1, n_beams=2), torch.tensor([9, 9])
    a, b, word = (TOKENS.index(token) for token in ("(A", "(B", "NN"))
    state.follow(torch.tensor([[0, 1], [0, 1]]), torch.tensor([[a, b], [a, b]]))
    state.follow(torch.tensor([[1, 0], [0, 0]]), torch.full((2, 2), word))
    closing = [[")B", ")A"], [")A", ")A"]]
    for sentence in (0, 1):
        for beam in (0, 1):
            token = TOKENS.index(closing[sentence][beam])
            assert allowed(state, left)[sentence, beam].nonzero().flatten().tolist() == [token]
    kept = state.keep(torch.tensor([1, 0, 0]))
    assert allowed(kept, left[:1].expand(3))[:, 0].nonzero()[:, 1].tolist() == [
        TOKENS.index(token) for token in (")A", ")B", ")B")
    ]


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
        constraints=[constraint(*n_words, n_beams=beam)],
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
    (found,) = beam_search(model, src, config, constraints=[constraint(2, n_beams=60)])
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
    together = beam_search(
        model, sources(*n_words), config, constraints=[constraint(*n_words, n_beams=4)]
    )
    for n, found in zip(n_words, together, strict=True):
        alone = beam_search(model, sources(n), config, constraints=[constraint(n, n_beams=4)])
        assert alone == [found]


class Anything:
    """A constraint that allows every token."""

    def restrict(self, logits: Tensor, left: Tensor) -> None:
        assert len(logits) == len(left)

    def follow(self, beams: Tensor, ids: Tensor) -> None:
        assert beams.shape == ids.shape

    def keep(self, sentences: Tensor) -> "Anything":
        return self


def test_a_constraint_that_allows_everything_changes_nothing(model: Seq2Seq) -> None:
    config = SearchConfig(beam=4, n_best=4)
    free = beam_search(model, sources(3, 5, 8), config)
    assert beam_search(model, sources(3, 5, 8), config, constraints=[Anything()]) == free


def test_the_output_is_empty_if_no_token_is_allowed(model: Seq2Seq) -> None:
    config = SearchConfig(beam=2, max_extra=0)
    (found,) = beam_search(model, sources(3), config, constraints=[constraint(3, n_beams=2)])
    assert [(h.tokens, h.log_prob) for h in found] == [((), -math.inf)]


def test_the_deepest_output_can_be_parsed() -> None:
    words = [f"w{i}" for i in range(60)]
    state, tokens = constraint(len(words)), list[int]()
    while not tokens or tokens[-1] != EOS:
        may_follow = allowed(state, torch.tensor([1000 - len(tokens)]))[0, 0]
        # Open as many brackets as possible, and close each as late as possible.
        token = next(i for i in (4, 2, 5, EOS) if may_follow[i])
        state.follow(torch.tensor([[0]]), torch.tensor([[token]]))
        tokens.append(token)
    line = delinearise([TOKENS[i] for i in tokens[:-1]], words)
    assert words_of(tree_over(words, line)) == words
    assert int(state.labels.shape[2]) > MAX_DEPTH  # MAX_DEPTH was reached
