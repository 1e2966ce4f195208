"""The demo counts sentences with the right digits."""

import pytest

from yakusu.pipeline.digits import Digits


@pytest.mark.parametrize(
    ("translation", "n_right"),
    [
        ("20時16分の電車", 1),
        ("電車は20時、16分", 1),  # words do not matter
        ("2時16分の電車", 0),
        ("16時20分の電車", 0),  # another order
        ("20時16分6秒の電車", 0),
        ("2016の電車", 0),
        ("電車", 0),
    ],
)
def test_a_sentence_is_right_if_its_digits_are_those_of_the_reference(
    translation: str, n_right: int
) -> None:
    assert Digits.of([translation], ["20時16分の電車"]) == Digits(n_right, 1)


def test_sentences_without_digits_do_not_count_but_invented_digits_are_errors() -> None:
    digits = Digits.of(["1", "2", "a", "3"], ["1", "5", "b", ""])
    assert str(digits) == "all digits right in 1 of 3 sentences with digits"
    assert Digits.of([], []) == Digits(0, 0)
