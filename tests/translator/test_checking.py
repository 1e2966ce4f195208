"""Translations whose numbers or code-like tokens differ from those of their sources."""

import math
import re
from collections.abc import Callable

import pytest

from tests.translator.saying import asked, saying
from tests.translators import ENGINES, Engine, untrained
from tests.work import growth
from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.private_use import SLOTS, empty
from yakusu.data.lines.spans import Span
from yakusu.translator.reading.protecting import numbers_in
from yakusu.translator.request import Request
from yakusu.translator.writing.objects import objects

S, S2 = SLOTS[:2]
ALTERED = {
    "der Bus kommt um 12": ["the bus comes at 112"],
    f"der Bus kommt um {S}": [f"the bus comes at {S}"],
}


def test_a_number_that_was_altered_is_a_placeholder_of_a_second_search() -> None:
    translator = saying(ALTERED)
    ((best,),) = translator.stream(["der Bus kommt um 12"])
    assert (best.text, best.copied, best.differences) == ("the bus comes at 12", False, ())
    assert best.score == -1.0
    assert asked(translator) == [*ALTERED]
    assert (translator.tally.segments, translator.tally.differing) == (1, 0)


def test_a_sentence_whose_second_translation_differs_as_well_is_kept() -> None:
    translator = saying({**ALTERED, f"der Bus kommt um {S}": [f"the bus {S} comes at 7"]})
    ((best,),) = translator.stream(["der Bus kommt um 12"])
    assert (best.text, best.copied, best.score) == ("der Bus kommt um 12", True, -math.inf)
    assert best.differences == (
        "the translation of 'der Bus kommt um 12' has '112' instead of '12'",
    )
    assert objects([best])["translations"][0]["copied"] is True
    assert (translator.tally.differing, translator.tally.untranslated) == (1, 0)


def test_only_the_sentence_that_differs_is_searched_again_or_kept() -> None:
    translator = saying(
        {
            "Der Hund ist alt.": ["the dog is old."],
            "Der Bus kommt um 12.": ["the bus comes."],
            f"Der Bus kommt um {S}.": [f"the bus comes at {S} and 7."],
        }
    )
    ((best,),) = translator.stream(["Der Hund ist alt. Der Bus kommt um 12."])
    assert best.text == "the dog is old. Der Bus kommt um 12."
    assert not best.copied
    assert len(best.differences) == 1


def test_the_setting_turns_the_comparison_off() -> None:
    translator = saying(ALTERED, text=TextConfig(check=False))
    assert translator.translate(["der Bus kommt um 12"]) == ["the bus comes at 112"]
    again = translator.with_settings(text=TextConfig())
    assert again.translate(["der Bus kommt um 12"]) == ["the bus comes at 12"]


@pytest.mark.parametrize("given", [{"prefix": "the"}, {"include": ("the",)}, {"exclude": ("is",)}])
def test_what_a_user_asks_for_is_not_compared(given: dict[str, object]) -> None:
    request = Request("der Bus kommt um 12", **given)  # type: ignore[arg-type]
    ((best,),) = saying(ALTERED).stream([request])
    assert best.text == "the bus comes at 112"


def test_tags_around_a_number_stay_around_it() -> None:
    translator = saying(ALTERED)
    source = "der  Bus <i>kommt</i> um <b>12</b>"
    ((best,),) = translator.stream([source], details=True)
    assert best.text == "the bus <i>comes</i> at <b>12</b>"
    assert best.details is not None
    assert "12" in best.details.tokens
    assert best.details.links is not None
    assert (4, 4) in best.details.links


def test_spans_and_numbers_of_a_line_keep_their_order() -> None:
    translator = saying(
        {
            f"{S} kommt um 12": [f"{S} comes at 21"],
            f"{S} kommt um {S2}": [f"at {S2} comes {S}"],
        }
    )
    assert translator.translate(["{name} kommt um 12"]) == ["at 12 comes {name}"]


@pytest.mark.parametrize("number", ["12/14", "3+4=7", "03/04/2030", "12|13"])
def test_signs_that_training_has_not_seen_stay_in_a_number(number: str) -> None:
    table = {
        f"der Bus {S} kommt um 12": ["the bus comes at 112"],
        f"der Bus {S} kommt um {S2}": [f"the bus {S} comes at {S2}"],
    }
    assert saying(table).translate([f"der Bus {number} kommt um 12"]) == [
        f"the bus {number} comes at 12"
    ]


def test_a_letter_before_a_number_may_not_be_lost() -> None:
    table = {
        "der Bus A12 kommt": ["the bus 12 comes"],
        f"der Bus {S} kommt": [f"the bus {S} comes"],
        "der Bus B 12 kommt": ["the bus 12 comes"],
    }
    assert saying(table).translate(["der Bus A12 kommt"]) == ["the bus A12 comes"]


def test_a_number_with_a_tag_inside_is_not_made_a_placeholder() -> None:
    translator = saying(ALTERED)
    source = "der Bus kommt um 1<b>2</b>"
    ((best,),) = translator.stream([source])
    assert (best.text, best.copied) == (source, True)


def test_of_several_translations_those_that_differ_are_left_out() -> None:
    several = ["the bus comes at 12", "the bus comes at 112", "at 12 the bus comes"]
    translator = saying({"der Bus kommt um 12": several}, n_best=3)
    (best,) = translator.stream(["der Bus kommt um 12"])
    assert [each.text for each in best] == [several[0], several[2]]
    assert asked(translator) == ["der Bus kommt um 12"]


def test_a_result_does_not_depend_on_the_other_sentences() -> None:
    table = {
        **ALTERED,
        "der Hund ist 3": ["the dog is 3"],
        "er hat 5": ["he has 6"],
        f"er hat {S}": [f"he {S} has 6"],
    }
    sources = ["er hat 5", "der Bus kommt um 12", "der Hund ist 3"]
    alone = [saying(table).translate([source])[0] for source in sources]
    assert alone == ["er hat 5", "the bus comes at 12", "the dog is 3"]
    assert saying(table).translate(sources) == alone
    assert saying(table).translate([*sources[::-1], *sources]) == [*alone[::-1], *alone]


def test_a_word_that_was_written_as_code_is_searched_again() -> None:
    translator = saying(
        {"der Hund ist alt": ["the dog is {name}"]},
    )
    ((best,),) = translator.stream(["der Hund ist alt"])
    assert (best.text, best.copied) == ("der Hund ist alt", True)
    assert len(asked(translator)) == 2


def test_all_numbers_become_placeholders_with_the_signs_of_the_target_language() -> None:
    table = {
        "es kostet 1.000 oder 2.5": ["it costs 100 or 2.5"],
        f"es kostet {S} oder {S2}": [f"it costs {S} or {S2}"],
    }
    ((best,),) = saying(table).stream(["es kostet 1.000 oder 2.5"])
    assert best.text == "it costs 1,000 or 2.5"


@pytest.mark.parametrize("sign", ["$", "%"])
def test_a_span_that_makes_another_token_with_its_neighbours_differs(sign: str) -> None:
    table = {f"Bus {S} kommt": [f"the bus {sign}{S} comes"]}
    ((best,),) = saying(table).stream(["Bus {name} kommt"])
    assert (best.text, best.copied) == ("Bus {name} kommt", True)
    assert best.differences == (f"the translation of 'Bus {{name}} kommt' adds '{sign}{{name}}'",)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_second_search_writes_no_digits(engine: Engine) -> None:
    as_it_is = untrained("bytes", engine=engine)
    checked = as_it_is.with_settings(text=TextConfig())
    sources = [f"der Mann hat {n} Boote" for n in range(10, 40)]
    wrong = 0
    for source, before, (best,) in zip(
        sources, as_it_is.translate(sources), checked.stream(sources), strict=True
    ):
        wrong += sorted(re.findall(r"\d+", before)) != re.findall(r"\d+", source)
        assert best.copied or re.findall(r"\d+", best.text) == re.findall(r"\d+", source)
    assert wrong >= 20
    assert checked.tally.differing == 0


@pytest.mark.parametrize(
    ("text", "missing", "parts", "are_all"),
    [
        ("it costs 2 million yen", "2 million", ["2"], True),
        ("1,000.50 or 12 500 on 3/6/2024", "", ["1,000.50", "12 500", "3/6/2024"], True),
        ("COVID-19 in 3D, 2nd of 5", "", ["5"], False),
        ("COVID-19 in 3D, 2nd of 5", "3D", ["3D", "5"], False),
        ("3月6日に10個", "", ["3", "6", "10"], True),
        ("3월 6일", "", ["3", "6"], True),
        ("Louis XIV in 1661", "XIV", ["XIV", "1661"], True),
        ("6 March 2021", "March", ["6", "2021"], True),
    ],
)
def test_the_digits_of_numbers_become_placeholders_but_those_of_words_only_if_missing(
    text: str, missing: str, parts: list[str], are_all: bool
) -> None:
    start = text.find(missing)
    lacking = [Span(start, start + len(missing), missing)] if missing else []
    found, all_digits = numbers_in(text, lacking)
    assert [part.text for part in found] == parts
    assert all(text[part.start : part.end] == part.text for part in found)
    assert all_digits == are_all


def test_a_translation_that_agrees_takes_precedence_over_a_second_search() -> None:
    several = ["the bus comes at 112", "the bus comes at 12"]
    translator = saying({"der Bus kommt um 12": several}, n_best=2)
    (best,) = translator.stream(["der Bus kommt um 12"])
    assert [each.text for each in best] == several[1:]
    assert len(asked(translator)) == 1


def test_tags_of_a_kept_sentence_in_capitals_stay_where_they_are() -> None:
    table = {
        "Der bus Kommt um 12 an.": ["the bus comes."],
        f"Der bus Kommt um {S} an.": [f"the bus {S} 7."],
        "Der Hund ist alt.": ["the dog is old."],
    }
    source = "DER <b>BUS KOMMT</b> UM 12 AN. Der Hund ist alt."
    ((best,),) = saying(table).stream([source])
    assert best.text == "DER <b>BUS KOMMT</b> UM 12 AN. the dog is old."


def test_many_sentences_that_differ_take_linear_time() -> None:
    table = {
        "Der Bus kommt um 12 an.": ["the bus comes."],
        f"Der Bus kommt um {S} an.": [f"the bus comes at {S}."],
    }
    translator = saying(table)

    def translating(n: int) -> Callable[[], object]:
        source = " ".join(["Der Bus kommt um 12 an."] * n)
        return lambda: translator.translate([source])

    assert growth(translating, 50) < 2.5


def test_marks_of_a_document_are_not_shown() -> None:
    table = {
        f"Bus 12 {S} kommt": [f"the bus {S} comes"],
        f"Bus {S} {S2} kommt": [f"{S} and {S2} 7"],
    }
    ((best,),) = saying(table).stream([f"Bus 12 {empty(0)} kommt"])
    assert best.copied
    (said,) = best.differences
    assert said.startswith("the translation of 'Bus 12  kommt'") and empty(0) not in said
