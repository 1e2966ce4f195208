"""Word links and tokens of real text: the words are those of the lines as given and as printed."""

import pytest

from tests.translator.written import lines_of, printed
from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.private_use import SLOTS
from yakusu.data.lines.terms import Glossary, Term
from yakusu.translator.reading.known import with_known
from yakusu.translator.reading.passage import PassageReader
from yakusu.translator.writing.details import Details
from yakusu.translator.writing.output import Output
from yakusu.translator.writing.placement import units
from yakusu.translator.writing.words import details_of_text

Links = tuple[tuple[int, int], ...]
READER = PassageReader(
    TextConfig(), language="en", covers=lambda text: "ł" not in text, fits=lambda _: True
)


def output(text: str, links: Links | None, tokens: tuple[str, ...] = ()) -> Output:
    """An output whose words, and whose units, have the same links."""
    details = Details(tokens, (-1.0,) * len(tokens), (((SLOTS[9], -1.0),),) * len(tokens), links)
    return Output(text, 0.0, 0.0, 1, links=links or (), details=details)


def linked(text: str, *outputs: str, links: Links | None = None, language: str = "de") -> str:
    """The links of a text, as words, if the segments have these outputs.

    The places of their spans are written as digits. Without links, word N is linked to word N.
    """
    passages = READER.read(text)
    parts = [(own, passage.spans) for passage in passages for own in passage.texts]
    made = []
    for target, (source, spans) in zip(outputs, parts, strict=True):
        for number, place in enumerate(spans):
            target = target.replace(str(number), place)
        n_words = min(len(units(source)), len(target.split()))
        made.append(output(target, links or tuple((i, i) for i in range(n_words))))
    details = details_of_text(lines_of(passages, made, language))
    assert details and details.links is not None
    words = printed(passages, made, language).split()
    return " ".join(f"{text.split()[i]}~{words[j]}" for i, j in details.links)


@pytest.mark.parametrize(
    ("text", "outputs", "expected"),
    [
        ("one two", ["eins zwei"], "one~eins two~zwei"),
        ("- [x] one two", ["eins zwei"], "-~- [x]~[x] one~eins two~zwei"),
        ("> 1. one", ["eins"], ">~> 1.~1. one~eins"),
        ("One is. Two is.", ["Eins ist.", "Zwei ist."], "One~Eins is.~ist. Two~Zwei is.~ist."),
        ("* one\n\n* two", ["eins", "zwei"], "*~* one~eins *~* two~zwei"),
        ("one\u2028- two", ["eins", "zwei"], "one~eins -~- two~zwei"),
        ("see {% url x %} now", ["sieh 0 nun"], "see~sieh {%~{% url~url x~x %}~%} now~nun"),
        ("see {% url x %} now", ["0 nun sieh"], "{%~{% {%~nun url~url x~x %}~%} now~sieh"),
        ("go (%s, %d) now", ["geh (0) nun"], "go~geh (%s,~(%s, %d)~%d) now~nun"),
        ("a <b>red</b> hat", ["ein roter Hut"], "a~ein <b>red</b>~<b>roter</b> hat~Hut"),
        (
            'a <a href="x">red hat</a>',
            ["ein roter Hut"],
            'a~ein <a~<a href="x">red~href="x">roter hat</a>~Hut</a>',
        ),
        ("a <b> red </b> hat", ["ein roter Hut"], "a~ein red~<b>roter</b> hat~Hut"),
        ("Mrs Wałęsa sings", ["Frau 0 singt"], "Mrs~Frau Wałęsa~Wałęsa sings~singt"),
        ("home <br> <br>", ["Haus"], "home~Haus <br>~<br> <br>~<br>"),
        ("home.<br>", ["Haus."], "home.<br>~Haus.<br>"),
    ],
)
def test_links_are_between_the_words_as_given_and_as_printed(
    text: str, outputs: list[str], expected: str
) -> None:
    assert linked(text, *outputs) == expected


def test_text_without_spaces_is_one_word_with_one_link() -> None:
    found = linked("One is here. Two is there.", "一。", "二。", language="ja")
    assert found == "One~一。二。"


def test_a_span_in_text_without_spaces_is_linked_to_itself() -> None:
    assert linked("see {name} now", "今0見", language="ja") == "{name}~今{name}見"


def test_protected_white_space_belongs_to_no_word() -> None:
    reader = PassageReader(
        TextConfig(protect=(" +",)), language="en", covers=lambda _: True, fits=lambda _: True
    )
    (passage,) = reader.read("sits leaves")
    (space,) = passage.spans
    lines = lines_of([passage], iter([output(f"sitzt{space}geht", ((0, 0),))]), "de")
    details = details_of_text(lines)
    assert details and details.links == ((0, 0), (0, 1))


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("Präsident Schischek", ((0, 0), (1, 1), (1, 2), (2, 3))),
        ("Schischek", ((0, 0), (1, 1), (2, 2))),
    ],
)
def test_the_translation_of_an_unseen_term_may_have_another_number_of_words(
    term: str, expected: Links
) -> None:
    reader = PassageReader(
        TextConfig(),
        language="en",
        covers=lambda text: "ł" not in text,
        fits=lambda _: True,
        glossary=Glossary([Term("Wał", term)]),
    )
    (passage,) = reader.read("here Wał sings")
    (place,) = passage.spans
    made = output(f"hier {place} singt", ((0, 0), (1, 1), (2, 2)))
    details = details_of_text(lines_of([passage], iter([made]), "de"))
    assert details and details.links == expected


def test_punctuation_of_a_word_does_not_decide_its_link() -> None:
    """The full stop is linked to the last word, and the letters to the first."""
    links = ((0, 1), (1, 0))
    assert linked("one ... two", "zwei. eins", links=links) == "one~eins ...~zwei."


def test_a_sentence_that_is_kept_is_linked_to_itself() -> None:
    passages = READER.read("One is here. Two is there.")
    first = output("Eins ist hier.", ((0, 0), (1, 1), (2, 2)))
    kept = Output("Two is there.", 0.0, 0.0, 1, copied=True)
    details = details_of_text(lines_of(passages, iter([first, kept]), "de"))
    assert details and details.pharaoh == "0-0 1-1 2-2 3-3 4-4 5-5"


def test_a_sentence_from_a_memory_is_not_linked() -> None:
    first = "Nummer eins ist bereits hier."

    def known(sentence: str, *, has_tags: bool) -> str | None:
        return None if has_tags or "Two" in sentence else first

    (read,) = READER.read("One is here. Two is there.")
    made = Output(first, 0.0, 0.0, 0)
    second = output("Zwei ist dort.", ((0, 0), (1, 1), (2, 2)))
    details = details_of_text(lines_of([with_known(read, known)], iter([made, second]), "de"))
    assert details and details.pharaoh == "3-5 4-6 5-7"


def test_without_attention_there_are_no_links() -> None:
    lines = lines_of(READER.read("one"), iter([output("eins", None)]), "de")
    details = details_of_text(lines)
    assert details and details.links is None


def test_a_text_that_is_kept_has_no_details() -> None:
    assert details_of_text(lines_of(READER.read("12\n\n- 5"), iter(()), "de")) is None


# ---- tokens --------------------------------------------------------------------------------------


def test_tokens_show_the_text_of_the_spans() -> None:
    (passage,) = READER.read("see {name} and %s or %d")
    tokens = ("▁", SLOTS[1], "▁oder", SLOTS[2], "▁sieh", SLOTS[0], "</s>")
    lines = lines_of([passage], iter([output("", (), tokens)]), "de")
    details = details_of_text(lines)
    assert details
    assert details.tokens == ("▁", "%s", "▁oder", "%d", "▁sieh", "{name}", "</s>")


def test_placeholder_tokens_that_are_used_again_show_their_spans_in_order() -> None:
    spans = [f"{{{letter}}}" for letter in "abcdefghijkl"]
    (passage,) = READER.read(" and ".join(spans))
    order = [*range(1, 10), 0, 0, 1]
    lines = lines_of([passage], iter([output("", (), tuple(SLOTS[i] for i in order))]), "de")
    details = details_of_text(lines)
    assert details
    assert "".join(details.tokens) == "{b}{c}{d}{e}{f}{g}{h}{i}{j}{a}{k}{l}"


def test_alternatives_name_placeholder_tokens_that_the_source_does_not_need() -> None:
    (passage,) = READER.read("see {name} and {name}")
    best = ((SLOTS[1], -1.0), (SLOTS[0], -2.0), ("▁a", -3.0), (SLOTS[7], -4.0))
    own = Details((SLOTS[1], SLOTS[0]), (-1.0, -2.0), (best, best), ())
    lines = lines_of([passage], iter([Output("", 0.0, 0.0, 1, details=own)]), "de")
    details = details_of_text(lines)
    assert details
    assert details.alternatives == (
        (("{name}", -1.0), ("▁a", -3.0), ("<placeholder 8>", -4.0)),
        (("<placeholder 2>", -1.0), ("{name}", -2.0), ("▁a", -3.0), ("<placeholder 8>", -4.0)),
    )
