"""Sentences in capitals: which are, how they are usually written, and capitals by language."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yakusu.data.lines.casing import (
    capitals,
    in_capitals,
    lower_case,
    may_be_recased,
    read_without_capitals,
    sentence_case,
    title_case,
    untitled,
)
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


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "don't open the iPhone 3d case", "Don't Open The iPhone 3d Case"),
        ("en", "A HEADING stays", "A HEADING Stays"),
        ("fr", "l'île d'Yeu", "L'île d'Yeu"),
        ("nl", "ijs en ijzer", "IJs En IJzer"),
        ("tr", "ilk ırmak", "İlk Irmak"),
        ("de", "ßo", "Sso"),
        ("ja", "船は東京へ", "船は東京へ"),
        ("", "", ""),
    ],
)
def test_title_case(language: str, text: str, expected: str) -> None:
    assert title_case(text, language) == expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [("en", "It IS İzmir", "it is izmir"), ("tr", "IĞDIR İl", "ığdır il"), ("el", "ΟΔΟΣ", "οδος")],
)
def test_lower_case_has_the_same_length(language: str, text: str, expected: str) -> None:
    assert lower_case(text, language) == expected
    assert len(lower_case(text, language)) == len(text)


# ---- title case ----------------------------------------------------------------------------------

FREQUENT = {
    "to",
    "the",
    "of",
    "and",
    "open",
    "window",
    "with",
    "started",
    "a",
    "ein",
    "läuft",
}
NAMES = {"York", "Anna", "Hund", "I"}


def rarity(word: str) -> float:
    """The cost of words in a vocabulary with frequent words and a few names."""
    return 1 if word in FREQUENT | NAMES else 1 + len(word) + 0.1 * word[0].isupper()


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "Getting Started With The Window", "Getting started with the window"),
        (
            "en",
            "Getting Started with Anna and the Window",
            "Getting started with Anna and the window",
        ),
        ("en", "How To Open A New York Window!", "How to open a new York window!"),
        ("en", "The Window Of An iPhone And I", "The window of an iPhone and I"),
        ("en", "Open The C# And The USB-C Window", "Open the C# and the USB-C window"),
        ("de", "Ein Hund Läuft Und Ein Hund Läuft", "Ein Hund läuft und ein Hund läuft"),
        ("en", f"{SLOT} And The Window", f"{SLOT} And the window"),
        *(
            ("en", text, text)
            for text in (
                "Getting started with the Window",  # ordinary
                "Anna And York",
                "The Window",
                "Johann Wolfgang von Goethe",
                "Bank of the Rhine",
                "We saw him at the Open And Window",
                "OPEN THE WINDOW AND THE DOOR",
            )
        ),
        ("ja", "The Window Of And Open", "The Window Of And Open"),
        ("", "", ""),
    ],
)
def test_title_case_is_read_in_sentence_case(language: str, text: str, expected: str) -> None:
    assert untitled(text, language, rarity) == expected
    assert untitled(text, language, None) == text


def test_a_text_in_title_case_is_not_one_in_capitals() -> None:
    assert read_without_capitals("OPEN THE DOOR", "Open the door")
    assert not read_without_capitals("Open The Door", "Open the door")
    assert not read_without_capitals("Open the door", "Open the door")


@pytest.mark.parametrize(
    ("text", "may_be"),
    [
        ("OPEN THE DOOR", True),
        ("Open The Door", True),
        ("New York opens its doors", False),
        ("Anna came with Tom", False),
        ("開けてください", False),
    ],
)
def test_most_texts_are_known_to_have_usual_case(text: str, may_be: bool) -> None:
    assert may_be_recased(text) == may_be
