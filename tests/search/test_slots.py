"""Placeholder tokens: each hypothesis has each of them exactly as often as its source."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest
import torch

from yakusu.data.batches import pad
from yakusu.data.vocabulary import EOS, UNK
from yakusu.model.base import Seq2Seq
from yakusu.model.linear import SOURCE_MULTIPLE
from yakusu.search.beam import beam_search
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.restrictions import Restrictions
from yakusu.search.slots import SlotGoal
from yakusu.search.tokens import TokenRules

Clear = Callable[..., Seq2Seq]
Sequences = Callable[..., list[list[int]]]
KINDS = (UNK, 2, 3, 4)


def search(
    model: Seq2Seq,
    ids: Sequence[list[int]],
    required: Sequence[Sequence[int]],
    config: SearchConfig,
    prefixes: Sequence[Sequence[int]] = (),
) -> list[list[Hypothesis]]:
    rules = TokenRules(model.tgt_pad, slot_kinds=KINDS)
    restrictions = [Restrictions(rules, required=own) for own in required]
    src = pad(list(ids), model.src_pad, multiple=SOURCE_MULTIPLE)
    return beam_search(model, src, config, restrictions=restrictions, prefixes=prefixes)


def slots_of(tokens: Sequence[int]) -> Counter[int]:
    return Counter(token for token in tokens if token in KINDS)


REQUIRED = [[2], [3, 3], [2, 3, 4], [UNK, UNK], [4, UNK, 4, 2], [], [3] * 6]
CONFIGS = {
    "greedy": SearchConfig(beam=1, max_extra=3),
    "beam 4": SearchConfig(beam=4, max_extra=3),
    "beam 8": SearchConfig(beam=8, max_extra=3, n_best=8),
    "n best": SearchConfig(beam=4, max_extra=3, n_best=3, alpha=1.0),
    "margin": SearchConfig(beam=4, max_extra=3, margin=0.5),
    "no repeats": SearchConfig(beam=4, max_extra=3, max_repeats=1, no_repeat_ngram=1),
    "sampling": SearchConfig(n_best=3, max_extra=3, sampling=SamplingConfig(temperature=2.0)),
    "top 1": SearchConfig(n_best=2, max_extra=3, sampling=SamplingConfig(top_k=1)),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("length", [None, 1, 6])
def test_each_slot_occurs_as_often_as_required(
    clear: Clear, sequences: Sequences, config: SearchConfig, length: int | None
) -> None:
    config = config.model_copy(update={"max_length": length})
    for seed in range(2):
        model = clear(seed=seed)
        ids = sequences(len(REQUIRED), seed=seed, longest=6)
        ids = [[*own[:-1], *slots, EOS] for own, slots in zip(ids, REQUIRED, strict=True)]
        for required, found in zip(REQUIRED, search(model, ids, REQUIRED, config), strict=True):
            if length is not None and length < len(required):
                assert found == [Hypothesis((), -math.inf, -math.inf)]
                continue
            assert found
            for hypothesis in found:
                assert slots_of(hypothesis.tokens) == Counter(required)
                assert hypothesis.log_prob > -math.inf
                assert length is None or len(hypothesis.tokens) <= length


@pytest.mark.parametrize("config", [CONFIGS["beam 4"], CONFIGS["greedy"], CONFIGS["sampling"]])
def test_slots_of_a_prefix_count(clear: Clear, config: SearchConfig) -> None:
    ids = [[5, 2, 6, 3, EOS]] * 3
    prefixes = [[2, 7], [3, 2], [7]]
    found = search(clear(seed=1), ids, [[2, 3]] * 3, config, prefixes)
    for prefix, best in zip(prefixes, found, strict=True):
        for hypothesis in best:
            assert list(hypothesis.tokens[: len(prefix)]) == prefix
            assert slots_of(hypothesis.tokens) == Counter([2, 3])


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_result_does_not_depend_on_the_other_sentences(
    clear: Clear, sequences: Sequences, config: SearchConfig
) -> None:
    model, required = clear(seed=3), [slots for slots in REQUIRED if slots]
    ids = sequences(len(required), seed=4, longest=8)
    together = search(model, ids, required, config)
    alone = [search(model, [i], [r], config)[0] for i, r in zip(ids, required, strict=True)]
    assert together == alone


def test_slots_that_are_not_required_do_not_occur(clear: Clear, sequences: Sequences) -> None:
    model, ids = clear(seed=5), sequences(6, seed=5)
    free = beam_search(model, pad(ids, model.src_pad), SearchConfig(n_best=4))
    assert any(slots_of(hypothesis.tokens) for best in free for hypothesis in best)
    for best in search(model, ids, [[]] * 6, SearchConfig(n_best=4)):
        assert not any(slots_of(hypothesis.tokens) for hypothesis in best)


@pytest.mark.parametrize("required", [[2], [2, 2], [2, UNK], [3, 2]])
def test_a_wide_beam_finds_the_best_of_all_outputs_with_the_slots(
    clear: Clear, required: list[int]
) -> None:
    model = clear(vocab_size=8, seed=len(required))
    ids, longest = [5, 6, EOS], 4
    config = SearchConfig(beam=256, n_best=20, alpha=0, max_extra=longest - 2, max_repeats=0)
    (found,) = search(model, [ids], [required], config)
    expected = {}
    with torch.inference_mode():
        memory = model.encode(torch.tensor([ids]))
        for length in range(longest + 1):
            for tokens in product(range(1, model.tgt_pad), repeat=length):
                if slots_of(tokens) != Counter(required):
                    continue
                tgt_in = torch.tensor([[model.tgt_pad, *tokens]])
                log_p = model.decode(tgt_in, memory).log_softmax(dim=-1)
                tgt = torch.tensor([[*tokens, EOS]])
                expected[tokens] = log_p.gather(2, tgt[:, :, None]).sum().item()
    best = sorted(expected, key=lambda tokens: -expected[tokens])[:20]
    assert [hypothesis.tokens for hypothesis in found] == best
    for hypothesis in found:  # the probabilities are those of the model without a goal
        assert hypothesis.log_prob == pytest.approx(expected[hypothesis.tokens], abs=1e-4)


def test_only_missing_slots_are_allowed_and_eos_only_after_them() -> None:
    one, none = (SlotGoal(required, [2, 3], n_tokens=6) for required in ([2, 2], []))
    left = np.array([9])
    assert one.allowed(left).tolist() == [[False, True, True, False, True, True]]
    assert none.allowed(left).tolist() == [[True, True, False, False, True, True]]
    assert one.allowed(np.array([3])).tolist() == [[False, False, True, False, False, False]]
    one.follow(np.array([0, 0]), np.array([2, 4]))
    assert one.allowed(np.array([3])).tolist() == [
        [False, True, True, False, True, True],
        [False, False, True, False, False, False],
    ]
    one.follow(np.array([0]), np.array([2]))
    assert one.allowed(left).tolist() == [[True, True, False, False, True, True]]


def test_a_goal_counts_what_has_been_placed() -> None:
    goal = SlotGoal([2, 2, 3], [2, 3], n_tokens=6)
    assert goal.proposals().tolist() == [[2]]
    assert goal.progress(np.array([0, 0]), np.array([3, 5])).tolist() == [1, 0]
    goal.follow(np.array([0, 0]), np.array([2, 5]))
    goal.follow(np.array([1, 0]), np.array([3, 2]))
    assert goal.missing.tolist() == [[2, 0], [0, 1]]
    assert goal.proposals().tolist() == [[2], [3]]
    beams, ids = np.array([0, 0, 0, 1, 1, 1]), np.array([2, 3, 5, 2, 3, 5])
    assert goal.progress(beams, ids).tolist() == [2, 1, 1, 2, 3, 2]
    goal.follow(np.array([1]), np.array([3]))
    assert goal.proposals().tolist() == [[-1]]
