"""CommonMark with the usual extensions, and the position of each piece of inline markup.

markdown-it keeps the lines of a block, but no positions within it. Here, each rule for inline
markup records what it has read in the field `meta` of its tokens.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from yakusu.documents.markdown.directives import REASON, directive_rule, push_title
from yakusu.documents.markdown.jsx import JsxScanner
from yakusu.documents.markdown.syntax import MASK, MaskedContent, line_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.ruler import RuleOptionsType
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

AT, LABEL = "at", "label end"  # keys of `meta`: start and end; where the text of a link ends
_MARKERS = ("emphasis", "strikethrough")  # rules whose tokens become markup later, or stay text

MASKED = "masked"  # key of `meta` of a block: its content without the syntax of other tools
IS_MDX = "mdx"  # key of the environment: the file has syntax that only MDX has
_MANY_COLUMNS = 16  # of a table whose missing cells are counted
_COUNTED_ROWS = 1000
_MOST_MISSING = 2  # cells for each character of a table
_DELIMITERS = re.compile(r"[ \t>]*+\|?[-:| \t]*+")
_SPAN = re.compile(f"([{{<]){MASK}+")
_WIKI = re.compile(r"(!?)\[\[([^\[\]|\n]+)(?:\|([^\[\]\n]*))?\]\](?![(\[])")
_SIZE = re.compile(r"[\dx \t]*")  # of an embedded picture
_COMPONENT = re.compile(r"</?(?:[A-Z](?=\w*[a-z])\w*+|[A-Za-z][\w-]*+\.[\w.-]++|[A-Z])(?=[\s/>{])")
_HTML_IN_MDX = re.compile(r"<(?:[!?]|(?:script|style|pre|textarea)\b)", re.IGNORECASE)


def parser(*, is_mdx: bool = False) -> "MarkdownIt":
    """Return a parser whose inline tokens have positions.

    Args:
        is_mdx: The file is MDX: braces are expressions, content of tags is Markdown, and
            indentation makes no code.
    """
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
    md.block.ruler.before("fence", "directive", directive_rule, interrupted)
    md.block.ruler.before("fence", "line", _line_rule, interrupted)
    md.block.ruler.before("reference", "jsx", _jsx_rule(is_mdx=is_mdx))
    md.block.ruler.before("table", "empty_table", _empty_table_rule, {"alt": ["paragraph"]})
    if is_mdx:
        md.disable("code")
        _limit_html(md)
    md.inline.ruler.before("escape", "span", _span_rule)
    md.inline.ruler.before("link", "wiki", _wiki_rule)
    for name, rule in zip(
        md.inline.ruler.get_active_rules(), md.inline.ruler.getRules(""), strict=True
    ):
        md.inline.ruler.at(name, _noting(name, rule))
    md.core.ruler.before("inline", "mask", _mask_rule(is_mdx=is_mdx))
    md.core.ruler.after("inline", "unmask", _unmask_rule)
    return md


# ---- blocks --------------------------------------------------------------------------------------


def _line_rule(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
    """A line that is a construct of `syntax.LINES`; its text is a block of type "title"."""
    del end
    first = state.bMarks[start] + state.tShift[start]
    line = state.src[first : state.eMarks[start]].rstrip()
    found = None if state.is_code_block(start) else line_of(line)
    if not found:
        return False
    if silent:
        return True
    state.line = start + 1
    if found["label"]:
        _define(state, found["label"], line)
    title = found["text"] or ""
    if not title.strip():
        token = state.push("directive", "", 0)
        token.content = (found["unknown"] or "").strip()
        token.map = [start, start + 1]
        return True
    push_title(state, start, line, found.span("text"))
    return True


def _empty_table_rule(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
    """A table that would be much longer with its missing cells, which the parser adds."""
    if silent or start + 2 > end or state.is_code_block(start):
        return False
    lines = state.src[state.bMarks[start] : state.eMarks[start + 1]].split("\n", 1)
    n_columns = lines[-1].count("|")
    if n_columns < _MANY_COLUMNS or not _DELIMITERS.fullmatch(lines[-1]):
        return False
    last, n_missing = start + 2, 0
    while last < min(end, start + _COUNTED_ROWS) and not state.isEmpty(last):
        cells = state.src.count("|", state.bMarks[last], state.eMarks[last])
        n_missing += max(0, n_columns - cells)
        last += 1
    if n_missing <= _MOST_MISSING * (state.eMarks[last - 1] - state.bMarks[start]):
        return False
    token = state.push("directive", "", 0)
    while last < end and not state.isEmpty(last):
        last += 1
    token.content, token.map = "", [start, last]
    token.meta = {REASON: f"the table lacks more than {_MOST_MISSING} cells for each character"}
    state.line = last
    return True


def _define(state: "StateBlock", label: str, line: str) -> None:
    """Note a definition whose destination is an expression."""
    from markdown_it.common.utils import normalizeReference

    references = state.env.setdefault("references", {})
    references.setdefault(normalizeReference(label), {"title": "", "href": line, "map": [0, 0]})


def _jsx_rule(*, is_mdx: bool) -> "Callable[[StateBlock, int, int, bool], bool]":
    """A rule for modules, and for lines that consist of tags and expressions of JSX."""

    def rule(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
        first = state.bMarks[start] + state.tShift[start]
        if silent or state.is_code_block(start) or first >= len(state.src):
            return False
        scanner = state.env.setdefault("scanner", JsxScanner(state.src))
        if state.src[first] not in "<{ie":
            return False
        if state.src[first] in "ie":
            at_root = state.level == 0 and state.sCount[start] == 0
            stop = scanner.module_end(first) if at_root else -1
        else:
            stop = _tags_end(scanner, state.src, first, is_mdx=is_mdx)
        if stop < 0 or stop > state.eMarks[end - 1]:
            return False
        after = start + state.src.count("\n", first, stop) + 1
        only_in_mdx = state.src[first] in "ie{" or scanner.has_expression(first, stop)
        state.env[IS_MDX] = state.env.get(IS_MDX, False) or only_in_mdx
        state.push("directive", "", 0).map = [start, after]
        state.line = after
        return True

    return rule


def _tags_end(scanner: JsxScanner, source: str, first: int, *, is_mdx: bool) -> int:
    """The end of a line of tags and expressions; -1 if it is HTML or text."""
    if source[first] == "{":
        is_jsx = is_mdx or source.startswith("{/*", first)
    else:
        is_jsx = not _HTML_IN_MDX.match(source, first) and (
            is_mdx
            or _COMPONENT.match(source, first) is not None
            or scanner.has_expression(first, scanner.tag_end(first))
        )
    return scanner.line_end(first) if is_jsx else -1


def _limit_html(md: "MarkdownIt") -> None:
    """Read tags as JSX, except comments and elements whose content is not Markdown."""
    from markdown_it.rules_block import html_block

    def rule(state: "StateBlock", start: int, end: int, silent: bool) -> bool:
        first = state.bMarks[start] + state.tShift[start]
        is_html = _HTML_IN_MDX.match(state.src, first) is not None
        return is_html and html_block(state, start, end, silent)

    md.block.ruler.at("html_block", rule, {"alt": ["paragraph", "reference", "blockquote"]})


# ---- inline --------------------------------------------------------------------------------------


def _mask_rule(*, is_mdx: bool) -> "Callable[[StateCore], None]":
    """A rule that hides the syntax of other tools from the rules of Markdown."""

    def rule(state: "StateCore") -> None:
        for token in state.tokens:
            if token.type == "inline":
                masked = MaskedContent(token.content, is_mdx=is_mdx)
                state.env[IS_MDX] = state.env.get(IS_MDX, False) or masked.has_jsx
                token.meta[MASKED], token.content = token.content, masked.text

    return rule


def _unmask_rule(state: "StateCore") -> None:
    """Restore contents; the masked ones stay in `meta`."""
    for token in state.tokens:
        if token.type == "inline":
            token.meta[MASKED], token.content = token.content, token.meta[MASKED]


def _span_rule(state: "StateInline", silent: bool) -> bool:
    """A masked span: an expression of a template language, attributes, a tag of JSX."""
    found = _SPAN.match(state.src, state.pos, state.posMax)
    if not found:
        return False
    if not silent:
        state.push("html_inline" if found[1] == "<" else "template", "", 0)
    state.pos = found.end()
    return True


def _wiki_rule(state: "StateInline", silent: bool) -> bool:
    """A link to a page by its name: `[[Page]]`, `[[Page|text]]`, `![[picture.png]]`."""
    from markdown_it.common.utils import normalizeReference

    found = _WIKI.match(state.src, state.pos, state.posMax)
    if not found or normalizeReference(found[2]) in state.env.get("references", {}):
        return False
    if silent:
        state.pos = found.end()
        return True
    if not found[3] or (found[1] and _SIZE.fullmatch(found[3])):
        state.push("template", "", 0).meta[AT] = found.span()
    else:
        state.push("wiki_open", "", 1).meta[AT] = (found.start(), found.start(3))
        state.pos, maximum, state.posMax = found.start(3), state.posMax, found.end(3)
        state.linkLevel += 1
        state.md.inline.tokenize(state)
        state.linkLevel -= 1
        state.posMax = maximum
        state.push("wiki_close", "", -1).meta[AT] = (found.end(3), found.end())
    state.pos = found.end()
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
        elif tokens and name != "wiki":
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
