"""The rules of the Markdown parser, in the order in which it tries them.

markdown-it is a set of rules, of which each block and each character gets the first that fits. The
rules, with those of ours, are translated; what calls them is in `markdown.js`.
"""

import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

from markdown_it.common.normalize_url import validateLink
from markdown_it.helpers import parseLinkDestination, parseLinkLabel, parseLinkTitle
from markdown_it.parser_block import ParserBlock
from markdown_it.parser_core import ParserCore
from markdown_it.parser_inline import ParserInline
from markdown_it.ruler import Ruler
from markdown_it.rules_core.state_core import StateCore
from mdit_py_plugins.admon import index as admon

from yakusu.documents.html import tokens
from yakusu.documents.markdown import markdown
from yakusu.documents.markdown.parser import parser
from yakusu.documents.splice import DecodedFile
from yakusu.export.web.bundle import Bundle
from yakusu.export.web.syntax import literal

_PLUGIN = "mdit_py_plugins.dollarmath.index.dollarmath_plugin.<locals>"
BY_HAND = {
    "markdown_it.common.utils.isPunctChar": "isPunctuation",
    "yakusu.documents.markdown.parser.parser": "markdownParser",
    **{
        f"yaml.events.{name}Event": f"{name}Event"
        for name in (
            *("Alias", "Scalar", "CollectionStart", "MappingStart", "CollectionEnd"),
            "DocumentStart",
        )
    },
    "yakusu.documents.splice.decode_source": "decodedSource",
    "markdown_it.rules_block.fence.make_fence_rule.<locals>.<lambda>": "isAtLeast",
    f"{_PLUGIN}.<lambda>": "String",  # makes the name of an equation, which nobody reads
}
OMITTED = frozenset(
    f"markdown_it.parser_{name}.Parser{name.title()}.__init__"
    for name in ("block", "core", "inline")
) | {"yakusu.documents.messages.apps.yaml_strings.YamlFile.parse"}
_READ_BY_HAND = (
    *(ParserBlock, ParserCore, ParserInline, StateCore, DecodedFile, validateLink),
    *(parseLinkDestination, parseLinkLabel, parseLinkTitle),
)


def add_markdown(bundle: Bundle) -> Iterator[str]:
    """Add the reader of Markdown to a bundle; yield the definitions that `markdown.js` reads."""
    licence = resources.files("yakusu.export.web") / "markdown.LICENSE"
    yield f"/*! {licence.read_text(encoding='utf-8')}*/"
    for thing in _READ_BY_HAND:
        bundle.reference(thing)
    bundle.read("_read", "tokenize", "parse", "process")
    parsers = [parser(is_mdx=is_mdx) for is_mdx in (False, True)]
    rulers: Iterator[dict[str, Ruler[Any]]] = (
        {
            "core": own.core.ruler,
            "block": own.block.ruler,
            "inline": own.inline.ruler,
            "inline2": own.inline.ruler2,
        }
        for own in parsers
    )
    rules = ", ".join(
        _object((name, _chains(bundle, r)) for name, r in own.items()) for own in rulers
    )
    yield f"const MARKDOWN_RULES = [{rules}];"
    options = (
        f"[{literal(name)}, {literal(value)}]"
        for name, value in parsers[0].options.items()
        if not callable(value)
    )
    yield f"const MARKDOWN_OPTIONS = [{', '.join(options)}];"
    yield f"const TERMINATORS = {bundle.value(parsers[0].inline.terminator_re)};"
    yield f"const readMarkdown = (text) => {bundle.reference(markdown.read)}(text, null);"


def expressions() -> Iterator[re.Pattern[str]]:
    """The regular expressions that functions compile when they are called."""
    yield re.compile(r"[ \t\n]*")
    yield re.compile(r"\r?\n|\Z")
    for name in (*tokens._RAW, "title"):
        yield re.compile(rf"</{name}(?=[ \t\n\f\r/>])", re.IGNORECASE)
    for function in (admon._get_multiple_tags,):
        texts = [own for own in function.__code__.co_consts if isinstance(own, str)]
        yield from (re.compile(own) for own in texts if "(?P<" in own)


def _chains(bundle: Bundle, ruler: "Ruler[Any]") -> str:
    """The rules of each chain; that of "" has all."""
    ruler.getRules()  # which computes all chains
    chains = sorted((ruler.__cache__ or {}).items())
    return _object((name, f"[{', '.join(map(bundle.reference, own))}]") for name, own in chains)


def _object(items: Iterator[tuple[str, str]]) -> str:
    return f"{{{', '.join(f'{literal(name)}: {value}' for name, value in items)}}}"
