"""The outputs for several segments: the best combinations, and the text that they make up."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yakusu.translator.output import Output, combinations, lines_of
from yakusu.translator.passage import PassageReader, TextConfig


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
    return "".join(line.text for line in lines_of(reader.read(text), iter(outputs), language))


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
