"""Markdown: which texts a file has, that nothing else of it changes, and no accidental markup."""

import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin

from tests.cases import THOROUGH
from tests.documents import shared
from tests.documents.shared import readable_texts
from yakusu.data.lines.private_use import MARKS, is_mark
from yakusu.documents.document import DocumentOptions
from yakusu.documents.inline import tidy
from yakusu.documents.markdown.markdown import read
from yakusu.errors import DataError

RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"]).use(footnote_plugin)


def texts(source: str) -> list[str]:
    return readable_texts(read(source.encode(), DocumentOptions()))


def translated(source: str, translate: Callable[[str], str]) -> str:
    return shared.translated(read(source.encode(), DocumentOptions()), translate).decode()


def masked(text: str) -> str:
    """A text whose letters are all the same."""
    return "".join("x" if c.isalpha() and not is_mark(c) else c for c in text)


def tags(source: str) -> list[str]:
    """The tags of the page that an unchanged parser makes of a file, without translated values."""
    page = re.sub(r' (?:alt|title)="[^"]*"', "", RENDERER.render(source))
    return re.findall("<[^>]*>", page)


# ---- which texts a file has ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# One *two* ##\n", ["One <0>two</0>"]),
        ("One\n***\nTwo\n===\n", ["One", "Two"]),
        ("one\ntwo  \nthree\\\nfour\n", ["one two<0 br/>three<1 br/>four"]),
        ("- one\n- [ ] two\n  more\n\n  three\n1. four\n", ["one", "two more", "three", "four"]),
        ("> one\n> two\nlazy\n> > three\n", ["one two lazy", "three"]),
        ("> one\n>\n> > two\n> > - three\n", ["one", "two", "three"]),
        ("| a | b\\|c |\n|--|--|\n| `d\\|e` f | |\n", ["a", "b|c", "<0/> f"]),
        ("a | b\n--|--\nc | d | e\nf\n", ["a", "b", "c", "d", "f"]),
        ("> 1. | a | b |\n>    |---|---|\n>    | c | 1. |\n", ["a", "b", "c"]),
        ("a[^n].\n\n[^n]: A note\n    goes on.\n\n    Ok\n", ["a<0/>.", "A note goes on.", "Ok"]),
        ("Term\n: Meaning\n", ["Term", "Meaning"]),
        ('!!! note "Be careful"\n    It is hot.\n', ["Be careful", "It is hot."]),
        ("_a_ **b** ***c*** ~~d~~\n", ["<0>a</0> <1>b</1> <2><3>c</3></2> <4>d</4>"]),
        ("<b>a</b> b<c d>\n", ["<0>a</0> b"]),
        ("**All of it**\n", ["All of it"]),
        ("See [the *page*](a.md) or <http://d.e>.\n", ["See <0>the <1>page</1></0> or <2/>."]),
        ("See [b], [c][b] or [d].\n\n[b]: x\n", ["See <0>b</0>, <1>c</1> or [d]."]),
        ("a &amp; b \\* c &nbsp; d\n", ["a & b * c \xa0 d"]),
        ("Press `x` or <kbd>Q</kbd>.\n", ["Press <0/> or <1/>."]),
        ("\ufeff# One\r\n\r\ntwo\r\nthree\r\n", ["One", "two three"]),
        ("one\rtwo\r\r# three\r", ["one two", "three"]),
        ("The cost is $5 or $6, and $x + y$ is\n", ["The cost is $5 or $6, and <0/> is"]),
        ("See {{ name }} and {% link a.md %} here {#id}\n", ["See <0/> and <1/> here"]),
        ("See *one*{.red} here\n", ["See <0>one</0><1></1> here"]),
    ],
)  # fmt: skip
def test_a_text_is_the_content_of_a_block(source: str, expected: list[str]) -> None:
    assert texts(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "```\nkept\n```\n",
        "~~~ kept\nkept\n~~~\n",
        "    kept\n",
        "- \n\n      kept\n",
        "<div><code>kept</code></div>\n",
        "<!-- kept -->\n",
        "---\nlayout: kept\ntags: [kept]\n---\n",
        "+++\ntitle = 'kept'\n+++\n",
        '[kept]: http://kept "kept"\n',
        "$$\nkept\n$$\n",
        "::: kept\n:::\n",
        "> [!NOTE]\n",
        "{% kept %}\n{{< kept >}}\n",
        "*[HTML]: kept\n",
        "`kept` ![](kept)\n",
        "| 1 | 2 |\n|:--|--:|\n| 3 | `kept` |\n",
    ],
)
def test_what_is_not_text_is_kept(source: str) -> None:
    assert texts(source) == []
    assert translated(source, str.upper) == source


def test_front_matter_is_not_a_line_between_two_rules() -> None:
    assert texts("---\n\nOne line\n\n---\n") == ["One line"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_front_matter_without_an_end_is_a_rule_and_text(end: str) -> None:
    lines = ["---", "title: one", *["more"] * 40]
    assert texts(end.join(lines)) == [" ".join(lines[1:])]


@pytest.mark.parametrize("end", ["", "\n", "\r", "\r\n"])
def test_a_quotation_may_end_with_its_mark(end: str) -> None:
    source = f"> one\n>\n> *\n>\n> {end}"
    assert texts(source) == ["one"]
    assert translated(source, str.upper) == source.replace("one", "ONE")


def test_many_braces_take_no_long_time() -> None:
    assert texts("{" * 10_000 + " one") == ["{" * 10_000 + " one"]


def test_titles_and_alternative_texts_are_texts() -> None:
    source = """[a b](c "A title") ![d *e*](f) ![g h](i 'A "title"') [j](k "1")\n"""
    assert texts(source) == ["<0>a b</0> <1/> <2/> <3>j</3>", "A title", "g h", 'A "title"']
    assert translated(source, lambda text: text + ' "q"') == (
        """[a b](c "A title \\"q\\"") ![d *e*](f) ![g h "q"](i 'A "title" "q"') [j](k "1") "q"\n"""
    )


# ---- how translations are written ----------------------------------------------------------------


def test_the_marks_of_blocks_stay() -> None:
    source = "> ## One ##\n>\n> - two\n>   three\\\n>   four\n>\n> | five |\n> |---|\n> | six |\n"
    assert translated(source, str.upper) == (
        "> ## ONE ##\n>\n> - TWO THREE\\\n>   FOUR\n>\n> | FIVE |\n> |---|\n> | SIX |\n"
    )


@pytest.mark.parametrize(
    ("translation", "expected"),
    [
        ("plain * text_with_marks, C:\\dir & [x] 5 > 4", None),
        ("1. one", "1\\. one"),
        ("- one", "\\- one"),
        ("# one", "\\# one"),
        ("> one", "\\> one"),
        ("+ one", "\\+ one"),
        (": one", "\\: one"),
        ("[x]: one", "\\[x]: one"),
        ("---", "\\---"),
        ("*one* two", "\\*one* two"),
        ("two *one*", "two \\*one\\*"),
        ("`one`", "\\`one`"),
        ("a <b> c", "a \\<b\\> c"),
        ("&copy;", "\\&copy;"),
        ("[b] c", "\\[b] c"),
        ("one\n\n    two", "one two"),
    ],
)
def test_a_translation_makes_no_markup(translation: str, expected: str | None) -> None:
    written = translated("one\n\n[b]: x\n", lambda _: translation)
    assert written == f"{translation if expected is None else expected}\n\n[b]: x\n"
    (block,) = [token for token in RENDERER.parse(written) if token.type != "inline"][::2]
    assert block.type == "paragraph_open"


def test_a_list_of_tasks_gets_no_new_tasks() -> None:
    assert translated("- one\n", lambda _: "[x] one") == "- \\[x] one\n"


def test_a_table_with_many_missing_cells_is_kept_and_reported() -> None:
    table = "|a" * 100 + "|\n" + "|-" * 100 + "|\n" + "|b\n" * 20
    document = read(f"one\n\n{table}\ntwo\n".encode(), DocumentOptions())
    assert list(document.texts) == ["one", "two"]
    assert list(document.skipped) == [
        "line 3: the table lacks more than 2 cells for each character"
    ]


def test_the_title_of_an_admonition_may_occur_before_it() -> None:
    source = '!!! note "a a b"\n    c\n'
    assert texts(source) == ["a a b", "c"]
    assert translated(source, str.upper) == '!!! note "A A B"\n    C\n'
    assert texts("???+ tip Tip tip\n    c\n") == ["Tip tip", "c"]


def test_a_vertical_bar_in_a_cell_is_escaped() -> None:
    source = "| a `b\\|c` |\n|---|\n| d |\n"
    assert translated(source, lambda text: f"{text} | e") == (
        "| a `b\\|c` \\| e |\n|---|\n| d \\| e |\n"
    )


def test_a_heading_keeps_a_number_sign_at_its_end() -> None:
    assert translated("# one\n", lambda _: "C #") == "# C \\#\n"
    assert translated("# one #\n", lambda _: "C #") == "# C # #\n"


def test_characters_that_were_escaped_stay_escaped() -> None:
    source = "5 \\* 3 is&nbsp;fine &amp; good\n"
    assert translated(source, lambda text: text + "!") == source.replace("good", "good!")


def test_emphasis_is_written_otherwise_only_where_it_must_be() -> None:
    assert translated("a _b_ c\n", str.upper) == "A _B_ C\n"
    assert translated("a _b_ c\n", lambda text: text.replace(" ", "")) == "a*b*c\n"
    joined = translated("a **b** c\n", lambda text: text.replace(" ", "").replace("b", "(b)"))
    assert joined == "a<strong>(b)</strong>c\n"


def test_spaces_within_emphasis_move_out() -> None:
    assert translated("a **b** c\n", lambda text: text.replace("b", " b ")) == "a **b** c\n"


def test_a_link_that_is_its_own_name_keeps_its_destination() -> None:
    source = "See [one], [two][] and [three][one].\n\n- [two]\n\n[one]: 1\n[two]: 2\n"
    assert translated(source, lambda text: text.replace("t", "T").replace("one", "ONE")) == (
        "See [ONE][one], [Two][two] and [Three][one].\n\n- [Two][two]\n\n[one]: 1\n[two]: 2\n"
    )


def test_markup_before_a_text_does_not_matter_for_its_escapes() -> None:
    source = "![](a)\\\n![](b)\nOne * two\n"
    assert translated(source, str.upper) == source.replace("One * two", "ONE * TWO")


def test_a_mark_in_an_alternative_text_does_not_meet_one_in_the_text() -> None:
    written = translated("one *![two](b)* three\n", lambda text: f"` {text}")
    assert texts(written) == ["` one <0/> three", "` two"]


def test_an_invalid_byte_is_an_error_with_its_line() -> None:
    with pytest.raises(DataError, match="line 2: byte 0xff is not valid in utf-8"):
        read(b"one\n\xff", DocumentOptions())


# ---- any file ------------------------------------------------------------------------------------

_PIECES = [
    "one",
    "two",
    " ",
    " ",
    "\n",
    "\n",
    "\n\n",
    "*",
    "**",
    "_",
    "`",
    "[",
    "]",
    "](x)",
    "![",
    "~~",
]
_PIECES += [
    "\n- ",
    "\n1. ",
    "\n> ",
    "\n# ",
    "\n    ",
    "\n```\n",
    "\n---\n",
    "\n===\n",
    "\\",
    "|",
    "\n|--|--|\n",
]
_PIECES += [
    "<b>",
    "</b>",
    "<!--",
    "-->",
    "<x@y.z>",
    "&amp;",
    "  \n",
    "\r\n",
    "\t",
    "é",
    "$",
    "[^1]",
    "\n[^1]: ",
]
_PIECES += [
    "\n[one]: x\n",
    "\n: ",
    "\n!!! ",
    "{{",
    "}}",
    "[ ] ",
    "\n<div>\n",
    "5",
    "\xa0",
    "\x0b",
    "\0",
]
SOUP = st.lists(st.sampled_from(_PIECES), max_size=30).map("".join)
WORDS = st.lists(st.sampled_from(["one", "two", "5", "é", "\\*", "&amp;"]), min_size=1).map(
    " ".join
)
INLINE = st.recursive(
    WORDS | st.sampled_from(["`x * y`", "<br>", "![a](b)", "<http://a.b>"]),
    lambda inner: st.builds(
        lambda marks, parts: marks.replace("&", " ".join(parts)),
        st.sampled_from(["*&*", "**&**", "[&](x 'y z')", "<b>&</b>", "~~&~~"]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=5,
)  # fmt: skip
LINES = st.lists(INLINE, min_size=1, max_size=3).map(" ".join)
BLOCKS = st.recursive(
    st.one_of(
        LINES,
        LINES.map(lambda text: f"## {text}"),
        LINES.map(lambda text: f"{text}\n---"),
        st.sampled_from(["```\none *two*\n```", "    one", "<div>\none\n</div>"]),
        st.tuples(LINES, LINES).map(lambda pair: f"| {pair[0]} | {pair[1]} |\n|---|:-:|\n| x | |"),
    ),
    lambda inner: st.builds(
        lambda prefix, parts: (
            prefix + "\n\n".join(parts).replace("\n", "\n" + ("> " if prefix == "> " else "   "))
        ),
        st.sampled_from(["> ", "-  ", "1. "]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=5,
)
FILES = st.lists(BLOCKS, min_size=1, max_size=3).map(lambda blocks: "\n\n".join([*blocks, ""]))


@settings(deadline=None)
@given(SOUP)
def test_equal_translations_give_equal_bytes(source: str) -> None:
    assert translated(source, lambda text: text) == source


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_are_a_file_or_an_error(data: bytes) -> None:
    with suppress(DataError):
        document = read(data, DocumentOptions())
        assert document.render(document.texts) == data


@settings(deadline=None, max_examples=40)
@given(FILES)
def test_a_reversible_translation_gives_the_file_back(source: str) -> None:
    marked = translated(source, lambda text: f"{text} 1")
    again = translated(marked, lambda text: text.removesuffix(" 1"))
    for tag, mark in (("em", "*"), ("strong", "**"), ("del", "~~")):  # where marks do not suffice
        again = re.sub(f"</?{tag}>", lambda _: mark, again)  # noqa: B023
    # A character that the text has with a backslash gets one at other places, too.
    assert again.replace("\\", "") == source.replace("\\", "")


@settings(deadline=None, max_examples=40)
@given(FILES | SOUP)
@example("one\n[^1]: one\n===\n")  # the underline continues the footnote and makes no heading
def test_other_letters_leave_the_structure_as_it_is(source: str) -> None:
    assert [" ".join(tag.split()) for tag in tags(translated(source, masked))] == [
        " ".join(tag.split()) for tag in tags(source)
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("one ~~<b>~~\\*~~</b>~~", "&#111;ne ~~<b>~~&#99;~~</b>~~"),
        ("one **<b>**\\*~~</b>~~", "&#111;ne **<b>**&#99;~~</b>~~"),
        ("one *<b>*\\**</b>*", "&#111;ne *<b>*&#99;*</b>*"),
    ],
)
def test_letters_beside_marks_that_punctuation_makes_markup_become_entities(
    source: str, expected: str
) -> None:
    made = translated(source, lambda text: text.replace("*", "c"))
    assert made == expected
    assert texts(made) == [text.replace("*", "c") for text in texts(source)]
    assert RENDERER.render(made) == RENDERER.render(source).replace(">*<", ">c<")


@pytest.mark.parametrize("words", ["\\`", "\\\\`", "`", "\\[", "\\\\\\]"])
def test_alternative_texts_do_not_take_part_in_markup_behind_them(words: str) -> None:
    source = "![one](x) `two` [three](y)\n"
    made = translated(source, lambda text: text.replace("one", f"a {words}"))
    assert texts(made) == [f"a {words}", "<0/> <1>three</1>"]


@example("one\n---\n", "\\|")
@example("> ![a](b)\n> ---\n", "\\|")
@settings(deadline=None, max_examples=40)
@given(FILES, st.text(st.sampled_from("ab *_`[]()<>#-+1.|~$&\\!:{}^="), min_size=1))
def test_any_translation_is_read_again_as_it_was_written(source: str, words: str) -> None:
    def translate(text: str) -> str:
        return f"a {words} b" + "".join(f"{mark}c" for mark in re.findall(MARKS, text))

    document = read(source.encode(), DocumentOptions())
    translations = [tidy(translate(text)) for text in document.texts]
    again = read(document.render(translations), DocumentOptions())
    assert [masked(text) for text in again.texts] == [masked(text) for text in translations]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("one *two* [three](x) `c`. ", "ONE *TWO* [THREE](x) `c`. "),
        ("one [two][] ", "ONE [TWO][two] "),
        ("<kbd>a ", "<kbd>A "),
    ],
)
def test_a_long_paragraph_is_written_in_the_same_syntax(part: str, expected: str) -> None:
    n = (100_000 if THOROUGH else 5000) // len(part)
    document = read(f"{part * n}\n\n[two]: x\n".encode(), DocumentOptions())
    written = document.render([text.upper() for text in document.texts])
    assert written == f"{expected * n}\n\n[two]: x\n".encode()


def test_many_definitions_are_not_copied_for_each_paragraph() -> None:
    n = 3000
    used = "".join(f"one [two {i}][r{i}]\n\n" for i in range(n))
    defined = "".join(f"[r{i}]: /{i}\n" for i in range(n))
    document = read((used + defined).encode(), DocumentOptions())
    result = document.render([text.upper() for text in document.texts]).decode()
    assert result == used.replace("one", "ONE").replace("two", "TWO") + defined


# ---- syntax of other tools -----------------------------------------------------------------------

MDX = """import Cards from '@site/Cards';
import {
  Card,

  size as Size,
} from "./cards";

# Welcome {/*welcome*/}

<Cards groupId="os" items={[{label: 'Mac >', value: "}"}]}>
  <Card title="Kept title">
    Deep *words* here.

        Words, not code.

    ```js
    const kept = 1;
    ```
  </Card>
</Cards>

{list.map((item) => (
  <li>{item} kept</li>
))}

Some <Ui.Key name={a => a > 1} {...rest}>blue</Ui.Key> words, <>in</> {n > 1 ? "kept" : `}`} parts.

<details open>
<summary>More words</summary>
</details>

{/* kept

  kept */}

export default function Page({children}) {

  return <div>Kept {children}</div>;
}
"""


def test_modules_tags_and_expressions_of_mdx_are_kept() -> None:
    assert texts(MDX) == [
        "Welcome",
        "Deep <0>words</0> here.",
        "Words, not code.",
        "Some <0>blue</0> words, <1>in</1> <2/> parts.",
        "More words",
    ]
    changed = MDX
    for word in ("Welcome", "Deep", "words", "here", "Words, not code", "Some", "blue", "More"):
        changed = re.sub(rf"\b{word}\b", word.upper(), changed)
    changed = changed.replace(", <>in</>", ", <>IN</>").replace(" parts.", " PARTS.")
    assert translated(MDX, str.upper) == changed


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("> [!note] One\n> two\n", ["One", "two"]),
        ("> [!warning]-\n> two\n", ["two"]),
        ("> [!info|left]+ *One* two\n", ["<0>One</0> two"]),
        (":::caution Be careful\n\none\n\n:::\n", ["Be careful", "one"]),
        (":::tip[My *tip*]{#a}\none\n:::\n", ["My <0>tip</0>", "one"]),
        ("::: details Click me {open}\none\n:::\n", ["Click me", "one"]),
        (":::{admonition} One\ntwo\n:::\n", ["One", "two"]),
        (":::{tip}\n:class: wide\n\none\n:::\n\ntwo\n", ["one", "two"]),
        ("::::{grid} 2\n:::{card} One\ntwo\n:::\n::::\n\nthree\n", ["One", "two", "three"]),
        ("```{note}\none *two*\n\n- three\n```\n\nfour\n", ["one <0>two</0>", "three", "four"]),
        ("```{admonition} One *two*\n:class: wide\nthree\n```\n", ["One <0>two</0>", "three"]),
        ("~~~{Warning} one\n---\nkept: kept\n---\ntwo\n~~~\nthree\n", ["one", "two", "three"]),
        ("````{tip}\none\n```{code-block} js\nkept\n```\ntwo\n````\n", ["one", "two"]),
        ("- one\n\n  ```{hint}\n  two\n  ```\n\n  three\n", ["one", "two", "three"]),
        ("> ```{note}\n> one\n> ```\n> two\n", ["one", "two"]),
        ("one\n```{seealso}\ntwo\n", ["one", "two"]),
        ("```{figure} kept.png\nkept\n```\n:::{figure} kept.png\nkept\n:::\none\n", ["one"]),
        (":::{code-block} js\nkept\n:::\n```{r}\nkept\n```\n```{r x, y=2}\nkept\n```\n", []),
        ("!!! Note\n    one\n", ["one"]),
        ("See [[Page]] or [[Page#part|the *page*]]\n", ["See <0/> or <1>the <2>page</2></1>"]),
        ("![[a.png|100x20]] one ![[a.png|A cat]]\n", ["<0/> one <1>A cat</1>"]),
        ("| [[Page\\|a page]] |\n|---|\n", ["a page"]),
        ("one [[two]](three) [[four]]\n\n[four]: x\n", ["one <0>[two]</0> [<1>four</1>]"]),
        ("one ^block-1\n\n- two ^a\n\n^alone\n", ["one", "two"]),
        ("5 ^ 3 and a^b\n", ["5 ^ 3 and a^b"]),
        ("(my-target)=\n# One\n", ["One"]),
        ("Press ++ctrl+\"Page up\"++ in C++ and D++.\n", ["Press <0/> in C++ and D++."]),
        ('A [b]({{< ref "c d.md" >}}) e\n', ["A <0>b</0> e"]),
        ('[b]({% link c.md %} "One") ![two]({{ x | f("y") }})\n', ["b", "One", "two"]),
        ('A [b][c]\n\n[c]: {{< ref "d" >}}\n', ["A <0>b</0>"]),
        ('<a href="{{< ref "b" >}}">one</a> two\n', ["<0>one</0> two"]),
        ("{% if x %} one {% endif %}\n", ["one"]),
        ("`{{` and `}}` are {{ kept }}\n", ["<0/> and <1/> are <2/>"]),
        ("import the data, export it.\n\nexport default values\n",
         ["import the data, export it.", "export default values"]),
        ("a {see below} b\n", ["a {see below} b"]),
        ("See {ref}`a <b>` here\n", ["See <0/><1/> here"]),
        ("<div>\n<p title=\"One\">two *a*</p>\n</div>\n", ["One", "two *a*"]),
        ("- <div>\n  one\n  </div>\n", ["one"]),
        ("<details><summary>One</summary>\n\ntwo\n\n</details>\n", ["One", "two"]),
    ],
)  # fmt: skip
def test_the_syntax_of_other_tools_is_kept_around_its_text(
    source: str, expected: list[str]
) -> None:
    assert texts(source) == expected
    assert translated(source, lambda text: text) == source
    changed = translated(source, lambda text: text + "!")
    assert texts(changed) == [text + "!" for text in expected]
    assert Counter(changed) - Counter(source) == Counter({"!": len(expected)})


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "one\n\n```{figure} a.png\nA caption\n```\n\n```{code-block} js\ncode\n```\n",
            "line 3: the directive 'figure' is not known to have prose",
        ),
        (
            "- :::{list-table} Prices\n  - * a\n  :::\n",
            "line 1: the directive 'list-table' is not known to have prose",
        ),
        ("one\n\n:::custom Some words\n", "line 3: the container 'custom Some words' is not known"),
        (
            "> <div>\n> one\n> </div>\n",
            "line 1: the HTML block (1 text) is in a quotation or has other syntax",
        ),
        (
            "---\na: b\n---\n<div markdown>\n**one**\n<p>two\n</div>\n",
            "line 4: the HTML block (2 texts) is in a quotation or has other syntax",
        ),
    ],
)
def test_blocks_of_unknown_syntax_are_kept_and_reported(source: str, reason: str) -> None:
    document = read(source.encode(), DocumentOptions())
    assert list(document.skipped) == [reason]
    assert translated(source, str.upper).replace("ONE", "one") == source


@pytest.mark.parametrize(
    "words", ["[[a]]", "++a++", "^a", "{{ a }}", "<A b={c}>", "(a)=", ':::tip a', "[!a] b"]
)  # fmt: skip
def test_a_translation_makes_no_syntax_of_other_tools(words: str) -> None:
    for source in ("one\n", "> [!note] one\n", ":::tip[one]\n", "{/* */}\n\n<b>one</b>\n"):
        assert masked(texts(translated(source, lambda _: words))[0]) == masked(words)


@pytest.mark.parametrize("title", ["a `b` c", "a `", "{a}", "# a", "a\\", "~~~ a", "{note}"])
def test_the_title_of_a_directive_stays_one(title: str) -> None:
    source = "```{admonition} One\ntwo\n```\n\nthree\n"
    new = translated(source, lambda text: {"One": title}.get(text, text))
    assert texts(new)[1:] == ["two", "three"]
    assert masked(texts(new)[0]).replace("<0>", "`").replace("</0>", "`") == masked(title)


@pytest.mark.parametrize(
    "part",
    ["{", "<a b={", "`{{", "[[a|", "<A {", "export {\n\n", "\n{/*", "```{note}\n", ":::{a}\n\n"],
)
def test_syntax_without_an_end_takes_no_long_time(part: str) -> None:
    source = "{/* */}\n\n" + part * 2000
    assert translated(source, lambda text: text) == source


def test_tags_of_blocks_in_mdx_end_sentences_and_lines() -> None:
    source = (
        "import A from 'a'\n\n> <div>\n>   <h2>One *two*</h2>\n> <p>three\n> four</p>\n"
        "> <hr/> five</div>\n"
    )
    document = read(source.encode(), DocumentOptions())
    assert readable_texts(document) == [
        "One <0>two</0><1 br/><2 br/><3 br/>three four<4 br/><5 br/><6 br/> five"
    ]
    expected = source.replace("three\n> four", "three four")
    for word in ("One", "two", "three", "four", "five"):
        expected = expected.replace(word, word.upper())
    assert document.render([document.texts[0].upper()]).decode() == expected


def test_titles_in_front_matter_are_texts() -> None:
    data = (
        b"---\ntitle: Three lamps\ndescription: >\n  On old lamps\n  and doors\nslug: three lamps\n"
        b"tags: [lamp, door]\n---\n\nRead this\n"
    )
    document = read(data, DocumentOptions())
    assert [*document.texts] == ["Three lamps", "On old lamps and doors", "Read this"]
    assert document.render(document.texts) == data
    written = document.render(["Drei: Lampen", "Von Lampen", "Lies das"]).decode()
    assert written == (
        '---\ntitle: "Drei: Lampen"\ndescription: >\n  Von Lampen\nslug: three lamps\n'
        "tags: [lamp, door]\n---\n\nLies das\n"
    )
    for kept in ("---\ntitle: [open\n---\n\nRead\n", "+++\ntitle = 'Kept'\n+++\n\nRead\n"):
        assert [*read(kept.encode(), DocumentOptions()).texts] == ["Read"]
