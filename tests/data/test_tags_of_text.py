"""Tags in text whose attributes contain angle brackets, and tags that are only numbered."""

import pytest

from yakusu.data.lines.spans import SpanFinder, breaks


def kinds(text: str) -> list[tuple[str, str]]:
    return [(span.text, span.kind) for span in SpanFinder().find(text)]


@pytest.mark.parametrize(
    "tag",
    [
        '<a title="Help > Settings">',
        "<a title='a > b' href=\"x\">",
        '<a title = "a < b">',
        '<a data-x=">" href=x/y>',
    ],
)
def test_a_tag_ends_after_the_values_of_its_attributes(tag: str) -> None:
    assert kinds(f"Open {tag}the map</a>.") == [(tag, "opening"), ("</a>", "closing")]


def test_a_tag_whose_attribute_contains_a_bracket_may_be_empty() -> None:
    assert kinds('<img alt="a > b"/> <x y=">" />') == [
        ('<img alt="a > b"/>', "whole"),
        ('<x y=">" />', "whole"),
    ]


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ('<a title="x>Tom</a>', ['<a title="x>', "</a>"]),  # no closing quotation mark
        ('<a title="x>"Tom" and Mary</a>', ['<a title="x>', "</a>"]),
        ("<b>don't</b> and <i>can't</i>", ["<b>", "</b>", "<i>", "</i>"]),
        ('He said "a <b>bold</b> word".', ["<b>", "</b>"]),
        ('<a href=x/y>Tom</a> = "<br>"', ["<a href=x/y>", "</a>", "<br>"]),
    ],
)
def test_quotation_marks_that_are_no_values_do_not_extend_a_tag(text: str, tags: list[str]) -> None:
    assert [tag for tag, _ in kinds(text)] == tags


def test_numbered_tags_form_pairs() -> None:
    assert kinds("<0>Open</0> <1/> <12 /> the <2>red <3>box</3></2>") == [
        ("<0>", "opening"),
        ("</0>", "closing"),
        ("<1/>", "whole"),
        ("<12 />", "whole"),
        ("<2>", "opening"),
        ("<3>", "opening"),
        ("</3>", "closing"),
        ("</2>", "closing"),
    ]


@pytest.mark.parametrize("text", ["1 < 2 > 0", "1<2 and 3>2", "<1,000>", "<3", "x <3 y"])
def test_comparisons_of_numbers_are_no_tags(text: str) -> None:
    assert kinds(text) == []


@pytest.mark.parametrize("part", ['<a b="', "<a b='x' ", '<a ="', "<", "='\""])
def test_long_text_of_beginnings_of_tags_has_no_tags(part: str) -> None:
    assert kinds(part * 4000) == []
    assert kinds(part * 4000 + " <br>")[-1] == ("<br>", "whole")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Run <code>npm i x</code> now", ["<code>npm i x</code>"]),
        ("<KBD class='k'>Ctrl</KBD>+<kbd>S</kbd>", ["<KBD class='k'>Ctrl</KBD>", "<kbd>S</kbd>"]),
        ("<b>Use <code>a < b</code></b>", ["<code>a < b</code>"]),
        ("<code>one <b>two</b> three</code> four", ["<code>one <b>two</b> three</code>"]),
    ],
)
def test_code_is_one_span_with_its_tags(text: str, code: list[str]) -> None:
    assert [own for own, kind in kinds(text) if kind == "whole"] == code


def test_code_without_an_end_is_a_tag() -> None:
    assert kinds("<code>one two") == [("<code>", "whole")]
    assert kinds("<codes>one</codes>") == [("<codes>", "opening"), ("</codes>", "closing")]


@pytest.mark.parametrize(
    ("statement", "is_break"),
    [
        ("{{#if a}}", True),
        ("{{else}}", True),
        ("{{/if}}", True),
        ("{{^list}}", True),
        ("{{ name }}", False),
        ("{{elsewhere}}", False),
        ("{% if a %}", True),
        ("{%- else -%}", True),
        ("{% endfor %}", True),
        ("{% url 'a' %}", False),
        ("<% if a %>", True),
        ("<% } else { %>", True),
        ("<%= a %>", False),
    ],
)
def test_statements_of_templates_divide_a_text(statement: str, is_break: bool) -> None:
    assert kinds(f"One {statement} two") == [(statement, "whole")]
    assert breaks(statement) == is_break
