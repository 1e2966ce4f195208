"""The demo's share of sentences with the right numbers."""

import pytest

from yakusu.pipeline.demo import same_numbers


@pytest.mark.parametrize(
    ("translation", "is_same"),
    [
        ("20時16分の電車", True),
        ("電車は20時、16分", True),  # words do not matter
        ("2時16分の電車", False),
        ("16時20分の電車", False),  # another order
        ("20時16分6秒の電車", False),
        ("2016の電車", False),
        ("電車", False),
    ],
)
def test_a_sentence_counts_if_its_digits_are_those_of_the_reference(
    translation: str, is_same: bool
) -> None:
    assert same_numbers([translation], ["20時16分の電車"]) == is_same


def test_the_share_of_sentences_is_returned() -> None:
    assert same_numbers(["1", "2", "3", "-"], ["1", "2", "4", ""]) == 0.75
