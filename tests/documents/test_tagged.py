"""Fragments of XML: which elements are blocks, what is kept, and how they are written."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yakusu.data.lines.private_use import MARKS, has_marks_of
from yakusu.documents.tagged import TagRules, read_tagged
from yakusu.errors import DataError


def names(*found: str) -> frozenset[str]:
    return frozenset(found)


def texts(source: str, rules: TagRules | None = None) -> list[str]:
    """The texts, with a letter for each mark."""
    every = read_tagged(source, rules or TagRules()).texts
    return [re.sub(MARKS, "¤", each) for each in every]


def written(source: str, translate: Callable[[str], str], rules: TagRules | None = None) -> str:
    document = read_tagged(source, rules or TagRules())
    return document.render([translate(text) for text in document.texts]).decode()


def capitals(text: str) -> str:
    return re.sub("[a-z]", lambda found: found[0].upper(), text)


@pytest.mark.parametrize(
    ("source", "rules", "found"),
    [
        ("Plain text", TagRules(), ["Plain text"]),
        ("Press <b>Start</b> now", TagRules(), ["Press ¤Start¤ now"]),
        ("<p>One</p><p>Two</p>", TagRules(), ["One", "Two"]),
        ("<p>One</p><p>Two</p>", TagRules(outline=False), ["¤One¤¤Two¤"]),
        ("<p>One</p><p>Two</p>", TagRules(inline=names("p")), ["¤One¤¤Two¤"]),
        ("a <p>One</p><p>Two</p>", TagRules(), ["a ¤One¤¤Two¤"]),
        ("a <p>One</p><p>Two</p>", TagRules(splitting=names("p")), ["a", "One", "Two"]),
        ("<d><p>A <i>b</i></p><p><i>c</i></p></d>", TagRules(), ["A ¤b¤", "c"]),
        ("<p>A <b>b<i>c</i></b></p><i>d</i><i>e</i>", TagRules(), ["A ¤b¤c¤¤", "¤d¤¤e¤"]),
        ("<k>x</k> A", TagRules(ignored=names("k")), ["¤ A"]),
        ("A <k>x</k>", TagRules(ignored=names("k")), ["A ¤"]),
        ("<k>x</k>", TagRules(ignored=names("k")), []),
        ("A <k>x<k>y</k>z</k> b", TagRules(ignored=names("k")), ["A ¤ b"]),
        ("A <k/> b", TagRules(ignored=names("k")), ["A ¤ b"]),
        ("a\n b  c", TagRules(), ["a\n b  c"]),
        ("a\n b  c", TagRules(lines=False), ["a b c"]),
        ("&lt;a&gt; &amp; &#x27;&#228;", TagRules(), ["<a> & 'ä"]),
        ("A<![CDATA[ < B]]>", TagRules(), ["A < B"]),
        ("A <!-- b --> c <?d e?>", TagRules(), ["A ¤¤ c"]),
        ('A <b c="&gt;>" d=\'"\'>e</b>', TagRules(), ["A ¤e¤"]),
        ("<é>A</é><é>B</é>", TagRules(), ["A", "B"]),
        ("<n:p>A</n:p><n:p>B</n:p>", TagRules(), ["A", "B"]),
        ('<?xml version="1.0"?>\n<p>A</p>', TagRules(), ["A"]),
        ("1 2 <b>3</b>", TagRules(), []),
        ("", TagRules(), []),
    ],
)
def test_texts_of_a_fragment(source: str, rules: TagRules, found: list[str]) -> None:
    assert texts(source, rules) == found
    assert written(source, lambda text: text, rules) == source


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("<p> a <b>b</b> </p>", "<p> A <b>B</b> </p>"),
        ("a &lt; b &#x27; c", "A &lt; B &#x27; C"),
        ("a<![CDATA[<b>]]>", "A&lt;B&gt;"),
        ("a\n\n  b\n", "A\n\n  B\n"),
        ('a <x id="1"/><x id="2"/> b', 'A <x id="1"/><x id="2"/> B'),
    ],
)
def test_everything_but_texts_stays(source: str, result: str) -> None:
    assert written(source, capitals) == result


def test_what_a_translation_adds_is_escaped() -> None:
    assert written("a", lambda _: 'b < c & d > "e"') == 'b &lt; c &amp; d &gt; "e"'


def test_tags_nest_whatever_the_order_of_their_marks() -> None:
    source = "a <b>b <i>c</i></b> d"
    (text,) = read_tagged(source, TagRules()).texts
    marks = re.findall(MARKS, text)
    for order in ([marks[1], marks[0], marks[3], marks[2]], [marks[0], marks[1], *marks[:1:-1]]):
        made = written(source, lambda _, order=order: "x" + "y".join(order))
        read_tagged(made, TagRules())  # well-formed
        assert made.count("</b>") == made.count("</i>") == 1


@pytest.mark.parametrize(
    "source",
    [
        *("<a>", "</a>", "<a></b>", "<a><b></a></b>", "a < b", "a & b", "&nbsp;", "<a b=c/>"),
        *("<!DOCTYPE a><a/>", "</x><x>", "<a", "\x01", "]]>", "<!-- -- -->", "<a b='1' b='2'/>"),
        '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
    ],
)
def test_what_is_not_well_formed_is_refused(source: str) -> None:
    with pytest.raises(DataError, match="line 1 is not well-formed XML"):
        read_tagged(source, TagRules())


_TEXT = st.text("ab \n<>&'é\U000f0001", max_size=5).map(
    lambda text: text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
)
_NAME = st.sampled_from("abcd")
_FRAGMENTS = st.recursive(
    _TEXT,
    lambda inner: st.lists(
        st.one_of(inner, st.builds("<{0}>{1}</{0}>".format, _NAME, inner), st.just("<a/>")),
        max_size=4,
    ).map("".join),
    max_leaves=12,
)
_NAMES = st.frozensets(_NAME)


@settings(deadline=None)
@given(_FRAGMENTS, st.builds(TagRules, _NAMES, _NAMES, _NAMES, st.booleans(), st.booleans()))
def test_any_fragment_keeps_its_tags(source: str, rules: TagRules) -> None:
    document = read_tagged(source, rules)
    assert document.render(document.texts).decode() == source
    changed = [capitals(text) + "Z" for text in document.texts]
    assert all(map(has_marks_of, document.texts, changed))
    made = document.render(changed).decode()
    assert sorted(re.findall("<[^>]*>", made)) == sorted(re.findall("<[^>]*>", source))
    read_tagged(made, rules)
