"""The outputs for several segments: the best combinations, and the text that they make up."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translator.written import printed
from yakusu.data.lines.config import TextConfig
from yakusu.translator.reading.passage import PassageReader
from yakusu.translator.writing.output import Output, combinations, ended


def output(text: str, score: float = 0.0, links: tuple[tuple[int, int], ...] = ()) -> Output:
    return Output(text, score, score, 1, links=links)


SCORES = st.lists(st.integers(-50, 0), min_size=1, max_size=4, unique=True)


@given(st.lists(SCORES, max_size=4), st.integers(1, 6))
def test_the_best_combinations_equal_those_of_all(scores: list[list[int]], n_best: int) -> None:
    found = [
        [output(f"{i}.{j}", float(s)) for j, s in enumerate(sorted(own, reverse=True))]
        for i, own in enumerate(scores)
    ]
    every = sorted(-sum(o.score for o in chosen) for chosen in product(*found))
    best = combinations(found, n_best, sampled=False)
    assert [-sum(o.score for o in chosen) for chosen in best] == every[:n_best]
    assert len(set(best)) == len(best)
    assert all(o in own for chosen in best for o, own in zip(chosen, found, strict=True))


def test_samples_are_combined_one_by_one() -> None:
    a, b, c, d = (output(text) for text in "abcd")
    assert combinations([[a, b], [c, d]], 2, sampled=True) == [(a, c), (b, d)]
    assert combinations([], 2, sampled=True) == [()]
    assert combinations([], 2, sampled=False) == [()]


def written(text: str, outputs: list[Output], language: str = "en") -> str:
    reader = PassageReader(TextConfig(), language="en", covers=lambda _: True, fits=lambda _: True)
    return printed(reader.read(text), outputs, language)


def test_sentences_are_joined_as_the_language_writes_them() -> None:
    text = "One is here. Two is there.\n- Three."
    assert written(text, [output("Eins."), output("Zwei."), output("Drei.")], "de") == (
        "Eins. Zwei.\n- Drei."
    )
    assert (
        written(text, [output("一。"), output("二。"), output("三。")], "ja") == "一。二。\n- 三。"
    )


def test_links_of_later_sentences_are_counted_from_their_beginning() -> None:
    text = "One is here. Two <b>is</b> there."
    links = tuple((i, i) for i in range(4))
    outputs = [output("Eins Zwei.", links=links[:2]), output("a b c.", links=links)]
    assert written(text, outputs) == "Eins Zwei. a <b>b</b> c."


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_line_ends_are_kept(end: str) -> None:
    assert written(f"  # One{end}", [output("Eins")]) == f"  # Eins{end}"


def read_with(text: str, outputs: list[Output], language: str = "de") -> str:
    """The lines of a text whose parts have at most three words; "❗" is unseen."""
    reader = PassageReader(
        TextConfig(),
        language="en",
        covers=lambda own: "❗" not in own and "?" not in own,
        fits=lambda own: len(own.split()) <= 3,
    )
    passages = reader.read(text)
    parts = [(s, line) for line in passages for s in line.segments if s.text]
    ended_ = [
        own if own.copied else replace(own, text=ended(own.text, *part, language))
        for own, part in zip(outputs, parts, strict=True)
    ]
    return printed(passages, ended_, language)


def test_a_full_stop_before_a_mark_that_ends_the_sentence_is_dropped() -> None:
    assert read_with("Hello❗", [output("Hallo.")]) == "Hallo❗"
    assert read_with("Hello?", [output("Hallo.")]) == "Hallo?"
    assert read_with("Hello. ❗", [output("Hallo.")]) == "Hallo. ❗"
    kept = Output("Prof.", 0.0, 0.0, 1, copied=True)
    assert read_with("Prof.❗", [kept]) == "Prof.❗"


def test_only_the_last_part_of_a_sentence_ends_in_a_full_stop() -> None:
    text = "Anna came in, she sat down."
    outputs = [output("Anna kam herein."), output("sie saß.")]
    assert read_with(text, outputs) == "Anna kam herein, sie saß."
    assert read_with(text, [output("安娜来了。"), output("她坐下。")], "zh") == "安娜来了，她坐下。"


def test_tags_of_the_next_part_stay_in_it() -> None:
    links = tuple((i, i) for i in range(4))
    outputs = [output("aa bb cc.", links=links), output("dd ee ff.", links=links)]
    assert read_with("Anna came in <b>she</b> sat down.", outputs) == "aa bb cc <b>dd</b> ee ff."
