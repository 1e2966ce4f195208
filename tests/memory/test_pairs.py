"""Pairs of memories for training: which translation counts, and what is held out."""

from collections.abc import Iterator

import pytest

from yakusu.data.lines.private_use import closing, empty, line_break, opening
from yakusu.data.segments import MemorySegment
from yakusu.memory.memory import TranslationMemory
from yakusu.memory.pairs import confirmed_pairs, is_held_out, unmarked_line


@pytest.fixture
def memories() -> Iterator[list[TranslationMemory]]:
    """Two empty memories."""
    found = [TranslationMemory.in_memory(("en", "de")) for _ in range(2)]
    yield found
    for each in found:
        each.close()


def test_markup_is_removed_and_line_breaks_are_spaces() -> None:
    text = f"Press {opening(0)}St{closing(0)}art{line_break(1)}now{empty(2)} or  later"
    assert unmarked_line(text) == "Press Start now or later"


def test_the_latest_translation_of_a_source_counts(memories: list[TranslationMemory]) -> None:
    memories[0].add(
        [
            MemorySegment("Save", "Sichern", time="2026-01-02T00:00:00Z"),
            MemorySegment("Save", "Speichern", time="2026-01-03T00:00:00Z"),
            MemorySegment("Save", "Retten", time="2026-01-01T00:00:00Z"),
            MemorySegment("Open", "Öffnen"),
            MemorySegment("Open", "Auf", key="door"),
            MemorySegment(empty(0), empty(0)),
        ]
    )
    assert [*confirmed_pairs(memories)] == [("Save", "Speichern"), ("Open", "Auf")]


def test_the_first_memory_that_has_a_source_counts(memories: list[TranslationMemory]) -> None:
    marked = f"{opening(0)}Save{closing(0)}"
    memories[0].add([MemorySegment("Save", "Speichern")])
    memories[1].add([MemorySegment(marked, "Sichern"), MemorySegment("Open", "Öffnen")])
    assert [*confirmed_pairs(memories)] == [("Save", "Speichern"), ("Open", "Öffnen")]


def test_a_tenth_is_held_out_and_numbers_and_case_do_not_change_the_side() -> None:
    texts = [f"the {name} is open" for name in map(chr, range(0x4E00, 0x4E00 + 2000))]
    held_out = {text for text in texts if is_held_out(text)}
    assert len(held_out) == 198
    assert all((text in held_out) == is_held_out(f"{text.upper()}!") for text in texts)
    pages = {is_held_out(f"Page {i} of {j}") for i in range(9) for j in range(9)}
    assert len(pages) == 1
