"""White space between unchanged words is as in the source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yakusu.translator.writing.typed import as_spaced


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("a walk of 5\u00a0km", "ein Weg von 5 km", "ein Weg von 5\u00a0km"),
        ("12\u202f500\u202f€ only", "nur 12 500 €", "nur 12\u202f500\u202f€"),
        ("« yes »", "« ja »", "« ja »"),
        ("«\u00a0OK\u00a0»!", "« OK »!", "«\u00a0OK\u00a0»!"),
        ("Anna  Smith left", "Anna Smith ging", "Anna  Smith ging"),
        ("東京\u3000駅", "東京 駅", "東京\u3000駅"),
        ("5 km and 5\u00a0km", "5 km und 5 km", "5 km und 5\u00a0km"),
        ("5\u00a0km", "5 km, 5 km", "5 km, 5 km"),  # which of them?
        ("5\u00a0km", "5 kmh", "5 kmh"),
        ("5 km", "5 km", "5 km"),
    ],
)
def test_white_space_between_unchanged_words_is_as_in_the_source(
    source: str, text: str, expected: str
) -> None:
    assert as_spaced(text, source) == expected


@given(st.text("ab1€,\u00a0  \u3000"))
def test_a_copy_with_single_spaces_gets_all_white_space_back(source: str) -> None:
    assert as_spaced(" ".join(source.split()), source.strip()) == source.strip()
