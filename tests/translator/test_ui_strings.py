"""30 strings of a user interface: as they are, with other numbers, and with another word."""

from pathlib import Path

import pytest

from tests.translator.test_memories import MODEL, memory_of
from yakusu.data.lines.config import TextConfig
from yakusu.translator import Translator

# Source and translation; the same with other numbers; the source with another name or word
TABLE = Path(__file__).parents[1] / "fixtures" / "ui-strings.tsv"
STRINGS = [row.split("\t") for row in TABLE.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    memory = memory_of(
        tmp_path_factory.mktemp("ui") / "ui.db", [(each[0], each[1]) for each in STRINGS]
    )
    text = TextConfig(memory=(memory,), learning=False, threshold=50)
    return Translator.load(MODEL, text=text)


def test_all_strings_of_the_memory_come_back(opened: Translator) -> None:
    found = [best for (best,) in opened.stream([each[0] for each in STRINGS])]
    assert [(each.text, each.match) for each in found] == [(each[1], 100) for each in STRINGS]


def test_other_numbers_are_filled_in_and_none_is_wrong(opened: Translator) -> None:
    found = [best for (best,) in opened.stream([each[2] for each in STRINGS])]
    filled = [(best, each[3]) for best, each in zip(found, STRINGS, strict=True) if best.match]
    assert all((best.text, best.match) == (expected, 99) for best, expected in filled)
    assert len(filled) >= 27


def test_other_words_are_offered_and_never_used(opened: Translator) -> None:
    found = [best for (best,) in opened.stream([each[4] for each in STRINGS])]
    assert [best.match for best in found] == [None] * len(STRINGS)
    offered = {each.target for best in found for each in best.matches}
    assert offered == {each[1] for each in STRINGS}
