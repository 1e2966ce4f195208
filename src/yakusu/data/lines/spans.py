"""Protected spans: the parts of a text that a translation must contain unchanged.

    Call {name} at <b>9:30</b>   ->   {name}, <b> and </b>

These are the code-like tokens that `CODE_RULES` find, and everything that the patterns of a user
match. A tag that begins or ends a pair, such as <b>Anna</b> and [b]Anna[/b], is of kind "opening"
or "closing"; every other span is "whole".
"""

import re
import time
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from typing import Literal

import regex

from yakusu import lazy
from yakusu.data.lines.code import CODE_HINT, QUOTED_VALUE, code_pattern
from yakusu.data.lines.private_use import (
    MARKS,
    is_break,
    is_closing,
    is_mark,
    is_opening,
    number_of,
)
from yakusu.errors import DataError

_TAG = lazy.compile(
    rf"<(?P<end>/?)(?P<name>[A-Za-z][\w:.-]*+|[0-9]++)(?:{QUOTED_VALUE}|[^<>/]|/(?!>))*+(?P<alone>/?)>"
)
_BBCODE = lazy.compile(
    r"\[(?P<end>/?)(?P<name>[A-Za-z][\w-]*|\*)(?:[=\s][^\[\]\n]*?)?(?P<alone>/?)\]"
)
_VOID = frozenset(("area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"))
_VOID_BBCODE = frozenset(("br", "hr", "lb", "rb", "*"))
_SIGNS = ("**", "==")  # of Markdown; the second one of a pair ends it
_BREAKS = re.compile(
    "address|article|aside|blockquote|body|br|caption|center|dd|details|dialog|dir|div|dl|dt|"
    "fieldset|figcaption|figure|footer|form|h[1-6]|head|header|hgroup|hr|html|legend|li|main|menu|"
    "nav|ol|optgroup|option|p|pre|section|summary|table|tbody|td|tfoot|th|thead|title|tr|ul"
)
_BREAKS_BBCODE = re.compile(
    r"br|hr|p|center|left|right|fill|justify|indent|ul|ol|li|list|\*|table|tr|td|th|cell|quote|h[1-6]"
)
# Statements of templates, which choose or repeat the text after them, and print nothing
_STATEMENT = lazy.compile(
    r"\{\{~?\s*(?:[#^/]|else\b).*\}\}"
    r"|\{%[-+~]?\s*(?:if|el(?:se?)?if|else|unless|for|empty|case|when|switch|plural(?:ize)?|end\w*)\b.*%\}"
    r"|<%[-_]?\s*(?:\}|(?:if|els?if|elsif|else|unless|for|end)\b).*%>",
    regex.DOTALL,
)
_ESCAPES = frozenset((r"\n", r"\r", r"\t"))
_TABS = lazy.compile(r"(?:(?<!\s)[^\S\n\t]++)?\t\s*+")
_JOINT = lazy.compile(r"\s*+[,/|&+:-]?+\s*+")  # between neighbours that are one span
# A quantified group, a recursion, or an inexact match
_NESTS = re.compile(r"\)[*+{]|\(\?(?:R|&|P>|[0-9+-]|\(DEFINE)|\{[a-z0-9<=+]*[a-z]")
_PART = re.compile(r"\\.|\[(?:\\.|[^\]\\])*+\]?|\{(?P<times>[0-9]{1,20})[,}]|.", re.DOTALL)
_MOST_PARTS = 100_000  # of an expression, in about 300 bytes each
_FEW = 24  # logarithm of the number of steps that no limit of time is needed for
_SHOWN = 40  # characters of a line in a message
_DEEPEST = 100  # levels of nested pairs of tags; the tags of pairs around them have no partners
SpanKind = Literal["whole", "opening", "closing", "break", "term", "word"]


@dataclass(frozen=True)
class Span:
    """A protected part of a text.

    Attributes:
        start: Position of its first character.
        end: Position after its last character.
        text: The characters.
        kind: "opening" and "closing": the start and the end of a pair; "break": the end of a line
            or a block, if `with_breaks` has marked it; "term": the span of a word, with the text of
            its translation; "word": a word that is copied with the tags inside it.
        partner: Of a pair: the index of the other end in the list of spans; -1 if not of a pair, or
            if the other end is on another line.
    """

    start: int
    end: int
    text: str
    kind: SpanKind = "whole"
    partner: int = -1


class SpanFinder:
    """Finds the protected spans of texts.

    Args:
        protect: Regular expressions of a user for further spans. Of two spans that begin at the
            same place, theirs takes precedence over a built-in one, and that of an earlier
            expression over that of a later one. Marks of documents are always protected.
        first: Further expressions, which take precedence over those of the user.
        builtin: Whether the built-in rules apply.
        unprotect: Names of built-in rules that do not apply.
        seconds: The longest time that the expressions of the user may take for a line, in CPU time
            of the process.

    Raises:
        DataError: An expression is not valid.
    """

    def __init__(
        self,
        protect: Sequence[str] = (),
        *,
        first: Sequence[str] = (),
        builtin: bool = True,
        unprotect: Collection[str] = (),
        seconds: float = 5.0,
    ) -> None:
        self._first = [regex.compile(pattern) for pattern in (MARKS, *first)]
        self._protected = [(_compiled(pattern), _quick_length(pattern)) for pattern in protect]
        self._seconds = seconds
        self._builtin, self.without = builtin, frozenset(unprotect)

    def find(self, text: str) -> list[Span]:
        """The spans of a text, in order, without overlaps; pairs of tags are nested.

        Raises:
            DataError: An expression of the user takes too long.
        """
        return _pair(self._find(text))

    def find_in_lines(self, lines: Sequence[str]) -> list[list[Span]]:
        """The spans of each line of a text; the ends of a pair may be on different lines.

        Raises:
            DataError: An expression of the user takes too long.
        """
        found = [self._find(line) for line in lines]
        if not any(found):
            return found
        paired = _pair(list(chain.from_iterable(found)))
        ends = list(accumulate(map(len, found), initial=0))
        return [_of_line(paired[start:end], start) for start, end in pairwise(ends)]

    def _find(self, text: str) -> list[Span]:
        searches = [_Search(pattern, text) for pattern in self._first]
        if self._protected:
            deadline = time.process_time() + self._seconds
            searches += [
                _Search(pattern, text, deadline if len(text) > quick else None)
                for pattern, quick in self._protected
            ]
        if self._builtin and CODE_HINT.search(text):
            searches.append(_Search(code_pattern(self.without), text))
        return [Span(m.start(), m.end(), m[0]) for m in _matches(searches)]


def _compiled(pattern: str) -> "regex.Pattern[str]":
    try:
        if _n_parts(pattern) > _MOST_PARTS:
            raise ValueError(f"its repetitions, written out, have more than {_MOST_PARTS:,} parts")
        return regex.compile(pattern)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        raise DataError(f"'{pattern}' is not a valid regular expression: {error}") from error


def _n_parts(pattern: str) -> int:
    """Estimate the parts of an expression with its repetitions written out, as `regex` stores them.

    (?:ab{3}){5} has 5 * (1 + 3) parts, and 5 * 2 more that are none: the characters of "?:".
    """
    groups, last = [0], 0  # sizes of the open groups, and of the last part
    for part in _PART.finditer(pattern):
        if part[0] == "(":
            groups.append(0)
        elif part[0] == ")" and len(groups) > 1:
            last = groups.pop()
            groups[-1] += last
        elif part["times"]:
            more = last * (int(part["times"]) - 1)
            groups[-1], last = groups[-1] + more, last + more
        else:
            groups[-1], last = groups[-1] + 1, 1
    return sum(groups)


class _Search:
    """The search of an expression in one line.

    Args:
        pattern: The expression.
        text: The line.
        deadline: The CPU time of the process at which the search fails; None: never.
    """

    def __init__(
        self, pattern: "regex.Pattern[str]", text: str, deadline: float | None = None
    ) -> None:
        self._pattern, self._text, self._deadline = pattern, text, deadline

    def next(self, place: int) -> "regex.Match[str] | None":
        """The next match at or after a place that is not empty."""
        left = None if self._deadline is None else max(0.001, self._deadline - time.process_time())
        try:
            found = self._pattern.finditer(self._text, place, timeout=left)
            return next((match for match in found if match[0]), None)
        except TimeoutError as error:
            shown = " ".join(self._text[:_SHOWN].split())
            raise DataError(
                f"'{self._pattern.pattern}' takes too long for the line that begins with "
                f"'{shown}': write the regular expression without repetitions in repetitions, such "
                "as (a+)+, or allow it more time (--protect-seconds)"
            ) from error


def _matches(searches: Sequence[_Search]) -> "Iterator[regex.Match[str]]":
    """The matches that are not empty; where several begin, that of the first expression.

    The expressions are searched one by one: joined into one, they would share their flags and their
    groups.
    """
    following = [search.next(0) for search in searches]
    while found := [match for match in following if match]:
        first = min(found, key=lambda match: match.start())
        yield first
        following = [
            search.next(first.end()) if match and match.start() < first.end() else match
            for search, match in zip(searches, following, strict=True)
        ]


def _quick_length(pattern: str) -> float:
    """The length of the longest line that needs no limit of time, which makes a search slower.

    Without repetitions inside repetitions, k of them take at most length^k steps at each place, and
    each alternative at most doubles them.
    """
    if _NESTS.search(pattern):
        return 0
    n_doubled = pattern.count("|") + pattern.count("?")
    n_repeated = sum(map(pattern.count, "*+{"))
    return float(2 ** ((_FEW - n_doubled) / (n_repeated + 1)))


def _pair(spans: list[Span]) -> list[Span]:
    """Mark the tags that belong together; a tag without a partner stays whole."""
    if not spans:
        return spans
    open_tags: deque[tuple[str, int]] = deque()  # name, index
    n_open = Counter[str]()
    for i, span in enumerate(spans):
        name, kind = _tag(span.text)
        if name in _SIGNS and n_open[name]:
            kind = "closing"
        if kind == "opening":
            open_tags.append((name, i))
            n_open[name] += 1
            if len(open_tags) > _DEEPEST:
                n_open[open_tags.popleft()[0]] -= 1
        elif kind == "closing" and n_open[name]:
            other, j = "", -1
            while other != name:  # tags that are still open inside the pair have no partner
                other, j = open_tags.pop()
                n_open[other] -= 1
            spans[j] = replace(spans[j], kind="opening", partner=i)
            spans[i] = replace(span, kind="closing", partner=j)
    return spans


def _of_line(spans: Sequence[Span], start: int) -> list[Span]:
    """The spans of a line, which are numbered from `start` in the text."""
    partners = [span.partner - start for span in spans]
    return [
        replace(span, partner=partner if 0 <= partner < len(spans) else -1)
        for span, partner in zip(spans, partners, strict=True)
    ]


def _tag(text: str) -> tuple[str, SpanKind]:
    """The name of a tag or a mark, and whether it begins or ends a pair."""
    if is_mark(text[0]):
        if len(text) == 1 and (is_opening(text) or is_closing(text)):
            return f"mark {number_of(text)}", "opening" if is_opening(text) else "closing"
    elif (tag := _TAG.fullmatch(text)) and not tag["alone"] and tag["name"].lower() not in _VOID:
        return tag["name"].lower(), "closing" if tag["end"] else "opening"
    elif (
        (tag := _BBCODE.fullmatch(text))
        and not tag["alone"]
        and tag["name"].lower() not in _VOID_BBCODE
    ):
        return f"[{tag['name'].lower()}", "closing" if tag["end"] else "opening"
    elif text in ("[", "![") or text.startswith("]("):
        return "[", "closing" if text[0] == "]" else "opening"
    elif text in _SIGNS:
        return text, "opening"
    return "", "whole"


def texts(spans: Iterable[Span]) -> list[tuple[str, bool]]:
    """What spans protect, sorted: the text of each, and whether it is a tag of a pair."""
    return sorted((span.text, span.kind != "whole") for span in spans)


def replaced(text: str, spans: Iterable[Span], texts: Iterable[str]) -> str:
    """A text with other texts in place of spans, which are in order."""
    pieces, end = list[str](), 0
    for span, new in zip(spans, texts, strict=True):
        pieces += [text[end : span.start], new]
        end = span.end
    return "".join([*pieces, text[end:]])


def has_end_of_pair(text: str) -> bool:
    """Whether a span contains a tag that may begin or end a pair."""
    tags = chain(_TAG.finditer(text), _BBCODE.finditer(text))
    parts = chain(filter(is_mark, text), (found[0] for found in tags))
    return any(_tag(part)[1] != "whole" for part in parts)


def with_breaks(spans: Iterable[Span], text: str) -> list[Span]:
    """Give what ends a line, a block or a column the kind "break".

    These are tags such as <br> and </p>, the line breaks of documents, statements of templates such
    as {% else %}, the spans \\n, \\r and \\t, and tabs, which are spans only here.
    """
    found, end = list[Span](), 0
    for span in spans:
        found += _columns(text, end, span.start)
        found.append(replace(span, kind="break", partner=-1) if breaks(span.text) else span)
        end = span.end
    return [*found, *_columns(text, end, len(text))]


def _columns(text: str, start: int, end: int) -> list[Span]:
    """The tabs in a part of a text."""
    return [Span(m.start(), m.end(), m[0], "break") for m in _TABS.finditer(text, start, end)]


def breaks(text: str) -> bool:
    """Whether a span ends a line, a block or a column."""
    if is_mark(text[0]):
        return is_break(text[0])
    if text in _ESCAPES or _STATEMENT.fullmatch(text):
        return True
    for tag, names in ((_TAG.fullmatch(text), _BREAKS), (_BBCODE.fullmatch(text), _BREAKS_BBCODE)):
        if tag:
            return bool(names.fullmatch(tag["name"].lower()))
    return False


def merged(spans: Sequence[Span], text: str) -> list[Span]:
    """Make one span of neighbours with only white space and a comma or the like between them."""
    merged: list[Span] = []
    for span in spans:
        last = merged[-1] if merged else None
        if (
            last
            and last.kind == span.kind
            and span.kind in ("whole", "break")
            and _JOINT.fullmatch(text, last.end, span.start)
        ):
            merged[-1] = Span(last.start, span.end, text[last.start : span.end], span.kind)
        else:
            merged.append(span)
    return merged
