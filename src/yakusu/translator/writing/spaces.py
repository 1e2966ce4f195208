"""White space that a model reads as a space, such as no-break spaces and several spaces."""

from collections import Counter, defaultdict, deque
from unicodedata import normalize

import regex

_UNUSUAL = regex.compile(r"[^\S ]|\s{2}")
_GAP = regex.compile(r"(?P<left>\b\w++|[^\w\s])(?P<space>\s+)(?=(?P<right>\w++|[^\w\s]))")


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
