"""What is translated in each line, and what is kept before and after it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yakusu.data.lines.layout import Layout


def bodies(text: str) -> list[str]:
    """The body of each line of a text."""
    layout = Layout()
    return [layout.read(line)[1] for line in text.split("\n")]


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("", "The bridge is closed."),
        ("    ", "Indented text is text."),
        ("\u3000", "段落の始まり。"),
        ("- ", "milk"),
        ("* ", "milk"),
        ("+ ", "milk"),
        ("• ", "milk"),
        ("•", "milk"),
        ("・", "牛乳"),
        ("■", "概要"),
        ("① ", "first"),
        ("  -   ", "milk"),
        ("- [ ] ", "buy milk"),
        ("- [x] ", "buy milk"),
        ("☑ ", "buy milk"),
        ("✔\ufe0f ", "buy milk"),  # as a colour picture
        ("[ ] ", "buy milk"),
        ("[12] ", "Smith, A history of bridges"),
        ("1. ", "Open the lid."),
        ("1. ", "open the lid."),
        ("12. ", "Close the lid."),
        ("2) ", "close the lid"),
        ("a) ", "open the lid"),
        ("(b) ", "close the lid"),
        ("(iii) ", "and wait"),
        ("iv) ", "and wait"),
        ("(12) ", "and wait"),
        ("3.) ", "und warten"),
        ("a. ", "open the lid"),
        ("ii. ", "close the lid"),
        ("III. ", "Methods"),
        ("1、", "蓋を開ける"),
        ("一、", "打开盖子"),
        ("（二）", "关上盖子"),
        ("2.", "关上盖子"),
        ("> ", "I agree."),
        (">", "I agree."),
        ("> > ", "I agree."),
        (">> ", "I agree."),
        ("> - ", "milk"),
        ("> 1. ", "Open the lid."),
        ("# ", "Introduction"),
        ("###### ", "Introduction"),
        ("1. [x] ", "buy milk"),
        ("— ", "Bonjour !"),
    ],
)
def test_marks_are_kept_before_the_body(before: str, body: str) -> None:
    assert Layout().read(before + body + " \r") == (before, body, " \r")


@pytest.mark.parametrize(
    "line",
    [
        "-5 degrees are expected.",
        "-verbose prints more.",
        "--verbose prints more.",
        "*Emphasis* at the beginning.",
        "**Bold** at the beginning.",
        "#yakusu is a tag.",
        ">5 km are too far.",
        ">= 5 is enough.",
        "->next is a pointer.",
        "○○さんへ",
        "1. FC Köln gewann.",
        "2. Bundesliga heute",
        "3. Mai ist ein Feiertag.",
        "2. Weltkrieg",
        "1. Platz: Köln",
        "24. 12. ist Heiligabend.",
        "24.12. ist Heiligabend.",
        "19. století skončilo.",
        "3.5 million people came.",
        "1.1 Overview",
        "10.30 Uhr beginnt es.",
        "2020. A good year.",
        "A. Smith came.",
        "I. am",
        "I. Newton wrote it.",
        "J. R. R. Tolkien wrote it.",
        "e. coli is a bacterium.",
        "I am here.",
        "(see below) The rest follows.",
        "(주)한국 회사",
        "一二、三人来了",
        "a",
        "A dog barks.",
    ],
)
def test_what_only_resembles_a_mark_is_part_of_the_body(line: str) -> None:
    assert Layout().read(line) == ("", line, "")


def test_initials_and_ordinals_number_items_if_they_continue_a_list() -> None:
    assert bodies("A. Apples\nB. Pears\nC. Plums") == ["A. Apples", "Pears", "Plums"]
    assert bodies("1. jablka\n2. hrušky\n\n3. švestky") == ["jablka", "hrušky", "", "švestky"]
    assert bodies("iv. four\nv. five\nvi. six") == ["four", "five", "six"]
    assert bodies("1. eins\n2. Mai ist es.") == ["eins", "2. Mai ist es."]


@pytest.mark.parametrize(
    "line",
    ["", " ", "\t\r", "\u3000", "---", "* * *", "1.", "a)", "- ", "-", "# ", "> ", "- [ ]",
     "12:30", "+49 (0) 123-456", "=====", "1. 25.3 %", "🙂 👍", "\ue000\U000f8000", "。", "> > 5"],
)  # fmt: skip
def test_lines_without_letters_are_kept(line: str) -> None:
    before, body, after = Layout().read(line)
    assert (before + after, body) == (line, "")


def test_letters_of_any_script_are_translated() -> None:
    lines = ["Ω", "はい", "안녕", "да", "שלום", "مرحبا", "नमस्ते", "สวัสดี"]
    assert bodies("\n".join(lines)) == lines


def test_code_between_fences_is_kept() -> None:
    text = (
        "Run this:\n```python title=x\nprint('hello')\n\n~~~\n````  \nDone.\n~~~\nx = y\n~~~\nEnd."
    )
    assert bodies(text) == ["Run this:", "", "", "", "", "", "Done.", "", "", "", "End."]


def test_a_shorter_fence_or_one_with_words_does_not_close_code() -> None:
    assert bodies("````\nfoo\n```\n```` bar\n````\nText") == [""] * 5 + ["Text"]


def test_a_fence_that_is_not_closed_extends_to_the_end() -> None:
    assert bodies("Text\n```\nfoo\n\nbar") == ["Text", "", "", "", ""]
    assert bodies("Text") == ["Text"]


def test_code_in_a_quotation_ends_with_the_quotation() -> None:
    assert bodies("> ```\n> foo\n> ```\n> Text") == ["", "", "", "Text"]
    assert bodies("> ```\n> foo\nText\nMore") == ["", "", "Text", "More"]
    assert bodies("```\n> ```\nfoo\n```\nText") == ["", "", "", "", "Text"]


def test_inline_code_and_rows_of_tildes_are_no_fences() -> None:
    assert bodies("```ls``` lists files.\nText") == ["```ls``` lists files.", "Text"]
    assert bodies("~~~~~~~~~~\nText") == ["", "Text"]
    assert bodies("~~~ Chapter 1 ~~~\nText") == ["~~~ Chapter 1 ~~~", "Text"]


def test_front_matter_is_kept() -> None:
    yaml = "---\ntitle: A page\ntags:\n  - one\n- two\n\n# a comment\ntext: >\n  More.\n---\nText"
    assert bodies(yaml) == [""] * 10 + ["Text"]
    toml = '+++\n[params]\ntitle = "A page"\nx = [\n  "one",\n]\n+++\r\nText'
    assert bodies(toml) == [""] * 7 + ["Text"]
    assert bodies("---\ntitle: x\n...\nText") == ["", "", "", "Text"]


def test_front_matter_that_is_not_closed_ends_at_the_first_line_of_text() -> None:
    assert bodies("---\nkey: x\n\nThis is text.\nkey: y") == ["", "", "", "This is text.", "key: y"]


def test_a_rule_at_the_beginning_is_not_front_matter() -> None:
    assert bodies("---\nThis is text.") == ["", "This is text."]
    assert bodies("---\n\nkey: this is text") == ["", "", "key: this is text"]
    assert bodies("---\n- milk") == ["", "milk"]
    assert bodies("---\n---\nText") == ["", "", "Text"]
    assert bodies("Text\n---\nkey: this is text") == ["Text", "", "key: this is text"]


@given(st.lists(st.text(st.sampled_from(list("aI1x .-*>#`~()[]:=\t\r、一・")), max_size=12)))
def test_the_parts_of_every_line_are_the_line(lines: list[str]) -> None:
    layout = Layout()
    for line in lines:
        before, body, after = layout.read(line)
        assert before + body + after == line
        assert not after.strip()
        assert body == body.strip()


@given(st.lists(st.text(alphabet="aAiIvxX1.):- 一\t", max_size=8), max_size=4))
def test_a_line_that_begins_with_a_word_is_read_as_any_other(lines: list[str]) -> None:
    found = [each for layout in [Layout()] for each in map(layout.read, lines)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("yakusu.data.lines.layout._begins_word", lambda two: False)
        assert [each for layout in [Layout()] for each in map(layout.read, lines)] == found
