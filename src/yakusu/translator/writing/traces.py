"""The traces of the searches for a text, with their tokens as text."""

from collections.abc import Mapping, Sequence
from functools import cache

from yakusu.data.lines.placeholders import shown_piece
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import UNK
from yakusu.search.decoder import Query
from yakusu.search.trace import Trace, TraceStep
from yakusu.translator.reading.passage import Passage
from yakusu.translator.reading.slots import places, slots_of


def traces_of(
    passages: Sequence[Passage], queries: Sequence[Query], tokenizer: Tokenizer
) -> tuple[Trace, ...]:
    """The trace of each segment of a text; (): none was requested."""
    parts = [(text, passage.spans) for passage in passages for text in passage.texts]
    return tuple(
        _trace(query.trace, text, spans, tokenizer)
        for query, (text, spans) in zip(queries, parts, strict=True)
        if query.trace is not None
    )


def _trace(
    steps: Sequence[TraceStep[int]], text: str, spans: Mapping[str, str], tokenizer: Tokenizer
) -> Trace:
    texts: dict[int, list[str]] = {}  # of the spans that each placeholder token stands for
    for place, slot in zip(places(text), slots_of(text), strict=True):
        texts.setdefault(tokenizer.target_slots.get(slot, UNK), []).append(spans[place])

    @cache
    def text_of(token: int) -> str:
        if len(own := texts.get(token, [])) == 1:
            return own[0]
        (piece,) = tokenizer.target_pieces([token])
        return shown_piece(piece)

    return tuple(step.as_text(text_of) for step in steps)
