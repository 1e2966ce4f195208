"""Texts of a document that are kept, in a response: their lines, and reasons without text.

line 7: the translation of 'Room 12' lacks '12'
->  {"line": 7, "reason": "its numbers or code-like tokens differ in the translation"}
"""

import re
from collections.abc import Sequence
from typing import Any

_LISTED = 10
_LINE = re.compile(r"line (\d+): ")
_OTHERS = "no translation can be used"
# How sentences about kept texts end, and what the response says instead.
_REASONS = (
    (
        r"(?:lacks|adds|instead of) '.*'",
        "its numbers or code-like tokens differ in the translation",
    ),
    (
        r"is blank|blank,? or (?:its|whose) .*(?:differ|is not that of the source)",
        "its translation is blank, or its numbers or markup differ",
    ),
    (r"other placeholders \(.*\)", "its translation has other placeholders"),
    (r"placeholders in another order.*", "its translation has placeholders in another order"),
    (
        r"(?:longer than [\d,]+ characters.*|more than the [\d,]+ of the longest line)",
        "it is too long",
    ),
    (r"the charset of the header, has no .*", "the charset lacks a character of its translation"),
)
_ENDS = [(re.compile(rf".*\b(?:{end})", re.DOTALL), reason) for end, reason in _REASONS]


def kept_fields(kept: Sequence[str]) -> dict[str, Any]:
    """The fields of a response for the first texts that are kept; none if there are none.

    Args:
        kept: A sentence for each text, as in `TranslatedFile`.
    """
    if not kept:
        return {}
    return {"kept": [_entry(sentence) for sentence in kept[:_LISTED]], "keptTotal": len(kept)}


def _entry(sentence: str) -> dict[str, Any]:
    found = _LINE.match(sentence)
    reason = next((reason for end, reason in _ENDS if end.fullmatch(sentence)), _OTHERS)
    return {"line": int(found[1]), "reason": reason} if found else {"reason": reason}
