"""Expressions give the same values in JavaScript as in Python."""

import ast
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import regex

from tests.export.web.conftest import Node
from yakusu.export.web import expressions, inspected, names
from yakusu.export.web.bundle import Bundle
from yakusu.export.web.javascript import Transpiler
from yakusu.export.web.names import Names

TEXTS = [
    "",
    "a",
    "aBc ß",
    "\U0001d400b\U0001f600c",
    " Ǆo\u00a0\u3000İı ",
    "x\r\ny\u2028z\x1c",
    "ΑΣ σ٣½",
]
OF_TEXTS = [
    *(
        "len(t)",
        "t[1:]",
        "t[-2:]",
        "t[:2]",
        "t[::-1]",
        "t[3:0:-2]",
        "t[1:4:2]",
        "t[-9:9]",
        "list(t)",
    ),
    *(
        "t[0] if t else None",
        "t[-1:]",
        "t * 2",
        "t + 'x'",
        "'b' in t",
        "sorted(t)",
        "max(t, default='')",
    ),
    *(
        "t.lower()",
        "t.upper()",
        "t.title()",
        "t.casefold()",
        "t.capitalize()",
    ),
    *("t.strip()", "t.lstrip()", "t.rstrip('c')", "t.split()", "t.split('b')", "t.split(None, 1)"),
    *("t.find('b')", "t.rfind('b')", "t.find('c', 1)", "t.find('')", "t.count('b')", "t.count('')"),
    *(
        "t.startswith('a')",
        "t.endswith(('c', 'z'))",
        "t.startswith('b', 1)",
        "t.replace('b', 'xy')",
    ),
    *(
        "t.replace('', '-')",
        "t.isalnum()",
        "t.isalpha()",
        "t.isdigit()",
        "t.isspace()",
        "t.isupper()",
    ),
    *(
        "t.islower()",
        "t.isascii()",
        "t.isdecimal()",
        "t.isnumeric()",
        "f'{t!r:}'[:0]",
    ),
    *("[ord(c) for c in t]", "{c: i for i, c in enumerate(t)}", "{c for c in t}", "t.encode()"),
    *(
        "t.translate({ord('b'): 'B'}) if not t else ''",
        "t.removeprefix('a')",
        "t.removesuffix('c')",
    ),
    *(
        "list(map(str.upper, t))",
        "'-'.join(t)",
        "list(reversed(t))",
        "t < 'b'",
        "t <= t",
        "t > '\U0001d400'",
    ),
    *("re.sub(r'\\s*', '-', t)", "re.sub(r'(b)|(c)', r'<\\1\\2>', t)", "re.split(r'(b)|\\s', t)"),
    *("[m.span() for m in regex.finditer(r'b?', t)]", "re.findall(r'\\w(\\w)?', t)"),
    *("[(m.start(), m.end(), m[0]) for m in re.finditer(r'\\W|$', t)]", "regex.split(r'x*', t)"),
    *("re.sub(r'\\w', lambda m: m[0] * 2, t, count=2)", "Counter(t).most_common(2)"),
    *(
        "[list(g) for _, g in itertools.groupby(t, key=str.isalpha)]",
        "bool(regex.fullmatch(r'\\w+', t))",
    ),
]
OTHERS = [
    *(
        "sorted([(2, 'b'), (1, 'z'), (2, 'a')])",
        "sorted(['\U0001f600', '\uffff', 'a'], reverse=True)",
    ),
    *("{(1, 'a'): 2, (1, 'b'): 3}[1, 'b']", "(1, 'a') in {(1, 'a'), (2,)}", "{1: 2} == {1: 2}"),
    *(
        "{(1,), (2,)} - {(1,)}",
        "{1, 2} & {2, 3}",
        "{1, 2} | {3}",
        "{1} <= {1, 2}",
        "{1, 2} < {1, 2}",
    ),
    *(
        "[1, 2] < [1, 3]",
        "(1, 2) == (1, 2)",
        "[1, [2, (3,)]] == [1, [2, (3,)]]",
        "[0] * 3",
        "[1] + [2]",
    ),
    *(
        "list(range(5))[::-2]",
        "list(range(5))[-2:0:-1]",
        "list(range(9))[8:2:-3]",
        "[1, 2, 3][-2:]",
    ),
    *(
        "round(0.5)",
        "round(1.5)",
        "round(2.5)",
        "round(-0.5)",
        "round(-1.5)",
        "round(2.675, 2)",
        "round(7)",
    ),
    *(
        "-7 // 2",
        "-7 % 3",
        "7 % -3",
        "7 // -2",
        "2 ** 10",
        "1 / 4",
        "int('٣٤')",
        "int('12')",
        "int(-2.7)",
    ),
    *(
        "f'{1234567:,}'",
        "f'{3.14159:.2f}'",
        "f'{7:03}'",
        *("f'{255:02x}'", "f'{0.5:.0f}'", "f'{2.5:.0f}'", "f'{-0.125:.2f}'", "round(0.375, 2)"),
    ),
    *(
        "int(Fraction(6, 2)) if Fraction(6, 2).denominator == 1 else 0.5",
        "Fraction(6, 2).numerator",
        "0 < Fraction(5, 2) <= 12",
        "Fraction(5, 2) < 2",
        "{Fraction(3): 1}[3]",
    ),
    *("math.fsum([0.1] * 10)", "math.fsum([1e16, 1.0, -1e16])", "math.fsum([])", "sum([0.1] * 10)"),
    *(
        "[] or 'x'",
        "0 and 1",
        "'' or []",
        "not []",
        "None or 0",
        "[1] and (2 or 3)",
        "bool({})",
        "1 < 2 < 3",
    ),
    *(
        "max([3, 1, 2], key=lambda x: -x)",
        "min((2, 'a'), (1, 'z'))",
        "max(1, 2.5)",
        "any([0, '', 3])",
    ),
    *(
        "list(zip('ab', [1, 2, 3]))",
        "list(itertools.accumulate([1, 2, 3]))",
        "list(enumerate('ab', 1))",
    ),
    *(
        "list(itertools.pairwise('abc'))",
        "list(itertools.chain([1], 'ab'))",
        "[x for y in [[1], [2]] for x in y]",
    ),
    *(
        "Counter('abca') - Counter('ab')",
        "Counter('aab')['z']",
        "dict.fromkeys('aba', 1)",
        "str(None)",
    ),
]
PLAIN = """
const plain = (x) => {
  if (x instanceof $.Dict) return ["dict", [...x.items()].map(plain)];
  if (x instanceof $.Bag) return ["set", [...x].sort($.compare).map(plain)];
  if (Array.isArray(x) || ArrayBuffer.isView(x)) return [...x].map(plain);
  if (x != null && typeof x === "object") return [...x].map(plain);
  return x === undefined ? null : x;
};
const tried = (f) => {
  try { return plain(f()); } catch (error) { return `failed: ${error.message}`; }
};
"""


def plain(value: Any) -> Any:
    """A value as JSON."""
    if isinstance(value, dict):
        return ["dict", [[plain(k), plain(v)] for k, v in value.items()]]
    if isinstance(value, set):
        return ["set", [plain(each) for each in sorted(value)]]
    if isinstance(value, list | tuple | bytes):
        return [plain(each) for each in value]
    return value


class _Sample:
    """What a script has of a class: a property that can be set, and loops, errors and closures."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts

    @property
    def texts(self) -> list[str]:
        return [*self._texts]

    @texts.setter
    def texts(self, value: list[str]) -> None:
        self._texts = [*value, "set"]

    def found(self, text: str) -> str:
        """Where a text is."""
        i = 0
        while i < len(self._texts):
            if self._texts[i] == text:
                made = f"at {i}"
                break
            i += 1
        else:
            made = "nowhere"
        with suppress(ValueError):
            return made + text[text.index("z")]
        try:
            text[1]
        except IndexError:
            made += " short"
        else:
            made += " long"
        return made


class _Other(_Sample):
    def __init__(self, text: str) -> None:
        self.texts = [text]


def _adding(name: str) -> Callable[[str, str], str]:
    def added(text: str, more: str = "!") -> str:
        return f"{name} {text}{more}"

    return added


def _joined(first: str, second: str = "-", last: str = "?") -> str:
    return first + second + last


def _results() -> list[Any]:
    first, second = _Sample(["ab", "z"]), _Other("ab")
    found = [each.found(text) for each in (first, second) for text in ("ab", "z", "c", "")]
    joined = [_joined("a", *more, last="c") for more in ([], ["b"])]
    return [found, second.texts, [own("x") for own in ADDED], joined]


ADDED = [_adding("one"), _adding("other"), partial(_adding("last"), more="?")]


def test_statements_have_the_same_effects(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspected, "_TRANSLATED", frozenset(("yakusu", "tests")))
    made = Bundle({})
    name = made.reference(_results)
    runtime = (Path(names.__file__).parent / "runtime.js").read_text(encoding="utf-8")
    assert node(f"{runtime}{made.source()}give({name}());") == _results()


def test_expressions_have_the_same_values(node: Node) -> None:
    scope = ModuleType("expressions")
    vars(scope).update(re=re, regex=regex, math=math, itertools=itertools)
    vars(scope).update(Counter=Counter, Fraction=Fraction)
    made = Bundle({})
    translated = []
    for text in [f"lambda t: {each}" for each in OF_TEXTS] + OTHERS:
        transpiler = Transpiler(Names(made, scope), text)
        translated.append(transpiler.value(ast.parse(text, mode="eval").body))
    of_texts, others = translated[: len(OF_TEXTS)], translated[len(OF_TEXTS) :]
    runtime = (Path(names.__file__).parent / "runtime.js").read_text(encoding="utf-8")
    calls = ",\n".join(f"given.map((t) => tried(() => ({each})(t)))" for each in of_texts)
    values = ",\n".join(f"tried(() => {each})" for each in others)
    found = node(f"{runtime}{made.source()}{PLAIN}give([[{calls}], [{values}]]);", TEXTS)
    wrong = []
    for text, row in zip(OF_TEXTS, found[0], strict=True):
        for own, value in zip(TEXTS, row, strict=True):
            expected = plain(eval(text, {**vars(scope), "t": own}))
            if value != expected:
                wrong.append((text, own, value, expected))
    for text, value in zip(OTHERS, found[1], strict=True):
        expected = plain(eval(text, vars(scope)))
        if value != expected or isinstance(value, bool) != isinstance(expected, bool):
            wrong.append((text, "", value, expected))
    assert not wrong, "\n".join(map(str, wrong))


def test_methods_of_texts_and_arrays_are_those_of_the_runtime(node: Node) -> None:
    runtime = (Path(names.__file__).parent / "runtime.js").read_text(encoding="utf-8")
    shown = runtime.replace("\nreturn {", "\nreturn { list_,", 1)
    found = node(f"{shown}give([...Object.keys($.text), ...Object.keys($.list_)]);")
    assert {*found} == expressions.OF_TEXTS_AND_ARRAYS
