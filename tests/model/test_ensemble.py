"""An ensemble predicts with the mean of its members' distributions."""

from collections.abc import Callable

import pytest
import torch

from yakusu.errors import ModelError
from yakusu.model.base import SearchModel, Seq2Seq
from yakusu.model.ensemble import Ensemble
from yakusu.search.beam import beam_search
from yakusu.search.config import SearchConfig

Tiny = Callable[..., Seq2Seq]
SRC = torch.tensor([[2, 3, 4, 0], [5, 0, 11, 11], [6, 7, 0, 11]])


def members(tiny: Tiny) -> list[Seq2Seq]:
    """Two models of different widths and norms."""
    return [tiny(seed=1), tiny(seed=2, d_model=32, n_heads=4, norm="pre")]


def distributions(model: SearchModel, prefix: list[int]) -> torch.Tensor:
    state = model.start(model.encode(SRC), 1)
    for token in [model.tgt_pad, *prefix]:
        logits, state = model.step(torch.full((3, 1), token), state)
    return logits.softmax(dim=-1)[:, 0]


def test_the_distribution_is_the_mean_of_the_members(tiny: Tiny) -> None:
    one, other = members(tiny)
    for prefix in ([], [4], [4, 9, 3]):
        mean = (distributions(one, prefix) + distributions(other, prefix)) / 2
        torch.testing.assert_close(distributions(Ensemble([one, other]), prefix), mean)


def test_reorder_and_keep_apply_to_every_member(tiny: Tiny) -> None:
    one, other = members(tiny)
    states = [each.start(each.encode(SRC), 2) for each in (Ensemble([one, other]), one, other)]
    prev, beams = torch.tensor([[4, 5], [6, 7], [8, 9]]), torch.tensor([[1, 0], [1, 1], [0, 0]])
    models = (Ensemble([one, other]), one, other)
    for model, state in zip(models, states, strict=True):
        model.step(prev, state)
        state.reorder(beams)
        state.keep(torch.tensor([2, 0]))
    both, *alone = (
        model.step(torch.full((2, 2), 3), state)[0].softmax(dim=-1)
        for model, state in zip(models, states, strict=True)
    )
    torch.testing.assert_close(both, (alone[0] + alone[1]) / 2)


def test_an_ensemble_of_a_model_with_itself_equals_the_model(tiny: Tiny) -> None:
    model, search = tiny(seed=3), SearchConfig(max_extra=4, n_best=2)
    alone, twice = beam_search(model, SRC, search), beam_search(Ensemble([model] * 2), SRC, search)
    assert [[h.tokens for h in best] for best in twice] == [
        [h.tokens for h in best] for best in alone
    ]


def test_the_shortest_member_sets_the_maximum_length(tiny: Tiny) -> None:
    assert Ensemble([tiny(), tiny(positions="learned", max_positions=9)]).max_length == 9


def test_members_with_different_vocabularies_are_refused(tiny: Tiny) -> None:
    with pytest.raises(ModelError, match="vocabularies of the ensemble have 2 different sizes"):
        Ensemble([tiny(), tiny(vocab_size=13)])


@pytest.mark.parametrize("vocab_size", [12, 60])  # no multiple of the width of a vector register
def test_the_distribution_of_a_sentence_does_not_depend_on_the_batch(
    tiny: Tiny, vocab_size: int
) -> None:
    models = [tiny(seed=seed, vocab_size=vocab_size) for seed in (1, 2, 3)]
    ids = torch.randint(2, vocab_size - 1, (40, 16), generator=torch.Generator().manual_seed(1))
    ensemble = Ensemble(models)
    with torch.inference_mode():
        for model in models:
            model.output_weight.mul_(4)  # so that the members' distributions differ
        together = ensemble.decode(ids[:, :5], ensemble.encode(ids))
        for row in range(38):
            some = ids[row : row + 2]
            alone = ensemble.decode(some[:, :5], ensemble.encode(some))
            assert torch.equal(alone, together[row : row + 2])
