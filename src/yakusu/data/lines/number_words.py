"""Words that are numbers or stand for them, by language: CLDR's spelled numbers, scales and months.

    three hundred   dreihundert   300          two and a half   2.5
    2 million       2百万   2 млн  2,000,000    5 decades        50
    1억1천만                       110,000,000  March            3

Forms are compared in lower case, with a space for each hyphen. In languages that join words, a
longer word may follow a form: vierköpfig is 4. Everything takes linear time.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import regex

from yakusu.data.lines.cldr import cldr_locale
from yakusu.data.lines.numbers import LONGEST, DigitNumber, Value

if TYPE_CHECKING:
    from unicode_rbnf import RbnfEngine

_REGIONS = {  # with spellings of their own
    "en": ("en_IN",),
    "fr": ("fr_BE", "fr_CH"),
    "fa": ("fa_AF",),
    "pt": ("pt_PT",),
    "sr": ("sr_Latn",),
    "yue": ("yue_Hans",),
    "zh": ("zh_Hant",),
}

# Languages that join a number and the words after it; Korean, too, but with fewer short forms.
_JOINING = frozenset(
    "af az da de eo et fi fo hu is it ka kk ky lb nb nl nn no se sv tr ta".split()
)
_UNSPACED_LANGUAGES = frozenset("ja km lo my th yue zh".split())
_POWERS = (100, 1000, *(10**n for n in (4, 5, 6, 7, 8, 9, 12)))
_SMALLEST_SCALE = 1000  # after digits: "5 cents" are not 500
_AND = ("and", "und", "et", "y", "e", "i", "og", "och", "en", "ja", "ve", "și", "và", "ו", "و")
_LINKS = frozenset(["", " ", *(f" {word} " for word in _AND), "und", "و", " و"])
_HALF_WORDS: Mapping[str, str] = {  # after a number: two and a half
    "en": "half|halves", "de": "halb|halbe[nrms]?", "fr": "demie?s?", "es": "medi[ao]s?",
    "it": "mezz[oa]", "pt": "mei[oa]", "nl": "halve?", "ru": "половиной", "ja": "半", "ko": "반",
    "zh": "半", "sv": "halvt?", "da": "halvt?", "pl": "pół", "cs": "půl", "tr": "buçuk",
}  # fmt: skip
_BEFORE_HALF = r"\s?(?:(?:and a|and one|and|ein|und ein|et une?|et|y|e|en een|een|с|と|个|og en|och en|i|a) ?)?"

# What CLDR does not list: words of a value, words that multiply, and abbreviations of scales.
_VALUES: Mapping[str, str] = {
    "en": "a=1 an=1 both=2 couple=2 pair=2 pairs=2 twice=2 double=2 doubled=2 doubles=2 twin=2 twins=2 "
    "once=1 single=1 thrice=3 triple=3 tripled=3 quadruple=4 noon=12 midday=12 midnight=0 "
    "midnight=12 midnight=24 fortnight=14 fortnight=2 no=0 none=0 nil=0 quarter=15 quarters=15 "
    "quarter=25 quarter=45 half=30 half=50 halves=50 halved=50",
    "de": "beide=2 beiden=2 beides=2 paar=2 zweimal=2 doppelt=2 doppelte=2 doppelten=2 "
    "zwillinge=2 einmal=1 dreifach=3 mittag=12 mitternacht=0 mitternacht=12 mitternacht=24 kein=0 "
    "keine=0 keinen=0 viertel=15 viertel=25 viertel=45 halb=30 halbe=30 halbe=50 hälfte=50 "
    "halben=30 anderthalb=1.5 eineinhalb=1.5",
    "fr": "deux=2 paire=2 double=2 doublé=2 jumeaux=2 midi=12 minuit=0 minuit=12 minuit=24 "
    "quinzaine=15 quart=15 quart=25 quart=45 demi=30 demie=30 moitié=50 dizaine=10 vingtaine=20 "
    "trentaine=30 quarantaine=40 cinquantaine=50 soixantaine=60 centaine=100 aucun=0 aucune=0",
    "es": "ambos=2 ambas=2 par=2 doble=2 mediodía=12 medianoche=0 medianoche=12 medianoche=24 "
    "quincena=15 cuarto=15 cuarto=25 cuarto=45 media=30 mitad=50 decena=10 veintena=20 ningún=0",
    "it": "entrambi=2 entrambe=2 paio=2 doppio=2 mezzogiorno=12 mezzanotte=0 mezzanotte=12 "
    "quarto=15 quarto=25 mezza=30 mezzo=30 metà=50 decina=10 ventina=20 trentina=30 centinaio=100",
    "pt": "ambos=2 ambas=2 par=2 dobro=2 duplo=2 meio=30 meia=30 metade=50 quarto=15 quarto=25",
    "nl": "beide=2 paar=2 dubbel=2 twee=2 middag=12 middernacht=0 middernacht=12 kwart=15 kwart=25 "
    "kwart=45 half=30 halve=30 helft=50 anderhalf=1.5 geen=0",
    "ru": "оба=2 обе=2 пара=2 дважды=2 полдень=12 полночь=0 полночь=12 четверть=15 четверть=25 "
    "половина=50 половины=50 половина=30 пол=30 полтора=1.5",
    "ja": "両方=2 双方=2 倍=2 二人=2 正午=12 半=30 半分=50 半数=50 深夜=0",
    "ko": "둘=2 양=2 두배=2 정오=12 자정=0 자정=12 반=30 절반=50 하루=1 이틀=2 사흘=3 나흘=4 닷새=5 "
    "엿새=6 이레=7 여드레=8 아흐레=9 열흘=10 보름=15 갑절=2",
    "zh": "两=2 双=2 倍=2 正午=12 中午=12 午夜=0 半=30 一半=50 刻=15",
}  # fmt: skip
_MULTIPLIERS: Mapping[str, str] = {
    "en": "dozen=12 dozens=12 decade=10 decades=10 century=100 centuries=100 score=20 "
    "bn=1000000000 tn=1000000000000 mn=1000000 mln=1000000",
    "de": "dutzend=12 jahrzehnt=10 jahrzehnte=10 jahrzehnten=10 jahrhundert=100 jahrhunderte=100 "
    "jahrhunderten=100 mill=1000000 mia=1000000000 tsd=1000",
    "fr": "douzaine=12 douzaines=12 décennie=10 décennies=10 siècle=100 siècles=100 "
    "millier=1000 milliers=1000",
    "es": "docena=12 docenas=12 década=10 décadas=10 siglo=100 siglos=100 millar=1000 "
    "millares=1000 millardos=1000000000",
    "it": "dozzina=12 dozzine=12 decennio=10 decenni=10 secolo=100 secoli=100 migliaia=1000 "
    "miliardo=1000000000 miliardi=1000000000",
    "nl": "dozijn=12 decennium=10 decennia=10 eeuw=100 eeuwen=100",
    "pt": "dúzia=12 dúzias=12 década=10 décadas=10 século=100 séculos=100",
    "ru": "десятилетий=10 десятилетие=10 десятилетия=10 век=100 века=100 веков=100",
    "ja": "ダース=12",
    "ko": "다스=12",
    "zh": "打=12",
}  # fmt: skip

# One syllable of Sino-Korean numbers is often part of another word, so a counter has to follow.
_COUNTERS = (
    "개|건|권|그|기|년|대|도|돈|동|등|달|리|마|매|명|모|무|미|박|발|배|번|벌|병|분|살|석|세|센|송|시|씩|"
    "여|연|월|위|원|인|일|자|장|점|조|주|줄|지|차|채|천|척|초|층|칸|통|퍼|편|평|포|학|호|회|킬|톤|쪽|만|백|억"
)
_COUNTER = regex.compile(rf"\s?(?:{_COUNTERS})")
_HAN_DIGITS = regex.compile(r"[〇零一二三四五六七八九]{2,40}")  # 二〇二四
_HAN = str.maketrans("〇零一二三四五六七八九", "00123456789")
_LETTER = regex.compile(r"\p{L}|\p{M}")
_ORDINARY = str.maketrans(
    {**dict.fromkeys("‐‑–−-\u00a0\u202f\u2009", " "), "ё": "е", **dict.fromkeys("أإآ", "ا")}
)
_Kind = Literal["unit", "scale", "multiplier", "value", "month"]
_HALF = Fraction(1, 2)


class _Entry(NamedTuple):
    kind: _Kind
    value: Value


class _Atom(NamedTuple):
    """A part of a number: digits, a word of a small number, or a scale."""

    start: int
    end: int
    kind: Literal["digits", "unit", "scale", "multiplier"]
    value: Value


@dataclass(frozen=True)
class WordsOfText:
    """What a text has as numbers.

    Attributes:
        numbers: The numbers in digits, with the scales that follow them.
        words: Values of the words that are numbers, each as often as it occurs.
        others: Values that other words stand for, such as months.
    """

    numbers: tuple[DigitNumber, ...]
    words: tuple[Value, ...]
    others: frozenset[Value]


class NumberWords:
    """The number words of a language.

    Args:
        language: The code of the language.
    """

    def __init__(self, language: str) -> None:
        base = language.partition("-")[0]
        self._unspaced = base in _UNSPACED_LANGUAGES
        self._joining = self._unspaced or base in _JOINING or base == "ko"
        self._korean = base == "ko"
        self._entries = _entries(language)
        half = _HALF_WORDS.get(base)
        self._half = half and regex.compile(rf"{_BEFORE_HALF}(?:{half})(?!\p{{Latin}}|\p{{Cyrillic}})")
        lengths = defaultdict[str, set[int]](set)
        for form in self._entries:
            lengths[form[:2]].add(len(form))
        self._lengths = {start: sorted(each, reverse=True) for start, each in lengths.items()}

    def __bool__(self) -> bool:
        return bool(self._entries)

    def read(self, text: str, numbers: Sequence[DigitNumber]) -> WordsOfText:
        """Read the words of a text, and the scales of its numbers.

        Args:
            text: The text.
            numbers: Its numbers in digits.
        """
        plain = _plain(text)
        others = set[Value]()
        atoms = list(self._atoms(plain, numbers, others))
        found, words = list[DigitNumber](), list[Value]()
        by_start = {number.start: number for number in numbers}
        for group in _groups(atoms, plain):
            parts = [by_start[atom.start] for atom in group if atom.kind == "digits"]
            half = self._half and self._half.match(plain, group[-1].end)
            if not parts:
                values = _word_values(group)
                words += [*values, values[0] + _HALF] if half else values
                continue
            number = parts[0] if len(group) == 1 else _scaled(group, parts, text)
            if half and number.values:
                number = replace(number, values=(*number.values, number.values[0] + _HALF))
            found.append(number)
        words += [int(match[0].translate(_HAN)) for match in _HAN_DIGITS.finditer(plain)]
        words += list(_years(words))
        return WordsOfText(tuple(found), tuple(words), frozenset(others))

    def _atoms(
        self, text: str, numbers: Sequence[DigitNumber], others: set[Value]
    ) -> Iterator[_Atom]:
        """The atoms of a text, in order; other words are added to `others`."""
        place = 0
        for number in numbers:
            yield from self._words(text, place, number.start, others)
            value = number.values[0] if number.values else -1
            yield _Atom(number.start, number.end, "digits", value)
            place = number.end
        yield from self._words(text, place, len(text), others)

    def _words(self, text: str, start: int, end: int, others: set[Value]) -> Iterator[_Atom]:
        place, joined = start, True  # joined: a form may begin inside of a word
        while place < end:
            if not (joined or self._begins(text, place)):
                place += 1
                continue
            form, stop = self._longest(text, place, end, follows=joined and place > 0)
            for entry in form:
                if entry.kind in ("value", "month"):
                    others.add(entry.value)
                else:
                    yield _Atom(place, stop, entry.kind, entry.value)  # type: ignore[arg-type]
            joined = self._joining and bool(form)
            place = stop if form else place + 1

    def _begins(self, text: str, place: int) -> bool:
        return self._unspaced or place == 0 or not _LETTER.match(text, place - 1)

    def _longest(
        self, text: str, place: int, end: int, *, follows: bool
    ) -> tuple[Sequence[_Entry], int]:
        """The longest form at a place, and where it ends.

        Args:
            text: The text.
            place: The place.
            end: Where the last form may end.
            follows: Whether a number ends at the place.
        """
        first, second = text[place : place + 2], text[place : place + 1]
        for length in (*self._lengths.get(first, ()), *self._lengths.get(second, ())):
            stop = place + length
            entries = self._entries.get(text[place:stop]) if stop <= end else None
            if entries and (
                self._ends(text, place, stop) or (follows and self._korean and _is_scale(entries))
            ):
                return entries, stop
        return (), place

    def _ends(self, text: str, place: int, stop: int) -> bool:
        """Whether a form may end where it does."""
        if self._unspaced or not _LETTER.match(text, stop):
            return not self._korean or stop - place > 1 or bool(_COUNTER.match(text, stop))
        if not self._joining:
            return False
        if self._korean and stop - place == 1:
            return bool(_COUNTER.match(text, stop))
        return stop - place > (1 if self._korean else 2)


def _years(words: Sequence[Value]) -> Iterator[Value]:
    """Years in two parts: nineteen eighty-four."""
    for first, second in zip(words, words[1:], strict=False):
        if 10 <= first < 22 and 10 <= second < 100:
            yield first * 100 + second


def _is_scale(entries: Sequence[_Entry]) -> bool:
    return any(entry.kind == "scale" for entry in entries)


def _plain(text: str) -> str:
    """A text in lower case, with as many characters."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(low if len(low := each.lower()) == 1 else each for each in text)
    return lower.translate(_ORDINARY)


def _groups(atoms: Iterable[_Atom], text: str) -> Iterator[list[_Atom]]:
    """Divide atoms into those of one number each."""
    group = list[_Atom]()
    for atom in atoms:
        if group and not _continues(group, atom, text[group[-1].end : atom.start][:8]):
            yield group
            group = []
        group.append(atom)
    if group:
        yield group


def _continues(group: Sequence[_Atom], atom: _Atom, between: str) -> bool:
    """Whether an atom belongs to the same number as the atoms before it."""
    last = group[-1]
    if between not in _LINKS or len(group) > LONGEST or last.kind == "multiplier":
        return False
    if atom.kind == "multiplier":
        return between in ("", " ")
    if atom.kind == "scale":
        if last.kind != "digits":
            return True
        return last.value >= 0 and (
            not between or (between == " " and atom.value >= _SMALLEST_SCALE)
        )
    if atom.kind == "digits":
        return last.kind == "scale" and not between and any(a.kind == "digits" for a in group)
    if last.kind == "digits":
        return False
    return last.value > atom.value and last.value % 10 ** len(str(int(atom.value))) == 0


def _total(group: Sequence[_Atom], first: Value) -> Value:
    """The value of a number: a scale multiplies what precedes it, up to a greater one."""
    parts = list[Value]()
    for i, atom in enumerate(group):
        if atom.kind in ("scale", "multiplier"):
            below: Value = 0
            while parts and parts[-1] < atom.value:
                below += parts.pop()
            parts.append((below or 1) * atom.value)
        else:
            parts.append(first if i == 0 else atom.value)
    return sum(parts)


def _word_values(group: Sequence[_Atom]) -> list[Value]:
    total = _total(group, group[0].value)
    if group[-1].kind == "multiplier" and len(group) > 1:
        return [total, _total(group[:-1], group[0].value)]
    return [total]


def _scaled(group: Sequence[_Atom], parts: Sequence[DigitNumber], text: str) -> DigitNumber:
    """A number in digits with its scales, or several with theirs."""
    first = parts[0]
    values = tuple(_total(group, value) for value in first.values)
    end = group[-1].end
    if group[-1].kind == "multiplier":
        values = (*values, *first.values)
    return replace(first, end=end, text=text[first.start : end], values=values, parts=())


@lru_cache(maxsize=64)
def number_words(language: str) -> NumberWords:
    """The number words of a language; it has none if the language is unknown."""
    return NumberWords(language)


def _entries(language: str) -> dict[str, list[_Entry]]:
    """All forms of a language and what they mean."""
    entries = defaultdict[str, list[_Entry]](list)
    base = language.partition("-")[0]

    def add(form: str, kind: _Kind, value: Value) -> None:
        form = " ".join(_plain(form.replace("\u200b", "").replace("\xad", "")).split())
        entry = _Entry(kind, value)
        clash = kind in ("unit", "scale") and any(e.kind in ("unit", "scale") for e in entries[form])
        if form and not form.isdecimal() and entry not in entries[form] and not clash:
            entries[form].append(entry)

    for form, scale in _scales(language):
        add(form, "scale", scale)
    for form, unit in _spelled(language):
        add(form, "unit", unit)
    for form, month in _months(language):
        add(form, "month", month)
    for kind, table in (("multiplier", _MULTIPLIERS), ("value", _VALUES)):
        for each in table.get(base, "").split():
            form, _, value = each.partition("=")
            add(form, kind, Fraction(value) if "." in value else int(value))  # type: ignore[arg-type]
    return dict(entries)


def _spelled(language: str) -> Iterator[tuple[str, Value]]:
    """The words of the numbers below 100 and of the hundreds, cardinal and ordinal."""
    for engine in _engines(language):
        for number in (*range(100), *range(200, 1000, 100)):
            yield from ((form, number) for form in _forms(engine, number))
        thousands = sorted(_forms(engine, 1000), key=len)
        for number in (1, *range(10, 100, 10), *range(100, 1000, 100)):  # deux cent mille
            for form in _forms(engine, number * 1000):
                if before := next((form[: -len(t)] for t in thousands if form.endswith(t)), ""):
                    yield before.strip(" -\u200b\xad"), number


def _scales(language: str) -> Iterator[tuple[str, int]]:
    """The words of hundreds, thousands, millions ..., without the number that they multiply."""
    for engine in _engines(language):
        digits = {n: sorted(_forms(engine, n), key=len, reverse=True) for n in (1, 2, 3, 5, 6, 8)}
        for power in _POWERS:
            multiplied = defaultdict[str, set[int]](set)
            for n, forms in digits.items():
                for form in _forms(engine, n * power):
                    rest = next((form[len(f) :] for f in forms if form.startswith(f)), "")
                    multiplied[rest.strip(" -\u200b\xad")].add(n)
            yield from ((form, power) for form, ns in multiplied.items() if form and len(ns) > 1)
            yield from ((form, power) for form in _forms(engine, power))
    yield from _compact_scales(language)


def _compact_scales(language: str) -> Iterator[tuple[str, int]]:
    """Scales of CLDR's compact numbers: 2 Mio., 2万."""
    if not (locale := cldr_locale(language)):
        return
    for width in locale.compact_decimal_formats.values():
        for by_size in width.values():
            for size, pattern in by_size.items():
                written = pattern.pattern.replace("'", "")
                zeros = written.count("0")
                form = written.replace("0", "").strip("\xa0\u202f .\u200f\u200e")
                # A single letter is also a unit: 5 m
                if len(form) > 1 or (form and not form.isascii()):
                    yield form, int(size) // 10 ** (zeros - 1)


def _months(language: str) -> Iterator[tuple[str, int]]:
    """The names of the months."""
    if not (locale := cldr_locale(language)):
        return
    for context in ("format", "stand-alone"):
        for width in ("wide", "abbreviated"):
            for month, name in locale.months[context][width].items():
                if len(name.strip(".")) > 2 and name[0].isalpha():
                    yield name.strip("."), month


def _engines(language: str) -> "Iterator[RbnfEngine]":
    """CLDR's rules for the numbers of a language, of all regions."""
    from unicode_rbnf import RbnfEngine  # 0.05 s

    base = language.partition("-")[0]
    for name in (base, *_REGIONS.get(base, ())):
        try:
            yield RbnfEngine.for_language(name)
        except ValueError:
            return


def _forms(engine: "RbnfEngine", number: int) -> set[str]:
    """The spellings of a number."""
    found = set[str]()
    for name, rules in engine.rulesets.items():
        if name.startswith("spellout") and not rules.is_private:
            with suppress(Exception):  # no rule for this number, or one that the package misreads
                found.add("".join(engine.iter_format_number(number, name)))
    return found
