"""Lines as passages: what is translated, what is copied, and writing the text back."""

import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.cases import THOROUGH, some
from tests.translator.written import printed
from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.invisible import visible
from yakusu.data.lines.layout import Layout
from yakusu.data.lines.private_use import PLACE, SLOTS, closing, empty, line_break, opening
from yakusu.data.lines.terms import Glossary, Term
from yakusu.errors import DataError
from yakusu.translator.reading.passage import Passage, PassageReader
from yakusu.translator.reading.slots import restore, slots_of, to_places, to_slots
from yakusu.translator.writing.output import Output
from yakusu.translator.writing.placement import units
from yakusu.translator.writing.typed import as_typed

SEEN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZäöü0123456789.,:;!?-'()*# ")


def reader(*, longest: int = 1000, language: str = "en", **config: object) -> PassageReader:
    return PassageReader(
        TextConfig.model_validate(config),
        language=language,
        covers=lambda part: SEEN.issuperset(visible(part)),
        fits=lambda text: len(text) <= longest,
    )


def shown(text: str, passage: Passage) -> str:
    """A text with ‹› around the spans of its places."""
    return PLACE.sub(lambda match: f"‹{passage.spans[match[0]]}›", text)


def translated_texts(text: str, **config: object) -> list[str]:
    passages = reader(**config).read(text)
    return [shown(own, passage) for passage in passages for own in passage.texts]


def identity(passage: Passage) -> list[Output]:
    """The outputs of a model that copies, and that links equal units."""
    return [
        Output(text, 0.0, 0.0, 1, links=tuple((i, i) for i in range(len(units(text)))))
        for text in passage.texts
    ]


def copied(text: str, **config: object) -> str:
    passages = reader(**config).read(text)
    outputs = iter([output for passage in passages for output in identity(passage)])
    return printed(passages, outputs, "en")


# ---- what is translated --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Call Anna. Thanks!", ["Call Anna.", "Thanks!"]),
        ("- Call <b>Anna</b> at {time}.", ["Call Anna at ‹{time}›."]),
        ("  # Title  \r\n\n* item", ["Title", "item"]),
        ("<br>Call Anna.<br/>", ["Call Anna."]),
        ("{name} called {number}", ["‹{name}› called ‹{number}›"]),
        ("%s", []),
        ("{a} {b}", []),
        ("Played with {}", ["Played with ‹{}›"]),
        ("Played with { name }", ["Played with ‹{ name }›"]),
        ("Call Anna. {name} is here.", ["Call Anna.", "‹{name}› is here."]),
        ("Call Anna. Žižek is here.", ["Call Anna.", "‹Žižek› is here."]),
        ("*** 12:30 ***", []),
        ("", []),
        ("I ❤ it", ["I ‹❤› it"]),
        ("Met Žižek here.", ["Met ‹Žižek› here."]),
        (f"{opening(0)}Bold{closing(0)} and {empty(1)}", [f"Bold and ‹{empty(1)}›"]),
        (f"a {empty(1)} b", [f"a ‹{empty(1)}› b"]),
        ("```\ncode here\n```\ntext", ["text"]),
        (f"a {SLOTS[0]} b \U00100005 c", [f"a ‹{SLOTS[0]}› b ‹\U00100005› c"]),
    ],
)
def test_the_texts_to_translate(text: str, expected: list[str]) -> None:
    assert translated_texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello there<br>How are you", ["Hello there", "How are you"]),
        ("hello<BR/>bye", ["hello", "bye"]),
        ("One.<br /> <br>two", ["One.", "two"]),
        ("<p>one</p><p class='x'>two</p>", ["one", "two"]),
        ("<ul><li>one<li>two</ul>", ["one", "two"]),
        ("Call {name}<br>{n} times a day", ["Call ‹{name}›", "‹{n}› times a day"]),
        ("I ❤<br>❤ it", ["I", "it"]),
        ("Say <b>one<br>two</b> now", ["Say one", "two now"]),
        (f"one{line_break(3)}two", ["one", "two"]),
        ("Prof.<br>1.<br>a", ["Prof.", "a"]),
        ("Name:\tAnna \t\t runs", ["Name:", "Anna", "runs"]),
        (r"Sit down.\nStand up\tNow", ["Sit down.", "Stand up", "Now"]),
        ("<b>one</b> <i>two</i> <span>three</span> <wbr>four", ["one two three ‹<wbr>›four"]),
        (f"one{empty(3)}two <blink>a <x-p>", [f"one‹{empty(3)}›two ‹<blink>›a"]),
        ("`a<br>b` <!-- <p> --> c", ["‹`a<br>b` <!-- <p> -->› c"]),
    ],
)
def test_segments_end_at_tags_of_lines_and_blocks(text: str, expected: list[str]) -> None:
    assert translated_texts(text) == expected
    assert copied(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<b>one\n<i>two</i> three</b>", ["one", "two three"]),
        ("one <b> \n two</b> three", ["one", "two three"]),
        ("one <b>two\n</b> <i>\nthree</i> four", ["one two", "three four"]),
        ("<b>one\ntwo", ["one", "two"]),
        ("one <b>two\nthree <b>four</b>", ["one ‹<b>›two", "three four"]),
        ("<b>one\n```\n</b>\n```\ntwo <i>three</b>", ["one", "two ‹<i>›three"]),
    ],
)
def test_tags_whose_partners_are_on_other_lines_are_not_shown_to_the_model(
    text: str, expected: list[str]
) -> None:
    assert translated_texts(text) == expected
    assert copied(text) == text


def test_tags_at_the_ends_of_a_line_are_layout_if_their_partners_are_on_other_lines() -> None:
    first, second = reader().read("- <b> <i>one\ntwo</i>  </b> ")
    assert (first.before, first.given, first.tags) == ("- <b> <i>", "one", ())
    assert (second.given, second.after, second.tags) == ("two", "</i>  </b> ", ())
    assert (first.n_spans, second.n_spans) == (2, 2)


def test_a_part_of_a_long_sentence_may_be_white_space() -> None:
    text = "Hello" + " " * 30 + "world."
    passages = reader(longest=10).read(text)
    outputs = (output for passage in passages for output in identity(passage))
    assert printed(passages, outputs, "en") == text


def test_line_breaks_are_no_ends_of_segments_in_whole_lines() -> None:
    (passage,) = reader().read("<p>one<br>two</p>", whole=True)
    assert shown(passage.texts[0], passage) == "one‹<br>›two"
    place = passage.texts[0][3]
    assert reader().read_pair(("<p>one<br>a</p>", "<p>x<br>y</p>")) == (
        (f"one{place}a", f"x{place}y"),
        {place: "<br>"},
    )


def test_long_sentences_are_divided_into_parts_that_fit() -> None:
    text = "First we go there, then we go here, then we come back; and we stay."
    parts = reader(longest=30).read(text)[0].texts
    assert len(parts) > 2
    assert all(len(part) <= 30 for part in parts)


def test_one_sentence_per_line_divides_nothing_and_keeps_no_layout() -> None:
    config = {"one_sentence_per_line": True}
    assert translated_texts("- One. Two.", **config) == ["- One. Two."]
    assert translated_texts("  One {n}.  ", **config) == ["One ‹{n}›."]
    assert translated_texts("One. Two.\nThree.\n", **config) == ["One. Two.", "Three."]


def test_a_whole_line_is_not_divided() -> None:
    (passage,) = reader(longest=10).read("One is here. Two is there.", whole=True)
    assert passage.texts == ["One is here. Two is there."]


def test_further_patterns_are_copied() -> None:
    text = "Acme Corp sells {n} to us"
    assert translated_texts(text, protect=("Acme Corp",)) == ["‹Acme Corp› sells ‹{n}› to us"]
    only = reader(builtin_spans=False, protect=("Acme Corp",)).read("Acme Corp sells <i>it</i>")
    assert "‹Acme Corp› sells" in shown(only[0].texts[0], only[0])
    assert only[0].tags == ()
    with pytest.raises(DataError, match="not a valid regular expression"):
        reader(protect=("(",))


def test_a_string_is_one_pattern() -> None:
    assert TextConfig.model_validate({"protect": "[A-Z]+"}).protect == ("[A-Z]+",)
    assert translated_texts("see ABC and {n}", protect="[A-Z]+") == ["see ‹ABC› and ‹{n}›"]


@pytest.mark.parametrize("protect", ["", ("a", "")])
def test_an_empty_pattern_is_refused(protect: object) -> None:
    with pytest.raises(DataError, match="a regular expression to protect is empty: remove"):
        reader(protect=protect)


def test_a_layout_continues_from_text_to_text() -> None:
    layout, one = Layout(), reader()
    found = [one.read(line, layout=layout)[0].texts for line in ("```", "code", "```", "text")]
    assert found == [[], [], [], ["text"]]


def test_a_long_run_of_spaces_is_one_segment() -> None:
    (passage,) = reader().read("Hello" + " " * 50_000 + "world." + " " * 50_000, whole=True)
    assert len(passage.texts[0]) == len("Hello world.") + 49_999


def test_a_line_with_more_tags_than_private_use_characters_is_kept() -> None:
    line = "<b>a</b> " * 33_000
    (passage,) = reader().read(line)
    assert passage.before + passage.after == line and not passage.texts


def test_spans_and_unseen_words_are_counted() -> None:
    (passage,) = reader().read("Call <b>Anna</b> at {time}: привет ❤, ❤!")
    assert passage.n_spans == 3
    assert passage.n_unseen == len(re.findall("привет ❤|❤", "привет ❤, ❤"))


def test_terms_that_training_has_not_seen_are_translated() -> None:
    glossary = Glossary([Term("Žižek", "Schischek"), Term("Anna", "Anne")])
    one = PassageReader(
        TextConfig(), language="en", covers=SEEN.issuperset, fits=bool, glossary=glossary
    )
    passages = one.read("Anna met Žižek привет's mother.\nŽižek")
    assert shown(passages[0].texts[0], passages[0]) == "Anna met ‹Schischek› ‹привет's› mother."
    assert (passages[0].n_unseen, passages[0].n_terms) == (1, 1)
    outputs = iter(identity(passages[0]))
    written = printed(passages, outputs, "en")
    assert written == "Anna met Schischek привет's mother.\nSchischek"


@pytest.mark.parametrize(
    "text",
    [
        "Call Anna — or Bob – now.",
        "‘Call’ 'Anna' {name} — now.",
        "Don’t call. It’s Anna’s.",
    ],
)
def test_typographic_marks_that_training_has_not_seen_are_copied(text: str) -> None:
    assert "—" not in "".join(translated_texts(text))
    assert copied(text) == text


def test_typographic_marks_stay_ascii_if_the_translation_has_another_number_of_them() -> None:
    (passage,) = reader().read("Call ‘Anna’ — now.")
    assert as_typed("'Anna' now", passage) == "‘Anna’ now"
    assert as_typed("Anna' - now", passage) == "Anna' — now"


def test_quotation_marks_and_dashes_stay_ascii_in_version_1() -> None:
    (passage,) = reader(version=1).read("‘Anna’ — now")
    assert as_typed("'Anna' - now", passage) == "'Anna' - now"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("An\u00adna calls\u200b.", "Anna calls."), ("Call.\u200bGo.", "Call. Go.")],
)
def test_invisible_characters_are_not_in_the_translation(text: str, expected: str) -> None:
    assert copied(text) == expected
    (passage,) = reader().read(text)
    assert passage.n_invisible == sum(map(text.count, "\u00ad\u200b"))


def test_unseen_words_are_copied_with_their_own_punctuation() -> None:
    assert translated_texts("It’s l’été – ok") == ["It's ‹l’été› - ok"]
    assert copied("l’été") == "l’été"


# ---- writing back --------------------------------------------------------------------------------

PARTS = [
    *("Call Anna. ", "We stay! ", "word", " ", "  ", ", ", ".", "- ", "1. ", "\t", "# ", "> "),
    *("<b>", "</b>", '<a href="x">', "</a>", "<br>", "{n}", "%s", "https://example.org", "&amp;"),
    *("<p>", "</p>", "<br>", line_break(3)),
    *("猫", "привет", "👨‍👩‍👧", "n̈", "```", "---", "~~~", "***"),
    *(opening(0), closing(0), opening(1), closing(1), empty(2), SLOTS[1], "\U00100001"),
    *("\n", "\r\n", "\r", "\n\n", "\u2028", "\f", "\x0b", "\x85", "\u00a0", "\u3000"),
]  # fmt: skip
TEXTS = st.one_of(
    st.lists(st.sampled_from(PARTS), max_size=12).map("".join),
    st.text(alphabet="aB .\n\r<b>/{}%s-", max_size=20),
)


@given(TEXTS)
def test_a_model_that_copies_gives_the_text_back(text: str) -> None:
    passages = reader().read(text)
    tags = Counter(tag.text for passage in passages for _, tag in passage.tags)
    assume(all(text.count(tag) == n for tag, n in tags.items()))  # for `without_tags`
    assert "".join(p.before + restored(p) + p.after for p in passages) == without_tags(
        text, passages
    )
    inner = [tag.text for p in passages for _, tag in p.tags]
    written = copied(text)
    # In English, a sentence that ends or begins with Han gets a space.
    if not inner and "猫." not in text and ".猫" not in text:
        assert written == text
    assert sorted(written.replace(" ", "")) == sorted(text.replace(" ", ""))


def restored(passage: Passage) -> str:
    return PLACE.sub(lambda match: passage.spans[match[0]], passage.given)


def without_tags(text: str, passages: list[Passage]) -> str:
    """A text without the tags of pairs."""
    pieces, rest = [], text
    for tag in (tag.text for passage in passages for _, tag in passage.tags):
        before, _, rest = rest.partition(tag)
        pieces.append(before)
    return "".join([*pieces, rest])


@pytest.mark.parametrize(
    "text",
    [
        "One line",
        "Two\nlines\n",
        "Windows\r\nlines\r\n",
        "\n\nBlank lines\n\n\n",
        "- <b>Bold</b> and {n}.\n  1. <i>a <b>b</b></i>, c\n",
        "form\ffeed and\u2028separator",
        "  indented  \n\ttab\t",
        "One.  Two.\tThree.",
        "a<br>b<br/>c",
        "a <br>  b\t<br/>c <hr>",
        "<i>a <b>b<br>c</b> d</i> <u>e<br></u>",
        "<b>a<p>b <i>c</i></p>d</b>",
        "<p>All of it.</p>",
        "<p>One. Two.</p> Three.",
        "",
        "\n",
        " ",
    ],
)
def test_layout_tags_and_spaces_are_written_back(text: str) -> None:
    assert copied(text) == text


@given(TEXTS)
def test_lines_are_the_same_in_number(text: str) -> None:
    passages = reader().read(text)
    assert len(passages) == max(1, len(text.splitlines()))
    assert all(one.after.splitlines() for one, _ in pairwise(passages))


@given(st.text(alphabet="ab <>{}%s.猫", max_size=30))
def test_slots_are_replaced_by_their_places(text: str) -> None:
    for passage in reader().read(text):
        for own in passage.texts:
            assert to_places(to_slots(own), own) == own
            assert len(slots_of(own)) == len(PLACE.findall(own))


def test_the_eleventh_place_uses_the_first_slot_again() -> None:
    text = "".join(f"a{chr(0x100000 + i)}" for i in range(12))
    assert slots_of(text)[10:] == list(SLOTS[:2])
    first, second = to_places(SLOTS[0] + SLOTS[0], chr(0x100000) + text[2:])[:2]
    assert (first, second) == (chr(0x100000), chr(0x10000A))


@pytest.mark.parametrize(
    ("part", "n", "n_texts"), some([("<br>a", 33_000, 0), ("<b>a</b><br>", 7000, 7000)])
)
def test_a_line_with_more_spans_than_places_is_kept(part: str, n: int, n_texts: int) -> None:
    (passage,) = reader().read(part * n)
    assert len(passage.texts) == n_texts
    if not n_texts:
        assert (passage.before, passage.n_spans) == (part * n, n)
    assert copied(part * n) == part * n


@pytest.mark.parametrize(
    "part",
    [
        *(
            "a",
            "<b>",
            "</b>",
            "<b>a</b> ",
            "a<br>",
            "{",
            "{a} ",
            "%",
            "😀",
            "😀a ",
            " ",
            "猫が好きa ",
            "猫",
        ),
        *(
            '<a b="',
            "&",
            "`",
            "@",
            "a.",
            "http://a",
            "(A. ",
            "A. ",
            "a\u0301",
            "<!--",
            "{a,plural,",
        ),
        *(
            "Žižek a ",
            "Žižek-",
            "“",
            "\t",
            "\u00a0",
            "\ue000",
            opening(0),
            line_break(0),
            "1.",
            "👨‍👩‍👧",
        ),
    ],
)
def test_the_parts_of_a_long_line_are_those_of_the_text(part: str) -> None:
    text = part * ((100_000 if THOROUGH else 3000) // len(part))
    passages = reader(longest=200).read(text)
    assert "".join(p.before + restored(p) + p.after for p in passages) == without_tags(
        text, passages
    )


# ---- sentences in capitals -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("DO NOT OPEN. Please wait.", ["Do not open.", "Please wait."]),
        ("STOP! DO NOT OPEN.", ["Stop!", "Do not open."]),
        ("OK", ["OK"]),
        ("PRESS {Name} OR %s NOW", ["Press P or P now"]),
        ("SEE HTTPS://A.ORG/B AND https://a.org/C FIRST", ["See P and P first"]),
        ("<b>DO NOT</b> OPEN.<br>COME IN, ANNA", ["Do not open.", "Come in, anna"]),
        ("- [ ] CLEAN THE KITCHEN", ["Clean the kitchen"]),
    ],
)
def test_sentences_in_capitals_are_read_in_sentence_case(text: str, texts: list[str]) -> None:
    passages = reader().read(text)
    found = [PLACE.sub("P", own) for passage in passages for own in passage.texts]
    assert found == texts
    assert "".join(p.before + restore(p.source, p.kept) + p.after for p in passages) == text


def test_tags_are_placed_by_the_letters_that_were_given() -> None:
    (passage,) = reader().read("PRESS <b>ANNA’S</b> KEY")
    assert passage.texts == ["Press anna's key"]
    assert passage.given == "PRESS ANNA'S KEY"


def test_sentences_in_capitals_are_read_as_they_are_without_the_setting() -> None:
    text = "DO NOT OPEN THE DOOR."
    assert reader(capitals=False).read(text)[0].texts == [text]
    assert reader().read(text, recases=False)[0].texts == [text]


def test_capitals_that_training_has_not_seen_are_no_unseen_words() -> None:
    (passage,) = reader(language="de").read("DIE TÜR BITTE ÖFFNEN")
    assert passage.texts == ["Die tür bitte öffnen"]
    assert (passage.n_unseen, passage.spans) == (0, {})


def test_terms_with_capitals_are_found_in_sentences_in_capitals() -> None:
    glossary = Glossary([Term("Haus", "house")])
    read = PassageReader(
        TextConfig(), language="de", covers=SEEN.issuperset, fits=bool, glossary=glossary
    ).read
    (passage,) = read("DAS HAUS BRENNT")
    assert [term.target for term in passage.segments[0].terms] == ["house"]
