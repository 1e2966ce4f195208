"""Regular expressions in JavaScript match what they match in Python."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import regex

from tests.export.web.conftest import Node
from yakusu import Translator
from yakusu.errors import ModelError
from yakusu.export.web import patterns
from yakusu.export.web.bundle import Bundle
from yakusu.export.web.patterns import as_javascript, members
from yakusu.export.web.script import script_of

SCRIPT = """
give(EXPRESSIONS.map((pattern) => given.map((text) => [...pattern.finditer(text)].map((found) =>
  [...Array(pattern.n + 1).keys()].map((group) => found.span(group))))));
"""
TEXTS = [
    "",
    "\n",
    "a\n\nb\r\nc\u2028d\x85e",
    "The 1st, 2nd and 21st of May 2024; 7:30 p.m., 1,234.50 € or ½ (three quarters).",
    "Am 3. März um 14.30 Uhr: zwei Drittel, eine Million, 1.234,5 km/h, IV. Kapitel, Ⅻ",
    "「それは三十二万円です。」と１２３人が言った。二〇二四年五月三日（金）午後七時半。第二章",
    "HELLO wÖrld ẞß ſs K k İ i ı Ǆǅǆ Σσς µμ ﬁ FI é e\u0301 Å",
    "\U0001d400\U0001d7d8 \U00020000\U0002a6df \U0001f468\u200d\U0001f469\u200d\U0001f467 "
    "\U0001f1e9\U0001f1ea\U0001f1eb \U0001f44d\U0001f3fd \u1100\u1161\u11a8 각 \u0e33 \u0903",
    "<b class='x'>bold</b> {name} {{a.b}} %s %(n)d %1$s ${x} &amp; &#39; \\n :key @:user.name",
    "https://example.org/a?b#d mail@example.org C:\\dir\\file.txt /usr/bin 192.168.0.1 v1.2.3-rc1",
    "```python\nprint('x')\n```\n> quote\n- item\n1) item\n| a | b |\n---\n# Title\n~~~",
    "“Quoted ‘inner’ text,” she said - «oui» – „ja“ … (a [b {c}]) !? ¿qué? 。、！",
    "AAA aaa aA1 a_b a-b ab12cd 12ab __init__ foo() x=1; if (a && b) { return; } camelCase",
    "  two  spaces\tand\u00a0others\u3000here\u200b ",
    "\ue000 \uf8ff \U000f0000 \U0010fffd \ufffe \ufeff",
]
CRAFTED = [
    *(
        (regex, text)
        for text in (
            r"\X",
            r"(\X)\1",
            r"\w++\b",
            r"a*+a|.",
            r"(?>a|ab)c?|b",
            r"(?<=\w{1,3})\W",
            r"(?<!\p{Lu})\p{Ll}+",
            r"(?P<x>\d)-(?P<y>\d)|(?P<x>[a-z])(?P<y>\d)",
            r"(?i)straße|σ|k|ı|ſ",
            r"(?i)[a-k]+|[^\W\d_]",
            "(?x) \\d+ # digits\n | [ ] \\w ",
            r"(?P<q>['\"“]).*?(?P=q)",
            r"(a)?(b)?(?:(c)|d)",
            r"[[:punct:]]|[^\w\s\x20-\x7e]",
            r"(?s:.)\n|^|$",
            r"(?m)^.*$",
            r"\A\s|\s\Z|\B.\B",
            r"[\U00020000-\U0010ffff]+|[^\x00-\U0001f000]",
            r"(?:\d{1,3},?)++\.?+\d{0,2}+(?!\d)",
            r"((?:x|y)*)|()",
        )
    ),
    *(
        (re, text)
        for text in (
            r"\w+|\W",
            r"(?i)[ks]|µ",
            r"(\d)(?=\D|$)|(?<!\d)\b",
            r"\s*",
        )
    ),
]


def matches(pattern: Any, text: str) -> list[list[list[int]]]:
    if isinstance(pattern.pattern, bytes):  # of a file, whose bytes are characters in a browser
        pattern = re.compile(pattern.pattern.decode("latin-1"), pattern.flags)
    return [
        [list(found.span(group)) for group in range(pattern.groups + 1)]
        for found in pattern.finditer(text)
    ]


def check(node: Node, script: str, expressions: list[tuple[Any, str]]) -> None:
    listed = ",\n".join(made for _, made in expressions)
    found = node(f"{script}\nconst EXPRESSIONS = [{listed}];{SCRIPT}", TEXTS)
    for (pattern, _), own in zip(expressions, found, strict=True):
        for text, spans in zip(TEXTS, own, strict=True):
            assert spans == matches(pattern, text), (pattern, text)


def test_crafted_expressions_match_the_same(node: Node) -> None:
    bundle = Bundle({})
    compiled = [library.compile(text) for library, text in CRAFTED]
    expressions = [(pattern, bundle.pattern(pattern)) for pattern in compiled]
    runtime = (Path(patterns.__file__).parent / "runtime.js").read_text(encoding="utf-8")
    check(node, runtime + bundle.source(), expressions)


@pytest.mark.parametrize("languages", [("en", "de"), ("ja", "en")])
def test_all_expressions_of_a_module_match_the_same(
    model_folder: Path, node: Node, monkeypatch: pytest.MonkeyPatch, languages: tuple[str, str]
) -> None:
    expressions, original = dict[str, Any](), Bundle.pattern

    def recorded(self: Bundle, pattern: Any) -> str:
        made = original(self, pattern)
        own = getattr(pattern, "_arguments", None)
        expressions[made] = regex.compile(*own) if own else pattern
        return made

    monkeypatch.setattr(Bundle, "pattern", recorded)
    translator = Translator.load(model_folder)
    translator.languages = languages
    script = script_of([translator], for_page=True)
    assert len(expressions) > 150
    check(node, script, [(pattern, made) for made, pattern in expressions.items()])


@pytest.mark.parametrize(
    "atom", [r"\w", r"\p{Cn}", r"[^\p{L}]", r"\p{Co}", "[^a]", r"\p{GCB=Control}"]
)
def test_sets_are_those_of_all_characters(atom: str) -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    found = regex.compile(f"(?:{atom})+").finditer(every)
    assert members(atom, 0, regex) == tuple((each.start(), each.end() - 1) for each in found)


@pytest.mark.parametrize("text", [r"\Ga", r"(?R)", r"(?(1)a|b)", r"\m", r"(a)(?1)", r"\K"])
def test_what_has_no_translation_is_refused(text: str) -> None:
    with pytest.raises(ModelError, match="has no translation"):
        as_javascript(regex.compile(text if "1" not in text else f"(a)?{text}"))
