"""The normalisation of new vocabularies, which is part of their SentencePiece models.

    e + U+0301              ->  é         canonical composition (NFC)
    U+00A0, U+3000, tab     ->  a space   white space
    U+00AD, U+200B, U+FEFF  ->  nothing   what a reader does not see: `INVISIBLE`

Every other character stays as it is: 10², 3½, ™, ﬁ and ， are not replaced by what they are
compatible with, as NFKC does (docs/decisions/0052).
"""

import unicodedata
from functools import cache
from itertools import permutations

# What a reader does not see: soft hyphen, zero-width space, joiners of words, direction marks,
# fillers of Hangul, beams of music, and the byte order mark. The joiners U+200C and U+200D and
# variation selectors are not among them: they change how emoji and many scripts are written.
INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\u206a\u206b\u206c\u206d\u206e\u206f\u3164"
    "\ufeff\uffa0\U0001d173\U0001d174\U0001d175\U0001d176\U0001d177\U0001d178\U0001d179\U0001d17a"
)
_HANGUL = range(0xAC00, 0xD7A4)  # syllables
_END = 0x30000  # no later character is composed, white space or an upper-case letter
_MOST_MARKS = 4  # of a letter that is composed with all of them


@cache
def rules(*, lower_case: bool) -> tuple[tuple[str, str], ...]:
    """Each character or sequence that changes, and what it becomes.

    Args:
        lower_case: Whether letters are also converted to lower case.
    """
    found: dict[str, str] = {}
    for character in map(chr, range(1, _END)):
        if unicodedata.category(character) in ("Cs", "Cn", "Co"):
            continue
        if not unicodedata.is_normalized("NFD", character):
            composed = unicodedata.normalize("NFC", character)
            found |= dict.fromkeys(_spellings(character), composed)
        if character.isspace():
            found[character] = " "
        elif character in INVISIBLE or unicodedata.category(character) == "Cc":
            found[character] = ""
    if lower_case:
        found |= {c: c.lower() for c in map(chr, range(_END)) if c != c.lower()}
        found = {
            source: unicodedata.normalize("NFC", target.lower()) for source, target in found.items()
        }
    return tuple((source, target) for source, target in sorted(found.items()) if source != target)


def _spellings(character: str) -> set[str]:
    """The canonically equivalent sequences of a character, with its marks in every order."""
    composed = unicodedata.normalize("NFC", character)
    base, *marks = list(unicodedata.normalize("NFD", character))
    if ord(character) in _HANGUL:
        first = unicodedata.normalize("NFC", base + marks[0])
        return {base + "".join(marks), first + "".join(marks[1:])}
    found = {character}
    for order in permutations(marks) if 0 < len(marks) <= _MOST_MARKS else ():
        for n in range(len(order) + 1):
            begun = unicodedata.normalize("NFC", base + "".join(order[:n]))
            found.add(begun + "".join(order[n:]))
    return {each for each in found if unicodedata.normalize("NFC", each) == composed}
