from fractions import Fraction

import pytest

from yakusu.data.numbers.cldr import decimal_sign, localised
from yakusu.data.numbers.digits import Value, read_numbers, roman_numerals
from yakusu.data.numbers.moments import hours, years
from yakusu.data.numbers.words import number_words

ENGLISH, GERMAN, UNKNOWN = ".", ",", ""


def values(text: str, sign: str) -> list[tuple[Value, ...]]:
    return [number.values for number in read_numbers(text, sign)]


@pytest.mark.parametrize(
    ("text", "sign", "expected"),
    [
        ("1,000", ENGLISH, (1000,)),
        ("1,000", GERMAN, (1, 1000)),
        ("1.500", GERMAN, (1500,)),
        ("1,000", UNKNOWN, (1000, 1)),
        ("1,234,567.89", ENGLISH, (Fraction(123456789, 100),)),
        ("1.234.567,89", ENGLISH, (Fraction(123456789, 100),)),  # only one reading
        ("0.125", GERMAN, (Fraction(1, 8),)),
        ("12,34,567", ENGLISH, (1234567,)),  # as in India
        ("1 000", UNKNOWN, (1000,)),
        ("3/4", ENGLISH, (Fraction(3, 4),)),
        ("3½", ENGLISH, (Fraction(7, 2),)),
        ("٣٫٥", ENGLISH, (Fraction(7, 2),)),
        (".5", ENGLISH, (Fraction(1, 2),)),
        ("4할 6리", ENGLISH, (Fraction(203, 5), Fraction(203, 500))),
    ],
)
def test_a_number_has_the_values_that_its_signs_allow(
    text: str, sign: str, expected: tuple[Value, ...]
) -> None:
    assert values(text, sign) == [expected]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("7.12.1941", ["7", "12", "1941"]),
        ("3:30", ["3", "30"]),
        ("0715", ["07", "15"]),
        ("12 500", ["12", "500"]),
        ("1.5", []),
        ("1,000.5", ["1", "000", "5"]),
    ],
)
def test_dates_times_and_lists_have_parts(text: str, parts: list[str]) -> None:
    [number] = read_numbers(text, ENGLISH)
    assert [part.text for part in number.parts] == parts


def test_numbers_are_found_with_their_places() -> None:
    found = read_numbers("from 3, 12 or 1,000.", ENGLISH)
    assert [(n.start, n.end, n.text) for n in found] == [
        (5, 6, "3"),
        (8, 10, "12"),
        (14, 19, "1,000"),
    ]


def test_a_number_of_many_digits_has_no_value() -> None:
    assert values("7" * 41, ENGLISH) == [()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Louis XIV and Mary I", [14, 1]),
        ("au XXe siècle", [20]),
        ("I am, and C is not", []),
        ("Chapter Ⅳ", [4]),
        ("MIX it, XIVA", [1009]),
    ],
)
def test_roman_numerals_are_words_of_capitals(text: str, expected: list[int]) -> None:
    found = list(roman_numerals(text))
    assert [value for value in found if value in expected] == expected


@pytest.mark.parametrize(
    ("language", "sign"), [("en", "."), ("de", ","), ("ja", "."), ("xx", ""), ("", "")]
)
def test_the_decimal_sign_of_a_language_is_that_of_cldr(language: str, sign: str) -> None:
    assert decimal_sign(language) == sign


# ---- words


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "three hundred and five dogs", [305]),
        ("en", "twenty-one, thirty, forty-second", [21, 30, 42]),
        ("en", "two hundred thousand", [200_000]),
        ("en", "two dozen", [24, 2]),
        ("en", "nineteen eighty-four", [19, 84, 1984]),
        ("en", "everyone often weighs tents", []),  # one, ten and eight inside of words
        ("de", "zweihundertdreiundvierzig", [243]),
        ("de", "neunzehnhundertachtzig", [1980]),
        ("fr", "quatre-vingt-dix-sept mille", [97_000]),
        ("es", "treinta y dos mil", [32_000]),
        ("ru", "пять миллионов", [5_000_000]),
        ("ja", "三百五十万", [3_500_000]),
        ("zh", "两亿三千万", [230_000_000]),
        ("ko", "이백만", [2_000_000]),
        ("ko", "이 사람", []),  # "this person"
        ("hi", "पाँच लाख", [500_000]),
    ],
)
def test_number_words_have_the_value_of_all_their_parts(
    language: str, text: str, expected: list[int]
) -> None:
    assert list(number_words(language).read(text, []).words) == expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "2 million", 2_000_000),
        ("de", "3,5 Mrd. Euro", 3_500_000_000),
        ("ja", "1億2000万円", 120_000_000),
        ("ko", "12조3천억", 12_300_000_000_000),
        ("fr", "5 cents", 5),
        ("en", "3 and a half", Fraction(7, 2)),
        ("vi", "2 triệu", 2_000_000),
    ],
)
def test_a_scale_after_digits_multiplies_them(language: str, text: str, expected: Value) -> None:
    numbers = read_numbers(text, decimal_sign(language))
    [number] = number_words(language).read(text, numbers).numbers
    assert number.values[0] == expected


def test_other_words_stand_for_values() -> None:
    found = number_words("en").read("both in March at midnight", [])
    assert (set(found.others), found.calendar) == ({2, 0, 12, 24}, (3,))


def test_a_language_that_cldr_lacks_has_no_words() -> None:
    assert not number_words("xx")
    assert number_words("xx").read("twenty 5", read_numbers("twenty 5", UNKNOWN)).words == ()


# ---- moments


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at 3:30 pm", {15}),
        ("at 3:30 a.m.", {3}),
        ("at 12 am", {0}),
        ("3 Uhr", {3, 15}),
        ("15.30 Uhr", {15}),
        ("午後3時", {15}),
        ("3時間", set()),  # three hours
        ("3 dogs", set()),
        ("30 h", set()),
    ],
)
def test_hours_are_told_by_the_text_around_a_number(text: str, expected: set[int]) -> None:
    number = read_numbers(text, ENGLISH)[0]
    first = number.parts[0] if number.parts else number
    assert hours(int(first.values[0]), text, first.start, first.end) == expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "the 1990s", [("decade", 90), ("year", 90)]),
        ("fr", "les années 90", [("round", 90), ("short", 90)]),
        ("en", "in 2024", [("year", 24)]),
        ("ja", "令和6年", [("short", 6), ("value", 2024)]),
        ("th", "ปี 2567", [("value", 2024)]),
        ("de", "halb 9", [("short", 9), ("value", 8)]),
    ],
)
def test_years_have_several_forms(
    language: str, text: str, expected: list[tuple[str, int]]
) -> None:
    [number] = read_numbers(text, UNKNOWN)
    value = int(number.values[0])
    assert list(years(value, language, text, number.start, number.end)) == expected


@pytest.mark.parametrize(
    ("number", "languages", "expected"),
    [
        ("1,000", ("en", "de"), "1.000"),
        ("1.234.567,89", ("de", "en"), "1,234,567.89"),
        ("12,500", ("en", "fr"), "12\u202f500"),
        ("1,000", ("en", "ja"), "1,000"),
        ("3.5", ("en", "de"), "3.5"),
        ("1.000", ("en", "de"), "1.000"),
        ("10:30", ("en", "de"), "10:30"),
        ("1,000", ("en", ""), "1,000"),
    ],
)
def test_a_number_in_groups_gets_the_signs_of_another_language(
    number: str, languages: tuple[str, str], expected: str
) -> None:
    assert localised(number, languages) == expected
