"""The layout of the lines of a text: what to translate, and what to keep around it.

    "  - [ ] Buy milk.\\r"  ->  before "  - [ ] ", body "Buy milk.", after "\\r"

Lines are read one at a time, in order, so that a stream can be translated.
"""

import regex

from yakusu import lazy
from yakusu.data.lines.words import has_letter

# ---- marks at the beginning of a line ------------------------------------------------------------

_FREE_BULLETS = "•・●○◆◇■□▪▫◎※★☆①-⑳❶-❿➀-➓⑴-⒇"  # East Asian text has no space after these
_MARK = lazy.compile(
    rf"""
    > (?![\d=]) \s*                                     # a quote in an e-mail; not >5, >=
    | \#{{1,6}} \s+                                     # a heading
    | [-+*‐‑–—−·∙‣⁃◦▶►▸➔➢➤→⇒✓✔✗✘☐☑☒] \uFE0F? (?:\s+|$)  # a bullet; not -5, --option, *text*
    | [{_FREE_BULLETS}] (?![{_FREE_BULLETS}×]) \s*
    | \[[ xX✓]\] (?:\s+|$)                              # a check box
    | \[\d{{1,3}}\] (?:\s+|$)                           # a reference
    | [(]? (?:\d{{1,3}}|[ivx]{{2,6}}|[IVX]{{2,6}}|\p{{Ll}}|\p{{Lu}}) [)] (?:\s+|$)
    | \d{{1,3}} \. [)] (?:\s+|$)
    | （ (?:\d{{1,3}}|[一二三四五六七八九十]{{1,3}}) ） \s*
    | (?:\d{{1,3}}|[一二三四五六七八九十]{{1,3}}) (?:、|）) (?![\d一二三四五六七八九十]) \s*
    | \d{{1,3}} [.．] (?=\p{{Han}}|\p{{Hiragana}}|\p{{Katakana}})
    """,
    regex.VERBOSE,
)
_DOTTED = lazy.compile(r"(?P<label>\d{1,3}|[IVX]{1,6}|[ivx]{2,6}|[a-zA-Z])\.(?:\s+|$)")
_NUMERALS = [
    tens + ones
    for tens in ("", "X", "XX", "XXX")
    for ones in ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
]

# After a number and a full stop, these words show that it is an ordinal, not the number of an item.
_ORDINAL = lazy.compile(
    r"\d{1,2}\.(?:\s|\d)|"  # a date in figures
    r"(?:FC|FSV|SC|SV|VfL|Liga|Bundesliga|Weltkrieg|Jahrhundert|Jh|Klasse|Stock|Etage|Platz|"
    r"Rang|Runde|Halbzeit|Spieltag|Staffel|Auflage|Advent|Weihnachtstag|"
    r"Januar|Jänner|Februar|März|April|Mai|Juni|"  # codespell:ignore
    r"Juli|August|September|Oktober|November|Dezember)\b"  # codespell:ignore
)

# ---- blocks that are kept ------------------------------------------------------------------------

# A row of tildes with other words, or a longer row, is decoration.
_FENCE = lazy.compile(r"((?:\s*>)*+)\s*(`{3,}(?=[^`]*$)|~{3,4}(?=\s*[\w{.+-]*$))")
_QUOTE = lazy.compile(r"\s*>")
_KEYS = {
    "---": lazy.compile(r"^[\w.\"'-]++\s*:(?:\s|$)"),
    "+++": lazy.compile(r"^(?:[\w.\"'-]++\s*=|\[++[\w.\"'-]++\]++$)"),
}
_MORE = lazy.compile(r"\s+\S|#|-\s|[\]}]|$")  # other lines of front matter, after the first


class Layout:
    """Reads the lines of one text in order.

    A line is kept as it is if it has no letter, or is part of a code block between fences (``` or
    ~~~) or of front matter. A fence that is not closed extends to the end of the text, or of its
    quotation. Front matter begins at a first line `---` or `+++` and ends at the same mark, or
    before the first line that cannot be part of it.

    A number and a full stop, such as "2. ", may also be an ordinal ("2. Mai"), and a letter and a
    full stop an initial. They count as the number of an item only if the words after them or the
    number of the item before them support it. Otherwise, they belong to the body.
    """

    def __init__(self) -> None:
        self._front: str | None = None  # the mark of the front matter that the line is in
        self._fence: tuple[str, int] | None = None  # the fence of its code block, depth of quotes
        self._n_lines = 0
        self._label = ""  # the last one with a full stop

    def read(self, line: str) -> tuple[str, str, str]:
        """Divide the next line, with or without its line break.

        Returns:
            Indentation, quote marks, bullets and numbers; the body, the text to translate, which is
            empty if the line is kept as it is; white space at the end. Together they are the line.
        """
        content = line.rstrip()
        after = line[len(content) :]
        self._n_lines += 1
        if self._in_front_matter(content) or self._in_code(content):
            return content, "", after
        start = self._body_start(content)
        if not has_letter(content[start:]):
            return content, "", after
        return content[:start], content[start:], after

    def _in_front_matter(self, content: str) -> bool:
        if self._n_lines == 1:
            self._front = content if content in _KEYS else None
            return self._front is not None
        if self._front is None:
            return False
        closes = content in (self._front, "...")
        follows = _KEYS[self._front].match(content) or (self._n_lines > 2 and _MORE.match(content))
        if closes or not follows:
            self._front = None
        return closes or bool(follows)

    def _in_code(self, content: str) -> bool:
        if self._fence is not None:
            fence, depth = self._fence
            place = _after_quotes(content, depth)
            if place is not None:
                rest = content[place:].strip()
                if len(rest) >= len(fence) and not rest.strip(fence[0]):
                    self._fence = None
                return True
        found = _FENCE.match(content)
        self._fence = (found[2], found[1].count(">")) if found else None
        return bool(found)

    def _body_start(self, content: str) -> int:
        """Where the body begins: after indentation and all marks."""
        indentation = len(content) - len(content.lstrip())
        if _begins_word(content[indentation : indentation + 2]):
            return indentation
        place = _after_marks(content, indentation)
        found = _DOTTED.match(content, place)
        if not found:
            return place
        label, self._label = self._label, found["label"]
        if not _numbers_an_item(found["label"], content[found.end() :], previous=label):
            return place
        return _after_marks(content, found.end())


def label_of(text: str) -> str:
    """The number or letter with a full stop after the marks of a text: "- 2. Mai" -> "2."."""
    found = _DOTTED.match(text, _after_marks(text, len(text) - len(text.lstrip())))
    return found[0].rstrip() if found else ""


def _begins_word(two: str) -> bool:
    """Whether two characters begin no mark: ASCII letters, the first not a Roman digit."""
    return len(two) == 2 and two.isascii() and two.isalpha() and two[0] not in "IVXivx"


def _after_marks(text: str, place: int) -> int:
    while found := _MARK.match(text, place):
        place = found.end()
    return place


def _after_quotes(text: str, depth: int) -> int | None:
    """Where a text begins after so many marks of quotations; None: it has fewer."""
    place = 0
    for _ in range(depth):
        if not (found := _QUOTE.match(text, place)):
            return None
        place = found.end()
    return place


def _numbers_an_item(label: str, text: str, *, previous: str) -> bool:
    """Whether a label with a full stop numbers an item, rather than being part of its text.

    Args:
        label: A number, Roman numeral or letter.
        text: What follows it.
        previous: The last such label of the text.
    """
    if _ORDINAL.match(text):
        return False
    if any(_follows(kind(label), kind(previous)) for kind in (_number, _numeral, _letter)):
        return True
    if label.isdigit():
        return label == "1" or not text[:1].islower()
    if len(label) > 1:
        return _numeral(label) is not None
    return label in "ai"  # capital letters are initials


def _follows(number: int | None, previous: int | None) -> bool:
    return number is not None and previous is not None and number == previous + 1


def _number(label: str) -> int | None:
    return int(label) if label.isdecimal() else None


def _numeral(label: str) -> int | None:
    return _NUMERALS.index(label.upper()) if label and label.upper() in _NUMERALS else None


def _letter(label: str) -> int | None:
    return ord(label) if len(label) == 1 and label.isalpha() else None
