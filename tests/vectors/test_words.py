"""Words looked up by index and by their bytes."""

import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from yakusu.errors import DataError, ModelError
from yakusu.vectors.words import Words

UNICODE = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(st.lists(UNICODE, unique=True, min_size=1, max_size=30), UNICODE)
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


def test_words_are_decompressed_when_the_first_one_is_needed() -> None:
    words = Words(np.frombuffer(b"not zlib", dtype=np.uint8), 3)
    assert len(words) == 3
    with pytest.raises(ModelError, match="the words are damaged"):
        words.find("a")


def test_another_number_of_words_is_rejected() -> None:
    with pytest.raises(ModelError, match="there are 2 words for 3 vectors"):
        Words(Words.of(["a", "b"]).stored, 3)[0]


def test_the_text_of_a_vocabulary_is_compressed() -> None:
    listed = [f"word{i}" for i in range(10_000)]
    assert Words.of(listed).stored.nbytes < sum(map(len, listed)) / 2


def test_an_error_names_a_word_that_utf8_cannot_encode() -> None:
    with pytest.raises(DataError, match=r"the word 'a\\ud800' cannot be encoded as UTF-8"):
        Words.of(["a\ud800"])


def packed(text: bytes, n_words: int, level: int = 9) -> Words:
    return Words(np.frombuffer(zlib.compress(text, level), dtype=np.uint8), n_words)


@pytest.mark.parametrize("filler", [b"a", b"\xff"], ids=["one word", "empty words"])
def test_a_small_file_of_words_cannot_fill_the_memory(filler: bytes) -> None:
    bomb = packed(filler * 2**26, 3)
    assert bomb.stored.nbytes < 2**17
    tracemalloc.start()
    with pytest.raises(ModelError, match="the words are truncated, or longer than 64 times their"):
        bomb.find("a")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


def test_more_words_than_vectors_are_rejected_before_they_are_listed() -> None:
    many = packed(b"\xff" * 2**22, 3, level=0)
    tracemalloc.start()
    with pytest.raises(ModelError, match="there are 4194305 words for 3 vectors"):
        many[0]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24  # twice the text and a margin; a list would take 2**25 bytes


def test_words_that_compress_to_less_than_a_64th_are_stored_and_found() -> None:
    listed = ["a" * n for n in range(1_000)]
    words = Words.of(listed)
    assert list(words) == listed and words.find("a" * 999) == 999
    assert sum(map(len, listed)) < 64 * words.stored.nbytes


def test_truncated_words_are_rejected() -> None:
    stored = Words.of([f"word{i}" for i in range(1_000)]).stored
    for end in (1, 2, len(stored) // 2, len(stored) - 1):
        with pytest.raises(ModelError, match="the words are"):
            Words(stored[:end], 1_000)[0]
