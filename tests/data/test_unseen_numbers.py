"""Numbers and identifiers with characters that training has never seen are copied as a whole."""

import string

import pytest

from yakusu.data.lines.unseen import unseen

SEEN = frozenset(string.ascii_letters + " .,-")


# Spans are written between ‹ and ›.
@pytest.mark.parametrize(
    "marked",
    [
        "The dog weighs ‹12.5› kg.",
        "It costs ‹1,299.50›, at ‹10:05›, not ‹7›.",
        "The computer ‹192.168.0.1› is off.",
        "In ‹2024›.",
        "Set ‹max_length› to ‹50›, then call ‹open_file›.",
        "A ‹_› alone, and ‹_›a.",
    ],
)
def test_a_number_or_an_identifier_is_one_span(marked: str) -> None:
    text = marked.replace("‹", "").replace("›", "")
    expected = [part.split("›")[0] for part in marked.split("‹")[1:]]
    assert [span.text for span in unseen(text, SEEN.issuperset)] == expected


def test_a_number_whose_characters_are_known_is_no_span() -> None:
    assert unseen("It costs 1,299.50.", SEEN.union(string.digits).issuperset) == []


# Spans are written between ‹ and ›.
@pytest.mark.parametrize(
    "marked",
    [
        "It is ‹25℃› or ‹7‰›, in room ‹№17›.",
        "The price is ‹$5›, ‹7€› or ‹$1,299.50›.",
        "It weighs ‹41.2㎏› or ‹1⁄2› kg.",
        "‹Fenster™› by ‹Acme®›, ‹©› 2020",
        "Hello‹😀›, 5‹😀›",
        "猫‹™›",
    ],
)
def test_a_unit_or_a_trademark_sign_is_copied_with_what_it_belongs_to(marked: str) -> None:
    text = marked.replace("‹", "").replace("›", "")
    expected = [part.split("›")[0] for part in marked.split("‹")[1:]]
    seen = SEEN.union(string.digits, "猫")
    assert [span.text for span in unseen(text, seen.issuperset)] == expected
