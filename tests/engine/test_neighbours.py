"""Predictions from the states of similar segments are those of search/neighbours.py."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest
import torch

from tests.engine.test_search import RULES, V, make_model, native
from yakusu.arrays import Doubles
from yakusu.data.vocabulary import EOS
from yakusu.engine.decoder import NativeDecoder
from yakusu.model.base import shift_right
from yakusu.native.library import instruction_sets
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Query
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.neighbours import SegmentStates, StateCodebook, predicted
from yakusu.search.tokens import TokenRules

SOURCE = (5, 9, 4, EOS)
CONFIG = SearchConfig(beam=3, n_best=3, alpha=0.6)
MODEL = make_model(Random(5)).eval()
PLAIN = native(MODEL)


def segments(n: int, seed: int = 1) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    rng = Random(seed)

    def ids() -> tuple[int, ...]:
        return (*(rng.randrange(2, V - 1) for _ in range(rng.randrange(2, 7))), EOS)

    return [(ids(), ids()) for _ in range(n)]


def codebook(weight: float = 0.7, reach: float = 40.0) -> StateCodebook:
    """Random directions of the states as 16 components, with quantiles as centroids."""
    width, rng = PLAIN.models[0].config.d_model, np.random.default_rng(1)
    axes = rng.normal(size=(width, 16)).astype(np.float32) / np.float32(np.sqrt(width))
    mean = rng.normal(size=width).astype(np.float32)
    every = np.concatenate(PLAIN.states(segments(50, seed=9), batch=8))
    centroids = np.quantile((every - mean) @ axes, np.linspace(0, 1, 16), axis=0).T
    centroids = centroids.astype(np.float32)
    return StateCodebook(mean, axes, centroids, temperature=2.0, reach=reach, weight=weight)


def certain() -> NativeDecoder:
    """A decoder that follows the nearest state."""
    own = replace(codebook(), temperature=0.01, reach=1e6, weight=0.999999)
    return with_codebook(own)


def with_codebook(own: StateCodebook) -> NativeDecoder:
    return replace(PLAIN, codebook=own)


DECODER = with_codebook(codebook())


def states(
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]], decoder: NativeDecoder = DECODER
) -> SegmentStates:
    codes = decoder.codes(pairs, batch=4)
    every = [
        SegmentStates(own, np.array(target, np.int32))
        for own, (_, target) in zip(codes, pairs, strict=True)
    ]
    return SegmentStates.of(every)


def found(
    decoder: NativeDecoder, query: Query, batch: int = 2, rules: TokenRules = RULES
) -> list[Hypothesis]:
    (best,) = decoder.search([query], CONFIG, rules, batch=batch)
    return best


def expected(target: Sequence[int], given: SegmentStates) -> float:
    """log P'(Y | X), from torch's states and logits."""
    own, (hidden,) = codebook(), DECODER.states([(SOURCE, target)], batch=1)
    src, tgt = torch.tensor([SOURCE]), torch.tensor([target])
    with torch.inference_mode():
        logits = MODEL.decode(shift_right(tgt, MODEL.tgt_pad), MODEL.encode(src))[0]
    probs: Doubles = logits.double().softmax(-1).numpy()
    total = 0.0
    for row, token, near in zip(probs, target, predicted(own, given, hidden), strict=True):
        weight = near.weight * (1 - row.max())
        mixed = (1 - weight) * row[token] + weight * near.probs.get(token, 0.0)
        total += float(np.log(mixed))
    return total


def test_the_log_probability_is_that_of_the_definition() -> None:
    given = states(segments(30))
    every = TokenRules(V - 1, slot_kinds=())
    hypotheses = found(DECODER, Query(SOURCE, states=given), rules=every)
    for each in hypotheses:
        assert each.log_prob == pytest.approx(expected((*each.tokens, EOS), given), abs=1e-3)
    plain = found(PLAIN, Query(SOURCE), rules=every)
    assert [each.log_prob for each in hypotheses] != [each.log_prob for each in plain]


def test_the_states_of_a_translation_lead_to_it() -> None:
    wanted = (7, 8, 9, 5, 6, EOS)
    given = states([(SOURCE, wanted)])
    assert found(certain(), Query(SOURCE, states=given))[0].tokens == wanted[:-1]
    assert found(PLAIN, Query(SOURCE))[0].tokens != wanted[:-1]


@pytest.mark.parametrize("kernels", instruction_sets())
def test_the_order_of_segments_the_batch_and_the_instruction_set_change_no_bit(
    kernels: str,
) -> None:
    pairs = segments(40)
    decoder = replace(DECODER, kernels=kernels)
    wanted = found(DECODER, Query(SOURCE, states=states(pairs)))
    shuffled = Random(2).sample(pairs, len(pairs))
    queries = [
        Query(source, states=states(pairs[:n])) for n, (source, _) in enumerate(pairs[1:9], 1)
    ]
    query = Query(SOURCE, states=states(shuffled, decoder))
    together = decoder.search([*queries, query, *queries], CONFIG, RULES, batch=5)
    assert together[len(queries)] == wanted == found(decoder, query, batch=1)


def test_states_that_are_too_far_away_change_nothing() -> None:
    near, far = states(segments(30)), with_codebook(codebook(reach=1e-6))
    plain = found(PLAIN, Query(SOURCE))
    assert found(far, Query(SOURCE, states=near)) == plain
    none = SegmentStates(near.codes[:0], near.tokens[:0])
    assert found(DECODER, Query(SOURCE, states=none)) == found(DECODER, Query(SOURCE)) == plain


def test_a_given_prefix_is_kept_and_its_probability_is_the_models() -> None:
    prefix = (4, 6)
    given = states(segments(30))
    best = found(DECODER, Query(SOURCE, prefix, states=given))
    assert all(each.tokens[:2] == prefix for each in best)


def test_a_token_that_may_not_follow_is_not_predicted() -> None:
    unknown = 1
    given = states([(SOURCE, (7, unknown, 9, EOS))])
    best = found(certain(), Query(SOURCE, states=given))
    assert best[0].tokens[:1] == (7,)
    assert all(unknown not in each.tokens for each in best)


def test_codes_are_those_of_the_nearest_centroids() -> None:
    own, pairs = codebook(), segments(3)
    for hidden, codes in zip(
        DECODER.states(pairs, batch=2), DECODER.codes(pairs, batch=2), strict=True
    ):
        away = np.abs(own.scores(hidden)[:, :, None] - own.centroids)  # (T, M, 16)
        nearest_codes = away.argmin(axis=2)
        assert np.array_equal(nearest_codes[:, ::2], codes & 15)
        assert np.array_equal(nearest_codes[:, 1::2], codes >> 4)


def test_the_states_are_those_of_torch() -> None:
    pair = segments(1)[0]
    (hidden,) = DECODER.states([pair], batch=1)
    with torch.inference_mode():
        tgt = torch.tensor([pair[1]])
        logits = MODEL.decode(
            shift_right(tgt, MODEL.tgt_pad), MODEL.encode(torch.tensor([pair[0]]))
        )
        again = MODEL.logits(torch.from_numpy(hidden)[None])
    assert torch.allclose(again, logits, atol=1e-3)
