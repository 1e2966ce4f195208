"""Words: runs of characters that spaces or punctuation separate from others; letters."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby

from yakusu import lazy

# Scripts that write words without spaces between them, in a set of a regular expression.
UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}ーｰ〆\p{Bopomofo}\p{Yi}"
    r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}\p{Javanese}\p{Balinese}"
    r"\p{Tai_Le}\p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}"
)
_MARK = lazy.compile(r"\p{M}")
_UNSPACED = lazy.compile(f"[{UNSPACED}]")


@lru_cache(maxsize=1 << 16)
def is_joined(character: str) -> bool:
    """Whether a character is part of a word that spaces or punctuation separate from others.

    Letters, digits, combining marks and the underscore are, except in scripts without spaces.
    """
    if not (character.isalnum() or character == "_" or _MARK.match(character)):
        return False
    return not _UNSPACED.match(character)


def has_letter(text: str) -> bool:
    """Whether a text has a letter; other texts are not translated."""
    return any(map(str.isalpha, text))


def words_and_characters(text: str) -> Iterator[str]:
    """The words of a text, and each other character."""
    for joined, run in groupby(text, key=is_joined):
        characters = list(run)
        yield from ["".join(characters)] if joined else characters
