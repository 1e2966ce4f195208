"""Words and letters."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from yakusu.data.lines.words import has_letter, words_and_characters


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("Call Anna!", ["Call", " ", "Anna", "!"]),
        ("L'eau_2 e\u0301te\u0301", ["L", "'", "eau_2", " ", "e\u0301te\u0301"]),
        ("猫がA3匹", ["猫", "が", "A3", "匹"]),
        ("한국어", ["한국어"]),
        ("ラーメン", ["ラ", "ー", "メ", "ン"]),
        ("ᦀᦁ ꦲꦏ", ["ᦀ", "ᦁ", " ", "ꦲ", "ꦏ"]),
    ],
)
def test_words_and_other_characters_are_the_parts_of_a_text(text: str, parts: list[str]) -> None:
    assert list(words_and_characters(text)) == parts


@given(st.text(alphabet=st.characters(max_codepoint=0x2FFF), max_size=3))
def test_letters_are_those_of_unicode(text: str) -> None:
    assert has_letter(text) == bool(regex.search(r"\p{L}", text))


def test_digits_marks_and_private_use_characters_are_no_letters() -> None:
    assert not has_letter("5 ½ ²\u0301 ❤ \ue000 \U00100000 _")
    assert has_letter("5a") and has_letter("猫") and has_letter("ª")
