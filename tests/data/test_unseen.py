"""Words and characters that training has never seen."""

from collections.abc import Callable
from itertools import pairwise
from string import ascii_letters, digits

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from yakusu.data.lines.invisible import visible
from yakusu.data.lines.spans import SpanFinder
from yakusu.data.lines.terms import Glossary, Term
from yakusu.data.lines.unseen import LONGEST_WORD, unseen, with_unseen


def covers(characters: str) -> Callable[[str], bool]:
    return set(characters + " ").issuperset


LATIN = covers("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,!?'’-0123456789")


def test_an_unseen_word_is_copied_with_its_invisible_characters() -> None:
    text = "the na\u00adïve ca\u200bt wa\u00adits"
    found = unseen(text, lambda part: LATIN(visible(part)))
    assert [span.text for span in found] == ["na\u00adïve"]


# Spans are written between ‹ and ›.
@pytest.mark.parametrize(
    "marked",
    [
        "all of this is known.",
        "",
        "Mr ‹Žižek› came.",
        "‹Žižek's› book, ‹Müller-Žižek›, ‹l’été›",
        "‹привет мир›, ok",
        "‹привет›, ok, ‹мир›!",
        "I ‹❤› it",
        "‹👍🏽›ok‹👨‍👩‍👧 ❤️›.",
        "‹🇩🇪🇯🇵› flags, key ‹1️⃣›.",
        "‹e\u0301te\u0301› is decomposed",
        "‹नमस्ते›, ok",
        "see ‹東京 大阪›.",
        "a‹猫›b",
        "‹𝒳-axis›",
        "‹\u200ba›",
        "‹½› cup",
        f"a ‹{'w' * (LONGEST_WORD + 1)}› b",
        f"a {'w' * LONGEST_WORD} b",
    ],
)
def test_unseen_words_and_characters_are_spans(marked: str) -> None:
    text = marked.replace("‹", "").replace("›", "")
    expected = [part.split("›")[0] for part in marked.split("‹")[1:]]
    assert [span.text for span in unseen(text, LATIN)] == expected


@pytest.mark.parametrize(
    "marked",
    [
        "‹AT&T›, ‹C++› and ‹C#›.",
        "It has ‹33.6°C›, or 33.6 ‹°C›.",
        "‹03/04/2030›, ‹12+13=25›, ‹10^2^›; ‹12(13)›!",
        "‹12km/h› for ‹$12/month›",
        "Press ‹Ctrl+S› or ‹R&D›.",
        "‹file(s)› open",
        "‹50%› off, ‹#1›, ‹~5›, ‹<3›",
        "and‹/›or, Yes‹/›No",  # words, which are translated
        "‹(›Hund‹)› or word‹(›other‹)›",
        "‹*›bold‹*› text",
        "It costs ‹$74.55›.",
        "Great‹👍› OK‹👍›",
        "5 ‹+› 3",
    ],
)
def test_a_sign_is_copied_with_the_digits_and_acronyms_that_it_joins(marked: str) -> None:
    text = regex.sub("[‹›]", "", marked)
    known = covers(f"{ascii_letters}{digits} .,:;!?'-")
    assert [span.text for span in unseen(text, known)] == regex.findall("‹(.*?)›", marked)


def test_only_unseen_characters_are_copied_in_scripts_without_spaces() -> None:
    known = covers("私は猫が好きです。")
    assert [s.text for s in unseen("私は鷲と猫が好きです。", known)] == ["鷲と"]
    assert unseen("私は猫が好きです。", known) == []


@given(st.text(max_size=40), st.text(max_size=20))
def test_exactly_the_unseen_characters_and_their_words_are_copied(text: str, seen: str) -> None:
    known = covers(seen)
    spans = unseen(text, known)
    assert all(text[span.start : span.end] == span.text for span in spans)
    assert all(one.end < other.start for one, other in pairwise(spans))
    kept = list(text)
    for span in spans:
        assert not known(span.text)
        assert span.text == span.text.strip() or not known(span.text.strip())
        kept[span.start : span.end] = [""] * len(span.text)
    assert all(known(character) or character.isspace() for character in kept)
    assert len(spans) == 0 or not known(text)


@given(st.text(max_size=40))
def test_a_covered_text_has_no_spans(text: str) -> None:
    assert unseen(text, covers(text)) == []


# Terms are written between « and ».
@pytest.mark.parametrize(
    "marked",
    [
        "«Žižek» is here",
        "«Žižek»'s book",
        "«Muller»-‹Žiži›",
        "«the Žižek file» is ‹привет›",
        "see «鷲»",
        "«Žižek» ‹{n}› «Žižek» ‹мир›",
        "Muller and the file",  # seen: the model translates them
        "‹ŽižekŽižek›",
    ],
)
def test_terms_are_spans_where_training_has_not_seen_them(marked: str) -> None:
    text, expected, kinds = "", [], {"‹": "whole", "«": "term"}
    for character in marked:
        if character in kinds:
            expected.append((kinds[character], len(text)))
        elif character in "›»":
            expected[-1] = (*expected[-1], len(text))
        else:
            text += character
    terms = ["Žižek", "Muller", "the Žižek file", "鷲", "the file"]
    found = with_unseen(
        text, SpanFinder().find(text), LATIN, glossary=Glossary(Term(t, t.upper()) for t in terms)
    )
    assert [(span.kind, span.start, span.end) for span in found] == expected
    for span in found:
        own = text[span.start : span.end]
        assert span.text == (own.upper() if span.kind == "term" else own)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a Ж<b>у</b>к b", ["Ж<b>у</b>к"]),
        ("a <b>Жу</b>к b", ["<b>Жу</b>к"]),
        ("<u><b>Ж</b>у<i>к</i></u>, x", ["<u>", "<b>Ж</b>у<i>к</i>", "</u>"]),
        ("a <b>Жук</b> b", ["<b>", "Жук", "</b>"]),
        ("a <b>Жук b</b>", ["<b>", "Жук", "</b>"]),
        ("Жук <b>и</b> мир", ["Жук <b>и</b> мир"]),
        ("Жук<i></i> a Ж<i></i>ук", ["Жук", "<i>", "</i>", "Ж<i></i>ук"]),
        ("<b>a Жу</b>к", ["<b>", "Жу", "</b>", "к"]),  # the pair encloses other words, too
        ("<b>a Жук </b>мир", ["<b>", "Жук", "</b>", "мир"]),
        ("<p>Жук</p> <p>мир</p>", ["<p>", "Жук", "</p>", "<p>", "мир", "</p>"]),
    ],
)
def test_an_unseen_word_is_copied_with_the_tags_inside_it(text: str, expected: list[str]) -> None:
    found = with_unseen(text, SpanFinder().find(text), LATIN)
    assert [span.text for span in found] == expected
    assert [text[span.start : span.end] for span in found] == expected
