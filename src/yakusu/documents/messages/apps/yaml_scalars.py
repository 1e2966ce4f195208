"""How a scalar of YAML is written with another value: in its style, if that can hold the value.

    plain  ->  "double", if the value has ": ", a quotation mark at the beginning, is a number ...
    'single'  ->  "double", if the value has line breaks
    | and >  ->  the indentation and the end of the block stay

https://yaml.org/spec/1.2.2/#chapter-7-flow-style-productions
"""

import re
from itertools import chain

# Plain scalars that readers of YAML 1.1 or 1.2 do not take for text
_TYPED = re.compile(
    r"""(?:~|null|true|false|yes|no|on|off|y|n|=|<<
    | [-+]?(?:0b[01_]+|0o?[0-7_]+|0x[\da-f_]+|[\d_,]+(?::[0-5]?\d)*(?:\.[\d_]*)?(?:e[-+]?\d+)?)
    | [-+]?\.(?:inf|nan|[\d_]+(?:e[-+]?\d+)?)
    | \d{4}-\d\d?-\d\d?(?:(?:t|[ \t]+)[\d:.]+(?:[ \t]*(?:z|[-+][\d:]+))?)?
    )""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_LONGEST_TYPED = 100
_SPECIAL = re.compile(r"""[-?:,\[\]{}#&*!|>'"%@`.~]|.*(?::(?:[\s,\[\]{}]|$)|\s\#)""", re.VERBOSE)
_IN_FLOW = re.compile(r"[,\[\]{}]")
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)
_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*+\s++(?:#[^\n]*+\s++)*+)*+")
_BEFORE_TEXT = re.compile(r"(?:[ \t]*+\n)*+([ \t]*+)")
_HEADER = re.compile(r"[|>][^\r\n]*(?:\r\n?|\n)")
_NAMED = {"\0": "0", "\t": "t", "\n": "n", "\r": "r", '"': '"', "\\": "\\"}
_CODES = re.compile(r"\\[xuU]")


def is_typed(value: str) -> bool:
    """Whether a plain scalar is a number, a date, null or a boolean in YAML 1.1 or 1.2."""
    return len(value) <= _LONGEST_TYPED and _TYPED.fullmatch(value) is not None


def without_properties(source: str) -> str:
    """The source of a scalar without its anchor and tag."""
    return source[_PROPERTIES.match(source).end() :]  # type: ignore[union-attr]


def scalar_with(source: str, value: str, new: str, *, in_flow: bool) -> str | None:
    """The source of a scalar with another value; None: its style cannot hold it.

    Args:
        source: The source of the scalar, without its anchor and tag.
        value: Its value.
        new: The other value.
        in_flow: Whether it is inside of brackets or braces.
    """
    if source[0] in "|>":
        return _block(source, value, new)
    if source[0] == "'" and "\n" not in new and not _UNPRINTABLE.search(new):
        return "'" + new.replace("'", "''") + "'"
    if source[0] not in "'\"" and _is_plain(new, in_flow=in_flow):
        return new
    codes = source[0] == '"' and source.isascii() and _CODES.search(source) is not None
    return '"' + "".join(_escaped(each, codes=codes) for each in new) + '"'


def _is_plain(value: str, *, in_flow: bool) -> bool:
    """Whether a value can be written without quotes."""
    return not (
        value != value.strip()
        or "\n" in value
        or _SPECIAL.match(value)
        or _UNPRINTABLE.search(value)
        or "\t" in value
        or is_typed(value)
        or (in_flow and _IN_FLOW.search(value))
    )


def _escaped(character: str, *, codes: bool) -> str:
    """A character in double quotes."""
    if character in _NAMED:
        return "\\" + _NAMED[character]
    if not _UNPRINTABLE.match(character) and (character.isascii() or not codes):
        return character
    code = ord(character)
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def _block(source: str, value: str, new: str) -> str | None:
    """A block scalar with another value."""
    header = _HEADER.match(source)
    edges = (  # the indentation of the first line tells that of the block
        (_BEFORE_TEXT.match(each)[1], each[len(each.rstrip()) :])  # type: ignore[index]
        for each in (value, new)
    )
    if not header or next(edges) != next(edges) or _UNPRINTABLE.search(new):
        return None
    newline = "\r\n" if header[0].endswith("\r\n") else "\n"
    body = source[header.end() :]
    tail = body[len(body.rstrip()) :]
    first = next(line for line in body.splitlines() if line.strip())
    own = next(line for line in value.splitlines() if line.strip())
    indent = first[: _n_spaces(first) - _n_spaces(own)]
    core = new.rstrip()
    start, lines = header[0], core.split("\n")
    if source[0] == ">":
        if any(line[:1] in (" ", "\t") for line in lines):
            start = "|" + start[1:]  # it holds any lines
        else:
            width = max(len(line.strip()) for line in body.splitlines())
            is_wrapped = len(body.split()) > 1 and len(body.strip().splitlines()) > 1
            lines = [*_folded(core, width if is_wrapped else 0)]
    return start + newline.join(indent + line if line else "" for line in lines) + tail


def _n_spaces(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _folded(value: str, width: int) -> list[str]:
    """The lines of a folded block, in which a line break is an empty line.

    Args:
        value: The value, in which no line begins with white space.
        width: Characters of a line; 0: lines are not wrapped.
    """
    before = len(value) - len(value.lstrip("\n"))
    paragraphs = value[before:].split("\n")
    lines = [""] * before
    for number, paragraph in enumerate(paragraphs):
        if paragraph:
            lines += _wrapped(paragraph, width)
        if (number < len(paragraphs) - 1 and (paragraph or number == 0)) or not paragraph:
            lines.append("")
    return lines


def _wrapped(paragraph: str, width: int) -> list[str]:
    """The lines of a paragraph, which are divided at single spaces."""
    words = paragraph.split(" ")
    if not width or not all(words) or "\t" in paragraph:
        return [paragraph]
    lines, line = list[str](), words[0]
    for word in chain(words[1:]):
        if len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line += f" {word}"
    return [*lines, line]
