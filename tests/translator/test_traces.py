"""Traces of text: one for each part that is searched, with the tokens as text."""

from itertools import pairwise

import pytest

from tests.translators import ENGINES, Engine, untrained
from yakusu.data.lines.private_use import SLOTS
from yakusu.search.trace import TraceStep
from yakusu.translator import Translation
from yakusu.translator.request import Request

SENTENCE, SPAN = "sieht {name}", "{name}"


def tokens(trace: tuple[TraceStep[str], ...]) -> set[str]:
    return {
        extension.token
        for step in trace
        for extension in (*step.open, *step.finished, *step.dropped)
    }


def best_path(translation: Translation) -> tuple[str, ...]:
    """The tokens of the best finished hypothesis of a text with a single part."""
    (trace,) = translation.traces
    ended = [
        (each.score or 0.0, at, each) for at, step in enumerate(trace) for each in step.finished
    ]
    _, at, last = max(ended, key=lambda own: own[0])
    path = [last.token]
    for step in reversed(trace[:at]):
        last = step.open[last.parent]
        path.append(last.token)
    return tuple(reversed(path))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["bytes", "plain"])
def test_the_trace_leads_to_the_tokens_of_the_translation(engine: Engine, kind: str) -> None:
    one = untrained(kind, beam=4, engine=engine)
    (best,) = next(one.stream(["der gute Mann"], details=True, trace=True))
    assert best.details is not None
    assert best_path(best) == best.details.tokens


@pytest.mark.parametrize("engine", ENGINES)
def test_placeholder_tokens_are_shown_as_the_text_of_their_span(engine: Engine) -> None:
    (best,) = next(untrained("bytes", beam=4, engine=engine).stream([SENTENCE], trace=True))
    (trace,) = best.traces
    assert SPAN in tokens(trace) and SPAN in best_path(best)
    assert not any(slot in token for token in tokens(trace) for slot in SLOTS)


def test_a_placeholder_token_of_several_spans_is_shown_by_its_number() -> None:
    line = " und ".join(f"{{{number}}}" for number in range(11))
    request = Request(line, include=("die",))  # so that the line is not divided
    (best,) = next(untrained("bytes", beam=4).stream([request], trace=True))
    shown = tokens(best.traces[0])
    assert "<placeholder 1>" in shown  # of {0} and {10}
    assert "{1}" in shown and "{0}" not in shown


def test_all_translations_of_a_text_have_the_traces_of_its_parts() -> None:
    one = untrained("bytes", beam=4)
    text = "Die Frau singt. Er hört."
    for best in one.stream([text, "", "{name}"], trace=True):
        assert all(own.traces is best[0].traces for own in best)
    traces = [best[0].traces for best in one.stream([text, "", "{name}"], trace=True)]
    assert [len(own) for own in traces] == [2, 0, 0]
    for before, after in pairwise(traces[0][0]):
        assert all(each.parent < len(before.open) for each in after.open)


def test_without_a_request_there_are_no_traces() -> None:
    (best,) = next(untrained("bytes").stream([SENTENCE], details=True))
    assert best.traces == ()
