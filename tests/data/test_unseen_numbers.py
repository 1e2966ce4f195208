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
