"""Words that are numbers or stand for them, by language: what CLDR lists, and a few more.

    three, third, drei, dritte, 三, 세    3             unit
    hundred, Millionen, 万, млн           100, 10**6    scale
    dozen, Jahrzehnte, siècle             12, 10, 100   multiplier
    both, half, Mitternacht, quinzaine    2, 30, 0, 15  value
    March, mars                           3             month

A form has a space for each hyphen and is in lower case.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple

from yakusu.data.lines.cldr import cldr_locale
from yakusu.data.lines.numbers import Value

if TYPE_CHECKING:
    from unicode_rbnf import RbnfEngine

FormKind = Literal["unit", "scale", "multiplier", "value", "month"]
_INVISIBLE = str.maketrans("", "", "\u200b\xad\u200e\u200f")
_ORDINARY = str.maketrans(
    {**dict.fromkeys("‐‑–−-\u00a0\u202f\u2009", " "), "ё": "е", **dict.fromkeys("أإآ", "ا")}
)
_POWERS = (100, 1000, *(10**n for n in (4, 5, 6, 7, 8, 9, 12)))
_REGIONS = {  # with spellings of their own
    "en": ("en_IN",),
    "fr": ("fr_BE", "fr_CH"),
    "fa": ("fa_AF",),
    "pt": ("pt_PT",),
    "sr": ("sr_Latn",),
    "yue": ("yue_Hans",),
    "zh": ("zh_Hant",),
}
_HALF, _QUARTER = Fraction(1, 2), Fraction(1, 4)

# Values of words that CLDR does not list: halves are also 30 minutes and 50 percent.
_VALUES: Mapping[str, Mapping[Value, str]] = {
    "en": {
        0: "no none nil midnight",
        1: "a an once single",
        2: "both couple pair pairs twice double doubled doubles twin twins few fortnight twofold",
        3: "thrice triple tripled couple few quarter threefold trio",
        **{4: "quadruple fourfold", 5: "fivefold", 6: "sixpence", 10: "tenfold", 12: "noon midday"},
        **{14: "fortnight", 15: "quarter quarters", 24: "midnight", 25: "quarter", 45: "quarter"},
        **{30: "half", 50: "half halves halved", _HALF: "half halves", _QUARTER: "quarter"},
    },
    "de": {
        0: "kein keine keinen keiner mitternacht",
        2: "beide beiden beides paar zweimal doppelt doppelte doppelten doppelter zwillinge",
        3: "dreifach paar viertel",
        **{
            12: "mittag mitternacht",
            24: "mitternacht",
            15: "viertel",
            25: "viertel",
            45: "viertel",
        },
        **{30: "halb halbe halben", 50: "hälfte halbe", _HALF: "halb halbe halben halber"},
        **{_QUARTER: "viertel", Fraction(3, 2): "anderthalb eineinhalb"},
    },
    "fr": {
        **{0: "aucun aucune minuit", 2: "paire double doublé doubler jumeaux", 10: "dizaine"},
        **{12: "midi minuit", 24: "minuit", 15: "quinzaine quart", 25: "quart", 45: "quart"},
        **{20: "vingtaine", 30: "trentaine demi demie", 40: "quarantaine", 60: "soixantaine"},
        **{50: "cinquantaine moitié", 100: "centaine", _HALF: "demi demie", _QUARTER: "quart"},
    },
    "es": {
        **{0: "ningún medianoche", 2: "ambos ambas par doble", 10: "decena", 12: "mediodía"},
        **{15: "quincena cuarto", 25: "cuarto", 45: "cuarto", 20: "veintena", 24: "medianoche"},
        **{30: "media treintena", 50: "mitad", _HALF: "medio media", _QUARTER: "cuarto"},
    },
    "it": {
        **{0: "mezzanotte", 2: "entrambi entrambe paio doppio", 10: "decina", 12: "mezzogiorno"},
        **{15: "quarto quindicina", 20: "ventina", 24: "mezzanotte", 30: "mezza mezzo trentina"},
        **{50: "metà", 100: "centinaio", _HALF: "mezzo mezza", _QUARTER: "quarto"},
    },
    "pt": {
        **{0: "nenhum", 2: "ambos ambas par dobro duplo", 15: "quarto quinzena", 25: "quarto"},
        **{30: "meia", 50: "metade", _HALF: "meio meia", _QUARTER: "quarto"},
    },
    "nl": {
        **{
            0: "geen middernacht",
            1: "één",
            2: "beide paar dubbel",
            3: "paar",
            12: "middag middernacht",
        },
        **{15: "kwart kwartier", 25: "kwart", 45: "kwart", 30: "half halve", 50: "helft"},
        **{_HALF: "half halve", Fraction(3, 2): "anderhalf"},
    },
    "ru": {
        **{0: "полночь", 2: "оба обе пара дважды двое", 3: "трое", 12: "полдень полночь"},
        **{15: "четверть", 25: "четверть", 30: "половина половине пол", 50: "половина половины"},
        **{Fraction(3, 2): "полтора полутора", _HALF: "половина половины пол"},
    },
    "ja": {**{2: "両方 双方 倍", 12: "正午", 30: "半", 50: "半分 半数", _HALF: "半 半分"}},
    "ko": {
        **{
            2: "양 두배 갑절 이틀",
            12: "정오 자정",
            0: "자정",
            30: "반",
            50: "절반",
            _HALF: "반 절반",
        },
        **{
            1: "하루",
            3: "사흘",
            4: "나흘",
            5: "닷새",
            6: "엿새",
            7: "이레",
            10: "열흘",
            15: "보름",
        },
    },
    "zh": {2: "双 倍", 12: "正午 中午", 0: "午夜", 15: "刻", 30: "半", 50: "一半", _HALF: "半"},
}

# Words that multiply the number before them, and that may also be translated by themselves.
_MULTIPLIERS: Mapping[str, Mapping[int, str]] = {
    "en": {12: "dozen dozens", 10: "decade decades", 100: "century centuries", 20: "score"},
    "de": {
        12: "dutzend",
        10: "jahrzehnt jahrzehnte jahrzehnten jahrzehnts",
        100: "jahrhundert jahrhunderte jahrhunderten",
    },
    "fr": {12: "douzaine douzaines", 10: "décennie décennies", 100: "siècle siècles"},
    "es": {12: "docena docenas", 10: "década décadas", 100: "siglo siglos"},
    "it": {12: "dozzina dozzine", 10: "decennio decenni", 100: "secolo secoli"},
    "pt": {12: "dúzia dúzias", 10: "década décadas", 100: "século séculos"},
    "nl": {12: "dozijn", 10: "decennium decennia", 100: "eeuw eeuwen"},
    "ru": {10: "десятилетий десятилетие десятилетия", 100: "век века веков"},
    "ja": {12: "ダース"},
    "ko": {12: "다스"},
    "zh": {12: "打"},
}

# Scales that CLDR does not list.
_MORE_SCALES: Mapping[str, Mapping[int, str]] = {
    "en": {10**6: "mn mln mio", 10**9: "bn", 10**12: "tn"},
    "de": {1000: "tsd", 10**6: "mill", 10**9: "mia mrd"},
    "fr": {1000: "millier milliers", 10**6: "mio", 10**9: "mrd"},
    "es": {1000: "millar millares", 10**9: "millardo millardos"},
    "it": {1000: "migliaio migliaia", 10**6: "mln", 10**9: "mld"},
    "vi": {1000: "ngàn", 10**9: "tỉ"},
}


class NumberForm(NamedTuple):
    """What a form means."""

    kind: FormKind
    value: Value


def plain_words(text: str) -> str:
    """A text in the spelling of forms, with as many characters as before."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(low if len(low := each.lower()) == 1 else each for each in text)
    return lower.translate(_ORDINARY)


def number_forms(language: str) -> dict[str, tuple[NumberForm, ...]]:
    """The forms of a language and what they mean; none if CLDR does not have the language."""
    forms = defaultdict[str, dict[NumberForm, None]](dict)
    for form, kind, value in _all_forms(language):
        form = " ".join(plain_words(form.translate(_INVISIBLE)).split())
        found = forms[form]
        is_number = kind in ("unit", "scale")
        if is_number and any(each.kind in ("unit", "scale") for each in found):
            continue  # the first one: hundred is a scale
        found[NumberForm(kind, value)] = None
    return {form: tuple(found) for form, found in forms.items() if form and not form.isdecimal()}


def _all_forms(language: str) -> Iterator[tuple[str, FormKind, Value]]:
    base = language.partition("-")[0]
    yield from ((form, "scale", value) for form, value in _scales(language))
    for form, value in _spelled(language):
        yield form, "unit", value
        if base == "en" and "-" in form:
            yield form.replace("-", ""), "unit", value
    yield from ((form, "month", value) for form, value in _months(language))
    for kind, table in _TABLES:
        for value, words in table.get(base, {}).items():
            yield from ((word, kind, value) for word in words.split())


_TABLES: tuple[tuple[FormKind, Mapping[str, Mapping[Value, str]]], ...] = (
    ("scale", _MORE_SCALES),  # type: ignore[assignment]
    ("multiplier", _MULTIPLIERS),  # type: ignore[assignment]
    ("value", _VALUES),
)


def _spelled(language: str) -> Iterator[tuple[str, int]]:
    """The numbers below 100 and the hundreds, cardinal and ordinal, also as before a scale."""
    for engine in _engines(language):
        for number in (*range(100), *range(200, 1000, 100)):
            yield from ((form, number) for form in _spellings(engine, number))
        thousands = sorted(_spellings(engine, 1000), key=len)
        for number in (1, *range(10, 100, 10), *range(100, 1000, 100)):  # deux cent mille
            for form in _spellings(engine, number * 1000):
                rest = next((form[: -len(each)] for each in thousands if form.endswith(each)), "")
                yield rest.strip(" -"), number


def _scales(language: str) -> Iterator[tuple[str, int]]:
    """Hundred, thousand, million ..., without the number before them."""
    for engine in _engines(language):
        digits = {
            n: sorted(_spellings(engine, n), key=len, reverse=True) for n in (1, 2, 3, 5, 6, 8)
        }
        for power in _POWERS:
            multiplied = defaultdict[str, set[int]](set)
            for n, forms in digits.items():
                for form in _spellings(engine, n * power):
                    rest = next((form[len(each) :] for each in forms if form.startswith(each)), "")
                    multiplied[rest.strip(" -")].add(n)
            yield from ((form, power) for form, ns in multiplied.items() if len(ns) > 1)
            for form in _spellings(engine, power):  # cent, mil
                if not any(map(form.startswith, digits[1])):
                    yield form, power
    yield from _compact_scales(language)


def _compact_scales(language: str) -> Iterator[tuple[str, int]]:
    """Scales of CLDR's compact numbers: 2 Mio., 2万."""
    if not (locale := cldr_locale(language)):
        return
    for width in locale.compact_decimal_formats.values():
        for by_size in width.values():
            for size, pattern in by_size.items():
                written = pattern.pattern.replace("'", "")
                form = written.replace("0", "").translate(_INVISIBLE).strip("\xa0\u202f .")
                if len(form) > 1 or not form.isascii():  # a single letter may be a unit: 5 m
                    yield form, int(size) // 10 ** (written.count("0") - 1)


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
        with suppress(ValueError):  # CLDR does not have the language
            yield RbnfEngine.for_language(name)


def _spellings(engine: "RbnfEngine", number: int) -> set[str]:
    """The spellings of a number."""
    found = set[str]()
    for name, rules in engine.rulesets.items():
        if name.startswith("spellout") and not rules.is_private:
            with suppress(Exception):  # a rule set without a rule for the number
                found.add("".join(engine.iter_format_number(number, name)).translate(_INVISIBLE))
    return found
