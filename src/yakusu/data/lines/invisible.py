"""Characters that a reader does not see, which must not reach a model.

    birth<U+00AD>day        ->  birthday       soft hyphen, zero-width space, byte order mark ...
    Stop.<U+200B>Go.        ->  Stop. Go.      a zero-width space between two sentences
    <U+200E>Yes             ->  Yes            direction marks

Joiners remain where they change what a reader sees: between emoji, and next to letters of scripts
that use them. Direction marks remain in text with letters that are written from right to left.
"""

import regex

from yakusu import lazy
from yakusu.data.normalization import INVISIBLE

_JOINERS = "\u200c\u200d"
_JOINING = (
    r"\p{Arabic}\p{Syriac}\p{Nko}\p{Mongolian}\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}"
    r"\p{Oriya}\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Myanmar}\p{Tibetan}"
    r"\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f"
)  # scripts that use joiners, and emoji
_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
DIRECTION_MARK = regex.compile(f"[{_DIRECTIONS}]")
_RIGHT_TO_LEFT = regex.compile(r"[\p{bc=R}\p{bc=AL}--\u061c\u200f]", regex.V1)
# Variation selectors and tags that belong to no emoji and no ideograph, and marks of annotations
_SELECTORS, _TAGS = r"\ufe00-\ufe0f", r"\U000e0020-\U000e007f"
_PLAIN = r"\p{Latin}\p{Greek}\p{Cyrillic}\s.,:;()"
_STRAY = (
    rf"(?<![^{_PLAIN}{_SELECTORS}][{_SELECTORS}]{{0,3}})[{_SELECTORS}]"
    rf"|(?<!\U0001f3f4[{_TAGS}]{{0,8}})[{_TAGS}]|[\ufff9-\ufffb]"
)
_REMOVED = lazy.compile(rf"[{INVISIBLE}]|(?<![{_JOINING}])[{_JOINERS}](?![{_JOINING}])|{_STRAY}")
_CANDIDATE = lazy.compile(rf"[{INVISIBLE}{_JOINERS}{_SELECTORS}{_TAGS}\ufff9-\ufffb]")
_BETWEEN_SENTENCES = lazy.compile(
    rf"(?<=[\p{{Sentence_Terminal}}…][\p{{Pe}}\p{{Pf}}\"']*)\u200b(?=[^\s{INVISIBLE}])"
)


def right_to_left(text: str) -> bool:
    """Whether a text has letters that are written from right to left."""
    return not text.isascii() and _RIGHT_TO_LEFT.search(text) is not None


def n_invisible(text: str) -> int:
    """The number of characters that `visible` removes or replaces by a space."""
    return 0 if text.isascii() else len(_REMOVED.findall(text))


def removed_places(text: str) -> list[int]:
    """Where the characters are that `visible` removes, in order."""
    return [match.start() for match in _REMOVED.finditer(_BETWEEN_SENTENCES.sub(" ", text))]


def visible(text: str) -> str:
    """Return a text without the characters that a reader does not see."""
    if text.isascii() or not _CANDIDATE.search(text):
        return text
    return str(_REMOVED.sub("", _BETWEEN_SENTENCES.sub(" ", text)))
