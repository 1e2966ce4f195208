"""Placeholders whose argument depends on their position, such as %s: their order must stay.

Copied %d files to %s    ->    %s: %d files copied        refused: %s would get the number
Copied %1$d files to %2$s                                 may be in any order
"""

import re

_DIRECTIVE = re.compile(
    r"%[-+#0']*+(?:\*|\d++)?(?:\.(?:\*|\d++)?)?(?:hh|h|ll|l|L|q|j|z|t)?[diouxXeEfFgGaAcCsSprbqvtTU@]|%%"
)


def reordered(source: str, translation: str) -> list[str]:
    """The positional placeholders of a translation, if only their order is not as in the source."""
    if "%" not in source:
        return []
    before, after = (
        [m for m in _DIRECTIVE.findall(text) if m != "%%"] for text in (source, translation)
    )
    return after if before != after and sorted(before) == sorted(after) else []
