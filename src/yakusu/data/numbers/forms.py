"""Words that are numbers or stand for them, by language: what CLDR lists, and a few more.

    three, third, drei, dritte, 三, 세    3             unit
    hundred, Millionen, 万, млн           100, 10**6    scale
    dozen, Jahrzehnte, siècle             12, 10, 100   multiplier
    both, half, Mitternacht, quinzaine    2, 30, 0, 15  value
    March, mars                           3             month
    Wednesday, mercredi                   3, 4          weekday

A form has a space for each hyphen and is in lower case.
"""

import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from yakusu.data.numbers.cldr import cldr_locale
from yakusu.data.numbers.digits import Value

if TYPE_CHECKING:
    from unicode_rbnf import RbnfEngine

FormKind = Literal["unit", "scale", "multiplier", "value", "month", "weekday"]
_INVISIBLE = str.maketrans("", "", "\u200b\xad\u200e\u200f")
_ORDINARY = str.maketrans(
    {**dict.fromkeys("‐‑–−-\u00a0\u202f\u2009", " "), "ё": "е", **dict.fromkeys("أإآ", "ا")}
)
_POWERS = (100, 1000, *(10**n for n in (4, 5, 6, 7, 8, 9, 12)))
_SAME = {"nb": "no", "tl": "fil"}  # other names
_REGIONS = {  # with spellings of their own
    "fr": ("fr_BE", "fr_CH"),
    "fa": ("fa_AF",),
    "pt": ("pt_PT",),
    "sr": ("sr_Latn",),
    "yue": ("yue_Hans",),
    "zh": ("zh_Hant",),
}


class NumberForm(NamedTuple):
    """What a form means."""

    kind: FormKind
    value: Value


def _base(language: str) -> str:
    base = language.partition("-")[0]
    return _SAME.get(base, base)


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
    base = _base(language)
    yield from ((form, "scale", value) for form, value in _scales(language))
    for form, value in _spelled(language):
        yield form, "unit", value
        if base == "en":  # thirtyeight, two thirds
            yield form.replace("-", ""), "unit", value
            yield f"{form}s" if form.endswith(("rd", "th")) else form, "unit", value
    yield from _calendar(language)
    for kind, table in _listed().get(base, {}).items():
        for written, words in table.items():
            exact = Fraction(written)
            listed = int(exact) if exact.denominator == 1 else exact
            yield from ((word, kind, listed) for word in words.split())


@cache
def _listed() -> Mapping[str, Mapping[FormKind, Mapping[str, str]]]:
    """What CLDR does not list: language -> kind -> value -> words."""
    text = Path(__file__).with_name("words.toml").read_text(encoding="utf-8")
    listed: Mapping[str, Mapping[FormKind, Mapping[str, str]]] = tomllib.loads(text)
    return listed


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
                    digit = max(filter(form.startswith, forms), key=len, default=form)
                    multiplied[form.removeprefix(digit).strip(" -")].add(n)
            yield from ((form, power) for form, ns in multiplied.items() if len(ns) > 1)
            for form in _spellings(engine, power):  # cent, mil
                if not any(map(form.startswith, digits[1])):
                    yield form, power
    yield from _compact_scales(language)


def decimal_words(language: str) -> frozenset[str]:
    """The words between a whole number and its decimals: point, Komma, virgule."""
    found = set[str]()
    for engine in _engines(language):
        one, five = _spellings(engine, 1), _spellings(engine, 5)
        for form in _spellings(engine, Decimal("1.5")):
            before = max(filter(form.startswith, one), key=len, default=form)
            after = max(filter(form.endswith, five), key=len, default="")
            found.add(plain_words(form[len(before) : len(form) - len(after)]).strip())
    return frozenset(found - {""})


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


def _calendar(language: str) -> Iterator[tuple[str, FormKind, int]]:
    """The names of months and of the days of the week; Monday is the first or the second."""
    if not (locale := cldr_locale(language)):
        return
    for context in ("format", "stand-alone"):
        for width in ("wide", "abbreviated"):
            for month, name in locale.months[context][width].items():
                if len(name.strip(".")) > 2 and name[0].isalpha():
                    yield name.strip("."), "month", month
        for day, name in locale.days[context]["wide"].items():
            yield from ((name, "weekday", day + 1), (name, "weekday", day + 2))


@lru_cache(maxsize=1)
def _engines(language: str) -> "list[RbnfEngine]":
    """CLDR's rules for the numbers of a language, of all regions."""
    from unicode_rbnf import RbnfEngine  # 0.05 s

    base, engines = _base(language), list["RbnfEngine"]()
    for name in (base, *_REGIONS.get(base, ())):
        with suppress(ValueError):  # CLDR does not have the language
            engines.append(RbnfEngine.for_language(name))
    return engines


def _spellings(engine: "RbnfEngine", number: int | Decimal) -> list[str]:
    """The spellings of a number, in the order of the rules."""
    found = dict[str, None]()
    for name, rules in engine.rulesets.items():
        if name.startswith("spellout") and not rules.is_private:
            with suppress(Exception):  # a rule set without a rule for the number
                spelled = "".join(engine.iter_format_number(number, name))
                found[spelled.translate(_INVISIBLE)] = None
    return [*found]
