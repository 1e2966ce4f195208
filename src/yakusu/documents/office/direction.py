"""The direction in which a paragraph is written, if its translation needs another one.

A paragraph is turned if its translation has letters of the other direction only: from left to right
if the text has letters that are written from right to left and the translation has none, and vice
versa. So the language of the text need not be known, and a paragraph that has both kinds of letters
keeps its direction.
"""

import re
import unicodedata

from yakusu.documents.document import plain_text

_LEFTWARD = ("R", "AL")  # classes of characters that are written from right to left
_ANY = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


def new_direction(text: str, translation: str) -> str:
    """The direction that a paragraph needs: "rtl", "ltr", or "" if it is that of the text."""
    before, after = _is_leftward(text), _is_leftward(translation)
    if before == after:
        return ""
    return "rtl" if after else "ltr"


def _is_leftward(text: str) -> bool:
    """Whether a text has letters that are written from right to left."""
    if text.isascii() or not _ANY.search(text):
        return False
    return any(unicodedata.bidirectional(each) in _LEFTWARD for each in plain_text(text))
