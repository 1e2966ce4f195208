"""White space, quotation marks and dashes of a translation, as they were typed in the source.

A model reads no-break spaces and several spaces as one space, and quotation marks and dashes that
training has not seen as those of ASCII.
"""

from collections import Counter, defaultdict, deque
from itertools import chain
from unicodedata import normalize

import regex

from yakusu import lazy
from yakusu.translator.reading.passage import Passage

_UNUSUAL = lazy.compile(r"[^\S ]|\s{2}")
_GAP = lazy.compile(r"(?P<left>\b\w++|[^\w\s])(?P<space>\s+)(?=(?P<right>\w++|[^\w\s]))")


def as_typed(text: str, passage: Passage) -> str:
    """Give the quotation marks and dashes of a translation the form that they have in the source.

    This concerns the characters that were read as ASCII, if the translation has as many of them.

    Args:
        text: The translation of a line.
        passage: The line.
    """
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
    spaces = defaultdict[str, deque[str]](deque)
    for gap in _GAP.finditer(source):
        spaces[_words(gap)].append(gap["space"])
    counts = Counter(map(_words, _GAP.finditer(text)))
    known = {words for words, own in spaces.items() if len(own) == counts[words]}

    def spaced(gap: "regex.Match[str]") -> str:
        words = _words(gap)
        space = spaces[words].popleft() if words in known else gap["space"]
        return f"{gap['left']}{space}"

    return str(_GAP.sub(spaced, text))


def _words(gap: "regex.Match[str]") -> str:
    """The words on both sides, as a vocabulary spells them."""
    return normalize("NFC", f"{gap['left']} {gap['right']}")
