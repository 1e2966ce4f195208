"""Directives of MyST: which of them have prose, and which are kept.

    ```{note} One          :::{tip}             ```{figure} a.png      ```{code-block} js
    :class: dropdown       Four                 Five                   six
    Two *three*            :::                  ```                    ```
    ```

The texts are One, Two *three*, and Four. The figure is kept and reported; code is kept.
"""

import re
from typing import TYPE_CHECKING

from yakusu.data.lines.words import has_letter
from yakusu.documents.markdown.syntax import ADMONITIONS

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock

REASON = "reason"  # key of `meta` of a directive that is reported
# Directives whose body is Markdown and whose argument, if they have one, is a title; the body of
# the others of `_BODIES` is Markdown, but their argument is not text.
_TITLED = rf"{ADMONITIONS}|aside|card|dropdown|grid-item-card|margin|sidebar|tab-item|topic"
_BODIES = "compound|container|div|epigraph|grid|grid-item|highlights|pull-quote|tab-set"
_CODE = (  # what they contain is not text
    r"auto\w+|bash|bibliography|code|code-block|code-cell|contents|doctest|dot|graphviz|image"
    r"|include|index|ipython|js|julia|literalinclude|math|mermaid|ojs|plot|prompt|python|r|raw"
    r"|sourcecode|sql|tableofcontents|test(?:code|output|setup|cleanup)|toctree"
)
_OPENING = re.compile(
    r"(?P<marks>`{3,}|~{3,}|:{3,})[ \t]*\{(?P<name>[A-Za-z][\w:.+-]*)\}"
    r"[ \t]*+(?P<text>(?:.*[^ \t\n])?+)[ \t]*+"
)
_KIND = re.compile(rf"(?P<titled>{_TITLED})|(?P<body>{_BODIES})|(?P<code>{_CODE})", re.IGNORECASE)
_OPTION = re.compile(r":[\w-]+:(?:\s.*)?")
_YAML, _MOST_OPTIONS = "---", 100  # lines


def directive_rule(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
    """A directive: its title, and the blocks of its body; or all of it, if it is kept."""
    first = state.bMarks[start] + state.tShift[start]
    line = state.src[first : state.eMarks[start]]
    found = None if state.is_code_block(start) else _OPENING.fullmatch(line)
    if not found or (found["marks"][0] == "`" and "`" in found["text"]):
        return False
    kind, is_colon = _KIND.fullmatch(found["name"]), found["marks"][0] == ":"
    has_body = bool(kind and not kind["code"])
    # Containers may be in each other, and the last line of one is a construct of its own.
    is_flat = is_colon and has_body
    last, is_closed = (end, False) if is_flat else _closing(state, start, end, found["marks"])
    if is_colon and not (is_flat or is_closed):
        return False
    if silent:
        return True
    if not has_body or state.level + 1 >= state.md.options.maxNesting:
        _keep(state, start, last + is_closed, "" if kind and not has_body else found["name"])
        return True
    if kind and kind["titled"] and found["text"]:
        push_title(state, start, line, found.span("text"))
    state.line = _after_options(state, start + 1, last)
    if not is_flat:
        _tokenize(state, last)
        state.line = last + is_closed
    return True


def _tokenize(state: "StateBlock", last: int) -> None:
    """Read the blocks from the line of the state to another one."""
    before = state.parentType, state.lineMax
    state.parentType, state.lineMax, state.level = "container", last, state.level + 1
    state.md.block.tokenize(state, state.line, last)
    (state.parentType, state.lineMax), state.level = before, state.level - 1


def push_title(state: "StateBlock", start: int, line: str, place: tuple[int, int]) -> None:
    """Add a block of type "title".

    Args:
        state: The state of the parser.
        start: The number of the line.
        line: The line, without the marks of blocks that it is in.
        place: Where the title is in it.
    """
    first = state.bMarks[start] + state.tShift[start]
    token = state.push("title_open", "", 1)
    token.meta = {
        "column": first + place[0] - (state.src.rfind("\n", 0, first) + 1),
        "around": (line[: place[0]], line[place[1] :]),
    }
    token = state.push("inline", "", 0)
    token.content, token.map, token.children = line[slice(*place)], [start, start + 1], []
    state.push("title_close", "", -1)


def _closing(state: "StateBlock", start: int, end: int, marks: str) -> tuple[int, bool]:
    """The line that closes a directive, and whether there is one."""
    unclosed = state.env.setdefault("unclosed", {})  # so that no line is read for each opening
    first, after = unclosed.get((marks, state.blkIndent), (end, start))
    if first <= start < after:
        return after, False
    after = end
    for number in range(start + 1, end):
        own = _line(state, number).rstrip()
        if own and state.sCount[number] < state.blkIndent:
            after = number
            break
        if len(own) >= len(marks) and not own.strip(marks[0]) and not state.is_code_block(number):
            return number, True
    unclosed[marks, state.blkIndent] = (start, after)
    return after, False


def _keep(state: "StateBlock", start: int, after: int, name: str) -> None:
    """Keep the lines of a directive, and report it, if it has words.

    Args:
        state: The state of the parser.
        start: Its first line.
        after: The line after it.
        name: Its name; "": it is not reported.
    """
    token = state.push("directive", "", 0)
    token.map = [start, after]
    lines = (_line(state, number) for number in range(start + 1, after))
    if name and any(map(has_letter, lines)):
        token.meta = {REASON: f"the directive {name!r} is not known to have prose"}
    state.line = after


def _after_options(state: "StateBlock", start: int, last: int) -> int:
    """The line after the options of a directive: lines such as `:class: wide`, or a YAML block."""
    numbers = range(start, min(last, start + _MOST_OPTIONS))
    if numbers and _line(state, start).rstrip() == _YAML:
        ends = (number for number in numbers[1:] if _line(state, number).rstrip() == _YAML)
        return next(ends, start - 1) + 1
    others = (number for number in numbers if not _OPTION.fullmatch(_line(state, number)))
    return next(others, numbers.stop)


def _line(state: "StateBlock", number: int) -> str:
    """A line without the marks of the blocks that it is in."""
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]
