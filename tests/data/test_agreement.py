import time
from itertools import pairwise

import pytest

from yakusu.data.lines.spans import Span, SpanFinder
from yakusu.data.numbers.agreement import Agreement

FINDER = SpanFinder()


def compared(codes: str, source: str, target: str) -> tuple[list[str], list[str]]:
    """The texts that are missing and those that are added; codes are such as "en-de"."""
    first, second = codes.split("-")
    found = Agreement((first, second), FINDER).compare(source, target)
    return [span.text for span in found.missing], [span.text for span in found.added]


# ---- code-like tokens


def test_what_is_on_one_side_only_is_named_with_its_place() -> None:
    found = Agreement(("en", "de"), FINDER).compare("Delete {name} now", "%s jetzt löschen")
    assert found
    assert found.missing == (Span(7, 13, "{name}"),)
    assert found.added == (Span(0, 2, "%s"),)


def test_sides_that_agree_give_nothing() -> None:
    assert not Agreement(("en", "de"), FINDER).compare("Hello there", "Guten Tag")


@pytest.mark.parametrize(
    ("source", "target", "missing", "added"),
    [
        ("Open <b>{file}</b>", "<b>{file}</b> öffnen", [], []),
        ("%1$s of %2$s", "%2$s, davon %1$s", [], []),  # in any order
        ("Open <b>it</b>", "Öffnen", ["<b>", "</b>"], []),
        ("{n} of {n}", "{n}", ["{n}"], []),
        ("Open it", "<i>Öffnen</i>", [], ["<i>", "</i>"]),
        ("See www.example.org", "Siehe www.example.net", ["www.example.org"], ["www.example.net"]),
        ("Run v1.2.3 of X7B-2203", "Starten Sie v1.2.3 von X7B-2204", ["X7B-2203"], ["X7B-2204"]),
        ("Version 0.9.1", "Fassung 0.9.1", [], []),
    ],
)
def test_code_like_tokens_are_compared_as_often_as_they_occur(
    source: str, target: str, missing: list[str], added: list[str]
) -> None:
    assert compared("en-de", source, target) == (missing, added)


def test_of_a_plural_only_its_kind_is_compared() -> None:
    source = "{n, plural, one {# boat} other {# boats}}"
    assert compared("en-de", source, "{n, plural, one {# Boot} other {# Boote}}") == ([], [])
    assert compared("en-de", source, "{m, plural, one {# Boot} other {# Boote}}")[0] == [source]


def test_numbers_inside_of_code_like_tokens_are_not_compared_again() -> None:
    assert compared("en-de", "Press {0} 5 times", "Drücken Sie 5-mal {0}") == ([], [])


# ---- numbers

SAME = [
    # separators and digits
    ("en-de", "1,000.5 kg", "1.000,5 kg"),
    ("en-fr", "1,000.5 kg", "1\u202f000,5 kg"),
    ("en-fr", "12,500 litres", "12 500 litres"),
    ("en-de", "1,000", "1'000"),
    ("en-hi", "100,000 trees", "1,00,000 पेड़"),
    ("en-ar", "15 boats", "١٥ قاربًا"),
    ("en-th", "25 boats", "๒๕ ลำ"),
    ("ja-en", "１２３本", "123 of them"),
    ("en-de", "0.25", ".25"),
    ("en-de", "$10", "10,00 $"),
    ("en-de", "at 05:30", "um 5.30 Uhr"),
    # number words, cardinal and ordinal
    ("en-de", "42 boats", "zweiundvierzig Boote"),
    ("en-de", "a family of 4", "eine vierköpfige Familie"),
    ("en-de", "1,000 thanks", "tausend Dank"),
    ("en-fr", "92 bateaux", "quatre-vingt-douze bateaux"),
    ("fr-en", "plus de 80 millions", "more than eighty million"),
    ("en-es", "in 1999", "en mil novecientos noventa y nueve"),
    ("es-en", "quinientos barcos", "500 boats"),
    ("en-ru", "the 3rd floor", "третий этаж"),
    ("en-pl", "12 boats", "dwanaście łodzi"),
    ("en-it", "230 boats", "duecentotrenta barche"),
    ("en-ja", "the 2nd time", "第二回"),
    ("en-ko", "20 years old", "스무 살"),
    ("en-zh", "in 1984", "一九八四年"),
    ("en-de", "in 2012", "zweitausendundzwölf"),
    ("en-de", "$1,000 and $2,000", "tausend und zweitausend Dollar"),
    ("en-de", "2.1 million people", "2,1 Millionen Einwohner"),
    ("en-de", "120 million people", "hundertzwanzig Millionen Einwohner"),
    ("en-de", "nineteen eighty-four", "1984"),
    ("en-he", "7 days", "שבעה ימים"),
    ("en-de", "Five decades", "50 Jahre"),
    ("en-ja", "half a million", "50万"),
    ("en-ja", "two thirds", "2/3"),
    # scales
    ("en-de", "2 million boats", "2.000.000 Boote"),
    ("en-ja", "2 million boats", "200万隻の船"),
    ("en-ko", "$110 million", "1억1천만 달러"),
    ("en-zh", "1.5 billion", "15亿"),
    ("ko-en", "2만 5천 원", "25,000 won"),
    ("en-ru", "1.5 million", "1,5 млн"),
    ("en-hi", "1,00,000 rupees", "एक लाख रुपये"),
    ("en-de", "$5m", "5 Millionen Dollar"),
    # dates and times
    ("en-ja", "on 6 March", "3月6日に"),
    ("ja-en", "3月6日に", "on March 6th"),
    ("en-de", "December 7, 1941", "7.12.1941"),
    ("en-de", "3/6/2024", "6.3.2024"),
    ("en-de", "2024-03-05", "05.03.24"),
    ("en-de", "at 3:30 pm", "um 15.30 Uhr"),
    ("en-ja", "at 3:30 pm", "15時30分に"),
    ("en-ja", "at 3:30 pm", "午後3時30分に"),
    ("en-de", "at 6:30", "um halb sieben"),
    ("en-de", "He came at 2:30.", "Er kam um halb drei."),
    ("en-de", "at 3 p.m.", "um fünfzehn Uhr"),
    ("en-de", "at noon", "zu Mittag, um 12 Uhr"),
    ("en-fr", "I leave at ten", "Je pars à 22h"),
    ("en-ja", "10:00", "10時"),
    ("en-de", "the 1990s", "die 1990er Jahre"),
    ("en-fr", "the 1990s", "les années 90"),
    ("ja-en", "令和6年", "2024"),
    ("en-vi", "on Monday", "vào thứ 2"),
    ("en-th", "in 2024", "ในปี 2567"),
    ("en-de", "from 9:30-10:15", "von 9.30-10.15 Uhr"),
    # others
    ("en-de", "1.5-2 kg", "1,5 bis 2 kg"),
    ("en-de", "Louis XIV", "Ludwig der 14."),
    ("de-en", "Ludwig der 14.", "Louis XIV"),
    ("en-de", "3½ cups", "3,5 Tassen"),
    ("en-de", "2.5 hours", "zweieinhalb Stunden"),
    ("fr-en", "2,5 millions", "two and a half million"),
    ("en-fr", "2.5 million", "deux millions et demi"),
    ("en-de", "3,500 books", "dreieinhalbtausend Bücher"),
    ("en-de", "0.3%", "null Komma drei Prozent"),
    ("fr-en", "99,9 %", "ninety-nine point nine percent"),
    ("en-fr", "3.14", "trois virgule quatorze"),
    ("en-de", "1/2 cup", "eine halbe Tasse"),
    ("en-de", "50 percent", "50 %"),
    ("en-ja", "30% off", "3割引"),
    ("en-de", "call 030 1234567", "rufen Sie 030/123 45 67 an"),
    ("en-de", "half an hour", "30 Minuten"),
    ("en-de", "CO2", "CO₂"),
    ("en-ko", "a dog", "개 1마리"),
    ("en-ja", "all day", "1日中"),
    ("en-ja", "2.5 hours", "2時間半"),
    ("de-en", "1,5 Stunden", "an hour and a half"),
    ("en-ko", "at 4:30", "네 시 반"),
    ("en-zh", "at 5:45", "差一刻六点"),
    ("en-de", "18 months", "anderthalb Jahre"),
    ("en-de", "1.5 million", "anderthalb Millionen"),
    ("en-fr", "3/4 of them", "les trois quarts"),
    ("en-zh", "207 boats", "二百零七艘船"),
    ("en-ja", "6 months", "半年"),
    ("en-ja", "Sept. 4", "9月4日"),
    ("ja-en", "令和元年", "2019"),
    ("en-fr", "in '84", "en 1984"),
    ("en-ja", "two thirds", "3分の2"),
    ("en-de", "Malcolm X", "Malcolm der 10."),
    ("en-de", "at 5 pm", "um 5 Uhr nachmittags"),
    ("de-en", "am 6. 3. 2021", "on March 6, 2021"),
    ("en-ru", "in May 2020", "в мае 2020 года"),
    ("en-hi", "6 May", "6 मई"),
    ("en-vi", "6 May", "ngày 6 tháng 5"),
    ("en-de", "+44 20 7946 0000", "+44 (20) 79460000"),
    ("en-ja", "Open ~/notes or #menu", "#menuか~/notesを開く"),
    ("zh-ja", "第二章、九1", "第二章、九1です"),
    ("en-ko", "Open C:\\Users\\x now", "C:\\Users\\x를 여세요"),
]


@pytest.mark.parametrize(("codes", "source", "target"), SAME)
def test_a_number_agrees_in_every_form_of_the_languages(
    codes: str, source: str, target: str
) -> None:
    assert compared(codes, source, target) == ([], [])


@pytest.mark.parametrize(
    ("codes", "source", "target", "missing", "added"),
    [
        ("en-ja", "It costs 1,000 yen.", "切符は100円です。", ["1,000"], ["100"]),
        ("en-de", "6 boats", "26 Boote", ["6"], ["26"]),
        ("en-de", "2 million", "2 Milliarden", ["2 million"], ["2 Milliarden"]),
        ("en-ja", "100,000 boats", "1万隻", ["100,000"], ["1万"]),
        ("en-de", "1,500", "1,5", ["1,500"], ["1,5"]),
        ("en-de", "3:30 am", "15:30 Uhr", ["3:30"], ["15:30"]),
        ("en-de", "$10.50", "10,05 $", ["10.50"], ["10,05"]),
        ("ja-en", "3月6日", "March 16", ["6"], ["16"]),
        ("en-ja", "Line 1", "答えは九1です", [], ["九1"]),
        ("en-de", "at ‑20 %", "bei 20 %", ["‑20"], []),
        ("en-de", "page 12", "Seite 12hundertvierzehn", ["12"], ["12hundertvierzehn"]),
        ("ja-en", "8月8日", "in August", ["8"], []),
        ("en-de", "4 boats", "vierzig Boote", ["4"], []),
        ("en-de", "12 cats, 3 dogs", "1 Katze, 23 Hunde", ["12", "3"], ["1", "23"]),
        ("en-fr", "92", "quatre-vingt-deux", ["92"], []),
        ("en-ar", "15", "١٦", ["15"], ["١٦"]),
        ("en-zh", "3:20", "三点五十分", ["3:20"], []),
    ],
)
def test_an_altered_number_is_missing_and_added(
    codes: str, source: str, target: str, missing: list[str], added: list[str]
) -> None:
    assert compared(codes, source, target) == (missing, added)


ALTERED = [
    # groups that are no telephone number
    ("en-de", "$4,321,987.65", "432.198.765 $"),
    ("en-de", "e is 2.718281", "e ist 2718281"),
    ("en-de", "from 54,321 to 876", "von 5.432 bis 1.876"),
    ("en-de", "1990-2000", "19902000"),
    # years in two digits without a mark
    ("en-de", "80 dogs", "1980 Hunde"),
    ("en-de", "in 2018", "in 18"),
    ("en-de", "the 19th", "der 2019."),
    ("de-en", "70er Jahre", "the 1070s"),
    ("en-fr", "in the 70s", "les années 770"),
    # months
    ("en-de", "in April", "im 4"),
    ("en-de", "4 dogs", "April"),
    ("en-de", "7 May 2020", "7. März 2020"),
    ("en-fr", "May 7", "7 juin"),
    ("en-ru", "7 May", "7 марта"),
    ("en-ja", "May 7", "7日"),
    ("en-ja", "May 7, 2020", "2020年月7日"),
    ("en-ja", "May 7, 2020", "2020年7月5日"),
    ("en-ko", "May 7", "7월 5일"),
    ("en-de", "7 May", "7. Mai 7."),
    # words that are no numbers
    ("en-de", "I am here", "Ich bin 1"),
    ("en-de", "a new CD", "neue 400"),
    ("en-de", "wait a second", "warte 2"),
    # Roman numerals
    ("en-de", "Henry VIII", "Heinrich VII."),
    ("en-ko", "World War II", "제1차 세계 대전"),
    # times
    ("en-ja", "4:20 pm", "午前4時20分"),
    ("ja-en", "午後4時", "4 a.m."),
    ("en-zh", "4:30 pm", "上午四点半"),
    ("en-fr", "4:20 pm", "4 h 20 du matin"),
    ("de-en", "um halb fünf", "at 5:30"),
    ("en-fr", "8:45", "neuf heures et quart"),
    # scales and zeros
    ("en-de", "1.7M users", "1,7 Nutzer"),
    ("en-de", "20K", "20"),
    ("en-de", "2018", "018"),
    ("en-de", "3000", "000"),
    ("en-de", "07.04.2018", "07.004.2018"),
    ("de-en", "2.499,00 €", "€2.499"),
    ("ja-en", "3割引", "3% off"),
    ("en-ko", "2/5", "2분의 5"),
]


@pytest.mark.parametrize(("codes", "source", "target"), ALTERED)
def test_what_only_looks_like_another_form_of_a_number_is_altered(
    codes: str, source: str, target: str
) -> None:
    missing, added = compared(codes, source, target)
    assert missing or added


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("5 apples in May", "Äpfel im Mai"),  # Mai is the translation of May, not the number 5
        ("three cats and 3 dogs", "drei Katzen"),
        ("7 of 7", "7"),
    ],
)
def test_a_word_that_translates_another_one_does_not_replace_a_number(
    source: str, target: str
) -> None:
    assert compared("en-de", source, target)[0]


@pytest.mark.parametrize(
    ("source", "target", "added"),
    [
        ("ten boats", "Boote", []),  # a number in words may be absent
        ("ten boats", "10 Boote", []),
        ("ten boats", "11 Boote", ["11"]),
        ("five boats", "1 Boot", ["1"]),
        ("some boats", "12 Boote", ["12"]),
        ("the first 10 of them", "die ersten 10 dieser 10", ["10"]),  # twice
        ("no boats", "1 Boot", ["1"]),
    ],
)
def test_numbers_that_nothing_in_the_source_explains_are_added(
    source: str, target: str, added: list[str]
) -> None:
    assert compared("en-de", source, target) == ([], added)


@pytest.mark.parametrize("codes", ["-", "xx-yy", "en-xx", "tlh-de"])
def test_languages_without_data_are_compared_by_digits(codes: str) -> None:
    assert compared(codes, "2 million of 1,000.5", "2 xyz 1.000,5") == ([], [])
    assert compared(codes, "on 3/6/2024 at 9:30", "6.3.2024 9h30") == ([], [])
    assert compared(codes, "12 and 5", "12") == (["5"], [])
    assert compared(codes, "on 6 March with George VI", "6 marzu Dzhordzha") == ([], [])


def test_places_are_those_of_the_text_before_its_digits_are_read() -> None:
    found = Agreement(("ja", "en"), FINDER).compare("全部で１２３本", "a few")
    assert found.missing == (Span(3, 6, "１２３"),)


@pytest.mark.parametrize(
    "part", ["7", "1.5 ", "twenty ", "三百", "{a} ", "½", "1,", "5 May ", "1 2.5 ", "XIV "]
)
def test_crafted_texts_take_linear_time(part: str) -> None:
    agreement = Agreement(("en", "ja"), FINDER)

    def seconds(n: int) -> float:
        text = part * n
        times = [time.process_time()]
        for _ in range(3):  # garbage may be collected during one of them
            agreement.compare(text, f"{text[:-2]} 8")
            times.append(time.process_time())
        return min(after - before for before, after in pairwise(times))

    agreement.compare("1 2", "one 3")  # reads the data of the languages
    assert seconds(2_000) < 30 * (seconds(250) + 0.002)


@pytest.mark.parametrize(
    ("source", "target", "agrees"),
    [
        ("Meet at 06:00.", "6時0分に会う。", True),
        ("Meet at 06:00.", "6時に会う。", True),
        ("Meet at 06:00.", "6時5分に会う。", False),
        ("Meet at 06:05.", "6時0分に会う。", False),
    ],
)
def test_a_full_hour_may_have_no_minutes_or_0(source: str, target: str, agrees: bool) -> None:
    assert (compared("en-ja", source, target) == ([], [])) == agrees


def test_words_of_an_unknown_source_language_may_be_numbers() -> None:
    assert compared("-ja", "on 5 February", "2月5日に") == ([], [])
    assert compared("-ja", "on 5 February", "2月に") == (["5"], [])
    for source in ("!", "12", "{name}"):  # without words
        assert compared("-ja", source, f"{source} 5") == ([], ["5"])
    assert compared("en-ja", "on day 5", "2月5日に") == ([], ["2"])
