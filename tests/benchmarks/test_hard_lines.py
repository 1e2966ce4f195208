"""The lines that are hard to translate, and what is checked in their translations."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from yakusu.translator import Translator

hard_lines: Any = pytest.importorskip(
    "benchmarks.reliability.hard_lines", reason="only a checkout has benchmarks"
)
MODEL = Path(__file__).parents[1] / "fixtures" / "format-1" / "transformer"
SIZES = {
    "placeholders": 30,
    "tags": 30,
    "sentences": 25,
    "emoji": 15,
    "scripts": 15,
    "long": 10,
    "code": 15,
    "addresses": 15,
    "units": 15,
    "capitals": 10,
    "lists": 20,
}


def test_the_file_has_200_different_lines() -> None:
    lines = hard_lines.read()
    assert Counter(line.category for line in lines) == SIZES
    assert len({line.text for line in lines}) == sum(SIZES.values()) == 200


def test_the_first_lines_of_each_category_can_be_read() -> None:
    lines = hard_lines.read(most=2)
    assert Counter(line.category for line in lines) == dict.fromkeys(SIZES, 2)


def test_line_breaks_are_decoded() -> None:
    assert any("\n```\n" in line.text for line in hard_lines.read())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<b>a <i>b</i></b> c", []),
        ("a<br>b <img src='x'> <br/> <x/>", []),
        ("<b>a", ["b"]),
        ("a</b>", ["/b"]),
        ("<b>a <i>b</b></i>", ["/b", "b"]),
    ],
)
def test_tags_without_a_partner_are_named(text: str, expected: list[str]) -> None:
    assert hard_lines.unpaired(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("very very very big", False),
        ("a very very Very very big dog", True),
        ("a dog and a cat and a dog and a cat and", False),
        ("he said that he said that he said that he said that", True),
    ],
)
def test_words_repeated_more_than_three_times_are_a_loop(text: str, expected: bool) -> None:
    assert hard_lines.has_loop(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A dog.", [""]),
        ("  - [ ] Buy milk.", ["  - [ ] "]),
        ("> > 1. a\n\n## b", ["> > 1. ", "", "## "]),
        ("a\n```\n  x = 1\n```", ["", "```", "  x = 1", "```"]),
    ],
)
def test_a_layout_is_what_precedes_the_text_of_each_line(text: str, expected: list[str]) -> None:
    assert hard_lines.layout_of(text) == expected


class _Tokenizer:
    """Has seen ASCII, and writes lower-case letters only."""

    def covers(self, text: str) -> bool:
        return text.isascii()

    def encode_target(self, texts: list[str]) -> list[str]:
        return texts

    def decode_target(self, ids: list[str]) -> list[str]:
        return [own.lower() for own in ids]


class _Translator:
    tokenizer, languages = _Tokenizer(), ("en", "de")


@pytest.fixture
def check() -> Any:
    translator: Any = _Translator()
    return hard_lines.Checker(translator).check


def test_spans_and_unseen_letters_must_occur_as_often_as_in_the_line(check: Any) -> None:
    line = "{a} and {a} see Łukasz and %s."
    assert check(line, "{a} und {a} sehen Łukasz und %s.")["spans"] == (3, 3)
    assert check(line, "{a} sieht Lukasz und %s.")["spans"] == (1, 3)


def test_numbers_may_change_their_separators(check: Any) -> None:
    line = "It costs 1,299.50 at 10:05 in {0}."
    assert check(line, "1.299,50 um 10:05 in {0}")["numbers"] == (2, 2)
    assert check(line, "1.299 um 10:05 in 0")["numbers"] == (1, 2)


def test_overlapping_tags_may_become_nested(check: Any) -> None:
    line = "<b>a <i>b</b> c</i>"
    assert check(line, "<b>a <i>b</i></b> c")["tags"] == (1, 1)
    assert check("<b>a <i>b</i></b> c", line)["tags"] == (0, 1)
    assert check("<b>a</b>", "a")["tags"] == (0, 1)


def test_checks_that_do_not_apply_are_left_out(check: Any) -> None:
    assert set(check("A dog.", "ein hund.")) == {"unknown", "sentences", "loops", "empty"}


def test_sentences_are_counted_without_capital_letters(check: Any) -> None:
    line = "A dog. A cat."
    assert check(line, "ein hund. eine katze.")["sentences"] == (1, 1)
    assert check(line, "ein hund und eine katze.")["sentences"] == (0, 1)


def test_unknown_tokens_of_the_line_itself_do_not_count(check: Any) -> None:
    assert check("a \u2047", "\u2047 \u2047 \ufffd")["unknown"] == (2, 1)


def test_the_counts_of_a_model_cover_each_category_and_its_failures() -> None:
    lines = [
        hard_lines.Line("units", "The dog weighs 5 kg."),
        hard_lines.Line("tags", "<b>the boat</b>"),
    ]
    measured = hard_lines.measure(Translator.load(MODEL), lines)
    assert measured["lines"] == 2
    for mode in hard_lines.MODES:
        assert set(measured["counts"][mode]) == {"units", "tags"}
        assert measured["counts"][mode]["units"]["empty"][1] == 1
    assert measured["counts"]["with"]["tags"]["spans"] == [2, 2]
    assert all(row["line"] in [line.text for line in lines] for row in measured["failures"])
