"""What a spreadsheet compares its cells with: such cells must keep their texts.

    of:=IF([.A2]="Yes";1;0)    of:=COUNTIF([.A1:.A9];"Do.*")    a filter, a list of valid entries

Formulas and conditions are not translated, and neither are cells that have the text of a constant
in one of them, in any case. For constants with wildcards, these are all cells that match, and for
formulas that look at parts of texts, all cells that contain the constant. If a formula makes
references of texts (INDIRECT), cells with an address, or with a name or a part of it, stay too.
"""

import html
import re

from yakusu.data.lines.words import has_letter
from yakusu.documents.office.comparisons import FILTERS, FORMULAS, OF_PARTS, PIVOTS, Comparisons

_LISTS = "validity lists contain"
_REFERENCES = "formulas with INDIRECT can refer to"

_FORMULAE = [  # one expression each, because a search for a constant is fast
    re.compile(rb""":%s\s*=\s*("[^"<]*+"|'[^'<]*+')""" % name)
    for name in (b"formula", b"expression", b"condition")
]
_NAMED = ("table", "named-range", "named-expression", "database-range")  # INDIRECT refers to them
_TAGS = {  # names of elements -> how they are found, with their attributes
    name: re.compile(rb""":%s(\s(?:[^<>"']|"[^"<]*+"|'[^'<]*+')*+)""" % name.encode())
    for name in (
        *("data-pilot-table", "data-pilot-field", "data-pilot-member", "filter-condition"),
        *("data-pilot-group", "data-pilot-group-member", "filter-set-item", "condition"),
        *_NAMED,
    )
}
_ATTRIBUTE = re.compile(
    rb"""[\s:](value|name|source-field-name|display-name)\s*=\s*(?:"([^"]*+)"|'([^']*+)')""",
    re.ASCII,
)
_CONSTANT = re.compile('"((?:[^"]|"")*+)"')
_REFERENCE = re.compile(r"\[[^\[\]]*+\]")
_LABEL = re.compile("'([^']++)'")
_WILDCARD = re.compile(r"(?:\.[*+]|~?[*?])++")  # also of regular expressions
_ADDRESS = re.compile(r"([^.!]*+[.!])?\$?[a-z]{1,3}\$?[0-9]{1,7}(:.*)?")  # "B2", "data.$b$2:c9"
_OF_PARTS = re.compile(rf"{OF_PARTS}|contains|begins-with|ends-with", re.IGNORECASE)
_OF_PARTS_ANYWAY = b'search-criteria-must-apply-to-whole-cell="false"'
_SIGNS = (b'"', b"'", b"&", b"INDIRECT")  # in formulas that may have constants


class SheetComparisons(Comparisons):
    """The texts with which a spreadsheet compares cells.

    Attributes:
        n_lists: Lists of valid entries.
        n_pivots: Pivot tables.
    """

    def __init__(self) -> None:
        super().__init__()
        self.n_lists = self.n_pivots = 0
        self._has_indirect = self._is_of_parts = False

    def read(self, content: bytes) -> None:
        """Read the formulas, conditions, filters and pivot tables of a part, in UTF-8."""
        self._is_of_parts |= _OF_PARTS_ANYWAY in content
        for pattern in _FORMULAE:
            for found in pattern.finditer(content):
                if any(sign in found[1][1:-1] for sign in _SIGNS):
                    self._add_formula(html.unescape(found[1][1:-1].decode()))
        for name, pattern in _TAGS.items():
            if name not in _NAMED or self._has_indirect:
                for found in pattern.finditer(content):
                    self._add_tag(name, _attributes(found[1]))

    def _add_tag(self, name: str, values: dict[str, str]) -> None:
        if name in _NAMED:
            whole = values.get("name", "")
            for text in (whole, whole.replace("_", " "), *whole.split("_")):
                self.add_constant(text, _REFERENCES)
        elif name == "condition":
            self._add_formula(values.get("value", ""))
        elif name.startswith("filter"):
            self.add_constant(values.get("value", ""), FILTERS)
        else:
            self.n_pivots += name == "data-pilot-table"
            for value in values.values():
                self.keep(value, PIVOTS)

    def _add_formula(self, formula: str) -> None:
        is_list = "cell-content-is-in-list" in formula
        self.n_lists += is_list
        reason = _LISTS if is_list else FORMULAS
        self._has_indirect |= "INDIRECT(" in formula
        is_of_parts = self._is_of_parts or _OF_PARTS.search(formula)
        for found in _CONSTANT.finditer(formula):
            constant = found[1].replace('""', '"')
            self.add_constant(constant, reason)
            if is_of_parts and has_letter(constant):
                self.keep_parts(constant, reason)
        for found in _LABEL.finditer(_REFERENCE.sub("", _CONSTANT.sub("", formula))):
            self.add_constant(found[1], reason)  # a label of a row or column

    def _add_criterion(self, criterion: str, reason: str) -> None:
        for alternative in criterion.split("|"):  # of a regular expression
            pieces = _WILDCARD.split(self.key(alternative.strip("^$()")))
            if len(pieces) > 1 and any(map(has_letter, pieces)):
                self._patterns.setdefault(tuple(pieces), reason)
            elif alternative != criterion:
                self.keep(pieces[0], reason)

    def _refers(self, key: str) -> str:
        return _REFERENCES if self._has_indirect and _ADDRESS.fullmatch(key) else ""


def _attributes(tag: bytes) -> dict[str, str]:
    """The values of attributes with texts of cells or names of sheets."""
    return {
        found[1].decode(): html.unescape((found[2] or found[3] or b"").decode())
        for found in _ATTRIBUTE.finditer(tag)
    }
