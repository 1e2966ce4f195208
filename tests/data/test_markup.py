"""Marks: private-use characters with a kind and a number."""

import re

from hypothesis import given
from hypothesis import strategies as st

from yakusu.data.markup import (
    MARKS,
    MAX_MARKS,
    closing,
    empty,
    is_closing,
    is_mark,
    is_opening,
    number_of,
    opening,
)

NUMBERS = st.integers(0, MAX_MARKS - 1)


@given(NUMBERS)
def test_a_mark_has_its_kind_and_number(number: int) -> None:
    for make, kinds in ((opening, (1, 0)), (closing, (0, 1)), (empty, (0, 0))):
        mark = make(number)
        assert (is_opening(mark), is_closing(mark)) == kinds
        assert number_of(mark) == number
        assert is_mark(mark) and re.fullmatch(MARKS, mark)


@given(st.characters())
def test_only_marks_match_the_pattern(character: str) -> None:
    assert bool(re.fullmatch(MARKS, character)) == is_mark(character)


def test_marks_of_different_kinds_or_numbers_differ() -> None:
    numbers = (0, 1, MAX_MARKS - 1)
    marks = [make(number) for make in (opening, closing, empty) for number in numbers]
    assert len(set(marks)) == len(marks)
    assert not any(is_mark(chr(ord(mark))) for mark in "a猫\ue000\U00100000")
    assert max(marks) < "\U00100000"  # where the places of a translator begin
