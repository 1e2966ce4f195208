"""Regular expressions of Python -> regular expressions of JavaScript.

    \\w++\\b   ->   (?:(?=([W]+))(?:\\1))(?:(?<=[W])(?![W])|(?<![W])(?=[W]))

JavaScript has neither possessive quantifiers nor atomic groups, and its classes mean something else
or belong to another version of Unicode. A possessive part is a lookahead that cannot be entered
again, and every set of characters is written out as the code points that Python's library matches.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import regex

from yakusu.errors import ModelError

Ranges = tuple[tuple[int, int], ...]  # of code points, both ends included
_QUANTIFIER = re.compile(r"([*+?]|\{\d*(?:,\d*)?\})([?+]?)")
_GROUP = re.compile(
    r"\((?:(?!\?)|\?P?<(?P<name>[A-Za-z_]\w*)>|\?(?P<kind>:|=|!|<=|<!|>|#[^)]*\)|[a-zA-Z]+[:)]))"
)
_ESCAPE = re.compile(
    r"\\(?:[pP]\{[^}]*\}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL
)
_POSIX = re.compile(r"\[:\^?\w+:\]")
_NAMED_BACK, _COMMENT = re.compile(r"\(\?P=(\w+)\)"), re.compile(r"\s+|#[^\n]*")
_EDGES = {  # None: a character of words
    r"\b": ("(?:(?<=", None, ")(?!", None, ")|(?<!", None, ")(?=", None, "))"),
    r"\B": ("(?:(?<=", None, ")(?=", None, ")|(?<!", None, ")(?!", None, "))"),
}
_CLUSTER = (  # a grapheme cluster, Unicode Standard Annex 29
    r"\r\n|[\p{GCB=CR}\p{GCB=LF}\p{GCB=Control}]|\p{GCB=Prepend}*"
    r"(?:\p{GCB=L}*(?:\p{GCB=V}+|\p{GCB=LV}\p{GCB=V}*|\p{GCB=LVT})\p{GCB=T}*|\p{GCB=L}+|\p{GCB=T}+"
    r"|\p{RI}\p{RI}|\p{ExtPict}(?:\p{GCB=Extend}*\p{GCB=ZWJ}\p{ExtPict})*"
    r"|[^\p{GCB=CR}\p{GCB=LF}\p{GCB=Control}])[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*"
    r"|\p{GCB=Prepend}+[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*"
)
_FLAGS = {"i": re.IGNORECASE, "s": re.DOTALL, "m": re.MULTILINE, "x": re.VERBOSE}
EVERYTHING = "".join(map(chr, range(sys.maxunicode + 1)))
# Beyond these planes, characters are alike, but for tags and the last two of each plane. An
# expression that names one of them is tried on all.
_MANY, _TAGS = 0x40000, range(0xE0000, 0xE1000)
_GROUPS = sorted(
    [(code, code) for code in _TAGS]
    + [(_TAGS.stop, 0xEFFFD)]
    + [(p, p + 0xFFFD) for p in range(_MANY, len(EVERYTHING), 0x10000) if p not in _TAGS]
    + [(p + 0xFFFE, p + 0xFFFF) for p in range(_MANY, len(EVERYTHING), 0x10000)]
)
_BY_NUMBER = re.compile(r"\\[UN]")


@dataclass(frozen=True)
class Script:
    """A regular expression of JavaScript, to be compiled with the flags "su".

    Attributes:
        parts: Source text, and the ranges of characters that a set has.
        groups: The number of each group of the Python expression, from group 1 on; several numbers
            of a group whose name is given several times.
        names: The numbers of named groups in the Python expression.
    """

    parts: tuple[str | Ranges, ...]
    groups: tuple[tuple[int, ...], ...]
    names: dict[str, int]


@cache
def members(atom: str, flags: int, library: Any) -> Ranges:
    """The characters that a set or an escape matches.

    Args:
        atom: A regular expression that matches one character.
        flags: Flags, of which only those that concern single characters matter.
        library: `re` or `regex`.
    """
    is_beyond = max(atom) >= chr(_MANY) or _BY_NUMBER.search(atom)
    groups = [] if is_beyond else _GROUPS
    text = EVERYTHING[:_MANY] + "".join(chr(first) for first, _ in groups) if groups else EVERYTHING
    found = library.compile(f"(?:{atom})+", flags & ~re.VERBOSE).finditer(text)

    def code(place: int, end: int) -> int:
        return groups[place - _MANY][end] if groups and place >= _MANY else place

    return tuple((code(each.start(), 0), code(each.end() - 1, 1)) for each in found)


@cache
def _forms(character: str, flags: int, library: Any) -> Ranges:
    """The characters that a character matches: itself, and its other cases if they are ignored."""
    if not flags & re.IGNORECASE:
        return ((ord(character), ord(character)),)
    found = {*library.findall(re.escape(character), _with_cases() + character, flags)}
    return tuple((code, code) for code in sorted(map(ord, found)))


@cache
def _with_cases() -> str:
    """All characters that have another case."""
    every = EVERYTHING[:_MANY]
    return "".join(c for c in every if not c == c.lower() == c.upper() == c.casefold())


def as_javascript(pattern: "re.Pattern[str] | regex.Pattern[str]") -> Script:
    """Translate an expression.

    Raises:
        ModelError: It has a part that has no equivalent, or none is known.
    """
    library = re if isinstance(pattern, re.Pattern) else regex
    return _Translation(pattern.pattern, pattern.flags, library).script()


class _Opening:
    """A group of the JavaScript expression, which gets its number at the end."""


@dataclass(frozen=True)
class _Back:
    """What a group has matched."""

    group: _Opening


_Part = str | Ranges | _Opening | _Back


@dataclass
class _Translation:
    """One expression, read from left to right."""

    text: str
    flags: int
    library: Any
    place: int = 0
    groups: list[list[_Opening]] = field(default_factory=list)  # those of the Python expression
    names: dict[str, int] = field(default_factory=dict)

    def script(self) -> Script:
        """Translate the expression."""
        parts = list(self._alternatives())
        if self.place < len(self.text):
            raise self._unknown(self.text[self.place :])
        openings = [part for part in parts if isinstance(part, _Opening)]
        numbers = {opening: n for n, opening in enumerate(openings, start=1)}
        groups = tuple(tuple(numbers[each] for each in own) for own in self.groups)
        return Script(_merged(parts, numbers), groups, self.names)

    def _unknown(self, part: str) -> ModelError:
        return ModelError(f"the regular expression {self.text!r} has no translation: {part!r}")

    def _peek(self, *texts: str) -> bool:
        return self.text.startswith(texts, self.place)

    # ---- structure ---------------------------------------------------------------------------

    def _alternatives(self) -> Iterator[_Part]:
        yield from self._sequence()
        while self._peek("|"):
            self.place += 1
            yield "|"
            yield from self._sequence()

    def _sequence(self) -> Iterator[_Part]:
        while self.place < len(self.text) and not self._peek("|", ")"):
            if not (self.flags & re.VERBOSE and self._skipped()):
                yield from self._quantified()

    def _skipped(self) -> bool:
        """Skip white space or a comment of a verbose expression."""
        found = _COMMENT.match(self.text, self.place)
        self.place = found.end() if found else self.place
        return bool(found)

    def _quantified(self) -> Iterator[_Part]:
        """An atom with its quantifier."""
        atom = list(self._atom())
        if not (found := _QUANTIFIER.match(self.text, self.place)):
            yield from atom
            return
        self.place = found.end()
        repeated = found[1].replace("{,", "{0,")
        if found[2] == "+":
            yield from _atomic([*atom, repeated])
        else:
            yield from (*atom, repeated + found[2])

    # ---- atoms -------------------------------------------------------------------------------

    def _atom(self) -> Iterator[_Part]:
        character = self.text[self.place]
        if character == "(":
            yield from self._group()
        elif character == "[":
            yield members(self._set(), self._single, self.library)
        elif character == "\\":
            yield from self._escape()
        else:
            self.place += 1
            yield self._character(character)

    @property
    def _single(self) -> int:
        """The flags that concern single characters."""
        flags = self.flags & ~(re.VERBOSE | re.DOTALL | re.MULTILINE)
        is_ascii = flags & self.library.ASCII  # in a group; the other flag is of the expression
        return int(flags & ~self.library.UNICODE if is_ascii else flags)

    def _character(self, character: str) -> str | Ranges:
        lines = bool(self.flags & re.MULTILINE)
        if character == ".":
            return "[^]" if self.flags & re.DOTALL else r"[^\n]"
        if character == "^":
            return r"(?<![^\n])" if lines else "^"
        if character == "$":
            return r"(?![^\n])" if lines else r"(?=\n?$)"
        return _forms(character, self._single, self.library)

    def _escape(self) -> Iterator[_Part]:
        found = _ESCAPE.match(self.text, self.place)
        assert found
        self.place, escape = found.end(), found[0]
        if escape in _EDGES:
            word = members(r"\w", self._single, self.library)
            yield from (word if part is None else part for part in _EDGES[escape])
        elif escape == r"\X":
            cluster = _Translation(_CLUSTER, 0, regex)
            yield from ("(?:", *cluster._alternatives(), ")")
        elif escape in (r"\A", r"\Z"):
            yield "^" if escape == r"\A" else "$"
        elif escape[1] in "123456789":
            yield _Back(self.groups[int(escape[1]) - 1][0])
        elif escape[1] in "GRKkgmMLN":
            raise self._unknown(escape)
        else:
            yield members(escape, self._single, self.library)

    def _set(self) -> str:
        """The text of the set at this place."""
        start, depth = self.place, 0
        while True:
            if self._peek("\\"):
                found = _ESCAPE.match(self.text, self.place)
                self.place = found.end() if found else self.place + 1
            elif depth and self.library is regex and (named := _POSIX.match(self.text, self.place)):
                self.place = named.end()
            elif self._peek("[") and (depth == 0 or self.flags & int(regex.V1)):
                depth += 1
                self.place += 1
                self.place += self._peek("^")
                self.place += self._peek("]")  # the first one is a character of the set
            else:
                depth -= self._peek("]")
                self.place += 1
            if not depth:
                return self.text[start : self.place]

    # ---- groups ------------------------------------------------------------------------------

    def _group(self) -> Iterator[_Part]:
        if back := _NAMED_BACK.match(self.text, self.place):
            self.place = back.end()
            yield _Back(self.groups[self.names[back[1]] - 1][0])
            return
        found = _GROUP.match(self.text, self.place)
        if not found:
            raise self._unknown(self.text[self.place : self.place + 5])
        self.place, kind, flags = found.end(), found["kind"] or "", self.flags
        if kind.startswith("#"):
            return
        if kind[:1].isalpha():
            self.flags |= self._inline(kind[:-1])
            if kind[-1] == ")":  # for the rest of the group that it stands in
                return
            kind = ":"
        opening: _Part = f"(?{kind}" if kind else self._numbered(found["name"])
        inner = list(self._alternatives())
        self.place += 1  # the closing parenthesis
        self.flags = flags
        yield from _atomic(inner) if kind == ">" else (opening, *inner, ")")

    def _numbered(self, name: str | None) -> _Opening:
        """A group with a number, and a name if it has one."""
        opening = _Opening()
        if name in self.names:
            self.groups[self.names[name] - 1].append(opening)
            return opening
        self.groups.append([opening])
        if name:
            self.names[name] = len(self.groups)
        return opening

    def _inline(self, letters: str) -> int:
        known = {**_FLAGS, "a": self.library.ASCII}
        if unknown := [letter for letter in letters if letter not in known]:
            raise self._unknown(f"(?{unknown[0]})")
        return int(sum(known[letter] for letter in letters))


def _atomic(parts: list[_Part]) -> Iterator[_Part]:
    """What is matched in one way only: a lookahead keeps its first match."""
    opening = _Opening()
    yield from ("(?:(?=", opening, *parts, "))", _Back(opening), ")")


def _merged(parts: list[_Part], numbers: dict[_Opening, int]) -> tuple[str | Ranges, ...]:
    """The parts with groups and single characters as text, and neighbouring texts joined."""
    merged: list[str | Ranges] = []
    for part in parts:
        if isinstance(part, _Opening):
            own: str | Ranges = "("
        elif isinstance(part, _Back):
            own = f"(?:\\{numbers[part.group]})"  # so that no digit of the text follows
        else:
            own = _as_text(part)
        if isinstance(own, str) and merged and isinstance(merged[-1], str):
            own = merged.pop() + own  # type: ignore[operator]
        merged.append(own)
    return tuple(merged)


def _as_text(part: str | Ranges) -> str | Ranges:
    """A single character as JavaScript writes it outside of sets."""
    if isinstance(part, str) or len(part) != 1 or part[0][0] != part[0][1]:
        return part
    character = chr(part[0][0])
    if character in r"^$\.*+?()[]{}|/":
        return f"\\{character}"
    return character if 32 <= ord(character) < 127 else f"\\u{{{ord(character):x}}}"
