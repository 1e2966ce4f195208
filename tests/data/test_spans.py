"""Protected spans: what each built-in pattern matches, pairs of tags, and patterns of users."""

import re
from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import THOROUGH
from yakusu.data.lines.code import CODE_HINT, code_pattern
from yakusu.data.lines.private_use import closing, empty, opening
from yakusu.data.lines.spans import SpanFinder, has_end_of_pair, texts
from yakusu.errors import DataError


def found(text: str, *protect: str) -> list[str]:
    return [span.text for span in SpanFinder(protect).find(text)]


def kinds(text: str) -> list[tuple[str, str, int]]:
    return [(span.text, span.kind, span.partner) for span in SpanFinder().find(text)]


# ---- the built-in patterns -----------------------------------------------------------------------

# Spans are written between ‹ and ›.
WITH_SPANS = [
    # printf
    "Delete ‹%s›?",
    "‹%d› of ‹%i› files",
    "‹%5.2f› km, ‹%-10s›, ‹%05d›, ‹%#x›, ‹%+d›, ‹%lu›, ‹%lld›, ‹%zu›",
    "‹%1$s› and ‹%2$s›; ‹%1$5.2f›",
    "‹%(count)d files›".replace(" files›", "› files"),
    "‹%(user name)s›".replace("user name", "user_name"),
    "‹%@› has ‹%2$@›",
    "‹%d›% or ‹%d›‹%%›",
    "‹%s›を‹%d›人に送信しました",
    "‹%s›을 ไทย‹%s›ไทย",
    "(‹%s›), \"‹%s›\", '‹%s›', ‹%s›.",
    # str.format and templates
    "‹{}› ‹{0}› ‹{name}› ‹{ name }› ‹{user.name}› ‹{rows[3].id}›",
    "‹{0:.2f}› ‹{x!r}› ‹{x!r:>10}› ‹{when:%H:%M}› ‹{x:{width}.{digits}}›",
    "‹{{x}}› ‹{{ x | upper }}› ‹{{{html}}}› ‹{%- if x -%}› yes ‹{% end %}›",
    "‹${x}› ‹#{x}› ‹%{x}› ‹${HOME:-/root}›",
    "‹{größe}› und ‹{名前}›さん",
    # ICU
    "‹{when, date, short}›",
    "‹{n, plural, one {# file} other {# files}}› left",
    "‹{g, select, male {he} other {{n, plural, =0 {none} other {{n} of them}}}}›",
    "‹{n,selectordinal, one {#st}\nother {#th}}›",
    # shells
    "Set ‹$HOME› and ‹$path_2›.",
    # names of emoji
    "Hi ‹:smile:› ‹:thumbs-up:› ‹:+1:› ‹:-1:›",
    "猫‹:cat:›です",
    # tags, comments and entities
    "‹<b>›bold‹</b>›",
    "a‹<br>›b‹<br/>›c‹<BR />›",
    '‹<a href="x.html" target=_blank>›x‹</a>›',
    "‹<x:g id=\"1\">›x‹</x:g>›",
    "‹<!-- a > b -- c -->›x‹<!---->›‹<!--->-->›",
    "‹<!DOCTYPE html>›‹<?php echo 1 ?>›",
    "x&nbsp;y ‹&#233;› ‹&#xE9;›".replace("&nbsp;", "‹&nbsp;›"),
    # addresses
    "See ‹https://example.org/a?b=c%20d&e=f#g›.",
    "See (‹https://example.org/a›), ‹http://example.org›!",
    "‹https://example.org/wiki/Foo_(bar)›, (‹https://example.org/a_(b)›)",
    "‹https://example.org/a[1]› [‹https://example.org›] ‹http://[::1]/x›",
    "‹[›‹https://example.org›‹](https://example.org)›",
    "\"‹https://example.org›\" “‹https://example.org›” ‹https://example.org›…",
    "‹https://example.org›を見て、‹https://example.org/a›。（‹https://example.org›）",
    "‹https://müller.example/straße›",
    "‹ftp://example.org/x›; ‹file:///etc/hosts›; ‹wss://example.org›",
    "see ‹www.example.org›, ‹mailto:anna@example.org›",
    "詳細は‹www.example.org›または‹example.com›を参照",
    "Write to ‹anna@example.org›. Or ‹a.b+c-d_e@mail.ex-ample.co.uk›, please",
    "連絡先は‹anna@example.org›まで",
    "on ‹example.com›, ‹Example.com›, ‹docs.example.io/a/b.html› or ‹example.org/›.",
    # code
    "Run ‹`make test`›, ‹``a ` b``› or ‹```x```›.",
]  # fmt: skip
WITHOUT_SPANS = [
    "100% sure, 50 % der Leute, 50%discount, 20%ig, 100%süß",
    "US$ 5, $5, $",
    "{not a field}", "{a b}", '{"a": 1}', "{", "}", "{}}"[2:],
    "at 10:30:15, a:b:c, :, ::, :a b:",
    "a < b and c > d, x <3 y, <3, <, >, <>, 1<2",
    "R&D, AT&T, &amp without semicolon, & co;, &;",
    "http://, https:// x, www., mailto:",
    "a@b, a@, @, anna@example",
    "e.g. this, end.Then, a.b.c, .com",
    "it`s, ```py, ``",
    "Wörter ohne alles.",
    "",
]  # fmt: skip


@pytest.mark.parametrize("marked", WITH_SPANS)
def test_spans_are_found(marked: str) -> None:
    assert found(re.sub("[‹›]", "", marked)) == re.findall("‹(.*?)›", marked, re.DOTALL)


@pytest.mark.parametrize("text", WITHOUT_SPANS)
def test_ordinary_text_has_no_spans(text: str) -> None:
    assert found(text) == []


def test_without_built_in_patterns_only_marks_are_protected() -> None:
    text = f"{opening(3)}Call{closing(3)} {{name}}{empty(4)} at <b>9</b>"
    finder = SpanFinder(builtin=False)
    assert [span.text for span in finder.find(text)] == [opening(3), closing(3), empty(4)]


@given(
    st.lists(
        st.sampled_from(
            [
                *"aÉ0 <>/!-&;#x{}%$:@.,`()[]s\n猫",
                *("www.", "com", "://", "http", "mailto:", "plural", opening(0), closing(0)),
            ]
        ),
        max_size=12,
    ).map("".join)
)
def test_the_hint_never_hides_a_span(text: str) -> None:
    assert CODE_HINT.search(text) or not code_pattern().search(text)


# ---- pairs of tags -------------------------------------------------------------------------------


def test_tags_of_the_same_name_are_a_pair() -> None:
    assert kinds('<a href="x">x</a>') == [
        ('<a href="x">', "opening", 1),
        ("</a>", "closing", 0),
    ]


def test_names_of_tags_are_compared_without_case() -> None:
    assert [kind for _, kind, _ in kinds("<B>x</b>")] == ["opening", "closing"]


def test_nested_tags_of_the_same_name_are_paired_inside_out() -> None:
    assert [partner for *_, partner in kinds("<i>a<i>b</i>c</i>")] == [3, 2, 1, 0]


def test_a_tag_without_a_partner_is_whole() -> None:
    for text in ("<p>x", "x</p>", "<p/>", "</p><p>", "<br></br>", "<img src='a'>", "<hr>"):
        assert {kind for _, kind, _ in kinds(text)} == {"whole"}


def test_of_crossing_tags_one_pair_remains() -> None:
    assert kinds("<b>1<i>2</b>3</i>") == [
        ("<b>", "opening", 2),
        ("<i>", "whole", -1),
        ("</b>", "closing", 0),
        ("</i>", "whole", -1),
    ]


def test_the_ends_of_a_pair_may_be_on_different_lines() -> None:
    lines = SpanFinder().find_in_lines(["<b>1 <u>", "<i>2</i></b>", "", "</u>3<i>"])
    assert [[(span.text, span.kind, span.partner) for span in line] for line in lines] == [
        [("<b>", "opening", -1), ("<u>", "whole", -1)],
        [("<i>", "opening", 1), ("</i>", "closing", 0), ("</b>", "closing", -1)],
        [],
        [("</u>", "whole", -1), ("<i>", "whole", -1)],
    ]


def test_many_tags_without_partners_hide_no_pair() -> None:
    text = "<name> " * 150 + "<b>x</b>"
    assert [span.kind for span in SpanFinder().find(text)][-2:] == ["opening", "closing"]


def test_a_hundred_pairs_may_be_inside_one_another() -> None:
    every = SpanFinder().find("<i>" * 150 + "</i>" * 150)
    assert [span.kind for span in every if span.partner >= 0] == ["opening"] * 100 + [
        "closing"
    ] * 100
    assert [span.kind for span in every].index("opening") == 50


def test_marks_of_the_same_number_are_a_pair() -> None:
    text = f"{opening(1)}{opening(2)}x{closing(2)}{empty(3)}{closing(1)}{closing(4)}"
    assert [partner for *_, partner in kinds(text)] == [4, 2, 1, -1, 0, -1]


def test_an_address_ends_before_a_mark() -> None:
    for address in ("https://example.org/a", "anna@example.org", "example.org"):
        text = f"{opening(0)}{address}{closing(0)}."
        assert found(text) == [opening(0), address, closing(0)]


TAGS = ["<b>", "</b>", "<I>", "</i>", "<br>", "<p/>", opening(0), closing(0), "x", "{n}", " "]


@given(st.lists(st.sampled_from(TAGS), max_size=14).map("".join))
def test_pairs_are_nested_and_point_at_each_other(text: str) -> None:
    every = SpanFinder().find(text)
    stack = []
    for i, span in enumerate(every):
        if span.kind == "opening":
            stack.append(i)
        elif span.kind == "closing":
            assert stack.pop() == span.partner
            assert every[span.partner].partner == i
        else:
            assert span.partner == -1
    assert not stack


@given(st.text(alphabet="ab<>/{}%s:@.` ", max_size=30))
def test_spans_are_parts_of_the_text_in_order(text: str) -> None:
    every = SpanFinder(["a+", "b."]).find(text)
    assert all(text[span.start : span.end] == span.text != "" for span in every)
    assert all(one.end <= other.start for one, other in pairwise(every))


# ---- patterns of users ---------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["ユーザー", "ཡིག་", "ꆈꌠ"])
def test_an_address_needs_no_space_next_to_a_script_without_spaces(before: str) -> None:
    for address in ("me@example.org", "https://example.org/a"):
        found = SpanFinder().find(f"{before}{address}{before}")
        assert [span.text for span in found] == [address]


def test_a_pattern_takes_precedence_at_the_same_place() -> None:
    assert found("<b>x</b>", r"<b>x") == ["<b>x", "</b>"]
    assert found("abc", "ab", "abc") == ["ab"]
    assert found("abc", "abc", "ab") == ["abc"]
    assert found("abc", "bc", "ab") == ["ab"]  # the one that begins first


def test_patterns_do_not_share_groups_or_flags() -> None:
    assert found("xx bb aa ab", r"(x)\1", r"(a|b)\1") == ["xx", "bb", "aa"]
    assert found("aa bb", r"(?P<c>a)(?P=c)", r"(?P<c>b)(?P=c)") == ["aa", "bb"]
    assert found("‹``q``› foo"[1:], "(?P<ticks>f)oo", "(?<branch>z)") == ["``q``", "foo"]
    assert found("FOO BAR", "(?i)foo", "bar") == ["FOO"]
    assert found("Anna\nBert", "(?m)^B.*$", "(?x) A n n a # name") == ["Anna", "Bert"]


def test_an_alternative_of_a_pattern_ends_with_the_pattern() -> None:
    assert found("ab cd {x}", "ab|cd", "zz") == ["ab", "cd", "{x}"]


def test_empty_matches_hide_nothing() -> None:
    assert found("xx {n} x", "x*") == ["xx", "{n}", "x"]
    assert found("<b>y</b> {n}", "", "|y", r"\b", "(?=<)") == ["<b>", "y", "</b>", "{n}"]


def test_marks_take_precedence_over_patterns() -> None:
    text = f"{opening(0)}ab{closing(0)}"
    assert found(text, ".", ".*") == [opening(0), "a", "b", closing(0)]


def test_lookbehind_sees_the_span_before() -> None:
    assert found("{a}b b", r"(?<=\})b") == ["{a}", "b"]


@pytest.mark.parametrize(
    "pattern", ["(", "[a", "*", "a{99999999999999999999}", "(?P<1>x)", r"\2", "(?z)", "(?<=", "\\"]
)
def test_an_invalid_pattern_is_named(pattern: str) -> None:
    message = f"'{re.escape(pattern)}' is not a valid regular expression: "
    with pytest.raises(DataError, match=message):
        SpanFinder([pattern])


@pytest.mark.parametrize(
    "pattern", ["a{99999999}", "[)(]{99999999,}", r"(?:\d{1000}b){1000}", "((a{99}){99}){99}"]
)
def test_a_pattern_whose_repetitions_fill_the_memory_is_refused(pattern: str) -> None:
    message = f"'{re.escape(pattern)}' is not a valid .*: its repetitions, written out, have more"
    with pytest.raises(DataError, match=message):
        SpanFinder([pattern])


@pytest.mark.parametrize(
    "pattern", ["a{50000}", r"\w{1,99999999}", r"(?:[0-9a-f]{2}:){5}" * 20, r"\{99999999\}"]
)
def test_a_pattern_with_fewer_repetitions_is_accepted(pattern: str) -> None:
    assert not SpanFinder([pattern]).find("+ -")


@given(st.text(alphabet=r"ab1\({[<>?P=*+|)]}^$,.-!:#xi", max_size=12))
def test_every_pattern_is_valid_or_a_data_error(pattern: str) -> None:
    try:
        SpanFinder([pattern])
    except DataError as error:
        assert "is not a valid regular expression" in str(error)


@pytest.mark.parametrize("pattern", ["(a+)+b", r"(a|aa)*\d"])
def test_a_pattern_that_takes_too_long_is_named_with_the_line(pattern: str) -> None:
    finder = SpanFinder([pattern], seconds=0.05)
    assert [span.text for span in finder.find("aab aa1")]
    begin = process_time()
    with pytest.raises(DataError, match=re.escape(f"'{pattern}' takes too long for the line that")):
        finder.find(f"{'a' * 400} c")
    assert process_time() - begin < 2


# ---- long lines ----------------------------------------------------------------------------------

# tests/growth measures the time that they take.

_LONG = 20_000 if THOROUGH else 4000
UNITS = [
    *("<", "{", "(", "%", ":", "a.", "a.a.a.", "`", "`a", "```a", "<!--", "<!-- ", "{%", "{%%"),
    *("{a,plural,", "{a,plural,{", "{a,plural,x{y}", "a@", "http://a(", "https://!", "$", "${"),
    *("{a[", "{a.", "{ ", "%(", "&#", "<a", "<a>", "<a></b>", "www.", "a.com/", "é.", "-", "\n"),
]
LINES = [
    *("%" + "0" * 10**5, "%" + "-" * 10**5, "{" + "a." * 50_000, "{" + " " * 10**5),
    ":" + "a" * 10**5,
    *("a@" + "a." * 50_000, "a." * 50_000 + "1", "<a" + "/" * 10**5, "<!--" + "-" * 10**5),
    *("http://" + "!" * 10**5, "http://" + "(" * 10**5, "<a>" * 16_000 + "</a>" * 16_000),
    *("{a,plural," + "{" * 50_000 + "}" * 50_000, "".join("`" * n + "a" for n in range(440))),
]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [(u * _LONG)[:_LONG] for u in UNITS] + [t[:_LONG] for t in LINES],
    ids=lambda line: line[:10],
)
def test_the_spans_of_long_lines_are_parts_of_them_in_order(line: str) -> None:
    every = SpanFinder().find(line)
    assert all(line[span.start : span.end] == span.text != "" for span in every)
    assert all(one.end <= other.start for one, other in pairwise(every))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("</b>", True),
        ("<br>, <name>", True),
        (opening(3), True),
        ("<br>", False),
        ("<b/>", False),
        (empty(3), False),
        ("{n} 1 < 2", False),
    ],
)
def test_spans_that_may_begin_or_end_a_pair_are_known(text: str, expected: bool) -> None:
    assert has_end_of_pair(text) == expected


def test_the_texts_of_spans_are_sorted_and_tell_tags_of_pairs() -> None:
    assert texts(SpanFinder().find("%s <b>x</b> $a <p>")) == [
        ("$a", False),
        ("%s", False),
        ("</b>", True),
        ("<b>", True),
        ("<p>", False),
    ]
