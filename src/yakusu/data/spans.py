r"""Protected spans: the parts of a text that must come out of a translation as they went in.

    placeholders    {name}  {0:.2f}  {{x}}  ${x}  $VAR  %s  %(n)d  %1$s  :name:
    tags            <b>  </b>  <br/>  <0>  <!-- note -->      entities    &nbsp;  &#233;
    addresses       https://example.org/a?b=c  www.example.org  anna@example.org
    code            `make test`

and whatever the patterns of a user match. A tag that begins or ends a pair, such as <b>Anna</b>, is
of kind "opening" or "closing"; every other span is "whole".
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import regex

from yakusu.data.markup import MARKS, is_closing, is_mark, is_opening, number_of
from yakusu.errors import DataError

_FOREIGN = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}、。，．！？；：（）「」『』【】《》“”„«»…"
)
_IN_PATH = rf"[^\s<>\"`(){_FOREIGN}]"
_LAST = rf"[^\s<>\"`'.,;:!?()\[\]{{}}{_FOREIGN}]"  # punctuation after it belongs to the sentence
_PATH = rf"(?:{_IN_PATH}|\({_IN_PATH}*\))*(?:{_LAST}|\({_IN_PATH}*\))"
_DOMAINS = "com|org|net|edu|gov|io|dev|app|info|eu"
_NAME = r"[\p{L}_][\p{L}\p{N}_]*"
_FIELD = rf"(?:{_NAME}|[0-9]+)?(?:\.{_NAME}|\[[^\[\]{{}}\s]*\])*"  # of str.format
_WIDTH = r"[0-9]*(?:\.[0-9]+)?"
_QUOTED = r"=\s*(?:\"[^\"]*+\"|'[^']*+')"  # the value of an attribute
_PATTERNS = (
    # Numbered tags, such as <0>, and tags with < or > in an attribute; others are below.
    r"</?[0-9]{1,3}\s?/?>",
    rf"<[A-Za-z](?:{_QUOTED}|[^<>])*+>",
    # Addresses
    rf"(?:(?:https?|ftps?|file|wss?)://|(?<!\w)(?:www\.|mailto:)){_PATH}",
    r"(?<![\w.+-])[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}",
    rf"(?<![\w.@-])(?:[a-z0-9-]+\.)+(?:{_DOMAINS})(?:/(?:{_PATH})?)?(?![\w-])",
    # Markup
    r"<!--.*?-->|<[A-Za-z/!?][^<>]*>",
    r"&(?:[A-Za-z][A-Za-z0-9]*|\#[0-9]+|\#[xX][0-9A-Fa-f]+);",
    r"`+[^`\n]+`+",
    # Placeholders of templates, str.format, ICU, shells, printf and emoji
    r"\{\{\{?[^{}\n]*\}?\}\}|[$\#%]\{[^{}\n]*\}|\{%.*?%\}",
    rf"\{{{_FIELD}\s*(?:![rsa])?(?:[:,][^{{}}\n]*)?\}}",
    rf"\{{\s*{_NAME}\s*,\s*(?:plural|select|selectordinal)\s*,"
    r"(?:[^{}]|(?<branch>\{(?:[^{}]|(?&branch))*\}))*\}",
    r"\$[A-Za-z_][A-Za-z0-9_]*",
    rf"%(?:\([^()\s]+\)|[0-9]+\$)[-+\#0 ]*{_WIDTH}[A-Za-z@]",
    rf"%[-+\#0]*{_WIDTH}(?:hh|h|ll|l|q|L|z|t|j)?[diouxXeEfFgGcrsaSpn@](?![\p{{L}}\p{{N}}])",
    r"(?<![\w:]):[A-Za-z][A-Za-z0-9_+-]*:(?![\w:])",
)
# Every text with a match of a built-in pattern has a match of this one, which is faster.
_HINT = re.compile(rf"[<&`{{$%@:{MARKS[1:-1]}]|\.[A-Za-z0-9]")
_TAG = regex.compile(
    rf"<(?P<end>/?)(?P<name>[A-Za-z][\w:.-]*|[0-9]+)(?:{_QUOTED}|[^<>/]|/(?!>))*+(?P<alone>/?)>"
)
_VOID = frozenset(("area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"))
Kind = Literal["whole", "opening", "closing"]


@dataclass(frozen=True)
class Span:
    """A protected part of a text.

    Attributes:
        start: Position of its first character.
        end: Position after its last character.
        text: The characters.
        kind: "opening" and "closing": the begin and the end of a pair.
        partner: Of a pair: the index of the other end in the list of spans; -1 if not of a pair.
    """

    start: int
    end: int
    text: str
    kind: Kind = "whole"
    partner: int = -1


class SpanFinder:
    """Finds the protected spans of texts.

    Args:
        protect: Regular expressions of further spans; they take precedence over the built-in ones.
        builtin: Whether the built-in patterns apply. Marks of documents are always protected.

    Raises:
        DataError: An expression is not valid.
    """

    def __init__(self, protect: Sequence[str] = (), *, builtin: bool = True) -> None:
        for pattern in protect:
            _check(pattern)
        patterns = [MARKS, *protect, *(_PATTERNS if builtin else ())]
        self._pattern = regex.compile("|".join(f"(?:{pattern})" for pattern in patterns))
        self._needs_hint = not protect

    def find(self, text: str) -> list[Span]:
        """The spans of a text, in order, without overlaps; pairs of tags are nested."""
        if self._needs_hint and not _HINT.search(text):
            return []
        found = self._pattern.finditer(text)
        return _pair([Span(m.start(), m.end(), m[0]) for m in found if m[0]])


def _check(pattern: str) -> None:
    try:
        regex.compile(pattern)
    except regex.error as error:
        raise DataError(f"'{pattern}' is not a valid regular expression: {error}") from error


def _pair(spans: list[Span]) -> list[Span]:
    """Mark the tags that belong together; a tag without a partner stays whole."""
    open_tags: list[tuple[str, int]] = []  # name, index
    for i, span in enumerate(spans):
        name, kind = _tag(span.text)
        if kind == "opening":
            open_tags.append((name, i))
        elif kind == "closing" and name in (names := [name for name, _ in open_tags]):
            at = len(names) - 1 - names[::-1].index(name)
            j = open_tags[at][1]
            del open_tags[at:]  # tags that are still open inside the pair have no partner
            spans[j] = replace(spans[j], kind="opening", partner=i)
            spans[i] = replace(span, kind="closing", partner=j)
    return spans


def _tag(text: str) -> tuple[str, Kind]:
    """The name of a tag or a mark, and whether it begins or ends a pair."""
    if is_mark(text[0]):
        if is_opening(text) or is_closing(text):
            return f"mark {number_of(text)}", "opening" if is_opening(text) else "closing"
    elif (tag := _TAG.fullmatch(text)) and not tag["alone"] and tag["name"].lower() not in _VOID:
        return tag["name"].lower(), "closing" if tag["end"] else "opening"
    return "", "whole"


def texts(spans: Iterable[Span]) -> list[tuple[str, bool]]:
    """What spans protect, sorted: the text of each, and whether it is a tag of a pair."""
    return sorted((span.text, span.kind != "whole") for span in spans)
