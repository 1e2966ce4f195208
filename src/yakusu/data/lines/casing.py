"""Sentences in capitals and in title case, which a model reads in sentence case; other case.

    sentence_case   DO NOT OPEN THE DOOR!   ->   Do not open the door!
    untitled        Do Not Open The Door!   ->   Do not open the door!
    capitals        Tür nicht öffnen!       ->   TÜR NICHT ÖFFNEN!
    title_case      Do not open the door!   ->   Do Not Open The Door!
    lower_case      Do not open the door!   ->   do not open the door!

In sentence case, words with digits, Roman numerals and private-use characters keep their case.
"""

import unicodedata
from collections.abc import Callable
from functools import lru_cache
from math import isinf

import regex

from yakusu import lazy
from yakusu.data.languages import closeness
from yakusu.data.lines.private_use import FIRM_RANGE, SLOT_RANGE

_WORD = lazy.compile(r"[\p{L}\p{M}\p{N}_]+(?:['’][\p{L}\p{M}\p{N}_]+)*")
_CASED_WORD = lazy.compile(
    r"[\p{Lu}\p{Ll}\p{Lt}\p{M}\p{N}_]+(?:['’][\p{Lu}\p{Ll}\p{Lt}\p{M}\p{N}_]+)*"
)
_CODE = lazy.compile(r"[\d_]|^(?:II|III|IV|VII|VIII|IX|X{1,3}(?:IX|IV|V?I{0,3}))$")
_SUFFIXED = lazy.compile(r"\d+\p{L}+$")  # 2ND, 10AM
_SPAN = lazy.compile(f"[{SLOT_RANGE}{FIRM_RANGE}]")
_ACRONYM = 4  # letters of the longest acronym
_MOSTLY = 0.75  # of the words, and of the letters
_FEWEST = 2  # frequent words that show that a sentence is in title case
_TWO_CAPITALS = lazy.compile(r"\p{Lu}\P{Ll}*?\p{Lu}")
_TWO_TITLED = lazy.compile(r"\p{Lu}[\p{Ll}\p{M}'’]*+\P{L}++\p{Lu}")
# In title case, words of up to four letters may have no capital.
_LOWER = lazy.compile(r"(?<![\p{L}\p{M}\p{N}_'’])\p{Ll}{5}")
_SIGNS = tuple("#+*&@./-‑'’")  # with which a single letter is not a word: C#, USB-C
_PRONOUN = lazy.compile(r"I(?:['’]|$)")  # in English
_CASED = {"Latn", "Cyrl", "Grek", "Armn", "Copt", "Glag", "Cher", "Adlm"}  # scripts
# Greek capitals have no accents; a diaeresis replaces one that separates two vowels.
_GREEK_MARKS = lazy.compile(r"(?<=\p{Greek})\p{M}++")
_ACCENTS = lazy.compile(r"[\u0300\u0301\u0313\u0314\u0342]")
_GREEK_HIATUS = lazy.compile(r"([αεηουΑΕΗΟΥ])\u0301([ιυΙΥ])(?!\p{M})")
_GREEK_OR = lazy.compile(r"(?<![\p{L}\p{M}])ή(?![\p{L}\p{M}])")  # the only word with an accent


def may_be_recased(text: str) -> bool:
    """Whether a text may have sentences in capitals, or be in title case: a quick test."""
    return bool(
        _TWO_CAPITALS.search(text) or (_TWO_TITLED.search(text) and not _LOWER.search(text))
    )


def in_capitals(sentence: str) -> bool:
    """Whether a sentence is written in capitals, apart from a few words.

    Acronyms are not: neither a single one, such as OK and TCP/IP, nor those in an ordinary
    sentence.

    Args:
        sentence: A sentence, in which spans are private-use characters.
    """
    words = [word for word in _WORD.findall(sentence) if not _CODE.search(word)]
    upper = [word for word in words if _share(word) >= _MOSTLY]  # McDONALD, too
    if len(upper) < _MOSTLY * len(words) or _share("".join(words)) < _MOSTLY:
        return False
    has_long = any(len(word) > _ACRONYM for word in upper)
    if has_long or len(upper) < len(words):
        return has_long
    n_upper = sum(len(word) for word in upper if len(word) > 1)  # without initials
    return len(sentence.split()) > 1 and n_upper > _ACRONYM


def _share(text: str) -> float:
    """The share of capitals among the letters of a text."""
    return sum(map(str.isupper, text)) / max(1, len(text))


def sentence_case(sentence: str, language: str, cost: Callable[[str], float] | None = None) -> str:
    """A sentence in capitals as it is usually written, of the same length.

    Args:
        sentence: The sentence, in which spans are private-use characters.
        language: Its language code, "" if unknown.
        cost: How rare a word is, such as its number of tokens; inf: it cannot be read. A word is in
            lower case unless it is less rare with a first capital letter, as a name, or in
            capitals, as an acronym. None: only the first letter of the sentence is a capital.
    """
    first = next(_WORD.finditer(sentence), None)
    if first is None:
        return sentence
    begins = first.start() if not _SPAN.search(sentence[: first.start()]) else -1

    def cased(match: regex.Match[str]) -> str:
        word = str(match[0])
        lower, name = lower_case(word, language), _as_name(word, language)
        if not word.isupper() or _dotted(lower, language).upper() != word.replace("ẞ", "SS"):
            return word  # the word in lower case says less
        if _CODE.search(word):
            return min((word, lower), key=cost) if cost and _SUFFIXED.match(word) else word
        is_first = match.start() == begins or (_PRONOUN.match(word) and _is("en", language))
        if is_first and not (cost and isinf(cost(name))):
            lower = name
        return min((lower, name, word), key=cost) if cost else lower

    return str(_WORD.sub(cased, sentence))


def untitled(sentence: str, language: str, cost: Callable[[str], float] | None) -> str:
    """A sentence in title case as it is usually written; others are unchanged.

    In title case, all words of more than four letters and half of all begin with a capital. Of the
    words after the first that do, two or more are frequent words that are less rare in lower case,
    and at least half are less rare there, unlike names; those that are as rare count half.

    Args:
        sentence: The sentence, in which spans are private-use characters.
        language: Its language code, "" if unknown.
        cost: See `sentence_case`; that of a frequent word is 1. None: no sentence is in title case.
    """
    if cost is None or _LOWER.search(sentence) or not has_case(language):
        return sentence
    words = [str(match[0]) for match in _WORD.finditer(sentence)][1:]
    titled = {word for word in words if word[0].isupper() and _as_name(word, language) == word}
    if sum(word in titled for word in words) < sum(map(str.islower, words)):
        return sentence
    titled -= {word for word in titled if _PRONOUN.match(word) and _is("en", language)}
    costs = {word: (cost(word), cost(lower_case(word, language))) for word in titled}
    usual = [lower for own, lower in costs.values() if lower < own]
    half = sum(own == lower for own, lower in costs.values()) / 2
    if usual.count(1) + half < _FEWEST or len(usual) + half < len(titled) / 2:
        return sentence
    start = next(_WORD.finditer(sentence)).end()

    def cased(match: regex.Match[str]) -> str:
        word = str(match[0])
        own, lower = costs.get(word, (0, 1))
        before, after = sentence[match.start() - 1], sentence[match.end() : match.end() + 1]
        is_joined = len(word) == 1 and (before in _SIGNS or after in _SIGNS)
        return word if own < lower or is_joined else lower_case(word, language)

    return str(_WORD.sub(cased, sentence, pos=start))


def read_without_capitals(given: str, read: str) -> bool:
    """Whether a text in capitals is read in another case; not one in title case.

    Args:
        given: The text.
        read: The text as it is read, of the same length.
    """
    return any(
        own != other and before.isupper()
        for before, own, other in zip(given, given[1:], read[1:], strict=False)
    )


def lower_case(text: str, language: str) -> str:
    """A text in lower case by the rules of its language, of the same length."""
    if _is_turkic(language):
        text = text.replace("I", "ı")
    return text.replace("İ", "i").lower()


def title_case(text: str, language: str) -> str:
    """A text whose words begin with a capital; those with digits or other capitals are kept."""

    def titled(match: regex.Match[str]) -> str:
        word = str(match[0])
        if _CODE.search(word) or word != lower_case(word, language):
            return word
        if word.startswith("ij") and _is("nl", language):
            return f"IJ{word[2:]}"
        return _dotted(word[0], language).title() + word[1:]

    return str(_WORD.sub(titled, text))


def _dotted(text: str, language: str) -> str:
    """A text in which the capital of each i is known."""
    return text.replace("i", "İ") if _is_turkic(language) else text


def _as_name(word: str, language: str) -> str:
    """A word in lower case, except for its first letter."""
    n_first = 2 if word.startswith("IJ") and _is("nl", language) else 1
    return word[:n_first] + lower_case(word, language)[n_first:]


def capitals(text: str, language: str, *, source: str = "") -> str:
    """A text in capitals by the rules of its language.

    Args:
        text: The text.
        language: Its language code, "" if unknown. In languages without case, only words of the
            source are in capitals.
        source: The text that it translates, which is mostly in capitals: other words of it, such as
            kg and iPhone, keep their case.
    """
    if not has_case(language):
        words = _WORD.findall(source)
        given = {form: word for word in words for form in (word.lower(), word.capitalize())}
        return str(_CASED_WORD.sub(lambda word: given.get(word[0], word[0]), text))
    kept = {word for word in _WORD.findall(source) if not word.isupper()}
    pieces, end = list[str](), 0
    for word in _WORD.finditer(text) if kept else ():
        if word[0] in kept:
            pieces += [_upper(text[end : word.start()], language), word[0]]
            end = word.end()
    return "".join([*pieces, _upper(text[end:], language)])


def _upper(text: str, language: str) -> str:
    text = _dotted(_greek(text) if _is("el", language) else text, language)
    return "µ".join(part.upper() for part in text.split("µ"))  # the unit, not the letter


def _greek(text: str) -> str:
    """A text without the accents that Greek capitals lack."""
    kept = _GREEK_OR.split(unicodedata.normalize("NFC", text))
    parts = [_GREEK_HIATUS.sub("\\1\\2\u0308", unicodedata.normalize("NFD", own)) for own in kept]
    bare = (_GREEK_MARKS.sub(lambda marks: _ACCENTS.sub("", marks[0]), own) for own in parts)
    return "ή".join(unicodedata.normalize("NFC", own) for own in bare)


def _is_turkic(language: str) -> bool:
    """Whether a language has a dotted and a dotless i."""
    return _is("tr", language) or _is("az", language)


@lru_cache(maxsize=1024)
def _is(wanted: str, language: str) -> bool:
    return closeness(wanted, language) is not None


@lru_cache(maxsize=1024)
def has_case(language: str) -> bool:
    """Whether a language is usually written in a script with capital letters."""
    if not language:
        return True
    import langcodes  # 0.04 s

    try:
        script = langcodes.Language.get(language).maximize().script
    except ValueError:
        return True
    return script is None or script in _CASED
