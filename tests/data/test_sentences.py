"""Sentences and parts of sentences: where lines are divided, and how translations are joined."""

from collections.abc import Callable

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from yakusu.data.lines.private_use import BREAKS, closing, empty, opening
from yakusu.data.lines.sentences import (
    clauses,
    continued,
    join,
    split,
    without_final_punctuation,
)

# "|" marks the places where a line is divided.
DIVIDED = [
    ("en", "The bridge is closed. |We took the ferry! |Did you?"),
    ("en", "He came.  |She left.\t|They stayed."),
    ("de", "Der Zug hält. |Wir steigen aus."),
    ("fr", "Il pleut ! |Où est ton parapluie ?"),
    ("ja", "雨です。|傘はありますか？|はい！"),
    ("zh", "下雨了。|你有伞吗？|有！"),
    ("ko", "비가 와요. |우산이 있어요?"),
    ("hi", "बारिश हो रही है। |छाता कहाँ है?"),
    ("ar", "إنها تمطر. |أين المظلة؟ |هنا."),
    ("ru", "Идёт дождь. |Где зонт?"),
    ("el", "Βρέχει. |Πού είναι;"),
    ("", "It rains. |Es regnet. |雨です。|傘？"),
    ("en", "It rains. |\ue000 is closed. |See \ue001! |\ue002 is open."),  # placeholders
    ("en", f"Dr.{BREAKS[0]} {BREAKS[2]}|a{BREAKS[0]}|5"),  # line breaks
    # quotation marks, brackets and markup after the full stop
    ("en", '"It rains." |"Really?" |She laughed.'),
    ("en", "“It rains.” |(Really.) |She laughed."),
    ("en", "(Are you tired?) |We wait. |(The bus is late!) |A car comes."),
    ("de", "„Es regnet.“ |»Wirklich?« |»Ja.« |Sie lachte."),
    ("fr", "« Il pleut. » |Elle rit."),
    ("en", "It rains.[1] |We wait.² |Then we go."),
    # lines without capital letters
    ("en", "it rains. |we wait! |the bus comes."),
    ("de", "es regnet usw. und stürmt. |wir warten auf den bus."),
    ("ru", "идёт дождь. |мы ждём."),
    (
        "en",
        f"{opening(0)}It rains.{closing(0)} |{opening(1)}We wait.{closing(1)} |{empty(2)}We go.",
    ),
]
NOT_DIVIDED = [
    ("fr", "M. Dupont est arrivé."),
    ("fr", "Mme. Durand et MM. Martin et Petit sont là."),
    ("de", "Hr. Müller und Prof. Dr. Maier kamen am 3. Mai."),
    ("de", "Im 19. Jahrhundert spielte der 1. FC noch nicht."),
    ("de", "Am 131. Kilometer, z. B. Brücken, d. h. Bauwerke, ca. Zehn."),
    ("de", "Das steht in Bd. 3, Abb. 4 und auf S. 5."),
    ("cs", "Karel IV. Lucemburský zemřel 29. listopadu."),
    ("en", "J. R. R. Tolkien met Dr. Who, Mr. Xu and St. Paul at Ft. Meade."),
    ("en", "Use tools, e.g. a saw, i.e. what cuts, in No. 5 or Vol. 3."),
    ("en", "Wait... what are you doing?"),
    ("en", "Yahoo! is a company."),
    ("en", "See https://example.com/a.B?c=D! and Node.Js or www.Example.Com now."),
    ("en", "The U.S. Army came at 5 p.m. on Monday."),
    ("en", '"It rains!" she said.'),
    ("en", "“Does it rain?” he asked."),
    ("en", "It rains. we wait."),
    ("en", 'pears, etc. and e.g. plums of dept. two... are here, "now!" she said.'),
    ("en", "The price is $ 3.50 ... or 4.00."),
    ("en", "1. Open the lid."),
    ("en", "Tom (Jr.) Brown, Mary (who left!) and (e.g.) Ann met."),
    ("en", "(Yes!) they met."),
    ("en", "It rains. ☔ 12:30 !"),
    ("ja", "「はい。」と言った。"),
    ("ja", "「行こう！」って言うから。"),
    ("zh", "“是的。”他说。"),
    ("ja", "3.5です。"),
    ("ru", "А. С. Пушкин родился, т. е. Появился."),
    ("es", "El Sr. García y la Sra. López viven aquí."),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text"), DIVIDED)
def test_a_line_is_divided_after_each_sentence(language: str, text: str) -> None:
    assert split(text.replace("|", ""), language) == text.split("|")


@pytest.mark.parametrize(("language", "text"), NOT_DIVIDED)
def test_a_sentence_is_not_divided(language: str, text: str) -> None:
    assert split(text, language) == [text]


@pytest.mark.parametrize("space", "\u0085\u00a0\u2009\u2028\u202f\u3000")
def test_any_space_may_follow_a_capital_letter(space: str) -> None:
    text = f"Vitamin C{space}. A dog runs.{space}A cat sleeps."
    assert "".join(split(text, "en")) == text
    assert split(text, "en")[-1] == "A cat sleeps."


def test_regions_scripts_and_three_letters_are_allowed_in_language_codes() -> None:
    for code in ("de-AT", "de_DE", "DE", "deu", "ger", "deu_Latn"):
        assert split("Am 3. Mai regnet es. Wir warten.", code) == [
            "Am 3. Mai regnet es. ",
            "Wir warten.",
        ]
    for code in ("no such language", "12a", "x-y", "-", "xyz"):
        assert split("It rains. We wait.", code) == ["It rains. ", "We wait."]


def test_a_text_without_letters_is_one_piece() -> None:
    assert split("", "en") == []
    for text in (" ", "1. 2. 3.", "...", "?! ?!", "\n"):
        assert split(text, "en") == [text]


def test_a_long_line_is_divided_in_linear_time() -> None:
    assert len(split("It rains. " * 50_000, "en")) == 50_000
    for text in (
        "(" * 100_000,
        "a" * 100_000,
        "a." * 50_000,
        ". " * 50_000,
        "\"'" * 50_000,
        "A. " * 50_000,
        "1. " * 50_000,
    ):
        assert "".join(split(text, "en")) == text


@given(
    st.text(st.sampled_from(list("aBc12 .!?。」「と\"'()»«…、\n\u3000\u00a0é雨" + closing(0)))),
    st.sampled_from(["en", "de", "ja", "zh", ""]),
)
def test_sentences_are_together_the_line_and_each_has_a_letter(text: str, language: str) -> None:
    sentences = split(text, language)
    assert "".join(sentences) == text
    for sentence in sentences[1:]:
        assert any(c.isalpha() for c in sentence)
        assert not sentence.lstrip(" \n\u3000\u00a0\"'()»«「").startswith(("a", "c", "é"))


# ---- parts of sentences --------------------------------------------------------------------------


def words(n: int) -> Callable[[str], bool]:
    """Whether a text has at most n words."""
    return lambda text: len(text.split()) <= n


def characters(n: int) -> Callable[[str], bool]:
    """Whether a text has at most n characters."""
    return lambda text: len(text) <= n


def test_a_sentence_that_fits_is_one_part() -> None:
    assert clauses("It rains, and we wait.", words(5)) == ["It rains, and we wait."]
    assert clauses("", words(5)) == [""]


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("It was late, dark and cold; |the ferry, which we took, left.", words(10)),
        ("It was late – dark, cold and wet – |and the ferry, which we took, left.", words(12)),
        ("It was late and dark, |and the ferry left early.", words(8)),
        ("One and two and three |and four and five and six.", words(8)),
        ("One, two, three, four, five, |six, seven, eight, nine, ten, |"
         "eleven, twelve, thirteen, fourteen.", words(6)),
        ("It costs them 1,000 pounds |at 10:30 in the morning", words(6)),
        ("昨日は雨が降っていたので、|私たちは家で本を読みました。", characters(20)),
        ("昨日雨が降っていたので|私達は家で本を読みました", characters(15)),
        ("下雨了，我们在家；|你们在公园吗，他们在哪", characters(15)),
    ],
)  # fmt: skip
def test_parts_end_at_punctuation_if_possible_else_at_white_space(
    text: str, fits: Callable[[str], bool]
) -> None:
    assert clauses(text.replace("|", ""), fits) == text.split("|")


def test_a_long_word_is_divided_into_equal_parts() -> None:
    assert clauses("a" * 100, characters(30)) == ["a" * 25] * 4


@pytest.mark.parametrize("character", ["e\u0301", "👩‍🚀", "🇯🇵", "नि", "\r\n"])
def test_characters_that_belong_together_are_not_separated(character: str) -> None:
    parts = clauses(character * 40, characters(25))
    assert len(parts) > 1
    assert all(part == character * (len(part) // len(character)) for part in parts)


def test_a_single_character_that_does_not_fit_is_a_part() -> None:
    assert clauses("ab", lambda text: False) == ["a", "b"]


@given(st.text(st.sampled_from(list("abc ,;.é\u0301雨、の—"))), st.integers(3, 30))
def test_parts_fit_and_are_together_the_sentence(text: str, most: int) -> None:
    parts = clauses(text, lambda part: len(part.encode("utf-8")) <= 4 * most)
    assert "".join(parts) == text
    assert all(len(part.encode("utf-8")) <= 4 * most or len(part) > most for part in parts)
    assert len(parts) <= 1 + 2 * len(text.encode("utf-8")) / (4 * most)


def test_fits_is_called_a_logarithmic_number_of_times() -> None:
    asked: list[int] = []

    def fits(text: str) -> bool:
        asked.append(len(text))
        return len(text) <= 1000

    parts = clauses("word, " * 20_000, fits)
    assert 120 <= len(parts) <= 160
    assert len(asked) <= 1 + 20 * len(parts)
    assert max(asked[1:]) <= 2000  # only the first call reads the whole text


# ---- joining -------------------------------------------------------------------------------------


def test_the_white_space_of_the_source_is_kept() -> None:
    assert join([("Es regnet.", "  "), ("Wir warten.", "\t"), ("Gut.", "")], "de") == (
        "Es regnet.  Wir warten.\tGut."
    )


def test_a_space_is_put_where_the_source_has_none() -> None:
    assert join([("It rains.", ""), ("We wait.", "")], "en") == "It rains. We wait."
    assert join([("비가 와요.", ""), ("기다려요.", "")], "ko") == "비가 와요. 기다려요."


def test_chinese_and_japanese_have_no_space_between_sentences() -> None:
    for code in ("ja", "zh", "zh-Hant", "yue", "jpn", "zho_Hans", ""):
        assert join([("雨。", " "), ("待！", "  "), ("好。", "")], code) == "雨。待！好。"
    assert join([("雨です。", "\n"), ("待つ。", "")], "ja") == "雨です。\n待つ。"


def test_words_of_other_scripts_stay_separate_in_chinese_and_japanese() -> None:
    assert join([("これはOpen", " "), ("Source", " "), ("です。", "")], "ja") == (
        "これはOpen Sourceです。"
    )
    assert (
        join([("It rains.", " "), ("We wait.", " "), ("好。", "")], "zh")
        == "It rains. We wait.好。"
    )


def test_thai_has_a_space_between_sentences() -> None:
    assert join([("ฝนตก", " "), ("เรารอ", "")], "th") == "ฝนตก เรารอ"


def test_an_empty_translation_leaves_no_double_space() -> None:
    assert join([("Es regnet.", " "), ("", " "), ("Gut.", "")], "de") == "Es regnet. Gut."
    assert join([("", " "), ("Gut.", "")], "de") == "Gut."
    assert join([], "de") == ""


@pytest.mark.parametrize(("language", "text"), DIVIDED + NOT_DIVIDED)
def test_a_line_that_is_divided_and_joined_is_the_line(language: str, text: str) -> None:
    text = text.replace("|", "")
    pieces = split(text, language)
    parts = [(piece.rstrip(), piece[len(piece.rstrip()) :]) for piece in pieces]
    if language:
        assert join(parts, language) == text


# ---- translations of parts of sentences ----------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "text", "language", "expected"),
    [
        ("Anna came", "Anna kam.", "de", "Anna kam"),
        ("Anna came,", "Anna kam.", "de", "Anna kam,"),
        ("Anna came,", "Anna kam", "de", "Anna kam,"),
        ("Anna came;", "Anna kam,", "de", "Anna kam,"),
        ("Anna came;", "アンナが来た。", "ja", "アンナが来た；"),
        ("Anna came,", "アンナが来た。", "ja", "アンナが来た、"),
        ("Anna came,", "安娜来了。", "zh-Hans", "安娜来了，"),
        ("安娜来了，", "Anna came.", "en", "Anna came,"),
        ("アンナが来た、", "Anna came.", "en", "Anna came,"),
        ("Anna came,", "جاءت آنا.", "ar", "جاءت آنا،"),
        ("Anna came,", "Anna kam.", "", "Anna kam,"),
        ("Anna came.", "Anna kam.", "de", "Anna kam."),
        ("安娜来了。", "Anna came.", "en", "Anna came."),
        ("Anna came", "Anna kam ...", "de", "Anna kam ..."),
        ("Anna came", "Anna kam!", "de", "Anna kam!"),
        ("for example", "z. B.", "de", "z. B."),
        ("a", "", "de", ""),
        ("a,", ".", "de", "."),
    ],
)
def test_a_part_of_a_sentence_does_not_end_in_a_full_stop(
    source: str, text: str, language: str, expected: str
) -> None:
    assert continued(text, source, language) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Is it 3.5 m, e.g. here?!", "Is it 3.5 m, e.g. here"),
        ("Warte … ", "Warte"),
        ("Où ?", "Où"),
        ("行きます。", "行きます"),
        ("बारिश हो रही है।", "बारिश हो रही है"),
        ("A heading", "A heading"),
        ("(Yes.)", "(Yes.)"),
        ("...", "..."),
    ],
)
def test_the_final_punctuation_of_a_text(text: str, expected: str) -> None:
    assert without_final_punctuation(text) == expected


@given(
    st.text(alphabet="Aa Bb1ßÄя字ก’'-,.!?", max_size=20),
    st.sampled_from(["en", "de", "th", "zh", "el", "hy", ""]),
)
def test_a_text_that_can_only_be_one_sentence_is_divided_as_any_other(
    text: str, language: str
) -> None:
    found = split(text, language)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("yakusu.data.lines.sentences._SINGLE", regex.compile(r"(?!)"))
        assert split(text, language) == found
