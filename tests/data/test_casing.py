"""Sentences in capitals: which are, how they are usually written, and capitals by language."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yakusu.data.lines.casing import capitals, in_capitals, sentence_case
from yakusu.data.lines.private_use import firm_place

LANGUAGES = st.sampled_from(["", "en", "de", "tr", "az", "el", "nl", "ja", "ru"])
SLOT = firm_place(0)


@pytest.mark.parametrize(
    "sentence",
    [
        "DO NOT OPEN THE DOOR!",
        "WARNING",
        "NO WAY.",
        "PRESS the BUTTON NOW",
        "CALL +49 30 1234 TODAY",
        "MY NAME IS McDONALD",
        f"{SLOT} IS NOT HERE",
        "ΚΑΛΗ ΜΕΡΑ",
        "МОСКВА",
        "OPEN/CLOSE",
    ],
)
def test_sentences_in_capitals(sentence: str) -> None:
    assert in_capitals(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        *("", "OK", "USA!", "TCP/IP", "XVIII", "A. B. C. D. E.", "10 KG", "A4 B2B H2O COVID19"),
        *("The USA and NATO.", "NASA, ESA and JAXA", "ANNA came late", "Please READ this"),
        *("Do not open the door!", "日本のNHKニュース", "გამარჯობა მსოფლიო", "نص عربي", SLOT),
    ],
)
def test_other_sentences(sentence: str) -> None:
    assert not in_capitals(sentence)


@pytest.mark.parametrize(
    ("language", "sentence", "expected"),
    [
        ("en", "DO NOT OPEN THE DOOR!", "Do not open the door!"),
        ("en", "WHAT SHOULD I DO IF I'M LATE?", "What should I do if I'm late?"),
        ("en", "H2O AND COVID19 IN PART IV", "H2O and COVID19 in part IV"),
        ("en", f"{SLOT} IS HERE", f"{SLOT} is here"),
        ("en", '"STOP" SAID ANNA', '"Stop" said anna'),
        ("de", "ÖFFNE DIE TÜR DER STRAẞE", "Öffne die tür der straße"),
        ("tr", "İSTANBUL'DA HAVA ILIK", "İstanbul'da hava ılık"),
        ("tr-TR", "BEN İYİYİM", "Ben iyiyim"),
        ("aze", "QIZIL İLƏ", "Qızıl ilə"),
        ("en", "THE CITY İZMİR", "The city İZMİR"),
        ("nl", "IJSLAND IS MOOI", "IJsland is mooi"),
        ("el", "Ο ΔΡΟΜΟΣ ΤΗΣ", "Ο δρομος της"),
    ],
)
def test_sentence_case(language: str, sentence: str, expected: str) -> None:
    assert sentence_case(sentence, language) == expected


def test_a_word_has_the_case_in_which_it_has_fewest_tokens() -> None:
    known = {"the", "house", "of", "London", "NASA", "in", "The"}
    made = sentence_case("THE HOUSE OF NASA IN LONDON", "en", lambda w: 1 if w in known else 9)
    assert made == "The house of NASA in London"


def test_digits_may_have_a_suffix_in_lower_case() -> None:
    cost = {"2nd": 1, "on": 1, "On": 1, "the": 1, "of": 1}
    assert sentence_case("ON THE 2ND OF H2O", "en", lambda w: cost.get(w, 3)) == (
        "On the 2nd of H2O"
    )


def test_words_of_the_source_that_are_not_in_capitals_keep_their_case() -> None:
    source = "MAX. 5 kg ON the iPhone 15 OF McDONALD"
    assert capitals("Max. 5 kg auf dem iPhone 15 von McDONALD", "de", source=source) == (
        "MAX. 5 kg AUF DEM iPhone 15 VON McDONALD"
    )


def test_a_first_letter_that_cannot_be_read_is_in_lower_case() -> None:
    assert sentence_case("ÖFFNE SIE", "de", lambda w: inf if "Ö" in w else 1) == "öffne sie"


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "Die Straße ist groß.", "DIE STRASSE IST GROSS."),
        ("tr", "istanbul'da ılık", "İSTANBUL'DA ILIK"),
        ("az", "ilk qız", "İLK QIZ"),
        ("en", "istanbul", "ISTANBUL"),
        ("el", "Ο δρόμος της ή καλός.", "Ο ΔΡΟΜΟΣ ΤΗΣ Ή ΚΑΛΟΣ."),
        ("el", "Μάιος, ρολόι, αϋπνία, καΐκι", "ΜΑΪΟΣ, ΡΟΛΟΪ, ΑΫΠΝΙΑ, ΚΑΪΚΙ"),
        ("el", "un café à Αθήνα", "UN CAFÉ À ΑΘΗΝΑ"),
        ("nl", "ijsland", "IJSLAND"),
        ("en", "5 µm", "5 µM"),
        ("ja", "私のiPhone", "私のiPhone"),
        ("zh-Hant", "用USB线", "用USB线"),
        ("ka", "გამარჯობა", "გამარჯობა"),
        ("sr-Latn", "ljubav", "LJUBAV"),
        ("", "salut", "SALUT"),
        ("de", f"Hallo {SLOT}!", f"HALLO {SLOT}!"),
    ],
)
def test_capitals(language: str, text: str, expected: str) -> None:
    assert capitals(text, language) == expected


def test_only_words_of_the_source_are_in_capitals_in_a_language_without_case() -> None:
    source = "BUY A SONY TV, DON'T SELL AN IPHONE, 5 kg"
    assert capitals("sonyのTvとiPhone、don't、5 kg", "ja", source=source) == (
        "SONYのTVとiPhone、DON'T、5 kg"
    )


@given(st.text(), LANGUAGES)
def test_sentence_case_keeps_the_length_and_all_but_letters(text: str, language: str) -> None:
    made = sentence_case(text, language, len)
    assert len(made) == len(text)
    for own, other in zip(made, text, strict=True):
        assert own == other or other.isalpha()


@given(
    st.text(st.sampled_from("ABÄÖSİIΣΆẞДJ19µΩǅ. -'e")), LANGUAGES.filter(lambda own: own != "el")
)
def test_a_copied_sentence_in_capitals_is_unchanged(text: str, language: str) -> None:
    text = text.replace("ẞ", "")  # which becomes SS
    made = capitals(sentence_case(text, language), language, source=text)
    assert made == text or language == "ja"


@given(st.text(), LANGUAGES)
def test_capitals_have_no_lower_case_and_change_nothing_again(text: str, language: str) -> None:
    once = capitals(text, language)
    assert capitals(once, language) == once
    assert len(once.split()) == len(text.split())
