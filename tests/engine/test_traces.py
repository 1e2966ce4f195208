"""The trace of a search leads from its results back to their first tokens, in both engines."""

from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from random import Random

import pytest

from tests.engine.test_search import RULES, make_model, native, sentence
from yakusu.data.vocabulary import EOS
from yakusu.model.base import Seq2Seq
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.search.decoder import Decoder, Query
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.search.trace import Extension, TraceStep

Steps = list[TraceStep[int]]
IDS = [sentence(Random(seed)) for seed in range(6)]
engines = pytest.mark.parametrize("engine", [native, TorchDecoder])


def traced(
    decoder: Decoder, config: SearchConfig, *, batch: int = 64
) -> tuple[list[Steps], list[list[Hypothesis]]]:
    """The traces of the sentences, and their hypotheses."""
    traces: list[Steps] = [[] for _ in IDS]
    queries = [Query(ids, trace=own) for ids, own in zip(IDS, traces, strict=True)]
    return traces, decoder.search(queries, config, RULES, batch=batch)


def back(trace: Steps, at: int, last: Extension[int]) -> Iterator[Extension[int]]:
    """A hypothesis of a step, then those that it extends, back to the first token."""
    yield last
    for step in trace[at - 1 :: -1] if at else ():
        last = step.open[last.parent]
        yield last


def finished(trace: Steps) -> list[list[Extension[int]]]:
    """The finished hypotheses of a trace, by score; each from its first token on."""
    ended = [
        [*back(trace, at, last)][::-1] for at, step in enumerate(trace) for last in step.finished
    ]
    return sorted(ended, key=lambda path: -(path[-1].score or 0.0))


@engines
@pytest.mark.parametrize(
    "config",
    [
        SearchConfig(beam=1),
        SearchConfig(n_best=3),
        SearchConfig(n_best=2, margin=1.0),
        SearchConfig(n_best=3, sampling=SamplingConfig(seed=1)),
    ],
)
def test_the_trace_leads_from_the_hypotheses_back_to_their_first_tokens(
    engine: Callable[[Seq2Seq], Decoder], config: SearchConfig
) -> None:
    decoder = engine(make_model(Random(3)))
    for trace, found in zip(*traced(decoder, config), strict=True):
        for path, best in zip(finished(trace)[: len(found)], found, strict=True):
            assert tuple(each.token for each in path) == (*best.tokens, EOS)
            assert (path[-1].log_prob, path[-1].score) == (best.log_prob, best.score)


@engines
def test_the_log_probabilities_of_a_trace_are_sums_of_those_of_tokens(
    engine: Callable[[Seq2Seq], Decoder],
) -> None:
    decoder = engine(make_model(Random(3)))
    traces, _ = traced(decoder, SearchConfig(n_best=4))
    for ids, trace in zip(IDS, traces, strict=True):
        path = finished(trace)[-1]
        (scores,) = decoder.score([(ids, [e.token for e in path])], alternatives=0, batch=1)
        sums = list(accumulate(scores.token_log_probs))
        assert [each.log_prob for each in path] == pytest.approx(sums, abs=1e-4)


@engines
def test_hypotheses_below_the_margin_are_in_the_trace_and_are_not_extended(
    engine: Callable[[Seq2Seq], Decoder],
) -> None:
    traces, _ = traced(engine(make_model(Random(3))), SearchConfig(margin=0.5))
    steps = [step for trace in traces for step in trace]
    assert any(step.dropped for step in steps)
    for step in steps:
        assert len(step.open) + len(step.dropped) <= 4
        for each in step.dropped:
            assert each.log_prob < step.open[0].log_prob - 0.5 <= step.open[-1].log_prob
    for trace in traces:
        for before, after in pairwise(trace):
            for each in (*after.open, *after.finished, *after.dropped):
                assert each.parent < len(before.open)


@engines
def test_a_trace_does_not_depend_on_the_other_sentences(
    engine: Callable[[Seq2Seq], Decoder],
) -> None:
    decoder = engine(make_model(Random(3)))
    config = SearchConfig(n_best=2)
    assert traced(decoder, config) == traced(decoder, config, batch=1)


@engines
def test_a_trace_changes_no_translation(engine: Callable[[Seq2Seq], Decoder]) -> None:
    decoder, config = engine(make_model(Random(3))), SearchConfig(n_best=2)
    queries = [Query(ids, trace=[] if row % 2 else None) for row, ids in enumerate(IDS)]
    found = decoder.search(queries, config, RULES, batch=64)
    assert found == decoder.search(list(map(Query, IDS)), config, RULES, batch=64)
    assert [bool(query.trace) for query in queries] == [False, True] * 3
