"""The traces of the searches for a text, with their tokens as text."""

from collections.abc import Mapping
from functools import cache

from yakusu.data.lines.placeholders import shown
from yakusu.data.tokenizer import Tokenizer
from yakusu.search.trace import Trace
from yakusu.translator.output import places
from yakusu.translator.planning import Plan
from yakusu.translator.request import Job


def traces_of(plan: Plan, tokenizer: Tokenizer) -> tuple[Trace, ...]:
    """The trace of each segment of a text; (): none was requested."""
    spans = [passage.spans for passage in plan.passages for _ in passage.texts]
    return tuple(
        _trace(job, own, tokenizer)
        for job, own in zip(plan.jobs, spans, strict=True)
        if job.trace is not None
    )


def _trace(job: Job, spans: Mapping[str, str], tokenizer: Tokenizer) -> Trace:
    texts: dict[int, list[str]] = {}  # of the spans that each placeholder token stands for
    for place, token in zip(places(job.text), job.slots, strict=True):
        texts.setdefault(token, []).append(spans[place])

    @cache
    def text_of(token: int) -> str:
        if len(own := texts.get(token, [])) == 1:
            return own[0]
        (piece,) = tokenizer.target_pieces([token])
        return shown(piece)

    return tuple(step.as_text(text_of) for step in job.trace or ())
