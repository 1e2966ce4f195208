"""The syntax of other tools in Markdown: which of it is text, and which is kept.

Each row of a table is one construct. In `LINES`, the group `text` is a text, and the rest of the
line is kept; a row without this group has no text. The group `label` is the name of a definition,
and a line with `unknown` words is reported. In `SPANS`, all is kept.
"""

import re

import regex

from yakusu.documents.markdown.jsx import JsxScanner

ADMONITIONS = (
    "abstract|admonition|attention|bug|caution|check|danger|details|error|example|failure|faq|hint"
    "|important|info|note|question|quote|secondary|seealso|spoiler|success|summary|tip|tldr|todo"
    "|warning"
)
_TEMPLATE = r"(?:\{%(?:(?!%\}).)*+%\}|\{\{[<%](?:(?![>%]\}\}).)*+[>%]\}\})"
_INNER_TEMPLATE = r"(?:\{%(?:(?!%\}|\{%).)*+%\}|\{\{[<%](?:(?![>%]\}\}|\{\{[<%]).)*+[>%]\}\})"
LINES = (
    # :::tip   :::tip[Title]   ::: details Title {open}
    rf":{{3,}}[ \t]*(?i:{ADMONITIONS})(?:\[(?P<text>.*)\])?[ \t]*(?:\{{[^{{}}]*\}})?",
    rf":{{3,}}[ \t]*(?i:{ADMONITIONS})[ \t]+"
    r"(?P<text>[^\s{](?:[ \t]*+[^ \t])*?)[ \t]*+(?:\{[^{}]*\})?",
    r":::(?P<unknown>.*)",
    r"\[![\w-]+(?:\|[^\]]*)?\][+-]?(?:[ \t]++(?P<text>.*+))?",  # > [!note]- Title
    rf"(?:{_TEMPLATE}[ \t]*)+",  # {% if x %}   {{< figure src="a.png" >}}
    rf"\[(?P<label>[^\[\]]+)\]:[ \t]*\S*{_INNER_TEMPLATE}.*",  # [a]: {{< ref "a.md" >}}
    r'===[!+]?\s+".*"',  # === "Tab"
    r"\*\[.+\]:.*",  # *[HTML]: an abbreviation
    r"\[TOC\]|\[\[_?TOC_?\]\]",
    r"-++8<-++.*+",  # a snippet
    r"\{:?\s*[:\#.][^{}]*\}",  # {.class #id}
    r"\([^\s()]+\)=",  # (target)=
    r"\^[A-Za-z0-9-]+",  # ^block-id
)
SPANS = (  # how it begins and ends
    ("{{", "}}"),
    ("{%", "%}"),
    ("{/*", "*/}"),
    ("{#", "#}"),
    ("<%", "%>"),
)
_PATTERNS = re.compile(
    r"""\{:?\s*[:#.][^{}\n]*\}                  # {#id .class}
    | \{[A-Za-z][\w:.+-]*\}(?=`)                # {ref}`target`
    | \+\+[\w-]+(?:\+(?:[\w-]+|"[^"\n]*"))*\+\+ # ++ctrl+alt+del++""",
    re.VERBOSE,
)
_BLOCK_ID = re.compile(r"(?<=[ \t\n])\^[A-Za-z0-9-]+[ \t]*\Z")
_BEGINNING = re.compile(r"\\[!-/:-@\[-`{-~]|`+|\{|<(?=[%A-Za-z/>])|(?<![\w+])\+\+(?=[\w-])")
_BACKTICKS = re.compile("`+")
_LINE = regex.compile("|".join(f"(?:{row})" for row in LINES))
_SILENT = re.compile(r"\{[%#:.]|\{/\*|<%(?!=)|\^")
MASK = "\ufdd0"  # not a character


def line_of(line: str) -> "regex.Match[str] | None":
    """The construct that a line consists of, without the white space around it."""
    return _LINE.fullmatch(line)


def is_silent(source: str) -> bool:
    """Whether a span prints nothing."""
    return _SILENT.match(source) is not None


class MaskedContent:
    """The content of a block in which the rules of Markdown do not see what is kept.

        See [one]({{< ref "a.md" >}})   ->   See [one]({MMMMMMMMMMMMMMMMM)

    Each span becomes a brace, or `<` for a tag of JSX, and characters that mean nothing. Code is
    not masked: it may contain half of a span.

    Args:
        content: The content.
        is_mdx: Whether each pair of braces is an expression.

    Attributes:
        text: The masked content, of the same length.
        has_jsx: Whether it has syntax that only MDX has.
    """

    def __init__(self, content: str, *, is_mdx: bool) -> None:
        self._content, self._is_mdx = content, is_mdx
        self._scanner = JsxScanner(content)
        self._missing: set[str] = set()  # what does not occur in the rest of the content
        self._backticks: dict[int, int] | None = None  # where the last ones of each length begin
        self.has_jsx = False
        self.text = self._masked()

    def _masked(self) -> str:
        parts, at, place = [], 0, 0
        while found := _BEGINNING.search(self._content, place):
            start, place = found.start(), found.end()
            if found[0][0] == "\\":
                continue
            if found[0][0] == "`":
                place = max(place, self._code_end(found[0], place))
                continue
            end = self._tag_end(start) if found[0] == "<" else self._end(start)
            if end > start:
                parts += [self._content[at:start], _mask(self._content[start:end])]
                at = place = end
        block_id = _BLOCK_ID.search(self._content, at)
        if block_id:
            parts += [self._content[at : block_id.start()], _mask("{" + block_id[0][1:])]
            at = block_id.end()
        return "".join([*parts, self._content[at:]])

    def _end(self, start: int) -> int:
        """The end of the span that begins at a brace or a plus sign; -1 if there is none."""
        if found := _PATTERNS.match(self._content, start):
            return found.end()
        for beginning, ending in SPANS:
            if self._content.startswith(beginning, start):
                end = self._after(ending, start + len(beginning))
                if end > 0:
                    self.has_jsx |= beginning == "{/*"
                    return end
        if self._is_mdx and self._content[start] == "{":
            return self._scanner.expression_end(start)
        return -1

    def _tag_end(self, start: int) -> int:
        """The end of the tag of JSX that begins at a position; -1 if it is one of HTML."""
        if self._content.startswith("<%", start):
            return self._after("%>", start + 2)
        end = self._scanner.tag_end(start)
        if self._scanner.has_expression(start, end):
            self.has_jsx = True
            return end
        tag = self._content[start : max(end, start)]
        is_other = re.match(r"</?\s*(?:[\w-]+[.:]\w|>)", tag)  # <a.b> and, in MDX, <>
        return end if is_other and (self._is_mdx or tag not in ("<>", "</>")) else -1

    def _after(self, ending: str, place: int) -> int:
        """Where an ending ends; -1 if it does not occur."""
        found = -1 if ending in self._missing else self._content.find(ending, place)
        if found < 0:
            self._missing.add(ending)
            return -1
        return found + len(ending)

    def _code_end(self, marks: str, place: int) -> int:
        """Where code ends that begins with some backticks; -1 if it does not end."""
        if self._backticks is None:
            found = _BACKTICKS.finditer(self._content)
            self._backticks = {len(run[0]): run.start() for run in found}  # the last of each length
        if self._backticks.get(len(marks), -1) < place:
            return -1
        runs = _BACKTICKS.finditer(self._content, place)
        return next((run.end() for run in runs if run[0] == marks), -1)


def _mask(source: str) -> str:
    return ("<" if source[0] == "<" else "{") + MASK * (len(source) - 1)
