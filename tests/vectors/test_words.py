"""Words by number and by bytes."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from yakusu.errors import DataError
from yakusu.vectors.keyed import Words

UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(st.lists(UNICODE, unique=True, max_size=30), UNICODE)
@example(["the", "then", "th", "", "t", "the "], "they")
@example(["訳す", "訳", "é", "e\u0301", "\U0001f6a2", "\x00", "a\x00"], "")
@settings(deadline=None)
def test_each_word_is_found_by_its_number_and_no_other_is(listed: list[str], other: str) -> None:
    words = Words.of(listed)
    assert list(words) == listed and len(words) == len(listed)
    for number, word in enumerate(listed):
        assert words[number] == word and words.find(word) == number
    assert words.find(other) == (listed.index(other) if other in listed else None)


def test_a_prefix_of_a_word_or_what_goes_on_from_it_is_another_word() -> None:
    words = Words.of(["king", "kingdom"])
    assert [words.find(word) for word in ("kin", "kingd", "kingdoms", "")] == [None] * 4


def test_what_is_no_unicode_is_not_there() -> None:
    assert Words.of(["a"]).find("\ud800") is None


def test_slices_and_numbers_from_the_end_are_those_of_a_list() -> None:
    listed = list("words")
    words = Words.of(listed)
    assert words[1:4] == listed[1:4] and words[::-2] == listed[::-2]
    assert words[-1] == "s"
    with pytest.raises(IndexError):
        words[5]


def test_finding_reads_a_few_words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    words, read = Words.of(f"{i:05}" for i in range(10_000)), []
    whole = words._bytes
    monkeypatch.setattr(words, "_bytes", lambda number: read.append(number) or whole(number))
    assert words.find("07777") == 7777
    assert len(read) <= 16


def test_the_longest_word_there_can_be_and_one_byte_more() -> None:
    longest = "é" * 32_767 + "e"
    assert Words.of(["a", longest, "b"])[1] == longest
    message = "begins 'ééééééééééééééééééé.' has 65536 bytes, more than 65535: remove it"
    with pytest.raises(DataError, match=message):
        Words.of(["a", "é" * 32_768, "b"])


def test_a_word_without_utf8_is_named() -> None:
    with pytest.raises(DataError, match=r"the word 'a\\ud800' has no UTF-8"):
        Words.of(["a\ud800"])


def test_the_arrays_are_what_the_file_says() -> None:
    words = Words.of(["b", "ça", ""])
    assert words.text.tobytes() == "bça".encode()
    assert (words.lengths.dtype, words.order.dtype) == (np.uint16, np.uint32)
    assert (words.lengths.tolist(), words.order.tolist()) == ([1, 3, 0], [2, 0, 1])
