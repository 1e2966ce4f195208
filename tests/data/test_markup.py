"""Marks: private-use characters with a kind and a number."""

import re

from hypothesis import given
from hypothesis import strategies as st

from yakusu.data.lines.private_use import (
    MARKS,
    MAX_MARKS,
    closing,
    empty,
    is_break,
    is_closing,
    is_mark,
    is_opening,
    line_break,
    number_of,
    opening,
)

NUMBERS = st.integers(0, MAX_MARKS - 1)


@given(NUMBERS)
def test_a_mark_has_its_kind_and_number(number: int) -> None:
    for kind, make in enumerate((opening, closing, line_break, empty)):
        mark = make(number)
        assert [is_opening(mark), is_closing(mark), is_break(mark)] == [kind == i for i in range(3)]
        assert number_of(mark) == number
        assert is_mark(mark) and re.fullmatch(MARKS, mark)


@given(st.characters())
def test_only_marks_match_the_pattern(character: str) -> None:
    assert bool(re.fullmatch(MARKS, character)) == is_mark(character)


def test_marks_of_different_kinds_or_numbers_differ() -> None:
    numbers = (0, 1, MAX_MARKS - 1)
    marks = [make(number) for make in (opening, closing, empty, line_break) for number in numbers]
    assert len(set(marks)) == len(marks)
    assert not any(is_mark(chr(ord(mark))) for mark in "a猫\ue000\U00100000")
    assert max(marks) < "\U00100000"  # where the places of a translator begin
