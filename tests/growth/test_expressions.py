"""Every regular expression takes a time that is proportional to the length of its text."""

import re

import pytest

from tests.cases import THOROUGH
from tests.growth.attacks import Attack, attacks, seconds_of, slowness
from tests.growth.expressions import Expression, expressions, files
from tests.growth.patterns import ATTACKS, LONGEST, MADE

_MOST = 1000 if THOROUGH else 20  # attacks of an expression
_MOST_SECONDS = 0.05  # for the longest text that an expression reads


def _attacks(name: str, pattern: "re.Pattern[str]") -> list[Attack]:
    every = ATTACKS.get(name) or attacks(pattern.pattern, pattern.flags)
    return every[:_MOST]


def _slow(expression: Expression) -> list[str]:
    """What is wrong with an expression."""
    if expression.pattern is None and expression.name not in MADE:
        return [f"{expression.name} is made while the program runs: add examples to MADE"]
    patterns = [expression.pattern] if expression.pattern else MADE[expression.name]()
    longest, _ = LONGEST.get(expression.name, (0, ""))
    for pattern in patterns:
        for attack in _attacks(expression.name, pattern):
            if longest:
                seconds = seconds_of(pattern, expression.use, attack(longest))
                slow = f"{longest:,} characters take {seconds:.4f} s" * (seconds > _MOST_SECONDS)
            else:
                slow = slowness(pattern, expression.use, attack)
            if slow:
                return [f"line {expression.line}, {expression.name}: {attack(40)!r}: {slow}"]
    return []


@pytest.mark.parametrize("file", files())
def test_expressions_are_linear(file: str) -> None:
    slow = [problem for expression in expressions(file) for problem in _slow(expression)]
    assert not slow, "\n".join(slow)


def test_a_quadratic_expression_is_found() -> None:
    for pattern in (r"a*b", r"\s*,", r"<[^>]*>", r"(?:ab)+c", r"\d+\s*x", r"<!--.*?-->"):
        expression = re.compile(pattern)
        assert any(slowness(expression, "search", each) for each in attacks(pattern, 0)), pattern


def test_a_linear_expression_is_not_found() -> None:
    for pattern in (r"[ab]", r"a{1,5}b", r"<[^<>]*>", r"\S+", r"a*+", r"(?<!\s)\s++,"):
        assert not any(
            slowness(re.compile(pattern), "search", each) for each in attacks(pattern, 0)
        ), pattern
