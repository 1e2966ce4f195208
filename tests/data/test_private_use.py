"""Private-use characters: one table, and marks with a kind and a number."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import yakusu
from yakusu.data.lines import private_use
from yakusu.data.lines.private_use import (
    BREAKS,
    CLOSING_RANGE,
    FIRM_RANGE,
    LOOSE_RANGE,
    MARKS,
    MAX_MARKS,
    OPENING_RANGE,
    SLOT_RANGE,
    SLOTS,
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

ROOT = Path(yakusu.__file__).parent
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


def test_the_ranges_of_the_table_do_not_overlap() -> None:
    ranges = (SLOT_RANGE, OPENING_RANGE, CLOSING_RANGE, FIRM_RANGE, LOOSE_RANGE, BREAKS)
    alone = [empty(0), empty(MAX_MARKS - 1), line_break(0), line_break(MAX_MARKS - 1)]
    for character in ["a", *SLOTS, *alone, *(end for each in ranges for end in each[::2])]:
        found = [each for each in ranges if re.match(f"[{each}]", character)]
        assert len(found) == (character != "a" and character not in alone)


def test_only_the_table_contains_private_use_characters() -> None:
    found = [
        f"{path.relative_to(ROOT)}, line {number}: {line.strip()}"
        for path in sorted(ROOT.rglob("*"))
        if path.suffix in {".py", ".c", ".h", ".js", ".css", ".html", ".toml", ".json", ".txt"}
        if path != Path(private_use.__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if _has_private_use(line, with_numbers=path.suffix in {".py", ".js"})
    ]
    assert not found, "use yakusu.data.lines.private_use"


def test_literals_of_private_use_characters_are_found() -> None:
    for line in (
        "\ue000",
        "\U0010fffd",
        r"\ue000",
        r"[\U000F4000-\U000f7fff]",
        r"\p{Co}",
        r"\u{f0000}",
    ):
        assert _has_private_use(line, with_numbers=False)
    assert _has_private_use("chr(0x10_AA00 + 1)", with_numbers=True)
    for line in ("a猫", r"\u200b\uffff", "0xFFFF", r"\U0001f600", "0xE0"):
        assert not _has_private_use(line, with_numbers=True)


def _has_private_use(line: str, *, with_numbers: bool) -> bool:
    """Whether a line has a private-use character, an escape of one, or a number of one in hex."""
    escapes = re.findall(r"\\[uU]\{?([0-9a-fA-F]{8}|[0-9a-fA-F]{4,6})", line)
    numbers = re.findall(r"\b0[xX]([0-9a-fA-F_]+)\b", line) if with_numbers else []
    codes = [*map(ord, line), *(int(each, 16) for each in escapes + numbers)]
    return "{Co}" in line or any(
        0xE000 <= code <= 0xF8FF or 0xF0000 <= code <= 0x10FFFF for code in codes
    )
