"""Lines of text as messages show them."""

import unicodedata

_INVISIBLE = ("Cc", "Cf", "Co", "Cn", "Zl", "Zp")
_WIDTH = 60  # characters of an example, each side


def shorten(text: str, around: int = 0, *, width: int = _WIDTH) -> str:
    """Return the part of a line around a position, with control characters as escapes."""
    start = max(0, min(around - width // 3, len(text) - width))
    part = text[start : start + width]
    shown = "".join(map(_visible, part))
    return ("…" if start else "") + shown + ("…" if start + width < len(text) else "")


def _visible(character: str) -> str:
    if unicodedata.category(character) in _INVISIBLE:
        return character.encode("unicode_escape").decode()
    return character
