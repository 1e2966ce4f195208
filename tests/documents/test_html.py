"""HTML: which texts a page has, and that nothing else of it changes."""

import re
from collections.abc import Callable
from contextlib import suppress
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents import shared
from tests.documents.shared import readable_texts
from yakusu.data.lines.private_use import MARKS
from yakusu.documents.document import DocumentOptions
from yakusu.documents.html.html import read
from yakusu.errors import DataError


def texts(page: str) -> list[str]:
    return readable_texts(read(page.encode(), DocumentOptions()))


def translated(page: str | bytes, translate: Callable[[str], str]) -> bytes:
    document = read(page.encode() if isinstance(page, str) else page, DocumentOptions())
    return shared.translated(document, translate)


def reversed_throughout(text: str) -> str:
    """The words of a text in reverse order, also across marks, which keep their places."""
    parts = re.split(rf"({MARKS}|\s+)", text)
    words = [i for i, part in enumerate(parts) if part.strip() and not re.fullmatch(MARKS, part)]
    for i, word in zip(words, [parts[i] for i in reversed(words)], strict=True):
        parts[i] = word
    return "".join(parts)


class Structure(HTMLParser):
    """The tags of a page with their attributes, except for those that are translated."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.found: list[object] = []
        self.feed(page.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = [(key, value) for key, value in attrs if key not in ("alt", "title")]
        self.found.append((tag, own))

    def handle_endtag(self, tag: str) -> None:
        self.found.append(tag)

    def handle_comment(self, data: str) -> None:
        self.found.append(("comment", data))


# ---- which texts a page has ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>Press <b>Start</b> twice.<br>", ["Press <0>Start</0> twice."]),
        ("<ul><li>One<li>Two <i>of</i> two</ul>", ["One", "Two <0>of</0> two"]),
        ("<h1>Title</h1>Text between<div>blocks</div>", ["Title", "Text between", "blocks"]),
        ("<table><tr><th>Name<td>Anna", ["Name", "Anna"]),
        ("<dl><dt>Word<dd>Meaning</dl>", ["Word", "Meaning"]),
        ("<select><option>Red<option>Blue</select>", ["Red", "Blue"]),
        ("<p><b>All of it</b></p>", ["All of it"]),
        ("<p><a href=x><img src=y></a> Caption</p>", ["Caption"]),
        ("<label><input type=checkbox> Remember me</label>", ["Remember me"]),
        ("<p>one<br>two<br><br>three", ["one<0 br/>two", "three"]),
        ("<p>12 345 &mdash; 6</p>", []),
        ("<P CLASS=x>Upper <B>case</B> tags</P>", ["Upper <0>case</0> tags"]),
        ("<title>A &amp; <b> in a title</title>", ["A & <b> in a title"]),
        ("<noscript>Please enable scripts</noscript>", ["Please enable scripts"]),
    ],
)
def test_a_text_is_the_content_of_a_block(page: str, expected: list[str]) -> None:
    assert texts(page) == expected


@pytest.mark.parametrize(
    "page",
    [
        "<pre>kept <b>text</b></pre>",
        "<script>if (a < b) { x = '<p>text</p>' }</script>",
        "<style>p > a { content: 'text' }</style>",
        "<textarea>kept <p>text</textarea>",
        "<svg><title>kept</title><text>text</text></svg>",
        "<math><mi>x</mi></math>",
        "<!-- <p>kept</p> -->",
        "<!--[if IE]><p>kept</p><![endif]-->",
        "<![CDATA[ <p>kept</p> ]]>",
        "<!DOCTYPE html><?xml version='1.0'?>",
        "<div translate=no><p>kept <b>text</b></p></div>",
        '<p class="x notranslate">kept</p>',
        "<p>{{ kept }} {% kept %} {# kept #} <% kept %> <?php echo 'kept'; ?></p>",
        "<p><code>kept</code></p>",
        "<a href='x.html' id=kept></a>",
        "<iframe><p>kept</p></iframe>",
    ],
)
def test_what_is_not_text_is_kept(page: str) -> None:
    assert texts(page) == []


def test_code_and_elements_that_are_not_translated_are_one_mark_with_their_content() -> None:
    page = "<p>Use <code>f(<b>x</b>)</code> or <kbd>Q</kbd> at <i translate=no>A <b>B</b></i>."
    assert texts(page) == ["Use <0/> or <1/> at <2/>."]
    assert translated(page, str.upper).decode() == page.replace("Use", "USE").replace(
        " or ", " OR "
    ).replace(" at ", " AT ")


def test_translate_yes_within_translate_no_is_translated() -> None:
    page = "<div translate=no><p>Kept</p><p translate=yes>Read <b>me</b></p>kept</div><p>More"
    assert texts(page) == ["Read <0>me</0>", "More"]


def test_an_unclosed_paragraph_that_is_not_translated_ends_at_the_next_block() -> None:
    assert texts("<p translate=no>kept<p>read<ul><li translate=no>kept<li>read too</ul>") == [
        "read",
        "read too",
    ]


def test_white_space_is_collapsed_and_moved_out_of_elements() -> None:
    assert texts("<p>\n  a\n\tb <b> c </b> d&nbsp;e\n</p>") == ["a b <0>c</0> d\xa0e"]


def test_attributes_that_a_reader_sees_are_texts() -> None:
    page = (
        '<meta name=description content="About us"><meta name=viewport content="width=device">'
        '<img alt="A cat" title=Cat><input placeholder="Your name" value="kept" type=text>'
        '<input type=reset value=Clear><a aria-label="Close" href="kept" class="kept">x1</a>'
        '<optgroup label="Colours">'
    )
    assert texts(page) == [
        *("About us", "A cat", "Cat", "Your name", "Clear", "Close", "x1", "Colours")
    ]


def test_a_picture_within_a_sentence_keeps_its_place_and_its_text_is_translated() -> None:
    page = '<p>Click <img src=a.png alt="the gear"> now</p>'
    assert texts(page) == ["Click <0/> now", "the gear"]
    assert translated(page, str.upper) == b'<p>CLICK <img src=a.png alt="THE GEAR"> NOW</p>'


def test_template_expressions_are_marks() -> None:
    page = "{% if a < b %}Hello {{ user.name }}, you have {% n %} letters{% endif %}"
    assert texts(page) == ["Hello <0/>, you have <1/> letters"]
    assert translated(page, str.upper).decode() == page.replace("Hello", "HELLO").replace(
        "you have", "YOU HAVE"
    ).replace("letters", "LETTERS")


def test_a_template_expression_in_a_tag_may_contain_a_greater_than_sign() -> None:
    page = '<p {% if a > b %}class="x"{% endif %} title="{{ t > 1 }}">Text</p>'
    assert translated(page, str.upper).decode() == page.replace("Text", "TEXT")


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>a <b>one<p>two</b> three", ["a <0/>one", "two<0/> three"]),
        ("<p>a <b>b <i>c</b> d</i> e", ["a <0>b <1/>c</0> d<2/> e"]),
        ("one </nothing> two </> three", ["one <0/> two <1/> three"]),
        ("1 < 2 and a <3 b & c", ["1 < 2 and a <3 b & c"]),
        ("text <a href='never closed", ["text"]),
        ("text <!-- never closed", ["text"]),
        ("<p>x y<td>z</div></p>", ["x y", "z"]),
    ],
)
def test_broken_pages_are_read_as_a_browser_reads_them(page: str, expected: list[str]) -> None:
    assert texts(page) == expected
    assert translated(page, lambda text: text) == page.encode()


# ---- how translations are written ----------------------------------------------------------------


def test_a_translation_is_escaped() -> None:
    assert translated("<p>Fish</p>", lambda _: "a < b & c > d") == b"<p>a &lt; b &amp; c &gt; d</p>"
    page = "<img alt=\"one\" title='two'><img alt=three>"
    assert translated(page, lambda text: f"{text} & \"x\" 'y'") == (
        b"<img alt=\"one &amp; &quot;x&quot; 'y'\" title='two &amp; \"x\" &#x27;y&#x27;'>"
        b"<img alt=\"three &amp; &quot;x&quot; 'y'\">"
    )


def test_characters_that_were_entities_stay_entities() -> None:
    page = "<p>&nbsp; gr&uuml;n &copy; 5&nbsp;km &#8211; gr&uuml;n &nbsp;</p>"
    assert (
        translated(page, lambda text: text + "!")
        == page.replace("gr&uuml;n &nbsp;<", "gr&uuml;n! &nbsp;<").encode()
    )


def test_a_number_that_is_too_large_for_a_character_is_read_as_browsers_do() -> None:
    number = "9" * 5000
    assert texts(f"<p title='&#{number};a'>b &#x{number};") == ["\ufffda", "b \ufffd"]


def test_an_end_tag_without_a_name_is_text_where_it_does_not_end() -> None:
    assert texts("<p>a </3 b") == ["a </3 b"]
    assert texts("<p>a </3 b> c </4 {{d}}") == ["a <0/> c </4 <1/>"]


def test_a_page_in_ascii_without_a_named_encoding_gets_character_references() -> None:
    assert translated("<html><p>Over", lambda _: "über") == b"<html><p>&#252;ber"
    assert translated("<p>Over", lambda _: "über") == "<p>über".encode()


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("cp1252", "ISO-8859-1"),
        ("cp932", "Shift_JIS"),
        ("gb18030", "gb2312"),
        ("koi8-r", "koi8-r"),
        ("utf-8-sig", "utf-8"),
        ("utf-16", "utf-16"),
    ],
)
def test_a_page_keeps_its_encoding(encoding: str, name: str) -> None:
    page = f"<meta http-equiv=x content='text/html; charset={name}'><p>Text {{}}\r\n<p>€ ж"
    if encoding != "gb18030":
        page = page.replace("€ ж", "")
    data = page.encode(encoding)
    assert translated(data, lambda text: text) == data
    assert translated(data, lambda _: "ж") == page.replace("Text {}", "ж").replace(
        "€ ж", "ж"
    ).encode(encoding, "xmlcharrefreplace")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<meta charset=utf-8>\n<p>\xff", "line 2: byte 0xff is not valid in utf-8"),
        (b"<meta charset=klingon>", "the encoding 'klingon' is unknown"),
        (b"<meta charset=base64>", "the encoding 'base64' is unknown"),
        (b"<meta charset=cp037><p>a b", "the encoding 'cp037' is unknown"),
        (b"<meta charset=unicode_escape><p>a b", "the encoding 'unicode_escape' is unknown"),
        (b"<p>gr\xfcn", "line 1: byte 0xfc is not valid in utf-8"),
    ],
)
def test_an_invalid_encoding_is_an_error_with_a_fix(data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=re.escape(message)) as error:
        read(data, DocumentOptions())
    assert "save the file as UTF-8" in str(error.value)


def test_a_text_with_a_character_that_stands_for_markup_is_kept() -> None:
    assert texts("<p>a\U000f0000b</p><p>c&#xF0000;d</p><p>e</p>") == ["e"]


def test_xhtml_has_elements_that_end_themselves() -> None:
    page = '<?xml version="1.0"?><html><script src="x"/><p>Read</p><title/><p>More</p></html>'
    assert texts(page) == ["Read", "More"]


# ---- any page ------------------------------------------------------------------------------------

WORDS = st.lists(st.sampled_from(["one", "two", "&amp;", "5", "é", "Rot;"]), min_size=1).map(
    " ".join
)
INLINE = st.recursive(
    WORDS | st.sampled_from(["<br>", "<code>x < 1</code>", "<!-- c -->", "{{ v }}"]),
    lambda inner: st.builds(
        lambda name, parts: f"<{name}>{' '.join(parts)}</{name.split()[0]}>",
        st.sampled_from(["b", "i class='c'", 'a href="?a=1&b=2"', "SPAN", "span translate=no"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=6,
)
BLOCKS = st.recursive(
    st.lists(INLINE, min_size=1, max_size=3).map(" ".join),
    lambda inner: st.builds(
        lambda name, parts: f"<{name}>{''.join(parts)}</{name.split()[0]}>",
        st.sampled_from(["p", "div", "li", "td", "h2", "DIV translate='no'", "pre"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=6,
)
_TAGS = "<p> </p> <b> </b> <div&translate=no> </div> <li> <br> <img& <pre> </pre> <code> </code>"
_RAW = (
    "<script> </script> <title> </title> <!-- --> <![CDATA[ ]]> <?php ?> {{ }} {% %} <a&href=' />"
)
_CHARACTERS = [
    "<",
    ">",
    "&",
    "&lt;",
    "'",
    '"',
    "=",
    "alt='x y'",
    "text",
    "é",
    " ",
    "\r\n",
    "\ufeff",
]
SOUP = st.lists(
    st.sampled_from([part.replace("&", " ") for part in f"{_TAGS} {_RAW}".split()] + _CHARACTERS),
    max_size=30,
).map("".join)


@settings(deadline=None)
@given(SOUP)
def test_equal_translations_give_equal_bytes(page: str) -> None:
    assert translated(page, lambda text: text) == page.encode()


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_a_page_or_an_error(data: bytes) -> None:
    with suppress(DataError):
        assert translated(data, lambda text: text) == data


@settings(deadline=None)
@given(SOUP)
def test_the_texts_of_a_translated_page_are_the_translations(page: str) -> None:
    document = read(page.encode(), DocumentOptions())
    translations = [f"{text}~" for text in document.texts]
    assert read(document.render(translations), DocumentOptions()).texts == translations


@settings(deadline=None)
@given(BLOCKS)
def test_a_reversible_translation_gives_the_page_back(page: str) -> None:
    marked = translated(page, lambda text: f"{text}~")
    again = translated(marked, lambda text: text.removesuffix("~"))
    spaces = re.compile(r"\s+|(?<=>)\s*|\s*(?=<)")
    assert spaces.sub("", again.decode()) == spaces.sub("", page)


@settings(deadline=None)
@given(BLOCKS)
def test_other_words_leave_tags_attributes_and_code_as_they_are(page: str) -> None:
    assert Structure(translated(page, reversed_throughout)).found == Structure(page.encode()).found
