"""Noise in parallel text: faults of a line, or of a pair, that its characters show.

The filters use the comparisons of two sides; `yakusu check` also reports the patterns.
"""

import html
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import regex

from yakusu.data.files.text import Pair
from yakusu.data.lines.code import code_pattern
from yakusu.data.lines.private_use import PRIVATE_USE

LONG_LINE = 1_000  # characters
_NOT_WORDS = regex.compile(r"[^\p{L}\p{M}\p{N}]+")
_NOT_LETTERS = regex.compile(r"[^\p{L}\p{M}]+")
_PLACEHOLDERS = frozenset(  # of CODE_RULES
    ("template", "field", "variable", "link", "percent", "colon", "square")
)
_PLACEHOLDER_HINT = regex.compile(r"[<{%$\[\#@]|__|:[a-z]")
_TAG_NAME = regex.compile(r"[<\[]/?[\w:.-]+")
_NAMED = regex.compile(r"%(?:[0-9]+\$|[(<]|L?[0-9]+(?!\w)|n$)")  # an argument with a name or number
_BRACE = regex.compile(r"[{}]")
_SYMBOL = regex.compile(r"<(\w+)> ")
_ENTITY = regex.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z][A-Za-z\d]{1,31});")

# Characters of Latin-1 and Windows-1252 for the bytes 0x80 to 0xBF, which continue a character
# in UTF-8.
_NEXT = "\u0080-\u00bf" + "".join(
    bytes([byte]).decode("cp1252", errors="ignore") for byte in range(0x80, 0xA0)
)
# A character of two or three bytes, each read as a separate character. A single one is sufficient
# evidence only if it starts with a character that rarely precedes such signs in text: „Spaß“ and
# "été »" are valid.
_MOJIBAKE = (
    rf"[ÃÂ][{_NEXT}]|[ÄÅ][{_NEXT}](?=\p{{Ll}})|(?:[Ä-ß][{_NEXT}]){{2,}}"
    rf"|â€[{_NEXT}]|ï»¿|(?:[à-ï][{_NEXT}]{{2}}){{2,}}"
)

# What a line should not contain. Line ends within a sentence are control characters here.
PATTERNS: Mapping[str, "regex.Pattern[str]"] = MappingProxyType(
    {
        "control characters": regex.compile(r"[\p{Cc}\u2028\u2029]"),
        "invisible characters": regex.compile(
            rf"[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff{PRIVATE_USE}]"
        ),
        "replacement characters (U+FFFD)": regex.compile("\ufffd"),
        "mojibake": regex.compile(_MOJIBAKE),
        "HTML entities": _ENTITY,
        "tags": regex.compile(r"</?[A-Za-z][^<>]{0,200}>"),
        f"lines of more than {LONG_LINE:,} characters": regex.compile(
            rf"^.{{{LONG_LINE + 1}}}", flags=regex.DOTALL
        ),
    }
)
_SUSPECT = regex.compile(  # every line with one of the short patterns has one of these characters
    rf"[\p{{Cc}}\p{{Cf}}{PRIVATE_USE}\u2028\u2029\ufffd&<{_NEXT}]"
)


def patterns_in(line: str) -> dict[str, int]:
    """Return the patterns that a line contains and where each occurs first."""
    if len(line) <= LONG_LINE and not _SUSPECT.search(line):
        return {}
    found = ((name, pattern.search(line)) for name, pattern in PATTERNS.items())
    return {
        name: match.start()
        for name, match in found
        if match and (name != "HTML entities" or html.unescape(match[0]) != match[0])
    }


def words_only(line: str) -> str:
    """Return the letters and digits of a line, without case; "" if it has none."""
    words: str = _NOT_WORDS.sub("", unicodedata.normalize("NFKC", line).casefold())
    return words


def share_of_letters(line: str) -> float:
    """Return the share of letters among the characters of a line, without white space."""
    characters = "".join(line.split())
    return len(_NOT_LETTERS.sub("", characters)) / len(characters) if characters else 0.0


def nearly_identical(pair: Pair) -> bool:
    """Whether both sides are equal without case, punctuation, white space and digits.

    Sides without letters are compared with their digits.
    """
    src, tgt = map(words_only, pair)
    src_letters, tgt_letters = (_NOT_LETTERS.sub("", side) for side in (src, tgt))
    if not src_letters and not tgt_letters:
        return src == tgt
    return bool(src_letters == tgt_letters)


def numbers_differ(pair: Pair, languages: tuple[str, str] = ("", "")) -> bool:
    """Whether a number in digits occurs on one side only, in any form of the languages.

    "1,000.5" equals "1 000,5", and "10:30" equals "10h30". If the languages are known, "ten" is the
    number 10.
    """
    from yakusu.data.numbers.match import NumberMatch  # 0.02 s

    return any(NumberMatch(languages).unmatched(*pair))


def placeholders_differ(pair: Pair) -> bool:
    """Whether a placeholder or a tag occurs more often on one side.

    Their order does not matter, nor do the attributes of tags and the branches of plurals, but the
    arguments of printf do: "%s of %d" equals "%2$d: %1$s", and not "%d: %s". A symbol such as
    "<BT>" before a source is not part of it.
    """
    if not any(map(_PLACEHOLDER_HINT.search, pair)):
        return False
    source, target = pair
    symbol = _SYMBOL.match(source)
    if symbol and f"</{symbol[1]}" not in source and not target.startswith(symbol[0]):
        source = source[symbol.end() :]
    return Counter(_placeholders(source)) != Counter(_placeholders(target))


def _placeholders(text: str) -> Iterator[str]:
    """The placeholders and tags of a text, without what may differ in a translation."""
    argument = 0
    for match in code_pattern().finditer(text):
        found = match[0]
        if match.lastgroup in ("tag", "bbcode"):
            name = _TAG_NAME.match(found)
            yield name[0].lower() if name else found
        elif match.lastgroup == "icu":
            name, kind, branches = found.split(",", 2)
            yield f"{name.strip()},{kind.strip()}"
            yield from sorted(set(_in_branches(branches)))  # not every branch has all of them
        elif match.lastgroup == "printf":
            argument += 1
            yield found if _NAMED.match(found) else f"%{argument}${found[1:]}"
        elif match.lastgroup in _PLACEHOLDERS:
            yield "".join(found.split())


def _in_branches(branches: str) -> Iterator[str]:
    """The placeholders in the branches of a plural: {n, plural, one {{a} dog} other {{a} dogs}}."""
    depth = start = 0
    for match in _BRACE.finditer(branches):
        depth += 1 if match[0] == "{" else -1
        if match[0] == "{" and depth == 2:  # a branch has depth 1
            start = match.start()
        elif match[0] == "}" and depth == 1:
            yield "".join(branches[start : match.end()].split()).partition(",")[0].rstrip("}")
