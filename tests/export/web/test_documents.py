"""Documents in a browser are read and written as in Python."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.export.web.conftest import Node, page_script
from yakusu.documents import subtitles
from yakusu.documents.document import Document, DocumentOptions, NamesTexts, usable
from yakusu.documents.markdown import markdown
from yakusu.documents.messages import json_strings, po
from yakusu.errors import DataError

LANGUAGES = ("de", "en")
READERS: Mapping[str, Callable[[bytes, DocumentOptions], Document]] = {
    "sub": subtitles.read,
    "json": json_strings.read,
    "po": po.read,
    "md": markdown.read,
}
# Texts in capitals: that keeps marks, and changes all others. In Markdown, also with its syntax.
READ = """
const READERS = {
  sub: (text) => new Subtitles(LINES.findall(text), NO_MARK, "utf-8"),
  json: (text) => new JsonDocument(text, ["de", "en"]),
  po: (text) => new PoDocument(text, new DocumentOptions(["de", "en"])),
  md: readMarkdown,
};
const shout = (text) => text.toUpperCase(), soil = (text) => "*#_1. |" + text + "` <b>&amp;";
const made = (kind, text) => {
  try {
    const document = READERS[kind](text);
    const outs = (kind === "md" ? [shout, soil] : [shout]).map((change) => {
      const [found] = usable(document, document.texts.map(change));
      const written = document.render(found);
      return typeof written === "string" ? written : new TextDecoder().decode(written);
    });
    return [[...document.texts], outs, [...document.skipped], [...(document.keys ?? [])]];
  } catch (error) { return error instanceof DataError ? "refused" : `${error.stack}`; }
};
give(given.map(([kind, text]) => made(kind, text)));
"""
SRT = """1
00:00:01,000 --> 00:00:02,500
- Wo ist <i>Anna</i>?
- Zu Hause, glaube ich.

2
00:00:03,000 --> 00:00:04,000
<i>DR. MEYER: Das ist ein langer Satz,
der auf zwei Zeilen steht.</i>

3
00:00:05,000 --> 00:00:06,000
{\\an8}>> Und weiter mit <font color="red">Rot</font> & <b>offen.

4
00:00:07,000 --> 00:00:08,000
今日はとても天気がいいですね。
散歩に行きましょう。
"""
VTT = """WEBVTT - Film

NOTE Eine Bemerkung

00:01.000 --> 00:02.000 line:0
<v Ada>Tom &amp; Jerry &lt;3 &eacute; &#233; &unknown; \u00e9

intro
00:03.000 --> 00:04.000
<c.yellow>Guten Tag.</c> Wie geht es?
"""
HEADER = r"""msgid ""
msgstr ""
"Project-Id-Version: x\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: PLURALS\n"
"""
PO = (
    HEADER
    + r"""
# Bemerkung
#: a.c:1
#, c-format
msgid "Der Hund hat %d Katzen \"hier\".\n"
msgstr ""

#, c-format, fuzzy
msgctxt "Menü"
msgid "%s kopiert nach %s"
msgstr "alt"

msgid "eine Datei"
msgid_plural "%d Dateien"
msgstr[0] ""
msgstr[1] ""

msgid ""
"Erste Zeile\n"
"Zweite Zeile\n"
msgstr ""

msgid "action.save"
msgstr ""

msgid "Schon da"
msgstr "Done"

#~ msgid "Alt"
#~ msgstr "Old"
"""
)
PLURALS = (
    "nplurals=INTEGER; plural=EXPRESSION;",
    "nplurals=2; plural=(n != 1);",
    "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2);",
    "nplurals=1; plural=0;",
    "nplurals=2; plural=n>1;",
    "nplurals=2; plural=(n",
    "nplurals=2; plural=n/0;",
)
ICU = "{n, plural, one {# Datei in {ort}} other {# Dateien}} übrig"
JSON = [
    {"title": "Guten Tag, {name}!", "count": ICU, "url": "https://x.org/a", "icon": "home"},
    {"@@locale": "de", "hallo": "Hallo Welt", "@hallo": {"description": "Ein Gruß"}},
    {"a": {"message": "Ein Satz.", "description": "Wo"}, "b": {"message": "Noch einer $N$."}},
    {"2": "zwei Hunde", "1": "ein Hund", "bars": "kein Zimmer | ein Zimmer | {n} Zimmer"},
    ["Ein Wort", 1, 1.5, True, None, {"k": "Es ist's: '{x}' \"ja\" \\ / \t 😀"}],
    {"one": {"one": "Ein Tag", "other": "{n} Tage", "description": "Tage"}, "x": "a_b_c"},
    {"s": "{x, select, a {Er '{'kommt'}'} other {Sie kommt's}} <b>heute</b> $t(key)"},
    "Nur ein Text",
]


MARKDOWN = (
    """# Ein *Anfang* mit `code` {#id}

Ein [Link](a.md "Ein Anfang"), ein ![Bild](b.png), <b>Fett</b> &amp; ein Zitat[^1].
Ein [Verweis][], **fett _und_ schräg**, ~~weg~~, $a_1$, {{ x }} und 😀 danach.

[Verweis]: c.md
[^1]: Eine Fußnote.

> [!note] Achtung
> Text im Zitat

- [ ] Eine Aufgabe
- Zwei
    1. Drei

| Spalte | Wert \\| zwei |
|---|:-:|
| `a` | Ein Wert |

Ein Wort
: seine Erklärung

!!! note "Ein Anfang"
    Ein Absatz

```{tip} Mein Tipp
:class: x
Noch *ein* Absatz
```

<div title="Ein Anfang"><p>HTML &eacute; &check; &copy 1 &#150; &notit; &#x1F600 <br>Text</p></div>

Anfang unten
-----------
""",
    """import Tabs from '@theme/Tabs';

<Tabs values={[{label: "a"}]}>
Ein {props.name} **Text**
</Tabs>
""",
)
FRONT = "---\n# c\ntitle: VALUE\ndescription: Ein Hund\nmenu:\n  title: Hund\n---\n\nEin Text\n"
VALUES = (
    *("Guten Tag", "'Es ist''s'", '"Ein \\"b\\" \\u00e9"', "a: b", "Wort # b", "yes", "12", "@x"),
    *(
        ">\n  Ein Wort\n  und zwei\n",
        "|\n  Eine\n  Zeile",
        "{a: b}",
        "",
        "Ein\n  Wort",
        "- x",
        '"x',
    ),
)


def markdown_files() -> list[str]:
    folder = Path(__file__).parents[3]
    return [(folder / name).read_text(encoding="utf-8") for name in ("README.md", "docs/serve.md")]


def cases() -> list[tuple[str, str]]:
    written = [json.dumps(each, ensure_ascii=False, indent=2) for each in JSON]
    written += [json.dumps(JSON[0]), json.dumps(JSON[4], indent="\t"), "[" * 120 + "]" * 120]
    written += [
        f'{{"de": {{"a": "Wort"}}, "{key}": {{"a": "Text"}}}}' for key in ("fr", "de-AT", "qy")
    ]
    written += ['{"a": "x" "b"}', '{"a": "\\u00e9\\/ Stra\\u00dfe \\u20AC"}', "", "{}"]
    films = [SRT, SRT.replace("\n", "\r\n"), VTT, "", "1\n00:00:01 -> 2\nHallo\n", "Hallo"]
    messages = [PO.replace("PLURALS", plurals) for plurals in PLURALS]
    messages += [PO.replace("\n", "\r\n"), PO.rstrip(), "", "#", 'msgid "a"', 'msgid "a\nmsgstr ""']
    french = '"Language: fr\\n"\n\nmsgid "ein"\nmsgstr ""\n'
    messages += [HEADER.replace("UTF-8", "x-1"), HEADER + french]
    pages = [*MARKDOWN, *(FRONT.replace("VALUE", value) for value in VALUES), *markdown_files()]
    pages += [each.replace("\n", "\r\n") for each in (*MARKDOWN, FRONT)]
    given = {"sub": films, "json": written, "po": messages, "md": pages}
    return [(kind, each) for kind, some in given.items() for each in some]


def in_python(kind: str, text: str) -> Any:
    options = DocumentOptions(languages=LANGUAGES)
    try:
        document = READERS[kind](text.encode(), options)
    except DataError:
        return "refused"
    changes = [str.upper, soiled] if kind == "md" else [str.upper]
    every = (usable(document, [*map(change, document.texts)])[0] for change in changes)
    outs = [document.render(found).decode() for found in every]
    keys = [*document.keys] if isinstance(document, NamesTexts) else []
    return [[*document.texts], outs, [*document.skipped], keys]


def soiled(text: str) -> str:
    return f"*#_1. |{text}` <b>&amp;"


def test_documents_are_read_and_written_as_in_python(
    exported: tuple[Path, Any], node: Node
) -> None:
    given = cases()
    found = node(page_script(exported[0], READ), given)
    for case, own in zip(given, found, strict=True):
        assert own == in_python(*case), case
