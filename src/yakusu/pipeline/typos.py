"""Typing errors: one in about every ten words, as a function of the text.

    deletion          the door is oen
    insertion         the door is opren     of a key next to that of the letter before or after it
    exchange          the door is oepn      of two letters
    neighbouring key  the door is ppen

Training uses other errors (data/augmentation.py), so that a model cannot have learned these.
"""

import hashlib
from collections.abc import Iterator
from random import Random

import regex

WORDS_PER_TYPO = 10
_WORD = regex.compile(r"[\p{L}\p{M}]{3,}")
# Of scripts without spaces between words, as many characters as an average word has.
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_UNSPACED_WORD = 2
_KEYBOARDS = (
    ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    ("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"),
    ("ςερτυθιοπ", "ασδφγηξκλ", "ζχψωβνμ"),
)


def with_typos(text: str) -> str:
    """A text with one typo per ten words; the remaining words have one with their probability.

    Words have at least three letters. The typos depend on nothing but the text.
    """
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    random = Random(int.from_bytes(digest, "big"))
    n_unspaced = len(_UNSPACED.findall(text))
    n_words = len(_UNSPACED.sub(" ", text).split()) + n_unspaced / _UNSPACED_WORD
    n_typos = int(n_words / WORDS_PER_TYPO + random.random())
    words = list(_WORD.finditer(text))
    chosen = random.sample(words, min(n_typos, len(words)))
    for word in sorted(chosen, key=regex.Match.start, reverse=True):
        text = text[: word.start()] + _misspelled(word[0], random) + text[word.end() :]
    return text


def _misspelled(word: str, random: Random) -> str:
    """A word with an error; the case of its letters stays where it is."""
    for _ in range(len(word) * 4):
        at = random.randrange(len(word))
        before, letter, after = word[:at], word[at], word[at + 1 :]
        match random.randrange(4):
            case 0:
                other = before + after
            case 1:
                other = before + letter + _neighbour(letter, random) + after
            case 2:
                other = before + after[:1] + letter + after[1:]
            case _:
                other = before + _neighbour(letter, random) + after
        if other.lower() != word.lower():
            return _cased(other, word)
    return word[:-1]  # such as aaa


def _cased(word: str, model: str) -> str:
    """A word with a capital at its beginning if the model has one there."""
    return word[:1].upper() + word[1:].lower() if model.istitle() else word


def _neighbour(letter: str, random: Random) -> str:
    """A key next to that of a letter; of an unknown keyboard, the same key."""
    near = list(_next_to(letter.lower()))
    key = random.choice(near) if near else letter
    return key.upper() if letter.isupper() else key


def _next_to(letter: str) -> Iterator[str]:
    """The keys of the same row, and those of the rows above and below."""
    for rows in _KEYBOARDS:
        for number, row in enumerate(rows):
            if (at := row.find(letter)) >= 0:
                yield from row[max(0, at - 1) : at] + row[at + 1 : at + 2]
                for other in rows[max(0, number - 1) : number] + rows[number + 1 : number + 2]:
                    yield from other[max(0, at - 1) : at + 1]
