"""Hostile documents without ZIP: HTML, Markdown, PO, JSON, files of apps, subtitles and text."""

from collections.abc import Callable
from importlib import import_module

from tests.growth.crafted import Crafted
from yakusu.documents.document import Document, DocumentOptions


def _repeated(unit: str, *, before: str = "", after: str = "") -> Callable[[int], bytes]:
    """Return a function that repeats a text up to a size."""

    def make(n: int) -> bytes:
        size = len(unit.encode())
        return (before + unit * max(1, n // size) + after).encode()

    return make


def _numbered(unit: str, *, before: str = "", after: str = "") -> Callable[[int], bytes]:
    """Return a function that repeats a text with the numbers from 0 in place of "#"."""

    def make(n: int) -> bytes:
        size = len(unit.encode()) + len(str(n // len(unit))) - 1
        return (
            before + "".join(unit.replace("#", str(i)) for i in range(max(1, n // size))) + after
        ).encode()

    return make


def _nested(opening: str, closing: str, *, inside: str = "text") -> Callable[[int], bytes]:
    """Return a function that nests a pair."""

    def make(n: int) -> bytes:
        depth = max(1, n // len((opening + closing).encode()))
        return (opening * depth + inside + closing * depth).encode()

    return make


def _two(before: str, first: str, second: str) -> Callable[[int], bytes]:
    """Return a function that repeats a text, and then another one as often."""

    def make(n: int) -> bytes:
        times = max(1, n // len(first + second))
        return (before + first * times + second * times).encode()

    return make


def _read(module: str) -> Callable[[bytes], object]:
    """Return a function that reads a document, and writes it with other texts."""

    def read(data: bytes) -> object:
        document: Document = import_module(f"yakusu.documents.{module}").read(
            data, DocumentOptions(("", "ru"), columns=("1",))
        )
        document.render(document.texts)
        document.render([text.replace("text", "word") for text in document.texts])
        return document.lines

    return read


def _crafted(module: str, name: str, inputs: dict[str, Callable[[int], bytes]]) -> list[Crafted]:
    return [Crafted(f"{name}: {what}", make, _read(module)) for what, make in inputs.items()]


_HTML: dict[str, Callable[[int], bytes]] = {
    "</ that ends nothing": _repeated("</"),
    "< alone": _repeated("<"),
    "<a without an end": _repeated("<a "),
    "comments without an end": _repeated("<!-", after="<!--" * 9),
    "<!-- without an end": _repeated("<!--"),
    "<? without an end": _repeated("<?php "),
    "<![CDATA[ without an end": _repeated("<![CDATA["),
    "{{ without an end": _repeated("{{"),
    "{% and <% without an end": _repeated("{% <% "),
    "an attribute with a long value": _repeated("{{", before='<a b="'),
    "an unquoted value of {{": _repeated("{{", before="<a b=", after=">"),
    "one tag with many attributes": _numbered(" a#=1", before="<p", after=">text</p>"),
    "the same attribute": _repeated(" title=text", before="<p", after=">text</p>"),
    "blanks in a tag": _repeated(" ", before="<a b", after='"c">text'),
    "blanks around =": _repeated(" = ", before="<a", after=">text"),
    "slashes in a tag": _repeated("/", before="<a ", after=">text"),
    "nested divs": _nested("<div>", "</div>"),
    "nested spans": _nested("<span>", "</span>"),
    "nested spans in a paragraph": _nested("a <b>", "</b> c "),
    "nested titles": _nested("text <a title='text'>", "</a>"),
    "open elements of many names": _numbered("<x#>text"),
    "end tags below a block": _two("<b><div>", "<i>", "</b>"),
    "end tags of blocks below a scope": _two("<div><button>", "<i>", "</div>"),
    "end tags of cells below inline elements": _two("<table><td>", "<i>", "</th>"),
    "paragraphs below a table": _two("<p><table>", "<i>", "<p>"),
    "list items below a list": _two("<li><ul>", "<i>", "<li>"),
    "options below a list": _two("<option><ul>", "<i>", "<option>"),
    "cells below a button": _two("<td><button>", "<i>", "<td>"),
    "start tags without ends in one paragraph": _repeated("<b>text "),
    "pairs that cross": lambda n: (
        "<b>" * (n // 12) + "text" + "<i>" * (n // 12) + "</b>" * (n // 12) + "</i>" * (n // 12)
    ).encode(),
    "starts, and ends of another name": lambda n: (
        "<b>" * (n // 14) + "<i>text</i>" * (n // 22) + "</b>" * 2
    ).encode(),
    "line breaks": _repeated("<br>", before="text"),
    "comments after a line break": _repeated("<!---->", before="<br>", after="<br>text"),
    "line breaks in comments": _repeated("text<br><!----> "),
    "entities": _repeated("&amp;"),
    "entities of many names": _repeated("&a"),
    "a long entity": _repeated("a", before="text &", after=";"),
    "a long number as an entity": _repeated("9", before="text &#", after=";"),
    "a title without an end": _repeated("<title>text"),
    "scripts without an end": _repeated("<script>text"),
    "textareas": _repeated("<textarea></textarea>text "),
    "kept elements": _repeated("<code>", before="text "),
    "kept elements in a row": _repeated("<code>a</code>", before="text "),
    "paragraphs": _repeated("<p>text with words</p>\n"),
    "blanks": _repeated(" ", before="<p>text", after="text"),
    "an encoding without an end": _repeated("<meta "),
    "an XML encoding without an end": _repeated(" encoding ", before="<?xml "),
    "byte 0xff and quotes": _repeated("'\"<a b="),
    "one text": _repeated("text and words "),
}

_MARKDOWN: dict[str, Callable[[int], bytes]] = {
    "front matter of =": _repeated("=", before="---\na"),
    "front matter without an end": _repeated("a: b\n", before="---\n"),
    "front matter of comments": _repeated("# a\n", before="---\n"),
    "dashes": _repeated("---\n"),
    "[": _repeated("["),
    "![": _repeated("!["),
    "[ and ]": _nested("[", "]"),
    "[ and ](a)": _nested("[", "](a)"),
    "[a](": _repeated("[a]("),
    "[a](<": _repeated("[a](<"),
    '[a](b "': _repeated('[a](b "'),
    "links": _repeated("[text](a 'text') "),
    "pictures": _repeated("![text](a 'text') "),
    "[a]: definitions": _numbered("[a#]: b\n"),
    "[a]: titles without an end": _repeated('[a]: b "c\n'),
    "[a]:": _repeated("[a]:"),
    "labels over many lines": _repeated("a\n", before="[", after="]: b"),
    "references": _repeated("[text] ", after="\n\n[text]: a\n"),
    "*a": _repeated("*a "),
    "*a**": _repeated("*a**"),
    "a**b": _repeated("a**b"),
    "*_": _repeated("*_ "),
    "*a_": _repeated("*a_ "),
    "* and _ in turn": _repeated("_a *b "),
    "nested emphasis": _nested("*a **b ", " c** d*"),
    "~~": _repeated("~~a "),
    "stars": _repeated("*", before="text "),
    "underscores": _repeated("_", before="text ", after="a"),
    "backticks": _repeated("`"),
    "backticks of many lengths": lambda n: "".join(
        "a" + "`" * i for i in range(1, int((2 * n) ** 0.5))
    ).encode(),
    "code": _repeated("`text` "),
    "styles, links and code": _repeated("text *text* [text](a) `b`. "),
    "keys": _repeated("<kbd>text "),
    "references by their text": _repeated("text [text][] ", after="\n\n[text]: a\n"),
    "$": _repeated("$"),
    "$a": _repeated("$a "),
    "a$": _repeated("a$"),
    "$$": _repeated("$$a "),
    "<": _repeated("<"),
    "<a": _repeated("<a "),
    "<a in JSX": _repeated("<A.b c={"),
    "<!--": _repeated("a <!-- "),
    "<?": _repeated("a <? "),
    "<![CDATA[": _repeated("a <![CDATA["),
    "<a b=": _repeated('<a b="'),
    "{{": _repeated("{{"),
    "{%": _repeated("{% "),
    "{/*": _repeated("{/* "),
    "{ in MDX": _repeated("{", before="import a from 'b'\n\n"),
    "imports without an end": _repeated("import a\n\n"),
    "tags in braces of tags": _nested("<A {", "}"),
    "tags in braces of attributes": _nested("<a b={{\n", "}}/>"),
    "tags in quotations": _nested("> <A b={\n\n", "}/>"),
    "quotation marks in braces": _repeated('\\"', before='{/* */} {"'),
    "tags in MDX": _repeated("<a.b ", before="import a from 'b'\n\n"),
    "lines of tags in MDX": _repeated("<A>\n", before="import a from 'b'\n\n"),
    "{a}": _repeated("{a} "),
    "++a": _repeated("++a+"),
    "[[a": _repeated("[[a"),
    "[[a|b]]": _repeated("[[a|text]] "),
    "[^a]": _repeated("[^a] "),
    "^[a": _repeated("^[a "),
    "^[ nested": _nested("^[a ", "]"),
    "footnotes": _numbered("[^#]: text\n\n"),
    "references to footnotes": _numbered("text[^#] "),
    "quotations, nested": _repeated("> ", after="text"),
    "quotations on many lines": lambda n: "\n".join(
        "> " * i + "a" for i in range(int(n**0.5))
    ).encode(),
    "lists, nested": lambda n: "".join("  " * i + "- a\n" for i in range(int(n**0.5))).encode(),
    "list marks on one line": _repeated("- ", after="text"),
    "numbers of lists on one line": _repeated("1. ", after="text"),
    "list items": _repeated("- text\n"),
    "lists with empty lines": _repeated("- text\n\n"),
    "a table with many columns": lambda n: (
        "|a" * (n // 12) + "|\n" + "|-" * (n // 12) + "|\n" + "|text" * (n // 12) + "|\n"
    ).encode(),
    "a table with few cells in many columns": lambda n: (
        "|a" * (n // 8) + "|\n" + "|-" * (n // 8) + "|\n" + "|t\n" * (n // 8)
    ).encode(),
    "tables with few cells in many columns": _repeated(
        "|a" * 200 + "|\n" + "|-" * 200 + "|\n" + "|t\n" * 200 + "\n"
    ),
    "a table with many rows": _repeated("|text|text|\n", before="|a|b|\n|-|-|\n"),
    "bars": _repeated("|"),
    "headings": _repeated("# text\n"),
    "marks after a heading": _repeated("#", before="# text ", after=" a"),
    "blanks in a heading": _repeated(" ", before="# text", after="#a"),
    "underlined headings": _repeated("text\n---\n"),
    "= below text": _repeated("text\n=\n"),
    "fences": _repeated("```\n"),
    "fences of many lengths": lambda n: "".join(
        "`" * i + "\n" for i in range(3, int((2 * n) ** 0.5) + 3)
    ).encode(),
    "tildes": _repeated("~~~ a\n"),
    "admonitions": _repeated('!!! note "text"\n    text\n'),
    "nested admonitions": lambda n: "".join(
        "    " * i + "!!! note\n" for i in range(int((n / 2) ** 0.5))
    ).encode(),
    "titles of admonitions": _repeated("a ", before="!!! note "),
    "containers": _repeated(":::tip text\n"),
    "a long container": _repeated("{", before=":::tip text "),
    "blanks in a container": _repeated(" ", before=":::tip", after="{"),
    "templates on a line": _repeated("{% a %} ", after="b"),
    "a definition of a template": _repeated("{% ", before="[a]: "),
    "callouts": _repeated("> [!note] text\n"),
    "a long callout": _repeated("|", before="> [!note", after="b"),
    "abbreviations": _repeated("]:", before="*[a"),
    "definitions of terms": _repeated("text\n: text\n"),
    "terms": _repeated(":\n", before="text\n"),
    "HTML blocks": _repeated("<div>text</div>\n\n"),
    "HTML block of </": _repeated("</", before="<div>\n"),
    "blanks": _repeated(" ", before="text", after="text"),
    "blank lines": _repeated("\n", before="text", after="text"),
    "blanks before a line's end": _repeated(" ", before="text", after="\ntext"),
    "backslashes": _repeated("\\"),
    "entities": _repeated("&amp;"),
    "&": _repeated("&a"),
    "paragraphs": _repeated("text with words\n\n"),
    "one paragraph": _repeated("text with words\n"),
    "one line": _repeated("text with words "),
    "continued lines": _repeated("a\n", before="> text\n"),
    "tabs": _repeated("\t", after="text"),
    "escaped brackets": _repeated("\\["),
    "autolinks": _repeated("<http://a> "),
    "an autolink without an end": _repeated("a", before="<http://"),
    "NUL": _repeated("\\\n"),
}

_HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
_PO: dict[str, Callable[[int], bytes]] = {
    "blanks in the language": _repeated(
        " ", before='msgid ""\nmsgstr "Language: a', after='b\\n"\nmsgid "text"\nmsgstr ""\n'
    ),
    "letters in the language": _repeated(
        "a", before='msgid ""\nmsgstr "Language: a', after='!\\n"\nmsgid "text"\nmsgstr ""\n'
    ),
    "Language: on many lines": _repeated(
        '"Language:\\n"\n', before='msgid ""\nmsgstr ""\n', after='msgid "text"\nmsgstr ""\n'
    ),
    "blanks in the plural forms": _repeated(
        " ", before='msgid ""\nmsgstr "Plural-Forms: nplurals', after='b\\n"\n'
    ),
    "plural forms of nplurals": _repeated(
        "nplurals ", before='msgid ""\nmsgstr "Plural-Forms: ', after='\\n"\n'
    ),
    "a deep plural expression": _repeated(
        "(", before='msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=', after='n;\\n"\n'
    ),
    "a long plural expression": _repeated(
        "n?0:", before='msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=', after='1;\\n"\n'
    ),
    "charsets without an end": _repeated("Content-Type:", before='msgid ""\nmsgstr "', after='"'),
    "strings on one line": _repeated('"a" ', before=_HEADER + "msgid ", after='\nmsgstr ""\n'),
    "strings on many lines": _repeated(
        '"text"\n', before=_HEADER + 'msgid ""\n', after='msgstr ""\n'
    ),
    "blanks after a keyword": _repeated(" ", before="msgid", after='x\nmsgstr ""\n'),
    "blanks after a string": _repeated(" ", before='msgid "a"', after='x\nmsgstr ""\n'),
    "blanks after a form": _repeated(" ", before='msgid "a"\nmsgstr[', after="x\n"),
    "backslashes": _repeated("\\\\", before=_HEADER + 'msgid "text', after='"\nmsgstr ""\n'),
    "octal escapes": _repeated("\\101", before=_HEADER + 'msgid "text', after='"\nmsgstr ""\n'),
    "messages": _numbered('msgid "text #"\nmsgstr ""\n\n', before=_HEADER),
    "flags": _repeated("#, c-format\n", before=_HEADER, after='msgid "text"\nmsgstr ""\n'),
    "flags on one line": _numbered(
        "a#,", before=_HEADER + "#,", after='\nmsgid "text"\nmsgstr ""\n'
    ),
    "comments": _repeated("#| a\n", before=_HEADER, after='msgid "text"\nmsgstr ""\n'),
    "obsolete messages": _repeated("#~ msgid\n", before=_HEADER),
    "forms": _numbered('msgstr[#] ""\n', before=_HEADER + 'msgid "text"\nmsgid_plural "text"\n'),
    "placeholders": _repeated(
        "%d ", before=_HEADER + '#, c-format\nmsgid "text ', after='"\nmsgstr ""\n'
    ),
    "placeholders without an end": _repeated(
        "%(", before=_HEADER + '#, python-format\nmsgid "text ', after='"\nmsgstr ""\n'
    ),
    "digits of a placeholder": _repeated(
        "%1", before=_HEADER + '#, c-format\nmsgid "text ', after='"\nmsgstr ""\n'
    ),
    "braces": _repeated(
        "{", before=_HEADER + '#, python-brace-format\nmsgid "text ', after='"\nmsgstr ""\n'
    ),
    "pairs of braces": _repeated(
        "{{}", before=_HEADER + '#, python-brace-format\nmsgid "text ', after='"\nmsgstr ""\n'
    ),
    "blanks in a string": _repeated(" ", before=_HEADER + 'msgid "text', after='a"\nmsgstr ""\n'),
    "hyphens": _repeated("-", before=_HEADER + 'msgid "text ', after='"\nmsgstr ""\n'),
    "combining marks": _repeated("\u0301", before=_HEADER + 'msgid "text ', after='"\nmsgstr ""\n'),
    "bars": _repeated("|", before=_HEADER + 'msgid "text ', after='"\nmsgstr ""\n'),
    "forms between bars": _repeated(
        " | text", before=_HEADER + 'msgid "text', after='"\nmsgstr ""\n'
    ),
    "escaped line ends": _repeated("a\\n", before=_HEADER + 'msgid "text ', after='"\nmsgstr ""\n'),
}

_JSON: dict[str, Callable[[int], bytes]] = {
    "nested arrays": _nested("[", "]", inside='"text"'),
    "nested objects": _nested('{"a":', "}", inside='"text"'),
    "strings in nested arrays": _repeated('"text",', before="[" * 99, after="1" + "]" * 99),
    "open arrays": _repeated("["),
    "many strings": _repeated('"text",', before="[", after='"a"]'),
    "many keys": _numbered('"a#":"text #",', before="{", after='"b":"text"}'),
    "records": _numbered(
        '"a#":{"message":"text","description":"b"},', before="{", after='"b":"c"}'
    ),
    "one long key": _repeated("a", before='{"', after='":"text"}'),
    "a string without an end": _repeated("a", before='["'),
    "backslashes": _repeated("\\\\", before='["text', after='"]'),
    "escapes": _repeated("\\u0041", before='["text', after='"]'),
    "blanks": _repeated(" ", before='["text"', after="]"),
    "a long number": _repeated("9", before='["text",', after="]"),
    "a text of blanks": _repeated(" ", before='["text', after='text"]'),
    "an identifier": _repeated("a.", before='["', after='!"]'),
    "identifiers": _repeated('"aaa_bbb.ccc",', before="[", after='"a"]'),
    "%": _repeated("%-", before='["text ', after='"]'),
    "<a": _repeated("<a", before='["text ', after='"]'),
    "$t(": _repeated("$t(", before='["text ', after='"]'),
    "&": _repeated("&a", before='["text ', after='"]'),
    ":a": _repeated(":a", before='["text ', after='"]'),
    "bars": _repeated("|", before='["text ', after='"]'),
    "forms between bars": _repeated(" | text", before='["text', after='"]'),
    "open brackets and bars": _repeated("([<|", before='["text', after='"]'),
    "blanks before a bar": _repeated(" ", before='["text', after='|text"]'),
    "open intervals": _repeated("[1,", before='["text | ', after='"]'),
    "closed intervals": _repeated("[1] ", before='["', after='text"]'),
}

_CUE = "1\n00:00:01,000 --> 00:00:02,000\n"
_SRT: dict[str, Callable[[int], bytes]] = {
    "cues": _repeated(_CUE + "text\n\n"),
    "lines of a cue": _repeated("text\n", before=_CUE),
    "speakers": _repeated("- text\n", before=_CUE),
    "words of one line": _repeated("text ", before=_CUE),
    "two lines without spaces": _repeated("漢字", before=_CUE + "text\n"),
    "digits for a timing": _repeated("1", before="1\n", after=" -->\n"),
    "colons for a timing": _repeated("1:1", before="1\n", after="\n"),
    "blanks in a timing": _repeated(" ", before="1\n00:00:01,000", after="->\n"),
    "<b": _repeated("<b ", before=_CUE + "text"),
    "tags": _repeated("<b>text</b>", before=_CUE),
    "tags without an end": _repeated("<b>", before=_CUE + "text"),
    "nested tags": lambda n: (_CUE + "<i>" * (n // 7) + "text" + "</i>" * (n // 7)).encode(),
    "nested tags around lines": lambda n: (
        _CUE + 2 * ("<i>" * (n // 14) + "text" + "</i>" * (n // 14) + "\n")
    ).encode(),
    "tags of many names around lines": lambda n: (
        _CUE
        + 2
        * (
            "".join(f"<{'b' * i}>" for i in range(1, int((n / 2) ** 0.5)))
            + "text"
            + "".join(f"</{'b' * i}>" for i in reversed(range(1, int((n / 2) ** 0.5))))
            + "\n"
        )
    ).encode(),
    "overrides": _repeated("{\\", before=_CUE + "text"),
    "overrides at the start": _repeated("{\\a}", before=_CUE, after="text"),
    "chevrons": _repeated(">", before=_CUE + "text"),
    "&gt;": _repeated("&gt;", before=_CUE + "text"),
    "blanks": _repeated(" ", before=_CUE, after="text"),
    "blanks after <br": _repeated(" ", before=_CUE + "text<br", after="a"),
    "capitals": _repeated("A", before=_CUE),
    "names": _repeated("A:", before=_CUE),
}
_VTT: dict[str, Callable[[int], bytes]] = {
    "cues": _repeated("00:01.000 --> 00:02.000\ntext\n\n", before="WEBVTT\n\n"),
    "<": _repeated("<", before="WEBVTT\n\n00:01.000 --> 00:02.000\ntext"),
    "tags": _repeated("<v A>text", before="WEBVTT\n\n00:01.000 --> 00:02.000\n"),
    "entities": _repeated("&amp;", before="WEBVTT\n\n00:01.000 --> 00:02.000\ntext"),
    "notes": _repeated("NOTE a\n\n", before="WEBVTT\n\n"),
    "arrows": _repeated("-->", before="WEBVTT\n\n"),
}
_TEXT: dict[str, Callable[[int], bytes]] = {
    "lines": _repeated("text\n"),
    "one line": _repeated("text "),
    "not UTF-8": lambda n: b"a" * n + b"\xff",
}
_PROPERTIES: dict[str, Callable[[int], bytes]] = {
    "entries": _numbered("key.# = text\n"),
    "backslashes": _repeated("\\", before="a="),
    "continued lines": _repeated("text\\\n", before="a="),
    "escapes": _repeated("\\u00e9", before="a=text"),
    "line breaks": _repeated("\\n\\\n text", before="a="),
    "apostrophes": _repeated("'", before="a={0}text"),
    "quotations": _repeated("'{'", before="a=text"),
    "quotations without an end": _repeated("'{", before="a=text"),
    "a key": _repeated("a\\ ", after="=text"),
    "blanks": _repeated(" ", before="a", after="=text"),
    "comments": _repeated("# text\n"),
    "carriage returns": _repeated("a=text\r"),
}
_STRINGS: dict[str, Callable[[int], bytes]] = {
    "entries": _numbered('"#" = "text";\n'),
    "keys alone": _numbered("text.#;"),
    "backslashes": _repeated("\\\\", before='"a" = "', after='";'),
    "escapes": _repeated("\\U00e9", before='"a" = "text', after='";'),
    "a string without an end": _repeated("a", before='"'),
    "comments": _repeated("/* */"),
    "comments without an end": _repeated("/*"),
    "stars": _repeated("*", before="/*"),
    "lines": _repeated("text\n", before='"a" = "', after='";'),
}
_UNIT = '"stringUnit": {"value": "text"}'
_XCSTRINGS: dict[str, Callable[[int], bytes]] = {
    "entries": _numbered('"text #": {}, ', before='{"strings": {', after='"b": {}}}'),
    "localizations": _numbered(
        f'"x#": {{{_UNIT}}}, ',
        before='{"strings": {"text": {"localizations": {',
        after='"b": {}}}}}',
    ),
    "variations": _numbered(
        f'"a#": {{{_UNIT}}}, ',
        before='{"sourceLanguage": "en", "strings": {"a": {"localizations": {"en": {"variations": '
        '{"device": {',
        after='"b": {}}}}}}}}',
    ),
    "nested": _repeated('{"a":', before='{"strings": {"text": {"localizations": '),
    "backslashes": _repeated("\\\\", before='{"strings": {"text', after='": {}}}'),
}
_ANDROID: dict[str, Callable[[int], bytes]] = {
    what: _repeated(unit, before=f"<resources>{before}", after=f"{after}</resources>")
    for what, (before, unit, after) in {
        "strings": ("", '<string name="a">text</string>', ""),
        "plurals": ("", '<plurals><item quantity="other">text</item></plurals>', ""),
        "items": ("<plurals>", '<item quantity="other">text</item>', "</plurals>"),
        "quotes": ("<string>text", '"', "</string>"),
        "apostrophes": ("<string>text", "'", "</string>"),
        "backslashes": ("<string>text", "\\\\", "</string>"),
        "escapes": ("<string>text", "\\u00e9", "</string>"),
        "white space": ("<string>text", " \n", "a</string>"),
        "markup": ("<string>text", "<b>a</b>", "</string>"),
        "comments": ("<string>text", "<!-- a -->", "</string>"),
        "a reference": ("<string>@text", ".a", "</string>"),
        "a name": ('<string-array name="', "_value", 's"><item>text</item></string-array>'),
    }.items()
}
_PLIST: dict[str, Callable[[int], bytes]] = {
    what: _repeated(unit, before=f"<plist>{before}", after=f"{after}</plist>")
    for what, (before, unit, after) in {
        "forms": ("<dict>", "<key>other</key><string>text</string>", "</dict>"),
        "plurals": (
            "<dict>",
            "<key>a</key><dict><key>other</key><string>text</string></dict>",
            "</dict>",
        ),
        "arrays": ("<dict>", "<array><string>a</string></array>", "</dict>"),
    }.items()
}
_YAML: dict[str, Callable[[int], bytes]] = {
    "values": _repeated("- some text\n"),
    "plural forms": _repeated("- {one: a text, other: some text}\n"),
    "anchors and aliases": _numbered("- &a# a text\n- *a#\n"),
    "anchors before text": _repeated("&a ", after="text"),
    "a quoted value": _repeated("'' ", before="a: '", after="text'"),
    "a block": _repeated("  a text\n\n", before="a: >\n"),
    "blanks": _repeated(" ", before="a: text", after="#"),
    "brackets": _repeated("["),
    "keys without values": _repeated("a: "),
}
_CSV: dict[str, Callable[[int], bytes]] = {
    "rows": _repeated("a text,1\n"),
    "cells": _repeated("text,"),
    "quotes": _repeated('""', before='"text'),
    "a cell in quotes": _repeated('""\n', before='"text', after='"'),
    "empty rows": _repeated("\n", before="text"),
}

CRAFTED = (
    *_crafted("html.html", "html", _HTML),
    *_crafted("markdown.markdown", "markdown", _MARKDOWN),
    *_crafted("messages.po", "po", _PO),
    *_crafted("messages.json_strings", "json", _JSON),
    *_crafted("messages.apps.android", "android", _ANDROID),
    *_crafted("messages.apps.properties", "properties", _PROPERTIES),
    *_crafted("messages.apps.property_lists", "stringsdict", _PLIST),
    *_crafted("messages.apps.strings", "strings", _STRINGS),
    *_crafted("messages.apps.xcstrings", "xcstrings", _XCSTRINGS),
    *_crafted("subtitles", "srt", _SRT),
    *_crafted("subtitles", "vtt", _VTT),
    *_crafted("text", "text", _TEXT),
    *_crafted("messages.apps.yaml_strings", "yaml", _YAML),
    *_crafted("tables.csv", "table", _CSV),
)
