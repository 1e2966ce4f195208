"""Inline markup of a source and its translation as marks with common numbers.

    Press <bpt i="1"/>Start<ept i="1"/>.     ->   Press OPEN(0) Start CLOSE(0) .
    <bpt i="1"/>Start<ept i="1"/> drücken.   ->   OPEN(0) Start CLOSE(0)  drücken.

The marks of a source are numbered in its order. A code of the translation gets the number of the
code with the same name, otherwise that of the next one of its kind that is left, otherwise a new
number.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence

from yakusu.data.files.inline_codes import CodeKind, InlineCode
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

_MARK = re.compile(f"({MARKS})")


def marked_texts(
    source: Iterable[str | InlineCode], target: Iterable[str | InlineCode]
) -> tuple[str, str] | None:
    """The texts of a segment, with marks for inline codes; None: there are too many codes.

    Args:
        source: The parts of the source.
        target: The parts of its translation.
    """
    sides = [_matched([*side]) for side in (source, target)]
    codes = [[part for part, _ in side if isinstance(part, InlineCode)] for side in sides]
    if sum(map(len, codes)) >= MAX_MARKS:
        return None
    first = [code for code in codes[0] if code.kind is not CodeKind.END]
    numbers = [range(len(first)), _numbers_like(first, codes[1])]
    written = [_written(side, each) for side, each in zip(sides, numbers, strict=True)]
    return written[0], written[1]


def text_parts(text: str, *, has_marks: bool = False) -> Iterator[str | InlineCode]:
    """The parts of a text.

    Args:
        text: The text.
        has_marks: Whether private-use characters that are marks mean markup, as in the tables that
            a memory exports. Otherwise, they are codes that stand alone.
    """
    if not _MARK.search(text):
        yield text
        return
    for part in filter(None, _MARK.split(text)):
        if not is_mark(part[0]):
            yield part
        elif not has_marks:
            yield InlineCode(CodeKind.EMPTY, part)
        else:
            yield InlineCode(_kind_of(part), str(number_of(part)))


def codes_of(text: str) -> Iterator[str | InlineCode]:
    """The parts of a text whose marks mean markup; the inverse of `marked_texts`."""
    return text_parts(text, has_marks=True)


def _kind_of(mark: str) -> CodeKind:
    if is_opening(mark):
        return CodeKind.START
    if is_closing(mark):
        return CodeKind.END
    return CodeKind.BREAK if is_break(mark) else CodeKind.EMPTY


def _matched(parts: Sequence[str | InlineCode]) -> list[tuple[str | InlineCode, int]]:
    """Give each end the place of its start; starts and ends that are alone become empty codes."""
    starts = defaultdict[str, list[int]](list)
    start_of: dict[int, int] = {}
    for i, part in enumerate(parts):
        if isinstance(part, InlineCode):
            if part.kind is CodeKind.START:
                starts[part.name].append(i)
            elif part.kind is CodeKind.END and starts[part.name]:
                start_of[i] = starts[part.name].pop()
    paired = {*start_of, *start_of.values()}
    return [
        (InlineCode(CodeKind.EMPTY, part.name, part.link), i)
        if isinstance(part, InlineCode) and _pairs(part) and i not in paired
        else (part, start_of.get(i, i))
        for i, part in enumerate(parts)
    ]


def _pairs(code: InlineCode) -> bool:
    return code.kind in (CodeKind.START, CodeKind.END)


def _numbers_like(first: Sequence[InlineCode], codes: Sequence[InlineCode]) -> list[int]:
    """The numbers of codes that begin, given those of another text, which are 0, 1, ..."""
    wanted = [code for code in codes if code.kind is not CodeKind.END]
    same = defaultdict[tuple[bool, str], deque[int]](deque)
    for number, code in enumerate(first):
        same[code.linked].append(number)
    found = [same[code.linked].popleft() if same[code.linked] else None for code in wanted]
    taken = {*found}
    left = {
        is_pair: deque(
            number
            for number, code in enumerate(first)
            if number not in taken and (code.kind is CodeKind.START) == is_pair
        )
        for is_pair in (True, False)
    }
    following = len(first)
    numbers = []
    for code, same_number in zip(wanted, found, strict=True):
        rest = left[code.kind is CodeKind.START]
        if same_number is not None:
            numbers.append(same_number)
        elif rest:
            numbers.append(rest.popleft())
        else:
            numbers.append(following)
            following += 1
    return numbers


def _written(parts: Sequence[tuple[str | InlineCode, int]], numbers: Iterable[int]) -> str:
    rest = iter(numbers)
    number_at: dict[int, int] = {}  # place of a start -> its number
    written = []
    for part, place in parts:
        if isinstance(part, str):
            written.append(part)
        elif part.kind is CodeKind.END:
            written.append(closing(number_at[place]))
        else:
            number = number_at[place] = next(rest)
            mark = {CodeKind.START: opening, CodeKind.BREAK: line_break}.get(part.kind, empty)
            written.append(mark(number))
    return "".join(written)
