"""Prefixes and phrases on lines with spans, tags and layout, and on lines that are kept."""

import re

import pytest

from tests.phrases import phrases
from tests.translators import untrained
from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.private_use import SLOTS
from yakusu.data.lines.spans import SpanFinder
from yakusu.errors import DataError
from yakusu.translator.reading.kept import KeptText, check_kept
from yakusu.translator.reading.passage import PassageReader
from yakusu.translator.request import Request

A, B, *_ = SLOTS


def covers(text: str) -> bool:
    return not {*text} & {*"łŁ❤„“"}


def kept(line: str) -> KeptText:
    reader = PassageReader(TextConfig(), language="en", covers=covers, fits=lambda _: True)
    (passage,) = reader.read(line, whole=True)
    return KeptText(passage, SpanFinder(), covers)


# ---- prefixes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "prefix", "written"),
    [
        ("a boat", "ein", "ein"),
        ("a boat", "  ", ""),
        ("- a boat", "ein", "ein"),
        ("- a boat", "- ein", "ein"),
        ("  - a boat", "- ein", "ein"),
        ("- a boat", "-", ""),
        ("- a boat", "-5 Grad", "-5 Grad"),
        ("> > 1. A boat", "> > 1. Ein", "Ein"),
        ("> > 1. A boat", "> >", ""),
        ("1. A boat", "1. 2. ein", "2. ein"),
        ("- a boat", "2. ein", "2. ein"),
        ("❤ a boat", "❤ ein", "ein"),
        ("<br>a boat", "<br>ein", "ein"),
        ("“a boat” sails", "Das „Boot“", "Das „Boot“"),
        ("a boat", "- ein", "- ein"),
        ("a {name} boat", "ein {name} Boot", f"ein {A} Boot"),
        ("a {x} and {y}", "{y} und {x}", f"{B} und {A}"),
        ("a {x}, {y} boat", "ein {x}, {y}", f"ein {A}"),
        ("%s boats or %s/%s", "%s/%s", B),
        ("%s boats or %s ships", "%s Boote und %s", f"{A} Boote und {B}"),
        ("a %s boat", "%s und %s", f"{A} und %s"),
        ("a Wałęsa boat", "Wałęsas", f"{A}s"),
        ("a <b>red</b> boat", "ein rotes", "ein rotes"),
        ("a <b>red boat", "ein <b>rotes", f"ein {A}rotes"),
        ("a boat", "ein <b>rotes</b>", "ein <b>rotes</b>"),
    ],
)
def test_the_model_continues_a_prefix_without_what_is_kept(
    line: str, prefix: str, written: str
) -> None:
    assert kept(line).prefix(prefix) == written


TWELVE = " and ".join(f"{{{letter}}}" for letter in "abcdefghijkl")


@pytest.mark.parametrize(
    ("line", "prefix", "told"),
    [
        ("- a boat", "* ein", "the prefix begins with '*', but the line with '-', which is kept"),
        ("❤ a boat", "- ein", "the prefix begins with '-', but the line with '❤', which is kept"),
        ("1. A boat", "2. ein", "the prefix begins with '2.', but the line with '1.', which is"),
        ("- a. A boat", "b. ein", "the prefix begins with 'b.', but the line with '- a.', which"),
        ("a <b>red</b> boat", "ein <b>rotes", "contains '<b>', which is inserted into"),
        ("a <b>red</b> boat", "<b>rotes</b>", "contains '<b>', which is inserted into"),
        ("a boat <br>", "ein Boot <br>", "contains '<br>', which is inserted into"),
        ("a {x}, {y} boat", "ein {x}", "contains only a part of '{x}, {y}', which is kept as a"),
        ("a {x}, {y} boat", "ein {y} und", "contains only a part of '{x}, {y}', which is kept"),
        ("a Łoś łapa boat", "ein Łoś", "contains only a part of 'Łoś łapa', which is kept"),
        (f"a {TWELVE}", "{k}", "the line has more than 10 spans, which the prefix has in another"),
    ],
)
def test_a_prefix_with_what_is_kept_elsewhere_is_refused(line: str, prefix: str, told: str) -> None:
    with pytest.raises(DataError) as error:
        kept(line).prefix(prefix)
    assert told in str(error.value)


# ---- phrases -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "phrase", "is_kept"),
    [
        ("a {x} boat", "Boot", False),
        ("a {x} boat", "{x}", True),
        ("a {x} boat", "{y}", False),
        ("a {x}, {y} boat", "{x}", True),
        ("a {x}, {y} boat", "{x}, {y}", True),
        ("a <b>red</b> boat", "<b>", True),
        ("a Wałęsa boat", "Wałęsa", True),
        ("a boat <br>", "<br>", True),
    ],
)
def test_the_model_need_not_write_a_phrase_that_is_kept(
    line: str, phrase: str, is_kept: bool
) -> None:
    assert kept(line).contains(phrase) == is_kept


def test_a_phrase_with_a_span_and_other_text_is_refused() -> None:
    with pytest.raises(DataError) as error:
        kept("a boat by {name}").contains("Boot von {name}")
    assert str(error.value) == (
        "the phrase 'Boot von {name}' contains '{name}', which every translation of the line "
        "keeps: remove it from the phrase"
    )


# ---- lines that are kept -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_",
    [
        Request("1984", "19"),
        Request("  12 %", "12 ", include=("12",)),
        Request("", exclude=("a",)),
    ],
)
def test_a_kept_line_may_have_what_is_asked_for(request_: Request) -> None:
    check_kept(request_)


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (Request("", "ein"), "begin with 'ein': remove the prefix"),
        (Request("1984", "ein"), "begin with 'ein': remove the prefix"),
        (Request(" ", include=("ein",)), "contain 'ein': remove the phrase"),
        (Request("12", "1", include=("12", "5")), "contain '5': remove the phrase"),
    ],
)
def test_a_kept_line_without_what_is_asked_for_is_refused(request_: Request, told: str) -> None:
    with pytest.raises(DataError) as error:
        check_kept(request_)
    assert str(error.value) == (
        f"the line has no text to translate, so its translation cannot {told}"
    )


def test_phrases_are_whole_words_next_to_letters_that_are_spelled_in_bytes() -> None:
    """This model likes to continue them with ł, which has no piece."""
    sources = [source for source, _ in phrases("de").train[3:9]]
    words = "Am", "Arabisch", "Sri"
    requests = [Request(source, include=(word,)) for word in words for source in sources]
    native, torch = (untrained("bytes", engine=e).translate(requests) for e in ("native", "torch"))
    assert native == torch
    for request, text in zip(requests, native, strict=True):
        assert re.search(rf"(?<!\w){request.include[0]}(?!\w)", text)
