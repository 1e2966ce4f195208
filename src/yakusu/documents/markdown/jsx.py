"""Where the parts of MDX end: modules, JSX tags and expressions in braces.

    export const size = {unit: "}"}     <Tabs values={[{label: "a"}]}>     {/* a comment */}

JavaScript is not parsed: brackets are balanced, and strings, templates and comments are skipped.
"""

import re
from bisect import bisect_left

_CODE = re.compile(
    r"""//[^\n]* | /\*(?:[^*]|\*(?!/))*+(?:\*/|\Z) | `(?:[^`\\]|\\.)*+(?:`|\Z)
    | (?P<quote>["']) | (?P<open>[({\[]) | (?P<close>[)}\]]) | (?P<blank>\n(?=[ \t]*(?:\n|\Z)))""",
    re.VERBOSE | re.DOTALL,
)
_STRINGS = {  # the rest of a string, after its quotation mark
    quote: re.compile(rf"(?:[^{quote}\\\n]|\\.)*+(?P<end>{quote}?)", re.DOTALL) for quote in "\"'"
}
_MODULE = re.compile(
    r"""import(?:\s*['"] | \s+(?:type\s+)?[\w*{](?:[^'";\n]|\n(?![ \t]*\n))*?\bfrom\s*['"])
    | export\s+(?:(?:const|let|var|class|type|interface|enum|async|function\*?)\s+[\w{\[] | [*{]
    | default\s+(?:(?:async|function|class)\b | [({\[<`'"] | [A-Z][\w$.]*[ \t]*$
      | [\w$.]+\s*(?:;|\(|=>)))""",
    re.VERBOSE | re.MULTILINE,
)
_TAG = re.compile(r"<(?:/\s*)?[A-Za-z][\w-]*(?:[.:][\w-]+)*|</?(?=>)")
_PART = re.compile(
    r"""(?P<end>\s*/?>)
    | \s*(?=\{) | \s+[A-Za-z_:@#$][\w:.@$-]*
      (?:\s*=\s*(?:"[^"]*"|'[^']*'|(?=\{)|[^\s"'=<>`{}]+))?""",
    re.VERBOSE,
)
_SPACES = re.compile(r"[ \t]*")
_EXPRESSION = re.compile(r"[=\s]\{(?![{%#])")
_BLANK_LINE = re.compile(r"\n(?=[ \t]*(?:\n|\Z))")
_MOST_FAILURES = 20


class JsxScanner:
    """Finds ends in a text.

    The time is proportional to the length of the text: the ends of brackets are kept, and so is
    where a line has no more quotation marks. A bracket without its partner is searched up to the
    end of the text; after 20 of these, no bracket has a partner.

    Args:
        source: The text.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._failures = 0
        self._ends: dict[int, int] = {}  # of brackets, by their starts
        self._unclosed = dict.fromkeys(_STRINGS, range(0))  # here, they have no partners
        self._expressions: list[int] | None = None  # where attributes have expressions

    def module_end(self, at: int) -> int:
        """The end of an import or export, which an empty line ends; -1 if there is none."""
        if not _MODULE.match(self._source, at):
            return -1
        end = self._balanced(at, stops_at_blank=True)
        if end >= 0:
            return end
        blank = _BLANK_LINE.search(self._source, at)
        return blank.start() if blank else len(self._source)

    def expression_end(self, at: int) -> int:
        """The end of what is in the braces that begin at a position; -1 if they do not end."""
        return self._balanced(at, stops_at_blank=False)

    def tag_end(self, at: int) -> int:
        """The end of the tag that begins at a position; -1 if there is none."""
        found = _TAG.match(self._source, at)
        if not found:
            return -1
        place = found.end()
        while part := _PART.match(self._source, place):
            place = part.end()
            if part["end"]:
                return place
            if self._source.startswith("{", place):
                place = self.expression_end(place)
                if place < 0:
                    return -1
        return -1

    def line_end(self, at: int) -> int:
        """The end of a line that consists of tags and expressions only; -1 if there is other text.

        A tag or an expression may have several lines.
        """
        while True:
            at = _SPACES.match(self._source, at).end()  # type: ignore[union-attr]
            if at >= len(self._source) or self._source[at] == "\n":
                return at
            at = self.tag_end(at) if self._source[at] == "<" else self._braces_end(at)
            if at < 0:
                return -1

    def _braces_end(self, at: int) -> int:
        return self.expression_end(at) if self._source[at] == "{" else -1

    def has_expression(self, start: int, end: int) -> bool:
        """Whether a tag in the text has attributes that only JSX has: `a={1}`, `{...rest}`."""
        if self._expressions is None:
            self._expressions = [found.start() for found in _EXPRESSION.finditer(self._source)]
        i = bisect_left(self._expressions, start)
        return i < len(self._expressions) and self._expressions[i] + 2 <= end

    def _balanced(self, at: int, *, stops_at_blank: bool) -> int:
        """Where no bracket is open: after a bracket, or at an empty line; -1 if nowhere."""
        if not stops_at_blank and at in self._ends:
            return self._ends[at]
        if self._failures >= _MOST_FAILURES:
            return -1
        depth, inside = 0, list[int]()  # the brackets that are open
        while part := _CODE.search(self._source, at):
            at = part.end()
            if part["quote"]:
                at = self._string_end(part["quote"], at)
            elif part["open"]:
                if depth >= 0 and part.start() in self._ends:
                    at = self._ends[part.start()]
                    continue
                depth += 1
                inside.append(part.start())
            elif part["close"]:
                depth -= 1
                if inside:
                    self._ends[inside.pop()] = at
                if depth <= 0 and not stops_at_blank:
                    return at
            elif part["blank"] and depth <= 0 and stops_at_blank:
                return part.start()
        if stops_at_blank and depth <= 0:
            return len(self._source)
        self._failures += 1
        return -1

    def _string_end(self, quote: str, start: int) -> int:
        """Where the string ends that begins before a position; the position if it does not end."""
        if start in self._unclosed[quote]:
            return start
        string = _STRINGS[quote].match(self._source, start)
        assert string is not None
        if string["end"]:
            return string.end()
        self._unclosed[quote] = range(start, string.end() + 1)
        return start
