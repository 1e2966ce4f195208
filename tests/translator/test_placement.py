"""Tags and spaces in translations: known answers, and nesting whatever the links."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.translator.naive import Units, naively_moved
from tests.work import growth
from yakusu.data.lines.private_use import BREAKS
from yakusu.data.lines.spans import Span, SpanFinder
from yakusu.translator.reading.slots import restore
from yakusu.translator.writing.placement import adjust_spaces, place_tags, units
from yakusu.translator.writing.tag_pairs import Links, TagPair

P, Q = "\U00100000", "\U00100001"
R, S = BREAKS[0], BREAKS[-1]


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in units(text)]


def placed(
    marked: str,
    text: str,
    links: str,
    *,
    around: tuple[str, str] = ("", ""),
    single: Sequence[str] = (),
) -> str:
    """Put the tags of a source into a translation; links are written as "0-1 2-0".

    `around` are the lines before and after the source, and `single` its tags without a partner.
    """
    source, tags, end = "", [], 0
    for span in SpanFinder().find_in_lines([around[0], marked, around[1]])[1]:
        source += marked[end : span.start]
        tags.append((len(source), span))
        end = span.end
    source += marked[end:]
    pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
    return place_tags(text, tags, source, [(i, j) for i, j in pairs], single=single)


def diagonal(n: int) -> str:
    return " ".join(f"{i}-{i}" for i in range(n))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Call Anna!", ["Call", "Anna", "!"]),
        ("It's state-of-the-art.", ["It's", "state-of-the-art", "."]),
        ("猫が3匹", ["猫", "が", "3", "匹"]),
        ("Windowsを使う", ["Windows", "を", "使", "う"]),
        (f"a{P}b", ["a", P, "b"]),
        ("한국어 말", ["한국어", "말"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
    ],
)
def test_units(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("marked", "text", "links", "expected"),
    [
        # monotone
        ("a <b>b</b> c", "x y z", diagonal(3), "x <b>y</b> z"),
        ("<b>a b</b> c", "x y z", diagonal(3), "<b>x y</b> z"),
        ("a <b>b c</b>", "x y z", diagonal(3), "x <b>y z</b>"),
        ("<b>a b c</b>", "x y z", diagonal(3), "<b>x y z</b>"),
        ("<p>a b.</p>", "x y.", diagonal(3), "<p>x y.</p>"),
        # reordered
        ("a <b>b</b> c", "x y z", "0-0 2-1 1-2", "x y <b>z</b>"),
        ("<b>a</b> b c", "x y z", "0-2 1-0 2-1", "x y <b>z</b>"),
        ("<i>a</i> <b>b</b>", "x y", "0-1 1-0", "<b>x</b> <i>y</i>"),
        ("<i>猫</i><b>犬</b>", "x y", "0-1 1-0", "<b>x</b> <i>y</i>"),
        # nested and siblings
        ("<i>a <b>b</b></i> c", "x y z", diagonal(3), "<i>x <b>y</b></i> z"),
        ("<i><b>a</b></i> b", "x y", diagonal(2), "<i><b>x</b></i> y"),
        ("<i>a <b>b</b></i> c", "x y z", "0-2 1-1 2-0", "x <i><b>y</b> z</i>"),
        ("<b>a</b> <i>b</i> <u>c</u>", "x y z", diagonal(3), "<b>x</b> <i>y</i> <u>z</u>"),
        # more words, fewer words, a word between
        ("a <b>b</b> c", "w x y z", "0-0 1-1 1-2 2-3", "w <b>x y</b> z"),
        ("a <b>b c</b>", "x y", "0-0 1-1 2-1", "x <b>y</b>"),
        ("<b>a b</b> c", "w x y z", "0-0 1-2 2-3", "<b>w</b> x y z"),
        # empty pairs
        ("a <b></b>b", "x y", diagonal(2), "x <b></b>y"),
        ("<b></b>a", "x", diagonal(1), "<b></b>x"),
        ("a<b></b>", "x", diagonal(1), "x<b></b>"),
        ("a b <b></b>c d", "x y z w", "1-0 2-1 0-2 3-3", "x <b></b>y z w"),
        # no links, no text
        ("a <b>b</b>", "x y", "", "<b>x</b> y"),
        ("<b>a</b>", "", "", "<b></b>"),
        ("a <b><i></i>b</b> c", "x y z", diagonal(3), "x <b><i></i>y</b> z"),
        ("a <b><i><u></u></i>b</b>", "x  y", diagonal(2), "x  <b><i><u></u></i>y</b>"),
        ("a <b>b<i></i></b> c", "x y z", diagonal(3), "x <b>y<i></i></b> z"),
        # after other pairs
        ("<i>a</i> b <b></b>c", "x y z", diagonal(3), "<i>x</i> y <b></b>z"),
        ("<i>a</i> b <b>c</b> d", "x y z", "0-0 1-1 3-2", "<i>x</i> <b>y</b> z"),
        ("<i>a b</i> <b></b>c", "x y z", "0-0 2-1 1-2", "<i>x</i> y z <b></b>"),
        ("<i>a</i> <b></b>b", "x y", "", "<i>x</i> <b></b>y"),
        ("<i>a</i> <b>b</b> <u>c</u>", "x", "", "<i>x</i><b></b><u></u>"),
        # targets without spaces
        ("I <b>like</b> cats", "猫が好き", "2-0 0-1 1-2 1-3", "猫が<b>好き</b>"),
        ("<b>cats</b> sleep", "猫は眠る", "0-0 0-1 1-2 1-3", "<b>猫は</b>眠る"),
        # no pair with words is empty if there are words
        ("<b>a b</b> <i>c</i>", "x y", "0-0 1-1", "<b>x</b> <i>y</i>"),
        ("<b>a</b> <i>b</i> c", "x y z", "0-0 0-1 0-2", "<b>x y</b> <i>z</i>"),
        ("<u><b>a</b> <i>b</i></u> c", "x y z", "0-0 2-1 2-2", "<u><b>x</b> <i>y</i></u> z"),
        ("<u><b>a</b> <i>b</i></u> c", "x y z", "2-0 2-1 0-2", "x <u><i>y</i> <b>z</b></u>"),
        ("<b>a</b> <i>.</i>", "x y", diagonal(1), "<b>x</b> <i>y</i>"),
        # inside a word
        ("<b>H</b>ello you", "x y", diagonal(2), "<b>x</b> y"),
    ],
)
def test_tags_enclose_the_words_that_are_linked_to_theirs(
    marked: str, text: str, links: str, expected: str
) -> None:
    assert placed(marked, text, links) == expected


def test_a_span_is_linked_to_itself() -> None:
    assert placed(f"a <b>{P}</b> b {Q}", f"{Q} x {P} y", "") == f"{Q} x <b>{P}</b> y"


def test_no_other_pair_encloses_the_span_of_a_pair() -> None:
    made = placed(f"<b>a a</b> <i>{P}</i> b", f"x {P} y z", "0-0 1-2 0-3")
    assert made == f"x <i>{P}</i> <b>y z</b>"


@pytest.mark.parametrize(
    ("marked", "text", "links", "expected"),
    [
        (f"<b>a</b>{R}b", f"x{R}y", "0-2", f"<b>x</b>{R}y"),
        (f"a{R}<b>b</b>", f"x{R}y", "", f"x{R}<b>y</b>"),
        (f"a{R}b<b></b>", f"x{R}y", "", f"x{R}<b></b>y"),
        (f"a <b>b{R}c</b> d", f"x y{R}z w", "0-1 1-0 3-4 4-3", f"<b>x y{R}z w</b>"),
        (f"a <b>b{R}c{S}d</b>", f"y{R}{S}z", "1-0 5-3", f"<b>y{R}{S}z</b>"),
        # beside other pairs
        (f"<b>a</b> <b>{R}</b>", f"x{R}y x", "", f"<b>x</b> <b>{R}</b>y x"),
        (f"<b>a</b> <i>b{R}c</i>", f"x y{R}z", "0-1 1-0", f"x <b>y</b><i>{R}z</i>"),
        (f"a <i></i><b>b{R}c</b>", f"x y{R}z", "0-1 1-0", f"x y <i></i><b>{R}z</b>"),
        (f"<b>a{R}b</b> <i>c</i>", f"x{R}y z", "2-3 3-2", f"<b>x{R}y</b> <i>z</i>"),
        (f"<b>a{R}b</b> c <i>d</i>", f"x{R}y z w", "2-4", f"<b>x{R}y</b> z <i>w</i>"),
        (f"a <b>b{R}<i>c</i>{S}d</b>", f"x y{R}z w{S}v", "", f"x <b>y{R}<i>z</i> w{S}v</b>"),
    ],
)
def test_tags_stay_on_their_side_of_a_line_break(
    marked: str, text: str, links: str, expected: str
) -> None:
    assert placed(marked, text, links) == expected


@pytest.mark.parametrize(
    ("marked", "text", "links", "expected"),
    [
        ("a </b>b", "x y", diagonal(2), "x</b> y"),
        ("a b</b> c", "x y z", "0-1 1-0 2-2", "x y</b> z"),
        ("a </b>b", "x y", "0-1 1-0", "x y</b>"),
        ("a <u>b", "x y", diagonal(2), "x <u>y"),
        ("a <u>b", "x y", "0-1 1-0", "<u>x y"),
        ("a </b><i>b</i> c", "x y z", "0-0 1-2 2-1", "x</b> y <i>z</i>"),
        ("<i>a</i> b <u>c", "x y z", "0-2 1-1 2-0", "x y <i>z</i><u>"),
        ("a </i>b</b> c <u>d <s>e", "v w x y z", diagonal(5), "v</i> w</b> x <u>y <s>z"),
        (f"a</b> b{R}c <u>d", f"x y{R}z w", "0-0 1-1 3-3 4-4", f"x</b> y{R}z <u>w"),
    ],
)
def test_tags_whose_partners_are_on_other_lines_enclose_the_rest_of_the_line(
    marked: str, text: str, links: str, expected: str
) -> None:
    assert placed(marked, text, links, around=("<b><i>", "</s></u>")) == expected


@pytest.mark.parametrize(
    ("marked", "text", "links", "expected"),
    [
        (f"<b>a b</b> {P}", f"x {P} y", "0-0 1-2", f"<b>x</b> {P} y"),
        (f"<b>a b c</b> {P}", f"x {P} y z", "0-0 1-2 2-3", f"x {P} <b>y z</b>"),
        (f"<b>a {P} b</b>", f"x {P} y", "0-0 2-2", f"<b>x {P} y</b>"),
        (f"{P} <b>a{R}b</b> c", f"x {P} y{R}z w", "1-0 1-2 3-4 4-5", f"x {P} <b>y{R}z</b> w"),
        (f"<b>a{R}b</b> {P} c", f"x{R}{P} y z", "0-0 2-3 4-4", f"<b>x{R}</b>{P} y z"),
        (f"<i><b>a b</b></i> {P}", f"x {P} y", "0-0 1-2", f"<i><b>x</b></i> {P} y"),
    ],
)
def test_no_pair_encloses_a_tag_without_a_partner_that_is_outside_of_it(
    marked: str, text: str, links: str, expected: str
) -> None:
    assert placed(marked, text, links, single=[P]) == expected


TAGS = st.recursive(
    st.sampled_from(["a", "b c", "", P, "d.", R]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(" ".join),
        st.tuples(st.sampled_from("biu"), inner).map(lambda t: f"<{t[0]}>{t[1]}</{t[0]}>"),
    ),
    max_leaves=6,
)
LINKS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=12)


@given(TAGS, st.text(alphabet="xy .猫" + P, max_size=10), LINKS)
def test_every_tag_occurs_once_and_nested_whatever_the_links(
    marked: str, text: str, links: list[tuple[int, int]]
) -> None:
    first, *_ = marked.split(R)
    text = (text if P in first else text.replace(P, "")) + f"{R}y x" * marked.count(R)
    made = placed(marked, text, " ".join(f"{i}-{j}" for i, j in links))
    before, after = SpanFinder().find(marked), SpanFinder().find(made)
    assert sorted(span.text for span in after) == sorted(span.text for span in before)
    assert all(span.kind != "whole" for span in after)
    pieces, end = [], 0
    for span in after:
        pieces.append(made[end : span.start])
        end = span.end
    assert "".join([*pieces, made[end:]]).replace(" ", "") == text.replace(" ", "")
    assert nesting(after) == nesting(before)


@given(TAGS, st.permutations(["x", "y", "z", Q]), LINKS)
def test_a_tag_without_a_partner_stays_outside_whatever_the_links(
    marked: str, text: list[str], links: list[tuple[int, int]]
) -> None:
    marked = marked.replace(P, "").replace(R, "")
    pairs = " ".join(f"{i}-{j}" for i, j in links)
    before, _, _ = placed(f"{marked} {Q}", " ".join(text), pairs, single=[Q]).partition(Q)
    kinds = [span.text[1] for span in SpanFinder().find(before)]
    assert kinds.count("/") == len(kinds) / 2


def test_empty_pairs_add_no_text_but_spaces() -> None:
    rng = random.Random(1)

    def drawn(depth: int) -> str:
        """Words and pairs of tags, many of them empty."""
        if not depth or rng.random() < 0.3:
            return rng.choice(["", "", "a", "a b"])
        inner = "".join(drawn(depth - 1) for _ in range(rng.randint(1, 3)))
        return f"{rng.choice(['', 'a '])}<b>{inner}</b>{rng.choice(['', ' b'])}"

    for _ in range(500):
        text = rng.choice(["x y z", " x  y", "猫 x", ""])
        made = placed(drawn(3), text, diagonal(rng.randint(0, 4)))
        assert made.replace("<b>", "").replace("</b>", "").split() == text.split()


def nesting(spans: list[Span]) -> list[list[str]]:
    """Each pair, after those around it."""
    around, found = list[str](), []
    for span in spans:
        if span.kind == "opening":
            around.append(span.text)
            found.append([*around])
        else:
            around.pop()
    return sorted(found)


@given(TAGS)
def test_equal_texts_with_equal_links_get_the_tags_at_the_same_words(marked: str) -> None:
    source = "".join(part for part in split_tags(marked) if not part.startswith("<"))
    if source.count(P) > 1:
        return
    made = placed(marked, source, diagonal(len(words(source))))
    assert enclosed(made) == enclosed(marked)


KINDS = {"words": (True, True), "spans": (True, False), "punctuation": (False, False)}
PAIRS = st.recursive(
    st.just(()),
    lambda inner: st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from([*KINDS]), inner),
        max_size=4,
    ),
    max_leaves=8,
)


def pairs_of(tree: Sequence[Any], start: int) -> tuple[list[TagPair], int]:
    """Pairs with some units before each of them and inside, from a source unit on."""
    pairs = []
    for n_before, n_inside, kind, inner in tree:
        first = start + n_before
        own, last = pairs_of(inner, first)
        start = last + n_inside
        pairs.append(TagPair("<b>", "</b>", first, start, own, *KINDS[kind]))
    return pairs, start


def continue_on_other_lines(pairs: list[TagPair], n_before: int, n_after: int) -> None:
    """Let the outermost pairs begin on an earlier line, and those at the end end on a later one."""
    if pairs and n_before:
        pairs[0].opening = ""
        continue_on_other_lines(pairs[0].inner, n_before - 1, 0)
    if pairs and n_after:
        pairs[-1].closing = ""
        continue_on_other_lines(pairs[-1].inner, 0, n_after - 1)


@settings(max_examples=300)
@given(
    PAIRS,
    st.integers(0, 2),
    st.integers(0, 2),
    st.dictionaries(st.integers(0, 9), st.integers(0, 9)),
    st.sets(st.integers(0, 9), max_size=4),
    st.sets(st.integers(0, 9), max_size=4),
    st.integers(0, 10),
)
def test_pairs_are_where_trying_all_units_puts_them(
    tree: Sequence[Any],
    n_before: int,
    n_after: int,
    origins: dict[int, int],
    spans: set[int],
    punctuation: set[int],
    n_units: int,
) -> None:
    pairs, _ = pairs_of(tree, 0)
    continue_on_other_lines(pairs, n_before, n_after)
    punctuation -= spans
    moved = Links(origins, spans, punctuation=punctuation).moved(pairs, 0, n_units)
    assert moved == naively_moved(pairs, Units(origins, spans, punctuation), 0, n_units)


@pytest.mark.parametrize("step", [1, -1, 0])
def test_the_work_to_place_pairs_grows_with_their_number(step: int) -> None:
    def work(n: int) -> Callable[[], list[TagPair]]:
        pairs = [TagPair("<b>", "</b>", 2 * i, 2 * i + 1) for i in range(n)]
        return lambda: Links({j: j * step % (2 * n) for j in range(2 * n)}).moved(pairs, 0, 2 * n)

    assert len(work(5000)()) == 5000
    assert growth(work, 500) < 2.5


def split_tags(marked: str) -> list[str]:
    return [part for part in marked.replace("<", "\n<").replace(">", ">\n").split("\n") if part]


def enclosed(marked: str) -> list[list[str]]:
    """The words inside each pair of tags."""
    spans, found = SpanFinder().find(marked), []
    for span in spans:
        if span.kind == "opening":
            inside = marked[span.end : spans[span.partner].start]
            plain = "".join(part for part in split_tags(inside) if not part.startswith("<"))
            found.append(words(plain))
    return sorted(found)


# ---- spaces and spans ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "source", "expected"),
    [
        (f"x{P}y", f"a {P} b", f"x {P} y"),
        (f"x {P} y", f"a {P} b", f"x {P} y"),
        (f"x{P}.", f"a {P} b", f"x {P}."),
        (f"猫{P}猫", f"a {P} b", f"猫{P}猫"),
        (f"( {P} )", f"({P})", f"({P})"),
        (f"x {P} .", f"a {P}.", f"x {P}."),
        (f"x {P} y", f"a{P}b", f"x {P} y"),
        (f"{P}x", f"a {P}", f"{P} x"),
        (f"x{P}", f"{P} a", f"x {P}"),
        (f"{P}th place", f"{P}. Platz", f"{P} th place"),
        (f"{Q}x{P}", f"{P} a {Q}", f"{Q} x {P}"),
        ("x", "a", "x"),
        # quotation marks and brackets
        (f'Er sagte " {P} ".', f'He said "{P}".', f'Er sagte "{P}".'),
        (f"Er sagte „ {P} “.", f'He said "{P}".', f"Er sagte „{P}“."),
        (f'Er sagte " {P} ".', f"He said “{P}”.", f'Er sagte "{P}".'),
        (f"« {P} »", f"“{P}”", f"«{P}»"),
        (f"‚ {P} ‘", f"'{P}'", f"‚{P}‘"),
        (f"( siehe {P} )", f"(see {P})", f"( siehe {P})"),
        (f"x [ {P} ] y", f"a ({P}) b", f"x [{P}] y"),
        (f"「 {P} 」と", f'"{P}" a', f"「{P}」と"),
        (f"( {P} | {Q} )", f"({P}|{Q})", f"({P}|{Q})"),
        (f'x "y" {P}', f'a "b" {P}', f'x "y" {P}'),
        (f'"{P}"', f'" {P} "', f'" {P} "'),
        (f"x ({P}) y", f"a ( {P} ) b", f"x ( {P} ) y"),
        (f'sagte{P}" x', f'said "{P}" a', f'sagte {P}" x'),
        (f"{P}s Buch", f"{P}'s book", f"{P}s Buch"),
        (f"{P} 's x", f"{P}'s book", f"{P}'s x"),
    ],
)
def test_places_have_the_spaces_of_the_source(text: str, source: str, expected: str) -> None:
    assert adjust_spaces(text, source) == expected


@given(
    st.permutations([P, Q, "x", " ", "y", ".", "猫", " ", '"', "("]),
    st.permutations([P, Q, "a", " ", ".", " ", "“", "("]),
)
def test_only_spaces_are_adjusted(text: list[str], source: list[str]) -> None:
    made = adjust_spaces("".join(text), "".join(source))
    assert made.replace(" ", "") == "".join(text).replace(" ", "")
    assert adjust_spaces(made, "".join(source)) == made


def test_spans_are_restored() -> None:
    assert restore(f"{Q} x {P}", {P: "{n}", Q: r"\1"}) == r"\1 x {n}"
