"""White space, quotation marks and dashes of a translation, as they were typed in the source.

A model reads no-break spaces and several spaces as one space, and quotation marks and dashes that
training has not seen as those of ASCII.
"""

from collections import Counter, defaultdict, deque
from itertools import chain

import regex

from yakusu.translator.reading.passage import Passage

_UNUSUAL = regex.compile(r"[^\S ]|\s{2}")
_GAP = regex.compile(r"(?P<left>\b\w++|[^\w\s])(?P<space>\s+)(?=(?P<right>\w++|[^\w\s]))")


def as_typed(text: str, passage: Passage) -> str:
    """Give white space, quotation marks and dashes the form that they have in the source.

    This concerns white space between unchanged words, and the other characters that were read as
    ASCII, if the translation has as many of them.

    Args:
        text: The translation of a line.
        passage: The line.
    """
    text = as_spaced(text, passage.given)
    if not passage.typed:
        return text
    for read in "'\"-":
        forms = [
            typed for typed, own in zip(passage.typed, passage.given, strict=True) if own == read
        ]
        if set(forms) - {read} and text.count(read) == len(forms):
            parts = text.split(read)
            text = "".join(chain(*zip(parts, forms, strict=False), parts[-1:]))
    return text


def as_spaced(text: str, source: str) -> str:
    """Give white space the form that it has in the source, between words that are the same there.

    In 5<U+00A0>km, a translation keeps the no-break space, if it has 5 km as often as the source.

    Args:
        text: A translation.
        source: Its source.
    """
    if not _UNUSUAL.search(source):
        return text
    spaces = defaultdict[tuple[str, str], deque[str]](deque)
    for gap in _GAP.finditer(source):
        spaces[gap["left"], gap["right"]].append(gap["space"])
    counts = Counter((gap["left"], gap["right"]) for gap in _GAP.finditer(text))
    known = {words for words, own in spaces.items() if len(own) == counts[words]}

    def spaced(gap: "regex.Match[str]") -> str:
        words = gap["left"], gap["right"]
        space = spaces[words].popleft() if words in known else gap["space"]
        return f"{gap['left']}{space}"

    return str(_GAP.sub(spaced, text))
