"""Words of a segment, and how similar two segments are.

    similarity(a, b) = 1 - d / max(|a|, |b|)

|a| is the number of words of a, and d the edit distance: the least number of words that are
inserted, deleted or replaced to make b of a. Case, punctuation and the values of numbers do not
count. In scripts without spaces, and in Hangul, each character is a word.

    Save the file.  ~  Save this file  = 2/3        Page 3 of 10  ~  Page 4 of 12  = 1
"""

import unicodedata
import zlib
from functools import lru_cache

from yakusu import lazy
from yakusu.data.lines.words import UNSPACED

NUMBER = "0"  # stands for every number
_WORD = lazy.compile(
    rf"(?P<number>\p{{Nd}}++(?:[.,'’\u00a0\u202f]\p{{Nd}}++)*+)|[{UNSPACED}\p{{Hangul}}]\p{{M}}*+"
    rf"|(?:(?![{UNSPACED}\p{{Hangul}}])[\p{{L}}\p{{M}}\p{{N}}_])++"
    rf"(?:['’](?:(?![{UNSPACED}\p{{Hangul}}])\p{{L}})++)*+"
)
_FIRST, _N_CODES = 1 << 16, 15 << 16  # the code points that stand for words


def words(text: str) -> list[str]:
    """The words of a text, in lower case, each number as `NUMBER`.

    A text without words has its characters instead.
    """
    folded = unicodedata.normalize("NFC", text).casefold()
    found = [NUMBER if match["number"] else match[0] for match in _WORD.finditer(folded)]
    return found or list("".join(folded.split()))


def encoded(text: str) -> str:
    """The words of a text, each as one character: a hash of the word.

    Two different words have the same character with a probability of one in a million.
    """
    return "".join(map(_code, words(text)))


@lru_cache(maxsize=1 << 18)
def _code(word: str) -> str:
    return chr(_FIRST + zlib.crc32(word.encode("utf-8", "surrogatepass")) % _N_CODES)


def similarity(one: str, other: str) -> float:
    """The similarity of two encoded texts, from 0 to 1."""
    from rapidfuzz.distance import Levenshtein  # the words alone do not need it

    return float(Levenshtein.normalized_similarity(one, other))
