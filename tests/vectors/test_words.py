"""Words looked up by index and by their bytes."""

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
def test_each_word_and_no_other_is_found(listed: list[str], other: str) -> None:
    words = Words.of(listed)
    assert list(words) == listed and len(words) == len(listed)
    for number, word in enumerate(listed):
        assert words[number] == word and words.find(word) == number
    assert words.find(other) == (listed.index(other) if other in listed else None)


def test_prefixes_and_extensions_of_a_word_are_other_words() -> None:
    words = Words.of(["king", "kingdom"])
    assert [words.find(word) for word in ("kin", "kingd", "kingdoms", "")] == [None] * 4


def test_a_lone_surrogate_is_not_found() -> None:
    assert Words.of(["a"]).find("\ud800") is None


def test_slices_and_negative_indices_work_like_a_list() -> None:
    listed = list("words")
    words = Words.of(listed)
    assert words[1:4] == listed[1:4] and words[::-2] == listed[::-2]
    assert words[-1] == "s"
    with pytest.raises(IndexError):
        words[5]


def test_finding_a_word_reads_few_others(monkeypatch: pytest.MonkeyPatch) -> None:
    words, read = Words.of(f"{i:05}" for i in range(10_000)), []
    original = words._bytes
    monkeypatch.setattr(words, "_bytes", lambda number: read.append(number) or original(number))
    assert words.find("07777") == 7777
    assert len(read) <= 16


def test_a_word_may_have_65535_bytes_and_no_more() -> None:
    longest = "é" * 32_767 + "e"
    assert Words.of(["a", longest, "b"])[1] == longest
    message = "starts with 'ééééééééééééééééééé.' has 65536 bytes, more than 65535: remove it"
    with pytest.raises(DataError, match=message):
        Words.of(["a", "é" * 32_768, "b"])


def test_an_error_names_a_word_that_utf8_cannot_encode() -> None:
    with pytest.raises(DataError, match=r"the word 'a\\ud800' cannot be encoded as UTF-8"):
        Words.of(["a\ud800"])


def test_the_arrays_have_the_types_of_the_file_format() -> None:
    words = Words.of(["b", "ça", ""])
    assert words.text.tobytes() == "bça".encode()
    assert (words.lengths.dtype, words.order.dtype) == (np.uint16, np.uint32)
    assert (words.lengths.tolist(), words.order.tolist()) == ([1, 3, 0], [2, 0, 1])
