"""The texts with which a spreadsheet compares its cells: such cells must keep their texts."""

import re
from collections import defaultdict

from yakusu.data.lines.words import has_letter

FORMULAS = "formulas compare cells with"
FILTERS = "filters select"
PIVOTS = "pivot tables use"
# Functions that look at parts of texts
OF_PARTS = (
    r"\b(SEARCHB?|FINDB?|LEFTB?|RIGHTB?|MIDB?|SUBSTITUTE|REPLACEB?|TEXT(BEFORE|AFTER|SPLIT)|"
    r"REGEX\w*|XLOOKUP|XMATCH)\("
)
_OPERATOR = re.compile("<>|<=|>=|[<>=]")
_MOST_PATTERNS = 200  # each is compared with each cell


class Comparisons:
    """The texts of cells that stay, and why; a format finds them.

    Attributes:
        stayed: The texts of cells that stay, by the reason; the texts are in order.
    """

    def __init__(self) -> None:
        self.stayed: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._whole: dict[str, str] = {}  # text -> why it stays
        self._patterns: dict[tuple[str, ...], str] = {}  # what is between wildcards

    def key(self, text: str) -> str:
        """A text for comparisons, in which spreadsheets ignore case."""
        return text.strip().casefold()

    def keep(self, text: str, reason: str) -> None:
        """Keep cells with a text."""
        self._whole.setdefault(self.key(text), reason)

    def keep_parts(self, part: str, reason: str) -> None:
        """Keep cells that contain a text."""
        self._patterns.setdefault(("", self.key(part), ""), reason)

    def add_constant(self, constant: str, reason: str) -> None:
        """Add a constant, which may be a criterion, such as "<>Do*"."""
        if not has_letter(constant):
            return
        self.keep(constant, reason)
        criterion = constant
        if operator := _OPERATOR.match(constant):
            criterion = constant[operator.end() :]
            self.keep(criterion, reason)
        self._add_criterion(criterion, reason)

    def _add_criterion(self, criterion: str, reason: str) -> None:
        """Add the patterns of a criterion, which may have wildcards."""
        raise NotImplementedError

    def _refers(self, key: str) -> str:
        """Why a text, of which a formula may make a reference, stays; "": it may change."""
        raise NotImplementedError

    def stays(self, text: str) -> bool:
        """Whether a cell with a text keeps it; such texts are reported."""
        key = self.key(text)
        reason = self._whole.get(key, "") or self._refers(key)
        if not reason and self._patterns:
            too_many = FORMULAS if len(self._patterns) > _MOST_PATTERNS else ""
            matching = (why for each, why in self._patterns.items() if _matches(each, key))
            reason = too_many or next(matching, "")
        if reason and has_letter(text):
            self.stayed[reason][text.strip()] = None
        return bool(reason)


def _matches(pieces: tuple[str, ...], text: str) -> bool:
    """Whether a text consists of these pieces, with anything between them."""
    first, *others, last = pieces
    if not text.startswith(first) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in others:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return at <= end
