"""The translation of a text, from an output of the model for each of its segments."""

from collections.abc import Sequence
from dataclasses import dataclass

from yakusu.search.trace import Trace
from yakusu.translator.details import Details
from yakusu.translator.output import Output, lines_of
from yakusu.translator.passage import Passage
from yakusu.translator.words import details_of_text


@dataclass(frozen=True)
class Translation:
    """One of the best translations of a sentence."""

    text: str
    score: float  # log_prob / length penalty; -inf: not produced by the model
    log_prob: float  # in nats, including eos
    n_tokens: int  # including eos
    details: Details | None = None  # if requested, and if the model produced the translation
    traces: tuple[Trace, ...] = ()  # of the search for each part of the text, if requested


def translation_of(
    passages: Sequence[Passage],
    outputs: Sequence[Output],
    *,
    language: str,
    traces: tuple[Trace, ...],
    constrained: bool,
) -> Translation:
    """Put the translation of a text together.

    Args:
        passages: The lines of the text.
        outputs: An output for each of their segments with text, in order.
        language: Code of the target language, "" if unknown.
        traces: The searches for the segments, if requested.
        constrained: The task constrains the output, as parsing does: the words of a tree are not
            those that the model writes.
    """
    lines = lines_of(passages, iter(outputs), language)
    if constrained:
        details = next((output.details for output in outputs), None)
    else:
        details = details_of_text(lines)
    return Translation(
        "".join(line.text for line in lines),
        sum((output.score for output in outputs), 0.0),
        sum((output.log_prob for output in outputs), 0.0),
        sum(output.n_tokens for output in outputs),
        details,
        traces,
    )
