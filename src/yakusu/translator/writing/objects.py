"""Translations as JSON objects, for `translate --format json` and for the service."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from yakusu.memory.matches import MemoryMatch
from yakusu.search.trace import TraceStep
from yakusu.translator.writing.translation import Translation

Object = dict[str, Any]


def objects(best: Sequence[Translation]) -> Object:
    """The translations of a text, and the traces of their search if they were requested."""
    found: Object = {"translations": list(map(_object, best))}
    if best[0].revisions:
        found["revisions"] = best[0].revisions
    if best[0].traces:
        found["traces"] = [list(map(_step, trace)) for trace in best[0].traces]
    return found


def _object(translation: Translation) -> Object:
    found: Object = {
        "text": translation.text,
        "score": _number(translation.score),
        "log_prob": _number(translation.log_prob),
        "copied": translation.copied,
    }
    if translation.quality is not None:
        found |= {"quality": translation.quality, "doubt": translation.doubt}
    if translation.match is not None:
        found["match"] = translation.match
    if translation.matches:
        found["matches"] = list(map(match_object, translation.matches))
    if (details := translation.details) is None:
        return found
    rows = zip(details.tokens, details.token_log_probs, details.alternatives, strict=True)
    found["tokens"] = [
        {"token": token, "log_prob": log_prob, "alternatives": dict(alternatives)}
        for token, log_prob, alternatives in rows
    ]
    if details.links is not None:
        found["alignment"] = details.pharaoh
    return found


def match_object(match: MemoryMatch) -> Object:
    """A match, and what is known of its segment."""
    known = {name: value for name, value in asdict(match.segment).items() if value}
    return {"match": match.match, "translation": match.target, "id": match.number} | known


def _step(step: TraceStep[str]) -> Object:
    """A step of a trace; only finished hypotheses have a score."""
    return {
        name: [
            {key: value for key, value in vars(extension).items() if value is not None}
            for extension in extensions
        ]
        for name, extensions in vars(step).items()
    }


def _number(value: float) -> float | None:
    """JSON has no -inf, the score of an output that the model did not produce."""
    return value if math.isfinite(value) else None
