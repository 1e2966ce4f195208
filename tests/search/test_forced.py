"""The probability of a given target: compared with the search, step by step, and with itself."""

import copy
import random
from collections.abc import Callable
from itertools import cycle, product
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.cases import THOROUGH
from yakusu.data.batches import pad
from yakusu.data.vocabulary import EOS
from yakusu.model.base import SearchModel, Seq2Seq
from yakusu.model.ensemble import Ensemble
from yakusu.model.linear import SOURCE_MULTIPLE
from yakusu.search import forced
from yakusu.search.beam import beam_search
from yakusu.search.config import SearchConfig
from yakusu.search.forced import score_targets, token_log_probs

Tiny = Callable[..., Seq2Seq]
Sequences = Callable[..., list[list[int]]]
MODELS: dict[str, dict[str, Any]] = {
    "transformer": {"vocab_size": 50, "d_model": 64, "d_ff": 96, "n_heads": 4},
    "transformer, packed weights": {"vocab_size": 1500, "n_layers": 1, "d_model": 256},
    "transformer, additive": {"d_model": 32, "mixing": "restricted", "score": "additive"},
    "transformer, recurrence": {"d_model": 32, "mixing": "recurrent"},
    "transformer, experts": {"d_model": 32, "n_experts": 4},
    "convolutional": {"name": "convolutional", "vocab_size": 50, "d_model": 64, "d_conv": 64},
    "recurrent": {"name": "recurrent", "vocab_size": 50, "d_model": 64},
    "recurrent, fixed vector": {"name": "recurrent", "d_model": 48, "attention": "none"},
}


def random_model(tiny: Tiny, name: str) -> Seq2Seq:
    """A model whose output weights are scaled, so that its distributions are not uniform."""
    model: Any = tiny(tied="none", **MODELS[name])
    with torch.no_grad():
        model.output_weight.mul_(3.0)
    assert isinstance(model, Seq2Seq)
    return model


# ---- compared with the search --------------------------------------------------------------------


def equals_the_search(model: SearchModel, ids: list[list[int]], config: SearchConfig) -> None:
    """Score all hypotheses of a search.

    The search adds up single-precision numbers, whose error grows with the sum: hence the relative
    tolerance.
    """
    src = pad(ids, model.src_pad, multiple=SOURCE_MULTIPLE)
    found = beam_search(model, src, config)
    pairs = [(ids[i], [*h.tokens, EOS]) for i, best in enumerate(found) for h in best]
    scores = score_targets(model, pairs)
    expected = [h.log_prob for best in found for h in best]
    assert [one.log_prob for one in scores] == pytest.approx(expected, abs=1e-5, rel=1e-6)


@pytest.mark.parametrize("beam", [1, 4])
def test_the_log_probability_is_that_of_the_search_for_a_trained_model(
    copy_task: Any, beam: int
) -> None:
    config = SearchConfig(beam=beam, n_best=beam)
    equals_the_search(copy_task.model, copy_task.unseen[:40], config)


@pytest.mark.parametrize(
    ("name", "beam"),
    [*product(MODELS, (1, 4))] if THOROUGH else [*zip(MODELS, cycle((4, 1)))],
)
def test_the_log_probability_is_that_of_the_search_for_long_outputs_of_random_models(
    tiny: Tiny, sequences: Sequences, name: str, beam: int
) -> None:
    model = random_model(tiny, name)
    ids = sequences(8, seed=9, vocab_size=model.src_vocab_size, longest=12)
    equals_the_search(model, ids, SearchConfig(beam=beam, n_best=beam, max_extra=40))


@pytest.mark.parametrize("beam", [1, 4])
def test_the_log_probability_is_that_of_the_search_for_an_ensemble(
    tiny: Tiny, sequences: Sequences, beam: int
) -> None:
    ensemble = Ensemble([tiny(seed=1), tiny("recurrent", seed=2), tiny("convolutional", seed=3)])
    config = SearchConfig(beam=beam, n_best=beam, max_extra=20)
    equals_the_search(ensemble, sequences(12, seed=4), config)


def test_the_sum_agrees_with_double_precision_to_six_digits(
    tiny: Tiny, sequences: Sequences
) -> None:
    model = random_model(tiny, "transformer")
    (target,) = (ids for ids in sequences(80, seed=5, vocab_size=50, longest=60) if len(ids) == 61)
    source = [*target[:20], EOS]
    exact = copy.deepcopy(model).double()
    tgt_in = torch.tensor([[model.tgt_pad, *target[:-1]]])
    logits = exact.decode(tgt_in, exact.encode(torch.tensor([source])))[0]
    expected = logits.log_softmax(-1)[torch.arange(len(target)), target].sum().item()
    (found,) = score_targets(model, [(source, target)])
    assert found.log_prob == pytest.approx(expected, rel=1e-6)


# ---- one batch -----------------------------------------------------------------------------------


def test_each_token_is_predicted_from_the_tokens_before_it(
    tiny: Tiny, sequences: Sequences
) -> None:
    model = random_model(tiny, "transformer")
    source, target = sequences(2, seed=6, vocab_size=50)
    state, prev, expected = model.start(model.encode(torch.tensor([source])), 1), model.tgt_pad, []
    for token in target:
        logits, state = model.step(torch.tensor([[prev]]), state)
        expected.append(logits[0, 0].log_softmax(-1)[token].item())
        prev = token
    found = token_log_probs(model, torch.tensor([source]), torch.tensor([target]))
    torch.testing.assert_close(found.log_probs, torch.tensor([expected]))


def test_padding_has_log_probability_zero(tiny: Tiny) -> None:
    model = tiny(vocab_size=12)
    src, tgt = torch.tensor([[3, EOS], [4, EOS]]), torch.tensor([[3, 4, EOS], [EOS, 11, 11]])
    found = token_log_probs(model, src, tgt)
    assert (found.log_probs[1, 1:] == 0).all() and (found.log_probs[0] < 0).all()


def test_alternatives_are_the_most_probable_tokens_of_each_position(tiny: Tiny) -> None:
    model = tiny(vocab_size=12)
    src, tgt = torch.tensor([[3, 4, EOS]]), torch.tensor([[5, 6, 7, EOS]])
    found = token_log_probs(model, src, tgt, alternatives=99)
    assert found.best_ids.shape == (1, 4, 11)  # every token but padding
    torch.testing.assert_close(found.best_log_probs.exp().sum(-1), torch.ones(1, 4))
    assert (found.best_log_probs.diff(dim=-1) <= 0).all()
    own = found.best_log_probs[found.best_ids == tgt[:, :, None]]
    assert torch.equal(own, found.log_probs.flatten())
    few = token_log_probs(model, src, tgt, alternatives=2)
    assert torch.equal(few.best_ids, found.best_ids[:, :, :2])


# ---- many pairs ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", MODELS if THOROUGH else ["transformer", "convolutional", "recurrent"]
)
def test_a_score_is_bit_identical_for_any_batch_size_and_order(
    tiny: Tiny, sequences: Sequences, name: str
) -> None:
    model, rng = random_model(tiny, name), random.Random(1)
    sources = sequences(16, seed=9, vocab_size=model.src_vocab_size, longest=40)
    targets = sequences(16, seed=10, vocab_size=model.src_vocab_size, longest=40)
    alone = [
        score_targets(model, [(source, target)], alternatives=2)[0]
        for source, target in zip(sources, targets, strict=True)
    ]
    for size, batch in ((16, 64), (3, 2), (40, 7), (90, 64)):
        chosen = [rng.randrange(16) for _ in range(size)]
        pairs = [(sources[i], targets[i]) for i in chosen]
        found = score_targets(model, pairs, alternatives=2, batch=batch)
        assert found == [alone[i] for i in chosen]


def test_a_batch_holds_equal_padded_lengths_at_least_two_sentences_and_few_logits(
    tiny: Tiny, sequences: Sequences, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, shapes = tiny(vocab_size=12), []

    def watched(model: SearchModel, src: Tensor, tgt: Tensor, **options: int) -> Any:
        shapes.append((*src.shape, *tgt.shape))
        return token_log_probs(model, src, tgt, **options)

    monkeypatch.setattr(forced, "token_log_probs", watched)
    monkeypatch.setattr(forced, "_MAX_LOGITS", 12 * 16 * 5)
    sources, targets = sequences(30, seed=1, longest=20), sequences(30, seed=2, longest=40)
    score_targets(model, list(zip(sources, targets, strict=True)))
    assert all(n == n_tgt and s % 16 == t % 16 == 0 for n, s, n_tgt, t in shapes)
    assert {(n <= 5 if t == 16 else n <= 2) and n >= 2 for n, _, _, t in shapes} == {True}


def test_a_model_with_learned_positions_scores_targets_of_its_maximum_length(tiny: Tiny) -> None:
    model = tiny(positions="learned", max_positions=20)
    (found,) = score_targets(model, [([*[3] * 19, EOS], [*[4] * 19, EOS])])
    assert len(found.token_log_probs) == 20
