"""Messages of ICU MessageFormat: each branch is a text, and the syntax survives exactly."""

import re
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yakusu.data.lines.private_use import MARKS, closing, empty, opening
from yakusu.documents.messages.icu import Message, render_all
from yakusu.documents.messages.icu_plurals import with_plural_forms
from yakusu.documents.messages.plural_forms import text_string


def upper(string: str) -> str | None:
    message = Message(string)
    return message.render([text.upper() for text in message.texts])


def test_each_branch_of_a_plural_is_a_text() -> None:
    message = Message("{count, plural, one {# item} other {# items in {place}}}")
    assert message.texts == (f"{empty(0)} item", f"{empty(0)} items in {empty(1)}")
    assert message.render([f"{empty(0)} Ding", f"In {empty(1)}: {empty(0)} Dinge"]) == (
        "{count, plural, one {# Ding} other {In {place}: # Dinge}}"
    )


@pytest.mark.parametrize(
    ("string", "language", "expected", "names"),
    [
        (
            "{n, plural, =0 {No} one {# file} other {# files}} left",
            "pl",
            "{n, plural, =0 {No} one {# file} other {# files} few {# files} many {# files}} left",
            "few, many",
        ),
        ("{n,plural,other{# a}}", "de", "{n,plural,other{# a} one{# a}}", "one"),
        (
            "{g, select, a {{n, plural,\n  one {1}\n  other {'{x}'}\n}} other {b}}",
            "lv",
            "{g, select, a {{n, plural,\n  one {1}\n  other {'{x}'}\n  zero {'{x}'}\n}} other {b}}",
            "zero",
        ),
        (
            "{n, selectordinal, other {#th}}",
            "en",
            "{n, selectordinal, other {#th} one {#th} two {#th} few {#th}}",
            "one, two, few",
        ),
        ("{n, plural, one {a} other {b}}", "de", "{n, plural, one {a} other {b}}", ""),
        ("{n, plural, one {a}}", "pl", "{n, plural, one {a}}", ""),
        ("{n, plural, other {b}}", "", "{n, plural, other {b}}", ""),
        ("plain {n}", "pl", "plain {n}", ""),
    ],
)
def test_plurals_get_the_forms_of_the_target_language(
    string: str, language: str, expected: str, names: str
) -> None:
    check = f"the plural forms {names} are copies of 'other': check them" if names else ""
    assert with_plural_forms(string, language) == (expected, check)


def test_text_around_an_argument_is_a_text_with_the_argument_as_a_mark() -> None:
    message = Message("You have {n, plural, =0 {no mail} other {# mails}}, {name}.")
    assert message.texts == (
        f"You have {empty(0)}, {empty(1)}.",
        "no mail",
        f"{empty(0)} mails",
    )
    assert message.render([f"{empty(1)} hat {empty(0)}.", "nichts", f"{empty(0)} Briefe"]) == (
        "{name} hat {n, plural, =0 {nichts} other {# Briefe}}."
    )


def test_punctuation_around_an_argument_is_not_a_text() -> None:
    message = Message(" ({n, plural, other {some words}}) ")
    assert message.texts == ("some words",)
    assert message.render(["WORDS"]) == " ({n, plural, other {WORDS}}) "


def test_arguments_may_be_nested() -> None:
    assert upper(
        "{g, select, female {She has {n, plural, offset:1 one {# cat} other {# cats}}}"
        " other {They}}"
    ) == (
        "{g, select, female {SHE HAS {n, plural, offset:1 one {# CAT} other {# CATS}}}"
        " other {THEY}}"
    )


def test_selectordinal_formats_and_white_space_stay() -> None:
    string = (
        "{n,selectordinal,one{#st of { d , date, ::yMMMd }}\n\tother {#th\n}} in {x,number,'{'#}"
    )
    assert upper(string) == string.replace("st of", "ST OF").replace("th\n", "TH\n").replace(
        " in ", " IN "
    )


def test_choice_arguments_are_kept() -> None:
    message = Message("There {0,choice,0#is '{'nothing|1<are {0} things}.")
    assert message.texts == (f"There {empty(0)}.",)
    assert message.render([f"Da {empty(0)}!"]) == "Da {0,choice,0#is '{'nothing|1<are {0} things}!"


def test_quoted_syntax_is_kept_and_apostrophes_are_decoded() -> None:
    message = Message("{n, plural, one {it''s '{one}' file} other {the user's '#' files}}")
    assert message.texts == (f"it's {empty(0)} file", f"the user's {empty(0)} files")
    assert message.render([f"l'{empty(0)} a", f"d'un '{empty(0)}"]) == (
        "{n, plural, one {l'''{one}' a} other {d''un '''#'}}"
    )


def test_apostrophes_are_doubled_where_they_would_quote() -> None:
    message = Message("{n, plural, one {the {x}} other {all}} of it")
    assert message.render([f"{empty(0)} qu'il", f"l'{empty(0)}", "c'"]) == (
        "{n, plural, one {l''{x}} other {c''}} qu'il"
    )


def test_braces_of_a_translation_are_quoted() -> None:
    message = Message("{n, plural, one {a} other {b}}")
    assert message.render(["{x", "#1's }"]) == "{n, plural, one {'{'x} other {'#'1's '}'}}"


@pytest.mark.parametrize(
    "string",
    [
        *("{n, plural, one {# item}", "{n, plural}", "{n, plural, }", "{n, plural, one # item}"),
        *("{n, plural, one {x}} }", "{n, plural, other {'{x}}", "{{n, plural, other {x}}}"),
        "{n, plural, other {x}} {y, number, {",
        "{n, plural, other {x}} {y z}",
    ],
)
def test_malformed_messages_are_plain_text(string: str) -> None:
    assert Message(string).texts == (string,)
    assert upper(string) == string.upper()


def test_strings_without_branches_are_one_text_without_quoting() -> None:
    message = Message("  It's {name}''s {n, number}\n")
    assert message.texts == ("It's {name}''s {n, number}",)
    assert message.render(["'{'"]) == "  '{'\n"


def test_strings_without_letters_have_no_texts() -> None:
    assert Message(" 12 % … ").texts == ()
    assert Message(" 12 % … ").render([]) == " 12 % … "


def test_pairs_of_marks_stay_pairs_and_are_numbered_by_text() -> None:
    branch = f"{empty(3)}c {opening(5)}d{closing(5)}"
    string = f"A {opening(7)}b{closing(7)} {{n, plural, other {{{branch}}}}}"
    message = Message(string)
    assert message.texts == (
        f"A {opening(0)}b{closing(0)} {empty(1)}",
        f"{empty(0)}c {opening(1)}d{closing(1)}",
    )
    assert message.render(message.texts) == string
    assert upper(string) == string.replace("b", "B").replace("c", "C").replace("d", "D")


def test_a_pair_across_branches_makes_the_message_plain() -> None:
    string = f"{{n, plural, one {{{opening(0)}a}} other {{b{closing(0)}}}}}"
    assert len(Message(string).texts) == 1


def test_characters_that_models_drop_are_marks() -> None:
    message = Message("a\x04b \ud800 \U000f0001c\r\n")
    assert message.texts == (f"a{empty(0)}b {empty(1)} {empty(2)}c{empty(3)}",)
    assert upper("a\x04b \ud800 \U000f0001c\r\n") == "A\x04B \ud800 \U000f0001C\r\n"


def test_translations_that_lose_marks_or_are_blank_are_refused() -> None:
    message = Message("{n, plural, other {# files}}")
    assert message.render(["Dateien"]) is None
    assert message.render([f"{empty(0)} {empty(0)} Dateien"]) is None
    assert Message("word").render([" "]) is None
    assert Message(f"a {opening(5)}b{closing(5)}").render([f"{closing(0)}a{opening(0)} b"]) is None


def test_messages_are_rendered_with_their_own_translations() -> None:
    messages = [Message("{n, plural, one {a} other {b}}"), Message("12"), Message("c")]
    assert render_all(messages, ["x", "y", "z"]) == ["{n, plural, one {x} other {y}}", "12", "z"]


LITERALS = st.text(st.sampled_from("ab'#é \n"), max_size=6)
NAMES = st.sampled_from(["n", "0", "user.name"])


def branches(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(
        lambda name, kind, one, other, space: (
            f"{{{space}{name},{space}{kind}, one {{{one}}}{space} other{{{other}}} }}"
        ),
        NAMES,
        st.sampled_from(["plural", "select", "selectordinal"]),
        inner,
        inner,
        st.sampled_from(["", " ", "\n  "]),
    )


SIMPLE = st.builds(
    lambda name, style: f"{{{name}{style}}}", NAMES, st.sampled_from(["", ", number"])
)
QUOTED = st.sampled_from(["''", "'{x}'", "'}'"])
MESSAGES = st.recursive(
    st.lists(LITERALS | SIMPLE | QUOTED, max_size=4).map("".join),
    lambda inner: st.lists(inner | branches(inner), max_size=3).map("".join),
    max_leaves=8,
)


@settings(deadline=None)
@given(MESSAGES | st.text(st.sampled_from("{}',# ab") | st.characters(), max_size=30))
def test_identical_translations_give_the_identical_string(string: str) -> None:
    message = Message(string)
    assert message.render(message.texts) == string


@settings(deadline=None)
@given(MESSAGES, st.text(st.sampled_from("xy'{}#<"), max_size=4))
def test_changed_translations_are_the_texts_of_the_new_string(string: str, added: str) -> None:
    message = Message(string)
    translations = [f"é{text}{added}z" for text in message.texts]
    result = message.render(translations)
    if message.texts == (string.strip(),):  # plain, or malformed
        assert result == string.replace(string.strip(), translations[0])
    elif result is None:  # refused: the syntax would not be the same
        assert "'" in string
    # Quoted syntax is a mark of the new string, and so is an apostrophe next to it.
    elif not re.search("[{}#]", added) and not re.search(f"{MARKS}'", "".join(translations)):
        assert Message(result).texts == tuple(translations)


def nested(depth: int, inside: str = "") -> str:
    return "{n, plural, other {a " * depth + inside + "}}" * depth


@pytest.mark.parametrize(
    ("string", "problem"),
    [
        (nested(22), "the message has arguments nested more than 20 levels deep"),
        ("{n, plural, other {" * 5000, "the message has arguments nested more than"),
        (
            "{n, plural, " + "".join(f"={i} {{a}} " for i in range(1001)) + "}",
            "the message has more than 1,000 branches",
        ),
        (nested(1, "b" * 100_000), "the message has more than 100,000 characters"),
        ("a | " * 1000 + "a", "the message has more than 1,000 forms"),
    ],
)
def test_a_message_beyond_a_limit_stays_as_it_is(string: str, problem: str) -> None:
    message = text_string(string)
    assert message.texts == ()
    assert message.problem.startswith(problem)
    assert message.render([]) == string


def test_messages_within_the_limits_have_no_problem() -> None:
    for string in (nested(20), "{n, select, other {a}} " * 100, "a | " * 999 + "a"):
        message = text_string(string)
        assert message.problem == ""
        changed = [text.replace("a", "b") for text in message.texts]
        assert message.render(changed) == re.sub(r"\ba\b", "b", string)


def test_escapes_do_not_multiply_with_the_levels() -> None:
    string = nested(20, "{d, date, " + "\\" * 10_000 + "}")
    message = Message(string)
    assert message.is_icu
    tracemalloc.start()
    assert message.render([f"{text} b" for text in message.texts]) is not None
    assert tracemalloc.get_traced_memory()[1] < 1000 * len(string)
    tracemalloc.stop()
