"""Real text through an untrained translator: spans, tags, lines and unseen characters are kept."""

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import examples
from tests.phrases import phrases
from tests.translators import ENGINES, Engine, untrained
from yakusu.data.lines.private_use import closing, empty, opening
from yakusu.data.lines.spans import SpanFinder
from yakusu.errors import DataError
from yakusu.translator.request import Request
from yakusu.translator.writing.details import details_of
from yakusu.translator.writing.links import Translated

PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")
WORDS = [word for german, _ in phrases("de").train[:40] for word in german.split()]
LETTERS = [word for word in WORDS if word.isalpha()]
SPANS = ["{name}", "%s", "%1$d", "https://example.org/a_(b)", "&nbsp;", "<br>", "$x", "`a b`"]
UNSEEN = ["猫です", "привет", "👨‍👩‍👧", "❤️", "🇩🇪", "n̈", "नमस्ते"]
PAIRS = [("<b>", "</b>"), ('<a href="x">', "</a>"), (opening(0), closing(0)), ("<i>", "</i>")]
KINDS = ("bytes", "plain")


def pieces(kind: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(kind, min_size=1, max_size=4).map(" ".join)


ATOMS = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(WORDS),
    st.sampled_from(SPANS),
    st.sampled_from(UNSEEN),
    st.sampled_from([empty(1), ". ", "! ", "- ", "  ", "\t", "1.", ",", "\u2028", "\f", "\ue000"]),
)
TEXTS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        pieces(inner),
        st.tuples(st.sampled_from(PAIRS), pieces(inner)).map(lambda t: t[0][0] + t[1] + t[0][1]),
    ),
    max_leaves=8,
)
LINES = st.lists(st.one_of(TEXTS, st.sampled_from(["", "  ", "***"])), max_size=3).map("\n".join)


def check(source: str, text: str) -> None:
    """Everything that must be kept is kept."""
    assert "\ufffd" not in text
    assert text.count("\n") == source.count("\n")
    assert Counter(PRIVATE.findall(text)) == Counter(PRIVATE.findall(source))
    for string in (*SPANS, *UNSEEN, *(tag for pair in PAIRS for tag in pair)):
        assert text.count(string) == source.count(string), string
    assert pairs(text) == pairs(source)


def pairs(text: str) -> Counter[tuple[str, str]]:
    """The pairs of tags of a text."""
    found = SpanFinder().find(text)
    return Counter((s.text, found[s.partner].text) for s in found if s.kind == "opening")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(40), deadline=None)
@given(texts=st.lists(LINES, min_size=1, max_size=4))
def test_nothing_is_lost(engine: Engine, kind: str, texts: list[str]) -> None:
    translations = untrained(kind, engine=engine).translate(texts)
    for source, text in zip(texts, translations, strict=True):
        check(source, text)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "source",
    [
        f"{opening(0)}\u2028 <b>Euro.</b>{closing(0)}",
        "<b>Euro\n<i>Hund</i> Katze</b> und <u>Maus</u>",
        "<i>Hund</i> <b>Katze <u>Maus\nEuro</u> und</b> <i>Hund</i>",
        "<0>Hund\n<1>Katze</1>\n<1>Maus</0> <2>und</2> Euro",
        "<b>Hund\n```\n<i>Katze</b>\n```\n<u>Maus</u> Euro",
    ],
)
def test_pairs_of_several_lines_stay_pairs(engine: Engine, kind: str, source: str) -> None:
    (text,) = untrained(kind, engine=engine).translate([source])
    check(source, text)
    for line, own in zip(source.split("\n"), text.split("\n"), strict=True):
        assert Counter(re.findall("<.*?>", own)) == Counter(re.findall("<.*?>", line))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(10), deadline=None)
@given(text=LINES)
def test_nothing_is_lost_in_samples(engine: Engine, kind: str, text: str) -> None:
    check(text, untrained(kind, 1, sampling=True, engine=engine).translate([text])[0])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(8), deadline=None)
@given(texts=st.lists(LINES, min_size=2, max_size=5))
def test_the_result_does_not_depend_on_the_batch(
    engine: Engine, kind: str, texts: list[str]
) -> None:
    one = untrained(kind, engine=engine)
    together = list(one.stream(texts))
    assert list(one.stream(texts, batch=2, window=3)) == together
    assert [next(one.stream([text])) for text in texts] == together


# ---- words and tokens ----------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(40), deadline=None)
@given(text=LINES)
def test_each_translated_word_has_one_link_to_a_word_as_given(
    engine: Engine, kind: str, text: str
) -> None:
    (best,) = next(untrained(kind, engine=engine).stream([text], details=True))
    source, target = text.split(), best.text.split()
    if not best.details:
        return
    links = best.details.links or ()
    assert list(links) == sorted(links)
    assert all(0 <= i < len(source) and 0 <= j < len(target) for i, j in links)
    assert len({j for _, j in links}) == len(links)
    assert not any(PRIVATE.search(token) for token in best.details.tokens if token not in text)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(20), deadline=None)
@given(
    words=st.lists(st.sampled_from(LETTERS), min_size=4, max_size=4),
    spans=st.permutations(["{name}", "%s", "{% if x %}", "猫です"]),
)
def test_spans_are_linked_to_themselves(
    engine: Engine, kind: str, words: list[str], spans: list[str]
) -> None:
    text = " ".join(f"{word} {span}" for word, span in zip(words, spans, strict=True))
    (best,) = next(untrained(kind, engine=engine).stream([text], details=True))
    assert best.details and best.details.links is not None
    source, target, links = text.split(), best.text.split(), best.details.links
    parts = [part for span in spans for part in span.split()]
    for j, word in enumerate(target):
        own = [part for part in parts if part == word or (part in word and part not in ("if", "x"))]
        if len(own) == 1:
            assert [source[i] for i, linked in links if linked == j] == own


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=examples(10), deadline=None)
@given(words=st.lists(st.sampled_from(LETTERS), min_size=1, max_size=8))
def test_text_without_spans_has_the_links_and_tokens_of_the_model(
    engine: Engine, words: list[str]
) -> None:
    one = untrained("plain", engine=engine)
    text = " ".join(words)
    (best,) = next(one.stream([text], details=True))
    (ids,) = one.tokenizer.encode_source([text])
    tokens = one.hypotheses([(text, ids)])[0][0].tokens
    pieces = one.tokenizer.target_texts_of(tokens)
    pair = Translated(text, ids, tokens, pieces, "".join(pieces))
    assert best.details
    assert [best.details] == details_of(one.decoder, one.tokenizer, [pair], batch=64)


# ---- prefixes and phrases ------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=examples(20), deadline=None)
@given(
    begin=st.sampled_from(["", "- ", "> (a) ", "❤️ "]),
    source=st.lists(st.sampled_from(LETTERS), min_size=1, max_size=3).map(" ".join),
    prefix=st.lists(st.sampled_from(["The", "big", "{x}", "%s", "Żółw"]), max_size=3, unique=True),
    repeated=st.booleans(),
)
def test_a_translation_begins_with_the_kept_beginning_of_its_line_and_the_prefix(
    engine: Engine, begin: str, source: str, prefix: list[str], repeated: bool
) -> None:
    line = f"{begin}{source} {{x}} {source} %s {source} Żółw"
    asked = (begin if repeated else "") + " ".join(prefix)
    (text,) = untrained("bytes", engine=engine).translate([Request(line, asked)])
    assert text.startswith((begin + " ".join(prefix)).rstrip())
    check(line, text)


@pytest.mark.parametrize("line", ["", "  ", "1984", "```", "{x}: %s", "***"])
def test_requests_for_a_line_without_text_are_refused(line: str) -> None:
    for request in (Request(line, "The"), Request(line, include=("The",))):
        with pytest.raises(DataError, match="sentence 2: the line has no text to translate"):
            untrained("bytes").translate(["Hund", request])
    assert untrained("bytes").translate([Request(line, exclude=("The",))]) == [line]


@pytest.mark.parametrize(
    "separator", ["\n", "\r", "\u2028", "\u2029", "\x85", "\f", "\x0b", "\x1c"]
)
def test_requests_for_several_lines_are_refused(separator: str) -> None:
    line = f"Der Hund{separator}schläft."
    for request in (Request(line, "The"), Request(line, include=("dog",))):
        with pytest.raises(DataError, match=r"sentence 1: .* must be a single line"):
            untrained("bytes").translate([request])
    ending = f"Der Hund{separator}"
    (text,) = untrained("bytes").translate([Request(ending, "The")])
    assert text.startswith("The") and text.endswith(separator)


def test_a_span_that_is_asked_for_occurs_once() -> None:
    request = Request("Der Hund schläft {x}.", include=("{x}",))
    (text,) = untrained("bytes").translate([request])
    assert text.count("{x}") == 1


def test_spans_in_another_order_are_refused_without_placeholder_tokens() -> None:
    line = "Der Hund {x} schläft %s."
    with pytest.raises(DataError, match=r"'\.\.\.' has the spans of its source in another order"):
        untrained("plain").translate([Request(line, "%s")])
    (text,) = untrained("plain").translate([Request(line, "{x}")])
    assert text.startswith("{x}")
