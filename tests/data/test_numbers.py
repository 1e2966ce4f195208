from fractions import Fraction

import pytest

from yakusu.data.numbers.cldr import decimal_sign, localised
from yakusu.data.numbers.digits import Value, read_numbers
from yakusu.data.numbers.forms import decimal_words
from yakusu.data.numbers.marks import with_marks
from yakusu.data.numbers.moments import hours, years
from yakusu.data.numbers.romans import possible_numerals, roman_numerals
from yakusu.data.numbers.words import number_words

ENGLISH, GERMAN, UNKNOWN = ".", ",", ""


def values(text: str, sign: str) -> list[tuple[Value, ...]]:
    return [number.values for number in read_numbers(text, sign)]


@pytest.mark.parametrize(
    ("text", "sign", "expected"),
    [
        ("1,000", ENGLISH, (1000,)),
        ("1,000", GERMAN, (1,)),
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
        ("3分の2", ENGLISH, (Fraction(2, 3),)),
        ("08", ENGLISH, (8,)),
        ("0171", ENGLISH, ()),  # not 171
        ("00.5", ENGLISH, ()),
        ("1,299.000", ENGLISH, ()),
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
        ("Louis XIV and Mary I", [14]),
        ("au XIXe siècle", [19]),
        ("I am, and C is not", []),
        ("Chapter Ⅳ", [4]),
        ("MIX it, XIVA, CD, MD, DC, XL", []),
        ("MCMLXXXIV", [1984]),
    ],
)
def test_roman_numerals_are_words_of_capitals(text: str, expected: list[int]) -> None:
    assert [number.values[0] for number in roman_numerals(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mary I and Malcolm X", [1, 10]),
        ("au XXe siècle", [20]),
        ("I am", []),
        ("an X-ray, The X-ray", []),
        ("CD", []),
    ],
)
def test_single_letters_are_numerals_after_names_only(text: str, expected: list[int]) -> None:
    assert list(possible_numerals(text)) == expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "on 6 March 2021 at 5:30 pm", ["", "month 3", "", "hour 17"]),
        ("en", "March 6, May", ["month 3", ""]),  # May alone is a word
        ("en", "You may 5", [""]),
        ("fr", "le 1er août", ["", "month 8"]),
        ("ja", "3月6日、午前9時", ["month 3", "", "hour 9"]),
        ("ja", "3か月", [""]),
        ("ko", "1-3월, 오후 2시", ["month 1", "month 3", "hour 14"]),
        ("vi", "tháng 3", ["month 3"]),
        ("de", "15 Uhr, 3 Uhr", ["", ""]),
        ("ru", "в 3 часа утра", ["hour 3"]),
    ],
)
def test_months_and_hours_are_marked(language: str, text: str, expected: list[str]) -> None:
    found = with_marks(read_numbers(text, UNKNOWN), text, language)
    assert [number.mark for number in found] == expected


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
        ("en", "the second one, in a second", [2, 1]),
        ("de", "halb drei", [2]),
        ("zh", "一百零五", [105, 5]),
        ("ru", "полтора миллиона", [1_500_000]),
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
    assert (set(found.others), found.months) == ({2, 0, 12, 24}, (3,))


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
        ("fr", "les années 90", [("decade", 90)]),
        ("en", "the '80s", [("decade", 80), ("short", 80)]),
        ("en", "90 dogs", []),
        ("en", "the 2980s", []),
        ("en", "in 2024", [("year", 24)]),
        ("ja", "令和6年", [("value", 2024)]),
        ("th", "ปี 2567", [("value", 2024)]),
        ("de", "halb 9", [("value", 8)]),
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


@pytest.mark.parametrize(
    ("language", "word"), [("de", "komma"), ("pt", "vírgula"), ("fi", "pilkku"), ("en", "point")]
)
def test_the_word_before_decimals_is_that_of_cldr(language: str, word: str) -> None:
    assert decimal_words(language) == {word}
