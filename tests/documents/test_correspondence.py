"""Which texts of two documents correspond: known answers after texts were added and removed."""

import pytest

from yakusu.data.lines.private_use import closing, opening
from yakusu.documents.correspondence import edited_pairs, translated_pairs

BOLD = f"{opening(0)}{{}}{closing(0)}"
SOURCES = [
    "Opening hours",
    "The harbour office is open from 8:30 to 17:00, except on holidays.",
    "Tickets",
    "Buy your ticket on board or at the counter in Kiel.",
    f"Press {BOLD.format('Start')} to begin.",
    "Is there a discount for children?",
    "Children under 6 travel free of charge, and those under 14 pay half.",
    "Thank you, and have a pleasant crossing with us!",
]
TARGETS = [
    "Öffnungszeiten",
    "Das Hafenbüro ist von 8:30 bis 17:00 Uhr geöffnet, außer an Feiertagen.",
    "Karten",
    "Kaufen Sie Ihre Karte an Bord oder am Schalter in Kiel.",
    f"Drücken Sie {BOLD.format('Start')}, um anzufangen.",
    "Gibt es eine Ermäßigung für Kinder?",
    "Kinder unter 6 fahren kostenlos, und die unter 14 zahlen die Hälfte.",
    "Vielen Dank, und eine angenehme Überfahrt mit uns!",
]
NEW = "Dieser Absatz wurde von der Redaktion ergänzt, und im Original steht davon nichts."


def test_texts_of_documents_with_the_same_texts_correspond_in_order() -> None:
    assert translated_pairs(SOURCES, TARGETS) == [(i, i) for i in range(8)]


@pytest.mark.parametrize("place", [1, 4, 7])
def test_a_text_that_was_added_has_no_source(place: int) -> None:
    found = translated_pairs(SOURCES, [*TARGETS[:place], NEW, *TARGETS[place:]])
    assert all(j == i + (i >= place) for i, j in found)
    assert len(found) >= 6


@pytest.mark.parametrize("place", [1, 4, 6])
def test_a_text_that_was_removed_leaves_the_others_in_place(place: int) -> None:
    found = translated_pairs(SOURCES, [*TARGETS[:place], *TARGETS[place + 1 :]])
    assert all(i != place and j == i - (i > place) for i, j in found)
    assert len(found) >= 5


def test_what_cannot_be_told_apart_is_uncertain() -> None:
    assert translated_pairs(["aaa"] * 5, ["bbb"] * 4) == []
    assert translated_pairs(SOURCES, []) == translated_pairs([], TARGETS) == []


def test_edited_texts_are_found_by_their_words() -> None:
    edited = [
        NEW,
        *TARGETS[:3],
        "Sie kaufen Ihre Fahrkarte an Bord oder am Schalter in Kiel.",
        *TARGETS[5:7],
        "Danke!",
    ]
    assert edited_pairs(TARGETS, edited)[:6] == [(0, 1), (1, 2), (2, 3), (3, 4), (5, 5), (6, 6)]


def test_many_texts_take_little_memory_and_time() -> None:
    texts = [f"Zeile {chr(0x4E00 + i)} {i}" for i in range(700)]
    assert edited_pairs(texts, texts) == [(i, i) for i in range(700)]
