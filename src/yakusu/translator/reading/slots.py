"""The slots of a segment: what a model reads and writes in place of spans.

segment   Call P1 at P2.      (a private-use character for each span: its place)
model     Call S1 at S2.      (a placeholder token of the vocabulary for each place)
"""

from collections.abc import Mapping
from itertools import cycle

from yakusu.data.lines.private_use import IS_SLOT, PLACE, SLOTS


def places(text: str) -> list[str]:
    """The places of a segment, in order."""
    return list(PLACE.findall(text))


def slots_of(text: str) -> list[str]:
    """The slot of each place of a segment, in order; from the eleventh on, they are used again."""
    return [SLOTS[i % len(SLOTS)] for i in range(len(places(text)))]


def to_slots(text: str) -> str:
    """Replace the places of a segment by slots, as the model reads it."""
    slots = cycle(SLOTS)
    return str(PLACE.sub(lambda match: next(slots), text))


def to_places(output: str, text: str) -> str:
    """Replace the slots of an output by the places of the segment, in order for each slot."""
    waiting: dict[str, list[str]] = {}
    for place, slot in zip(places(text), cycle(SLOTS), strict=False):
        waiting.setdefault(slot, []).append(place)
    return str(IS_SLOT.sub(lambda match: waiting[match[0]].pop(0), output))


def restore(text: str, spans: Mapping[str, str]) -> str:
    """Replace places by their spans."""
    return str(PLACE.sub(lambda match: spans.get(match[0], match[0]), text))
