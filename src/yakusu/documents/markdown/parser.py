"""CommonMark with the usual extensions, and the position of each piece of inline markup.

markdown-it keeps the lines of a block, but no positions within it. Here, each rule for inline
markup records what it has read in the field `meta` of its tokens.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.ruler import RuleOptionsType
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

AT, LABEL = "at", "label end"  # keys of `meta`: start and end; where the text of a link ends
_MARKERS = ("emphasis", "strikethrough")  # rules whose tokens become markup later, or stay text

# Lines of other tools, which are not text: containers, tags of site generators, alerts, tabs,
# abbreviations, tables of contents, snippets, attributes.
_DIRECTIVE = re.compile(
    r""":::.* | \{%.*%\} | \{\{[<%].*[%>]\}\} | \[![A-Za-z]+\][+-]? | ===[!+]?\s+".*" | \*\[.+\]:.*
    | \[TOC\] | \[\[_?TOC_?\]\] | -+8<-+.* | \{:?\s*[:\#.][^{}]*\}""",
    re.VERBOSE,
)
_TEMPLATES = {"{{": "}}", "{%": "%}", "{#": "#}"}
_ATTRIBUTES = re.compile(r"\{:?\s*[:#.][^{}\n]*\}")


def parser() -> "MarkdownIt":
    """Return a parser whose inline tokens have positions."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.admon import admon_plugin
    from mdit_py_plugins.deflist import deflist_plugin
    from mdit_py_plugins.dollarmath import dollarmath_plugin
    from mdit_py_plugins.footnote import footnote_plugin

    md = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    md.use(footnote_plugin).use(deflist_plugin).use(admon_plugin)
    md.use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)
    md.disable(["text_join", "footnote_tail"])  # these merge and move tokens
    interrupted: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    md.block.ruler.before("fence", "directive", _directive, interrupted)
    md.inline.ruler.before("escape", "template", _template)
    for name, rule in zip(
        md.inline.ruler.get_active_rules(), md.inline.ruler.getRules(""), strict=True
    ):
        md.inline.ruler.at(name, _noting(name, rule))
    return md


def _directive(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
    """A block rule: lines that are not text."""
    del end
    line = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    if state.is_code_block(start) or not _DIRECTIVE.fullmatch(line.rstrip()):
        return False
    if not silent:
        state.push("directive", "", 0).map = [start, start + 1]
        state.line = start + 1
    return True


def _template(state: "StateInline", silent: bool) -> bool:
    """An inline rule: expressions of template languages, and attributes in braces."""
    if state.src[state.pos] != "{":
        return False
    closing = _TEMPLATES.get(state.src[state.pos : state.pos + 2])
    place = state.src.find(closing, state.pos + 3, state.posMax) if closing else -1
    attributes = _ATTRIBUTES.match(state.src, state.pos, state.posMax)
    if place < 0 and not attributes:
        return False
    end = place + 2 if place >= 0 or not attributes else attributes.end()
    if not silent:
        state.push("template", "", 0).content = state.src[state.pos : end]
    state.pos = end
    return True


def _noting(
    name: str, rule: "Callable[[StateInline, bool], bool]"
) -> "Callable[[StateInline, bool], bool]":
    """Wrap an inline rule so that its tokens have positions."""

    def noting(state: "StateInline", silent: bool) -> bool:
        start, n_tokens = state.pos, len(state.tokens)
        if silent:
            return rule(state, silent)
        label = _label_end(name, state)
        if not rule(state, silent):
            return False
        tokens = state.tokens[n_tokens:]
        if name == "link":
            opened = next(token for token in tokens if token.type == "link_open")
            opened.meta[AT] = (start, start + 1)
            tokens[-1].meta[AT] = (label, state.pos)
        elif name in _MARKERS:
            _note_markers(tokens, start, state.pos)
        elif tokens and name == "autolink":
            tokens[-3].meta[AT] = (start, state.pos)
        elif tokens:
            tokens[-1].meta |= {AT: (start, state.pos), LABEL: label}
        return True

    return noting


def _label_end(name: str, state: "StateInline") -> int:
    """Where the text of a link or an image ends; -1 if there is none."""
    from markdown_it.helpers import parseLinkLabel

    if name == "link" and state.src[state.pos] == "[":
        return parseLinkLabel(state, state.pos, True)
    if name == "image" and state.src.startswith("![", state.pos):
        return parseLinkLabel(state, state.pos + 1, False)
    return -1


def _note_markers(tokens: "list[Token]", start: int, end: int) -> None:
    """Give each token of a row of markers its position; text before the row may be a token, too."""
    for token in reversed(tokens):
        if end == start:
            break
        end -= len(token.content)
        token.meta[AT] = (end, end + len(token.content))


def place(token: "Token") -> tuple[int, int] | None:
    """The position of a token's markup in the content of its block; None for text."""
    if token.type == "text" or AT not in token.meta:
        return None
    start, end = token.meta[AT]
    if token.type == "strong_open":  # the other marker is in a token that is now empty
        return start - 1, end
    if token.type == "strong_close":
        return start, end + 1
    return start, end
