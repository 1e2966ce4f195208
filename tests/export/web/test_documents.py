"""Documents in a browser are read and written as in Python."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.export.web.conftest import Node
from yakusu.documents.document import DocumentOptions, usable
from yakusu.documents.messages import json_strings
from yakusu.documents.subtitles import read as read_subtitles

LANGUAGES = ("de", "en")
# Texts in capitals: that keeps marks, and changes all others.
READ = """
const READERS = {
  sub: (text) => new Subtitles(LINES.findall(text), NO_MARK, "utf-8"),
  json: (text) => new JsonDocument(text, ["de", "en"]),
};
const made = (kind, text) => {
  try {
    const document = READERS[kind](text);
    const [found] = usable(document, document.texts.map((each) => each.toUpperCase()));
    const out = new TextDecoder().decode(document.render(found));
    return [[...document.texts], out, [...document.skipped]];
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
VTT = """WEBVTT - Titel

NOTE Eine Bemerkung

00:01.000 --> 00:02.000 line:0
<v Ada>Tom &amp; Jerry &lt;3 &eacute; &#233; &unknown; caf\u00e9

intro
00:03.000 --> 00:04.000
<c.yellow>Guten Tag.</c> Wie geht es?
"""
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


def cases() -> list[tuple[str, str]]:
    written = [json.dumps(each, ensure_ascii=False, indent=2) for each in JSON]
    written += [json.dumps(JSON[0]), json.dumps(JSON[4], indent="\t"), "[" * 120 + "]" * 120]
    written += ['{"a": "x" "b"}', '{"a": "\\u00e9\\/ Stra\\u00dfe \\u20AC"}', "", "{}"]
    subtitles = [SRT, SRT.replace("\n", "\r\n"), VTT, "", "1\n00:00:01 -> 2\nHallo\n", "Hallo"]
    return [("sub", each) for each in subtitles] + [("json", each) for each in written]


def in_python(kind: str, text: str) -> Any:
    from yakusu.errors import DataError

    options = DocumentOptions(languages=LANGUAGES)
    read = read_subtitles if kind == "sub" else json_strings.read
    try:
        document = read(text.encode(), options)
    except DataError:
        return "refused"
    found, _ = usable(document, [each.upper() for each in document.texts])
    return [[*document.texts], document.render(found).decode(), [*document.skipped]]


def script_with(module: Path, more: str) -> str:
    """A script for node that has the names of a module."""
    source = (module / "yakusu.js").read_text(encoding="utf-8")
    return source + more


def test_documents_are_read_and_written_as_in_python(
    exported: tuple[Path, Any], node: Node
) -> None:
    given = cases()
    found = node(script_with(exported[0], READ), given)
    for case, own in zip(given, found, strict=True):
        assert own == in_python(*case), case
