"""Inline codes of a source and its translation become marks with common numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yakusu.data.files.inline_codes import CodeKind, InlineCode
from yakusu.data.inline_marks import codes_of, marked_texts
from yakusu.data.lines.private_use import MAX_MARKS, closing, empty, line_break, opening

START, END, EMPTY, BREAK = CodeKind


def code(kind: CodeKind, name: str, link: str | None = None) -> InlineCode:
    return InlineCode(kind, name, link)


def test_codes_of_the_same_name_have_the_same_number_in_any_order() -> None:
    source = ["a ", code(START, "1"), "b", code(END, "1"), code(EMPTY, "x"), code(EMPTY, "y")]
    target = [code(EMPTY, "y"), code(EMPTY, "x"), code(START, "1"), "B", code(END, "1")]
    assert marked_texts(source, target) == (
        f"a {opening(0)}b{closing(0)}{empty(1)}{empty(2)}",
        f"{empty(2)}{empty(1)}{opening(0)}B{closing(0)}",
    )


def test_codes_that_nothing_links_are_taken_in_order_and_further_ones_get_new_numbers() -> None:
    source = [code(EMPTY, "<img alt='Save'>"), code(START, "1"), code(END, "1")]
    target = [code(START, "7"), code(END, "7"), code(EMPTY, "<img alt='Los'>"), code(EMPTY, "z")]
    assert marked_texts(source, target) == (
        f"{empty(0)}{opening(1)}{closing(1)}",
        f"{opening(1)}{closing(1)}{empty(0)}{empty(2)}",
    )


def test_links_of_the_format_count_more_than_names() -> None:
    source = [code(START, "i 1", "a"), code(END, "i 1"), code(START, "i 2", "b"), code(END, "i 2")]
    target = [code(START, "i 1", "b"), code(END, "i 1"), code(START, "i 2", "a"), code(END, "i 2")]
    first, second = opening(0) + closing(0), opening(1) + closing(1)
    assert marked_texts(source, target) == (first + second, second + first)


def test_a_start_or_an_end_that_is_alone_encloses_nothing() -> None:
    source = [code(END, "1"), "a", code(START, "2")]
    assert marked_texts(source, source) == (f"{empty(0)}a{empty(1)}",) * 2


def test_codes_of_one_name_nest() -> None:
    inner = [code(START, "b"), "x", code(END, "b")]
    source = [code(START, "b"), *inner, code(END, "b")]
    expected = f"{opening(0)}{opening(1)}x{closing(1)}{closing(0)}"
    assert marked_texts(source, source) == (expected, expected)


def test_more_codes_than_there_are_marks_are_refused() -> None:
    many = [code(BREAK, "br")] * (MAX_MARKS // 2)
    assert marked_texts(many, many) is None


@given(st.lists(st.sampled_from(["a", "b", "1", "2", "open", "close", "empty", "break"])))
def test_marks_become_codes_and_the_same_marks_again(parts: list[str]) -> None:
    kinds = {"open": START, "close": END, "empty": EMPTY, "break": BREAK}
    given_ = [code(kinds[part], "n") if part in kinds else part for part in parts]
    texts = marked_texts(given_, given_)
    assert texts is not None and texts[0] == texts[1]
    assert marked_texts(codes_of(texts[0]), codes_of(texts[1])) == texts


@pytest.mark.parametrize("mark", [opening(3), closing(3), empty(3), line_break(3)])
def test_a_single_mark_in_a_table_is_numbered_from_0(mark: str) -> None:
    alone = line_break(0) if mark == line_break(3) else empty(0)
    assert marked_texts(codes_of(f"a{mark}"), codes_of(f"{mark}b")) == (f"a{alone}", f"{alone}b")
