"""Texts that a regular expression reads slowly, from its structure.

    <!--.*?-->    ->    <!--aaaa...    <!--<!--<!--...    <!--a--<!--a--...

For each repetition: what comes before it, then its body many times, then something that ends no
match. Several bodies are tried: characters that other parts of the expression match, too.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from math import log
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from time import thread_time
from typing import Any
from warnings import catch_warnings, simplefilter

Text = str | bytes
Attack = Callable[[int], str]  # about n characters
_GENERAL = " \t\n\ra1fA_-.,:;!?\"'<>()[]{}/\\&#%$@=+*|~^`é漢あア\u0301\xa0\U000f0000"
_MOST = 6  # bodies of a repetition, and samples of a part
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_SIZES = (16, 20, 24, 28, 32, 64, 256, 1024, 4096, 16384)
_LONG = 0.002  # seconds
_SHORT = 4000  # characters that take longer, if they take long at all
_STEEPEST = 1.5  # power of the length
_MOST_SECONDS = 0.1  # of a text while its length grows
_MAXIMUM = 1024  # of a repetition that has one
_UNBOUNDED = 10  # a repetition that may be longer is tried
# What the module `regex` has besides `re`, as characters of a set that are enough to attack
_PROPERTIES = {
    "L": "A-Za-zé漢",
    "Lu": "A-Z",
    "Ll": "a-z",
    "M": "\u0300-\u036f",
    "N": "0-9",
    "Nd": "0-9",
    "P": "!-/:-@",
    "S": "$+<=>^`|~",
    "Z": " \u00a0",
    "Co": "\U000f0000-\U0010ffff",
    "Han": "漢",
}
_NAMED = re.compile(r"(?<=\()\?P?<[A-Za-z_]\w*>")  # `regex` allows several groups of one name
_REFERENCE = re.compile(r"\(\?P=\w+\)|\(\?&\w+\)")
_PROPERTY = re.compile(
    r"--(?=\\[pP])|\\([pP])\{\^?(?:\w+=)?(\w+)\}|(\\X|\\R)|\\[mM](?!\w*\])|(?<=\[)\[|\\.|(\[\^?\]?)|(\])"
)


def attacks(pattern: Text, flags: int) -> list[Attack]:
    """The texts that may take long to search for an expression; none if it has no repetitions."""
    source = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
    tree = _parsed(source.removeprefix("(?r)"), flags)  # backwards
    samples = _Samples(tree)
    found: dict[tuple[str, str, str], int] = {}
    for prefix, body, after in _repetitions(tree, "", samples, ""):
        for unit in samples.bodies(body):
            for rank, parts in enumerate(_forms(prefix, unit, after)):
                found.setdefault(parts, rank)
    return [_attack(*parts) for parts in sorted(found, key=lambda parts: found[parts])]


def _forms(prefix: str, unit: str, after: str) -> Iterator[tuple[str, str, str]]:
    """What comes before, is repeated, and comes after; the most successful ones come first."""
    yield prefix, unit, "\0"
    yield "", prefix + unit, "\0"
    yield "", prefix or unit, unit
    yield prefix, unit, "\n!"
    yield prefix, unit, ""
    yield prefix, unit, " a"
    yield "", prefix + unit * 3 + after[:-1], "\0"
    yield prefix, unit + after[:-1], "\0"
    yield prefix, unit + after, "\0"
    yield "", f"{prefix}\n", ""


def _attack(before: str, unit: str, after: str) -> Attack:
    return lambda n: before + unit * max(1, n // max(1, len(unit))) + after


def _parsed(source: str, flags: int) -> Any:
    """The structure of an expression; properties of `regex` are replaced by sets."""
    flags &= re.VERBOSE | re.DOTALL | re.MULTILINE | re.IGNORECASE
    with catch_warnings():
        simplefilter("ignore")  # sets of `regex`
        try:
            return _parser.parse(source, flags)
        except re.error:
            return _parser.parse(
                _without_properties(_NAMED.sub("", _REFERENCE.sub("", source))), flags
            )


def _without_properties(source: str) -> str:
    depth = 0

    def plain(found: re.Match[str]) -> str:
        nonlocal depth
        if found[4]:
            if depth:
                return "\\" + found[0]
            depth = 1
        elif found[5]:
            depth = 0
        elif found[2]:
            characters = _PROPERTIES.get(found[2], _PROPERTIES.get(found[2][:1], "A-Za-z"))
            if depth:
                return characters
            return f"[{'^' * (found[1] == 'P')}{characters}]"
        elif found[3]:
            return "."
        return found[0].removeprefix("--")

    return _PROPERTY.sub(plain, source)


def _repetitions(
    tree: Iterable[Any], prefix: str, samples: "_Samples", rest: str
) -> Iterator[tuple[str, Any, str]]:
    """Each repetition: what precedes it, its body, and what follows it."""
    items = list(tree)
    for i, (op, value) in enumerate(items):
        after = samples.one(items[i + 1 :]) + rest
        if op in _REPEATS:
            _, high, body = value
            if high >= _UNBOUNDED:
                yield prefix, body, after
            yield from _repetitions(body, prefix, samples, after)
        else:
            for part in _parts(op, value):
                yield from _repetitions(part, prefix, samples, after)
        prefix += samples.one([(op, value)])


def _parts(op: Any, value: Any) -> list[Any]:
    """The expressions in a node that is not a repetition."""
    if op is ops.BRANCH:
        return list(value[1])
    if op is ops.SUBPATTERN:
        return [value[3]]
    if op is ops.ATOMIC_GROUP:
        return [value]
    if op in (ops.ASSERT, ops.ASSERT_NOT):
        return [value[1]]
    if op is ops.GROUPREF_EXISTS:
        return [part for part in value[1:] if part is not None]
    return []


class _Samples:
    """Strings that parts of an expression match."""

    def __init__(self, tree: Any) -> None:
        self._sets = list(_sets(tree))
        literals = {chr(value) for op, value in self._sets if op is ops.LITERAL}
        inner = {chr(v) for op, s in self._sets if op is ops.IN for o, v in s if o is ops.LITERAL}
        alphabet = [*dict.fromkeys(chain(_GENERAL, sorted(literals), sorted(inner)))]
        self._signatures = {
            c: frozenset(i for i, each in enumerate(self._sets) if _matches(each, c))
            for c in alphabet
        }

    def characters(self, node: Any) -> list[str]:
        """Characters that a node matches, one for each set of other nodes that match it, too."""
        found: dict[frozenset[int], str] = {}
        for character, signature in self._signatures.items():
            if _matches(node, character):
                found.setdefault(signature, character)
        return [found[each] for each in sorted(found, key=len, reverse=True)] or _first(node)

    def bodies(self, tree: Any) -> list[str]:
        """Bodies of a repetition that are not empty."""
        items = list(tree)
        if len(items) == 1 and items[0][0] in (ops.IN, ops.ANY, ops.NOT_LITERAL):
            return self.characters(items[0])[: 2 * _MOST]
        return [each for each in dict.fromkeys(self.of(items)) if each][: 2 * _MOST]

    def one(self, tree: Iterable[Any]) -> str:
        """The shortest usual sample."""
        return next(iter(self.of(tree)), "")

    def of(self, tree: Iterable[Any]) -> list[str]:
        """Some samples of a sequence of nodes."""
        found = [""]
        for op, value in tree:
            parts = self._of_node(op, value) or [""]
            found = list(islice((a + b for b in parts for a in found), _MOST * 2))
        return found

    def _of_node(self, op: Any, value: Any) -> list[str]:
        if op is ops.LITERAL:
            return [chr(value)]
        if op in (ops.IN, ops.ANY, ops.NOT_LITERAL):
            return self.characters((op, value))[:_MOST]
        if op in _REPEATS:
            low, high, body = value
            return [each * max(low, n) for n in (min(1, high), 0) for each in self.of(body)]
        if op in (ops.ASSERT, ops.ASSERT_NOT):
            return [""]
        return [each for part in _parts(op, value) for each in self.of(part)]


def _sets(tree: Any) -> Iterator[Any]:
    """The nodes of an expression that match one character."""
    for op, value in tree:
        if op in (ops.IN, ops.ANY, ops.NOT_LITERAL, ops.LITERAL):
            yield op, value
        elif op in _REPEATS:
            yield from _sets(value[2])
        else:
            for part in _parts(op, value):
                yield from _sets(part)


def _matches(node: Any, character: str) -> bool:
    op, value = node
    code = ord(character)
    if op is ops.LITERAL:
        return bool(value == code)
    if op is ops.NOT_LITERAL:
        return bool(value != code)
    if op is ops.ANY:
        return character != "\n"
    items = [each for each in value if each[0] is not ops.NEGATE]
    return any(_in_set(each, character) for each in items) != (len(items) < len(value))


_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    ops.CATEGORY_DIGIT: str.isdigit,
    ops.CATEGORY_SPACE: str.isspace,
    ops.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
    ops.CATEGORY_NOT_DIGIT: lambda c: not c.isdigit(),
    ops.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
    ops.CATEGORY_NOT_WORD: lambda c: not (c.isalnum() or c == "_"),
}


def _in_set(item: Any, character: str) -> bool:
    op, value = item
    if op is ops.LITERAL:
        return bool(value == ord(character))
    if op is ops.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    return op is ops.CATEGORY and _CATEGORIES[value](character)


def _first(node: Any) -> list[str]:
    """A character of a set that has none of the usual ones."""
    op, value = node
    for kind, item in value if op is ops.IN else ():
        if kind is ops.RANGE:
            return [chr(item[0])]
        if kind is ops.LITERAL:
            return [chr(item)]
    return []


def encoded(text: str, pattern: Text) -> Text:
    """A text of the type of an expression."""
    return text.encode() if isinstance(pattern, bytes) else text


def slowness(pattern: Any, use: str, attack: Attack) -> str:
    """The times of two texts, if the longer one takes too long for its length; otherwise "".

    A repetition with a maximum, often 1,000 characters, is quadratic only up to it: what counts are
    the longest texts that take less than 0.1 s, and then texts twice as long.
    """
    times: list[tuple[int, float]] = []
    for size in _SIZES:
        seconds = seconds_of(pattern, use, attack(size))
        if seconds > _LONG:
            seconds = min(seconds, seconds_of(pattern, use, attack(size)))
        times.append((size, max(seconds, 1e-6)))
        steep = _steep(*times[-2:])
        if (seconds < _LONG and size > _SHORT) or seconds * 4**steep > _MOST_SECONDS:
            break
    if times[-1][1] < _LONG or _steep(*times[-2:]) < _STEEPEST:
        return ""
    if (longest := times[-1][0]) >= _MAXIMUM:
        longest = max(longest, 4 * _MAXIMUM)
        times = [(size, _least(pattern, use, attack(size))) for size in (longest, 2 * longest)]
        if _steep(*times) < _STEEPEST:
            return ""
    (part, before), (size, seconds) = times[-2:]
    return f"{part:,} characters take {before:.4f} s, and {size:,} take {seconds:.4f} s"


def _least(pattern: Any, use: str, text: str) -> float:
    """The least of several times of a text: other programs may run."""
    return min(seconds_of(pattern, use, text) for _ in range(2))


def _steep(*times: tuple[int, float]) -> float:
    """The power of the length that explains two times; 0 for one."""
    (part, before), (size, seconds) = times[0], times[-1]
    return log(seconds / before) / log(size / part) if part < size else 0.0


def seconds_of(pattern: Any, use: str, text: str) -> float:
    """The CPU time in which an expression is searched in a text, or matched at its beginning."""
    data = encoded(text, pattern.pattern)
    start = thread_time()
    if use == "search":
        for _ in pattern.finditer(data):
            pass
    else:
        getattr(pattern, use)(data)
    return thread_time() - start
