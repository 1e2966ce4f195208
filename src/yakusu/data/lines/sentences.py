"""Sentences of a text: dividing a line into sentences and parts of sentences, and joining them.

Each piece of a text keeps the white space after it, so the pieces together are the text.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import ceil

import regex

from yakusu import lazy
from yakusu.data.languages import canonical
from yakusu.data.lines.private_use import BREAKS, CLOSING_RANGE, FIRM_RANGE, SLOT_RANGE
from yakusu.data.lines.words import has_letter

# ---- where a line must not be divided ------------------------------------------------------------

_BREAK = lazy.compile(f"[{BREAKS}]")
_UNBROKEN = lazy.compile(rf"[^{BREAKS}]*+[{BREAKS}][{BREAKS}\s]*+|[^{BREAKS}]+")
_TAIL = 32  # number of characters before the end of a sentence that are examined

# A text that can only be one sentence: sentencex takes time and memory to load.
_SINGLE = lazy.compile(r"[\w ,'’-]*+[.!?]? *")

# sentencex takes quadratic time for text without spaces, and for signs such as ` and <.
_STOPS = "。！？"
_SHORT = 2000  # characters of a text that is one section
_SECTION = lazy.compile(r"(?s).{2000}.{0,6000}?[。！？]|.{8000}(?:.{0,500}?\p{Ll}\s)?|.+")
# sentencex fails on some of them, such as the no-break space in "Vitamin C\u00a0.".
_WIDE_SPACE = lazy.compile(r"[^\S\x00-\x7f]")

# What belongs to the sentence before: white space, closing brackets, quotation marks and pairs of
# inline markup, and numbers of footnotes.
_CLOSING = lazy.compile(
    rf"(?:[\p{{Pe}}{CLOSING_RANGE}⁰¹²³⁴-⁹]|[»”’\"'](?=[\s\p{{P}}{CLOSING_RANGE}]|$))*\s*"
)
# A sentence may begin with a span, such as a name: a placeholder token, or its place in a passage.
_CONTINUES = lazy.compile(
    rf"[^\p{{L}}\p{{N}}{SLOT_RANGE}{FIRM_RANGE}]*\p{{Ll}}|[,;:.!?…、，。．；：！？،؛؟।]"
)
_LOWER = lazy.compile(r"[\p{P}\p{S}]*\p{Ll}")

# Sentences in brackets, which sentencex does not divide from what follows.
_BRACKETS = lazy.compile(r"(?:^|(?<=[.!?][\p{Pe}\p{Pf}\"']?\s))\((?!\p{Ll})[^()]*[.!?]\)\s+")

# The end of a sentence that no space follows.
_ENDS_WITHOUT_SPACE = lazy.compile(
    r"(?:[。！？｡…⋯‥॥।۔؟։።፧။។།]|[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}][.!?]+)"
    rf"[\p{{Pe}}\p{{Pf}}\"'{CLOSING_RANGE}]*$"
)
_BEGINS_WITHOUT_SPACE = lazy.compile(r"[\p{Ps}\p{Pi}]*[\p{Han}\p{Hiragana}\p{Katakana}]")

_QUOTED = lazy.compile(r"[。！？!?…][」』”]$")
_REPORTS = lazy.compile(  # the words after a quotation
    r"(?:と(?!て|き|こ|く|り|も|ん|お)|って|など|の(?!ち)|を|"
    r"\p{Han}{1,4}?(?:说|說|道|问|問|喊|叫|答))"
)

# Abbreviations that words follow, in any language; single letters are initials, M. is Monsieur.
_ABBREVIATION = lazy.compile(
    r"(?:^|[^\p{L}\p{N}])(?:\p{Lu}|"
    r"Mr|Mrs|Ms|Dr|Drs|Prof|St|Mt|Ft|Maj|Hon|Rev|Gen|Col|Capt|Lt|Sgt|Gov|Sen|Rep|Hr|Fr|"
    r"Frl|Dipl|Ing|Mme|Mmes|MM|Mlle|Mgr|Sr|Sra|Srta|Sig|Dott|Dhr|Mevr|Hn|"
    r"e\.\s?g|i\.\s?e|z\.\s?B|d\.\s?h|u\.\s?a|cf|vgl|vs?|bzw|ca|inkl|Tsd|Mio|Mrd|"
    r"bijv|np|p\.\s?ex|т\.\s?е)\.\s+$"
)
# In a line without capital letters: a word that is not abbreviated, with the end of its sentence.
_ENDS_IN_WORD = lazy.compile(
    r"(?<!\p{L})(?!(?:abb|allg|approx|bspw|bzw|capt|col|dept|est|etc|evtl|excl|figs?|gen|gov|hon|incl|"
    r"inkl|mrs|prof|rep|resp|rev|sen|sog|usw|vgl|vols?)\.)\p{L}{3,}[.!?]+\s+$"
)
_BEFORE_NUMBER = lazy.compile(
    r"(?:^|\P{L})(?:No|Nos|Nr|Vol|Bd|Abb|Fig|Tab|Kap|Art|Abs|Ch|Sec|Eq|S|p|pp|fig|art|n|nº)\.\s+$"
)
_ORDINAL = lazy.compile(r"(?:^|[^\p{L}\p{N}.])(?:\d{1,3}|[IVX]+)\.\s+$")
_STOPPED_ORDINALS = lazy.compile("bs|cs|da|de|et|eu|fi|hr|hu|is|lb|lv|nb|nn|no|pl|sk|sl|sr|tr")

# ---- where a sentence may be divided, the best places first --------------------------------------

_CLOSERS = rf"[\p{{Pe}}\p{{Pf}}\"'{CLOSING_RANGE}]*"
_DIVISIONS = [
    lazy.compile(pattern)
    for pattern in (
        rf"(?:[.!?…;:—–؛።፤]{_CLOSERS}\s+|—|[。！？；：।॥۔؟།។။]{_CLOSERS}\s*)",
        rf"(?:[,፣]{_CLOSERS}\s+|[、，،]{_CLOSERS}\s*)",
        r"\s+",
        r"(?<=\p{Hiragana})(?=[\p{Han}\p{Katakana}])",
    )
]

_SPACE = 2  # the rank of white space

_ENDS_IN_STOP = lazy.compile(r"(?:\p{Sentence_Terminal}|…)[\p{Pe}\p{Pf}\"']*$")
_FINAL = lazy.compile(r"(?r)\s*+[\p{Sentence_Terminal}…⋯]++\s*+$")  # from the end
_FULL_STOP = lazy.compile(
    r"(?<=[^\p{Sentence_Terminal}…\s])(?<![^\p{L}]\p{Latin}|^\p{Latin})\s*[.。｡।۔։።។]$"
)
_INNER = (",，、،፣", ";；؛፤", ":：")  # commas, semicolons and colons
_INNER_OF = {
    **dict.fromkeys(("zh", "yue", "wuu", "lzh"), "，；："),
    **dict.fromkeys(("ar", "fa", "ur", "ug", "ps", "sd", "ckb"), "،؛:"),
    "ja": "、；：",
    "am": "፣፤:",
}

_UNSPACED = frozenset({"ja", "lzh", "wuu", "yue", "zh"})  # without a space between sentences
_UNSPACED_END = lazy.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ー]\P{L}*$")
# Characters that need no space beside them: of these scripts, and their punctuation
_WIDE = lazy.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ー\u3001-\u303f\uff01-\uff65]")


def split(text: str, language: str) -> list[str]:
    """Divide a line into sentences.

    A line is divided only between two parts with letters, the second of which does not begin with a
    lower-case letter, unless the whole line is in lower case; characters of BREAKS always end a
    sentence. In doubtful cases, the line is not divided.

    Args:
        text: A line or a paragraph.
        language: Its language code, such as "de" or "zh-Hant"; "" if unknown.

    Returns:
        The sentences; each keeps the white space after it.
    """
    return [own for part in _UNBROKEN.findall(text) for own in _sentences(part, language)]


def _sentences(text: str, language: str) -> list[str]:
    """The sentences of a text with breaks at its end only."""
    if _SINGLE.fullmatch(text):
        return [text]
    import sentencex

    code, is_lower = _language(language), text.islower()
    rules = "en" if is_lower or not code else code  # those of German require capital letters
    ends, place = {len(text)}, 0
    spaced = _WIDE_SPACE.sub(" ", text)  # of the same length
    sections = _SECTION.findall(spaced) if len(text) > _SHORT else [spaced]
    for section in sections:
        stop = place + len(section)
        for piece in sentencex.segment(rules, section):
            place += len(piece)
            if place < stop or section[-1] in _STOPS:
                ends.add(_CLOSING.match(text, place).end())
    ends.update(found.end() for found in _BRACKETS.finditer(text))
    places = [0, *sorted(ends)]
    sentences, start, is_text = [], 0, False
    for begin, end, following in zip(places, places[1:], places[2:], strict=False):
        is_text = is_text or has_letter(text[begin:end])
        tail = text[max(start, end - _TAIL) : end]
        if is_text and _ends_sentence(tail, text[end:following], code, is_lower=is_lower):
            sentences.append(text[start:end])
            start, is_text = end, False
    return [*sentences, text[start:]]


def _ends_sentence(before: str, after: str, language: str, *, is_lower: bool) -> bool:
    """Whether a sentence ends between two pieces of a line.

    Args:
        before: The last characters of the first piece.
        after: The second piece.
        language: The shortest code of the language.
        is_lower: Whether the line has lower-case letters only.
    """
    if not has_letter(after) or _CONTINUES.match(after):
        begins = is_lower and _LOWER.match(after) and _ENDS_IN_WORD.search(before)
        return bool(begins)
    if not before[-1].isspace():
        if not (_ENDS_WITHOUT_SPACE.search(before) or _follows_stop(before, after)):
            return False
        return not (_QUOTED.search(before) and _REPORTS.match(after))
    if _BEFORE_NUMBER.search(before) and after[0].isdecimal():
        return False
    if _STOPPED_ORDINALS.fullmatch(language) and _ORDINAL.search(before):
        return False
    return not _ABBREVIATION.search(before)


def _follows_stop(before: str, after: str) -> bool:
    return before[-1] in ".!?" and bool(_BEGINS_WITHOUT_SPACE.match(after))


def clauses(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Divide a sentence that is too long into few parts of similar length.

    The parts end after a colon, semicolon or dash if possible, else after a comma, else at white
    space, else between any two characters.

    Args:
        text: A sentence.
        fits: Whether a text is short enough; if so, all of its parts must be. It is called
            O(log n) times for each part of a text of n characters.

    Returns:
        The parts; each keeps the white space after it. All of them fit, unless a single character
        does not.
    """
    if fits(text):
        return [text]
    ends = [found.end() for found in regex.finditer(r"\X", text)]  # of grapheme clusters
    ranks = _ranks(text, ends)
    parts, first, start = [], 0, 0
    while first < len(ends):
        first += _size(ranks, first, _longest(text, ends, first, fits=fits))
        parts.append(text[start : ends[first - 1]])
        start = ends[first - 1]
    return parts


def _ranks(text: str, ends: Sequence[int]) -> list[int]:
    """How suitable each place is to divide the text; 0 is best."""
    ranks = dict.fromkeys(ends, len(_DIVISIONS))
    for rank, pattern in reversed(list(enumerate(_DIVISIONS))):
        ranks |= {found.end(): rank for found in pattern.finditer(text)}
    return [ranks[end] for end in ends]


def _longest(text: str, ends: Sequence[int], first: int, *, fits: Callable[[str], bool]) -> int:
    """How many characters from `first` on fit, at least one."""
    start = ends[first - 1] if first else 0

    def too_long(size: int) -> bool:
        return not fits(text[start : ends[first + size - 1]])

    left = len(ends) - first
    most = 32
    while most < left and not too_long(most):
        most *= 2
    sizes = range(1, min(most, left) + 1)
    return max(1, bisect_left(sizes, True, lo=most // 2 if most > 32 else 0, key=too_long))


def _size(ranks: Sequence[int], first: int, longest: int) -> int:
    """How many characters the next part has."""
    left = len(ranks) - first
    n_parts = ceil(left / longest)
    if n_parts == 1:
        return left
    even, least = left / n_parts, left - (n_parts - 1) * longest  # a shorter part means one more

    def quality(size: int) -> tuple[int, bool, float]:
        return ranks[first + size - 1], size < least, abs(size - even)

    near = range(ceil(even * 2 / 3), min(longest, int(even * 4 / 3)) + 1)
    best = min(near, key=quality)
    if ranks[first + best - 1] > _SPACE:
        best = min(range(ceil(even / 3), longest + 1), key=quality)
    return best if ranks[first + best - 1] <= _SPACE else min(near, key=quality)


def without_stop(text: str, source: str) -> str:
    """A translation without the full stop at its end if its source ends in no stop.

    Dots and the stops of abbreviations such as "z. B." are kept.
    """
    return text if _ENDS_IN_STOP.search(source) else str(_FULL_STOP.sub("", text))


def without_final_punctuation(text: str) -> str:
    """A text without the signs that end its last sentence, if it has a letter."""
    return str(_FINAL.sub("", text)) if has_letter(text) else text


def continued(text: str, source: str, language: str) -> str:
    """The translation of a part of a sentence that another part follows.

    It has no full stop, and the comma, semicolon or colon at the end of its source, unless it ends
    in other punctuation.

    Args:
        text: The translation.
        source: The part.
        language: Code of the language of the translation; "" if unknown.
    """
    made = without_stop(text, source)
    kind = next((i for i, marks in enumerate(_INNER) if source[-1:] in {*marks}), None)
    if kind is None or not made or regex.match(r"[\p{P}\p{S}]", made[-1]):
        return made
    code = _language(language)
    mark = _INNER_OF.get(code, ",;:")[kind] if code else source[-1]
    return made.rstrip() + mark


def join(parts: Sequence[tuple[str, str]], language: str) -> str:
    """Join the translations of the sentences of a line.

    The white space between sentences is kept, except that Chinese and Japanese have none beside
    their own characters; a space is put where the source has none and the translation needs one.
    Nothing is changed at BREAKS.

    Args:
        parts: Each translation, and the white space that followed its source.
        language: Code of the language of the translations; "" if unknown.
    """
    if not parts:
        return ""
    code = _language(language)
    said = [(translation, space) for translation, space in parts if translation]
    pieces = [
        left + _gap(left, space, right, language=code)
        for (left, space), (right, _) in pairwise(said)
    ]
    return "".join([*pieces, *(translation for translation, _ in said[-1:]), parts[-1][1]])


def _gap(left: str, space: str, right: str, *, language: str) -> str:
    """The white space between two translations."""
    if "\n" in space or _BREAK.match(left[-1]) or _BREAK.match(right):
        return space
    unspaced = language in _UNSPACED or (not language and _UNSPACED_END.search(left))
    if unspaced and (_WIDE.match(left[-1]) or _WIDE.match(right)):
        return ""
    return space or " "


@lru_cache(maxsize=1024)
def _language(code: str) -> str:
    """The shortest code of a language, without script and region: "zh" for "zho-Hant"."""
    return (canonical(code) or code.lower()).split("-")[0]
