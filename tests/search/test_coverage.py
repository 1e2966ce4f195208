"""The coverage penalty by hand, in the scores of the search, and where it is refused."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from yakusu.data.batches import pad
from yakusu.data.vocabulary import EOS
from yakusu.engine.decoder import NativeDecoder
from yakusu.errors import ModelError
from yakusu.model.base import SearchModel, Seq2Seq
from yakusu.model.ensemble import Ensemble
from yakusu.search.beam import beam_search
from yakusu.search.config import SearchConfig
from yakusu.search.coverage import CoveragePenalty, coverage_penalty
from yakusu.search.hypothesis import Hypothesis, length_penalty
from yakusu.search.tokens import TokenRules
from yakusu.search.trace import Extension, TraceStep, best_first

GNMT: dict[str, Any] = {"name": "recurrent", "decoder": "gnmt", "attention": "additive"}


def weights(*rows: list[float]) -> Any:
    return np.array(rows, dtype=np.float32)


def test_a_source_token_with_half_a_weight_costs_beta_log_2() -> None:
    p = weights([0.5, 0.25, 0.25], [0.5, 0.25, 0.25])  # totals 1, 1/2, 1/2
    assert coverage_penalty(p, 0.2) == pytest.approx(-0.2 * 2 * math.log(2))


def test_a_total_above_1_is_not_rewarded() -> None:
    p = weights([0.75, 0.25], [0.75, 0.25], [0.75, 0.25])  # totals 2.25, 3/4
    assert coverage_penalty(p, 1.0) == pytest.approx(math.log(0.75))
    assert coverage_penalty(weights([1.0], [1.0]), 1.0) == 0.0


def test_a_token_without_any_weight_has_a_finite_penalty() -> None:
    assert -90 < coverage_penalty(weights([1.0, 0.0]), 1.0) < -80


def penalty(members: Sequence[Seq2Seq], source: list[int], found: Hypothesis, beta: float) -> float:
    """The penalty from the weights of `attentions`, the mean of members, layers and heads."""
    src, tgt = torch.tensor([source]), torch.tensor([[*found.tokens, EOS]])
    with torch.no_grad():
        p = [member.attentions(src, tgt)["cross"][0].mean(dim=(0, 1)) for member in members]
    total = torch.stack(p).mean(dim=0).sum(dim=0)  # (S,)
    if not getattr(members[0], "source_eos", True):
        total = total[:-1]
    return beta * sum(math.log(min(float(each), 1.0)) for each in total)


@pytest.mark.parametrize(
    "kinds", [[GNMT], [{"name": "transformer"}], [{"source_eos": False}], [GNMT, {}]], ids=str
)
def test_scores_are_log_probability_by_length_penalty_plus_coverage_penalty(
    tiny: Callable[..., Seq2Seq], sequences: Callable[..., list[list[int]]], kinds: list[Any]
) -> None:
    members = [tiny(**kind, seed=seed) for seed, kind in enumerate(kinds)]
    model: SearchModel = members[0] if len(members) == 1 else Ensemble(members)
    sources, traces = sequences(5, seed=3), [list[TraceStep[int]]() for _ in range(5)]
    config = SearchConfig(n_best=4, coverage=0.7, max_extra=4)
    found = beam_search(model, pad(sources, model.src_pad), config, traces=traces)
    for source, best, trace in zip(sources, found, traces, strict=True):
        for h in best:
            normed = h.log_prob / length_penalty(len(h.tokens) + 1, config.alpha)
            expected = normed + penalty(members, source, h, 0.7)
            assert h.score == pytest.approx(expected, abs=1e-4)
        finished = [e.score for step in trace for e in step.finished if e.score is not None]
        assert [h.score for h in best] == sorted(finished, reverse=True)[: len(best)]


def test_only_hypotheses_that_can_enter_the_n_best_are_decoded_again(
    tiny: Callable[..., Seq2Seq],
    sequences: Callable[..., list[list[int]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, n_decoded = tiny(**GNMT), list[int]()
    src, config = pad(sequences(12, seed=4), model.src_pad), SearchConfig(max_extra=4, coverage=5.0)
    compute = CoveragePenalty.penalties

    def counted(self: CoveragePenalty, found: Sequence[Any]) -> list[float]:
        n_decoded.append(len(found))
        return compute(self, found)

    monkeypatch.setattr(CoveragePenalty, "penalties", counted)
    traces = [list[TraceStep[int]]() for _ in src]
    traced = beam_search(model, src, config, traces=traces)
    n_ended = sum(n_decoded)
    assert n_ended == sum(len(step.finished) for trace in traces for step in trace)
    n_decoded.clear()
    assert beam_search(model, src, config, traces=[None] * 12) == traced
    assert len(src) <= sum(n_decoded) < n_ended


def test_finished_hypotheses_of_a_step_are_in_the_order_of_their_scores() -> None:
    likely, covered = Extension(0, EOS, -1.0, -3.0), Extension(1, EOS, -2.0, -2.5)
    assert best_first([likely, covered]) == (covered, likely)
    equal = [Extension(0, EOS, -2.0, -2.5), Extension(1, EOS, -1.0, -2.5)]
    assert best_first(equal) == (equal[1], equal[0])


def test_coverage_changes_which_hypothesis_is_best_but_not_its_log_probability(
    tiny: Callable[..., Seq2Seq], sequences: Callable[..., list[list[int]]]
) -> None:
    model, sources = tiny(**GNMT), sequences(12, seed=4)
    src = pad(sources, model.src_pad)
    plain, covered = (
        beam_search(model, src, SearchConfig(max_extra=4, coverage=beta)) for beta in (0.0, 5.0)
    )
    pairs = [(a[0], b[0]) for a, b in zip(plain, covered, strict=True)]
    assert any(a.tokens != b.tokens for a, b in pairs)
    assert all(len(b.tokens) >= len(a.tokens) for a, b in pairs)


@pytest.mark.parametrize("sizes", [{"name": "recurrent", "attention": "none"}, {"name": "bytenet"}])
def test_a_model_without_attention_is_refused(tiny: Callable[..., Seq2Seq], sizes: Any) -> None:
    model = tiny(**sizes)
    with pytest.raises(ModelError, match=r"search.coverage = 0.2 needs attention to the source"):
        beam_search(model, torch.tensor([[3, EOS]]), SearchConfig(coverage=0.2))


def test_the_native_engine_refuses_coverage() -> None:
    decoder, rules = NativeDecoder([]), TokenRules(4)
    with pytest.raises(ModelError, match=r"does not support search.coverage = 0.2: use --engine"):
        decoder.search([], SearchConfig(coverage=0.2), rules, batch=1)
