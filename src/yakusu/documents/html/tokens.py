"""Tokens of an HTML page, with their positions.

The rules are those of the HTML standard (13.2.5, Tokenization), so that a broken page is read as a
browser reads it; nothing between two tokens is dropped. No library does this: `html.parser` drops
what it cannot read and changes with the version of Python, lxml and lexbor do not keep positions.
Expressions of template languages are tokens, too; a browser would show them as text.
"""

import html
import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

TEMPLATES = r"\{\{.{0,1000}?\}\}|\{%.{0,1000}?%\}|\{\#.{0,1000}?\#\}|<%.{0,1000}?%>"
_SPACE = r"[ \t\n\f\r]"
_VALUE = rf"""
    "(?:{TEMPLATES}|[^"])*+"
  | '(?:{TEMPLATES}|[^'])*+'
  | (?!["'])(?:{TEMPLATES}|[^ \t\n\f\r>])++
  | (?=>)
"""
_NAME, _EQUALS = r"=?+[^ \t\n\f\r/>=]++|=", rf"{_SPACE}*+={_SPACE}*+"
_NAMELESS = r"</(?![a-z])[^>]*+(?:>|\Z)"


def _token_pattern(nameless: str) -> re.Pattern[str]:
    return re.compile(
        rf"""
        (?P<comment> <!--(?:-?>|.*?(?:--!?>|\Z)) )
      | (?P<template> {TEMPLATES}|<\?(?:php\b|=).*?(?:\?>|\Z) )
      | (?P<declaration>
            <!\[CDATA\[.*?(?:\]\]>|\Z) | <\?xml\b.{{0,1000}}?\?> | <[!?][^>]*+(?:>|\Z)
        )
      | (?P<nameless> {nameless} )
      | (?P<tag> <(?P<slash>/?+)(?P<name>[a-z][^ \t\n\f\r/>]*+)
            (?P<attributes> (?:
                [ \t\n\f\r/]++ | {TEMPLATES}
              | (?:{_NAME})(?:{_EQUALS}(?:{_VALUE})|(?!{_SPACE}*+=))
            )*+ ) > )
      | (?P<unfinished> </?+[a-z].*+ )
        """,
        re.VERBOSE | re.DOTALL | re.IGNORECASE,
    )


_TOKEN = _token_pattern(_NAMELESS)
_LAST_TOKEN = _token_pattern("(?!)")  # where no ">" follows, so that "</" is text
_ATTRIBUTE = re.compile(
    rf"[ \t\n\f\r/]++|{TEMPLATES}|(?P<name>{_NAME})(?:{_EQUALS}(?P<value>{_VALUE}))?",
    re.VERBOSE | re.DOTALL,
)
_TEMPLATE = re.compile(TEMPLATES, re.DOTALL)
# More digits than a character has; Python would refuse to read them.
_LONG_NUMBER = re.compile(r"&#(?:[0-9]{50,}|[xX][0-9a-fA-F]{50,});?")
_RAW = {"script", "style", "textarea", "iframe", "noembed", "noframes", "xmp"}


class TokenKind(Enum):
    """What a token is."""

    TEXT = 0
    START = 1  # a start tag
    END = 2  # an end tag
    TEMPLATE = 3  # an expression of a template language
    OTHER = 4  # a comment, a declaration, the content of a script


class Attribute(NamedTuple):
    """An attribute of a start tag; the positions are those of its value, without quotes."""

    name: str
    value: str
    quote: str
    start: int
    end: int


class HtmlToken(NamedTuple):
    """A token; the name is that of a tag, in lower case."""

    kind: TokenKind
    start: int
    end: int
    name: str = ""
    attributes: tuple[Attribute, ...] = ()


def tokens(source: str, *, is_xml: bool = False) -> Iterator[HtmlToken]:
    """Yield the tokens of a page; each begins where the one before it ends.

    Args:
        source: The page.
        is_xml: It is XML, even without a declaration: any element can be `<empty/>`.
    """
    is_xml, at = is_xml or source.lstrip("\ufeff").startswith("<?xml"), 0
    pattern = _TOKEN
    while found := pattern.search(source, at):
        start, end = found.span()
        if found["nameless"] and not found["nameless"].endswith(">"):
            pattern = _LAST_TOKEN
            continue
        if start > at:
            yield HtmlToken(TokenKind.TEXT, at, start)
        at = end
        if found["name"] is None:
            yield HtmlToken(
                TokenKind.TEMPLATE if found["template"] else TokenKind.OTHER, start, end
            )
            continue
        name = found["name"].lower()
        if found["slash"]:
            yield HtmlToken(TokenKind.END, start, end, name)
            continue
        yield HtmlToken(
            TokenKind.START, start, end, name, tuple(_attributes(source, *found.span("attributes")))
        )
        if is_xml and found["attributes"].endswith("/"):
            yield HtmlToken(TokenKind.END, end, end, name)
        elif name in _RAW or name in ("title", "plaintext"):
            at = _end_of_raw(source, end, name)
            yield from _raw(source, end, at, name)
    if at < len(source):
        yield HtmlToken(TokenKind.TEXT, at, len(source))


def decoded(text: str) -> str:
    """Text with its entities decoded; a number that is too large for a character is U+FFFD."""
    return html.unescape(_LONG_NUMBER.sub("\ufffd", text))


def _attributes(source: str, start: int, end: int) -> Iterator[Attribute]:
    for found in _ATTRIBUTE.finditer(source, start, end):
        if found["name"] is None:
            continue
        value, (first, last) = found["value"] or "", found.span("value")
        quote = value[:1] if value[:1] in ("'", '"') else ""
        if quote:
            first, last = first + 1, last - 1
        text = decoded(source[first:last]) if value else ""
        yield Attribute(found["name"].lower(), text, quote, first, last)


def _end_of_raw(source: str, start: int, name: str) -> int:
    """The position of the end tag of an element whose content is not markup."""
    if name == "plaintext":
        return len(source)
    found = re.compile(rf"</{name}(?=[ \t\n\f\r/>])", re.IGNORECASE).search(source, start)
    return found.start() if found else len(source)


def _raw(source: str, start: int, end: int, name: str) -> Iterator[HtmlToken]:
    """The content of an element whose content is not markup; a title is text."""
    if name != "title":
        yield HtmlToken(TokenKind.OTHER, start, end)
        return
    at = start
    for found in _TEMPLATE.finditer(source, start, end):
        yield HtmlToken(TokenKind.TEXT, at, found.start())
        yield HtmlToken(TokenKind.TEMPLATE, *found.span())
        at = found.end()
    yield HtmlToken(TokenKind.TEXT, at, end)
