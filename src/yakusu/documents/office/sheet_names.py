"""The names of the sheets of a spreadsheet as texts: a name changes in all references, or stays.

All stay if the spreadsheet has macros, or makes references of texts.
"""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from urllib.parse import unquote

from yakusu.data.files.xmltree import XmlFile
from yakusu.data.lines.words import has_letter
from yakusu.documents.office.parts import DocumentTexts, PartSource, Scope, read_part

Rename = Callable[[str], str]  # the new name of a sheet
_CONSTANT = re.compile('"((?:[^"]|"")*+)"?')  # in a formula
_LONGEST = 31  # characters, in Excel
_INVALID = re.compile(r"[\[\]:*?/\\\x00-\x1f\ufffe\uffff]|\A'|'\Z")
_RESERVED = "history"  # of Excel


class SheetNames(ABC):
    """The names of the sheets of a spreadsheet.

    Args:
        archive: The spreadsheet.
        parts: The names of the parts that may refer to sheets.
        names: The names of the sheets.
        texts: Receives the names that can change.
        has_macros: Whether the spreadsheet has macros.

    Attributes:
        reports: A sentence for each name that stays.
    """

    makes_references: re.Pattern[str]  # what makes references of texts in a formula
    reason: str  # why a name stays

    def __init__(
        self,
        archive: PartSource,
        parts: Sequence[str],
        names: Sequence[str],
        texts: DocumentTexts,
        *,
        has_macros: bool,
    ) -> None:
        self._archive, self._parts, self._names = archive, parts, names
        staying, reason = {*names}, "macros may use the name of the sheet"
        if not has_macros:
            staying, reason = self._staying()
        self.reports = [f"{reason} {name!r}" for name in dict.fromkeys(names) if name in staying]
        scope, folded = Scope(), Counter(map(str.casefold, {*names}))
        self._indexes = {
            name: texts.index(name, scope)
            for name in names
            if has_letter(name) and name not in staying and folded[name.casefold()] == 1
        }

    @abstractmethod
    def formulas(self, content: str) -> Iterable[str]:
        """The formulas of a part."""

    @abstractmethod
    def occurring(self, constants: Set[str]) -> set[str]:
        """The names that occur in constants of formulas, or in other places that do not change."""

    @abstractmethod
    def with_names(self, content: str, rename: Rename) -> str:
        """A part with other names of sheets."""

    def _staying(self) -> tuple[set[str], str]:
        """The names that stay, and why."""
        constants = set[str]()
        for part in self._parts:
            for formula in self.formulas(read_part(self._archive, part).content.decode()):
                if self.makes_references.search(formula):
                    reason = "formulas may build references from the name of the sheet"
                    return {*self._names}, reason
                constants.update(_CONSTANT.findall(formula) if '"' in formula else ())
        return self.occurring(constants), self.reason

    def renamed(
        self, contents: Mapping[str, bytes | bytearray], translations: Sequence[str]
    ) -> tuple[dict[str, bytes | bytearray], list[str]]:
        """The parts with new names of sheets, and a sentence for each translation that is none.

        Args:
            contents: Parts that change anyway.
            translations: A translation for each text.
        """
        own = {name: translations[index] for name, index in self._indexes.items()}
        new, reports = new_names(self._names, own)
        folded = {name.casefold(): text for name, text in new.items()}
        found = dict(contents)
        for part in self._parts if new else ():
            xml = XmlFile(bytes(contents.get(part) or self._archive.read(part)))
            old = xml.content.decode()
            changed = self.with_names(old, lambda name: folded.get(name.casefold(), name))
            if changed != old:
                found[part] = xml.encoded(bytearray(changed.encode()))
        return found, reports


def with_anchor(target: str, rename: Rename, with_references: Callable[[str, Rename], str]) -> str:
    """The target of a link, which may be within the spreadsheet.

    Args:
        target: The target.
        rename: Gives the new name of a sheet.
        with_references: Changes the names in a reference.
    """
    if not target.startswith("#"):
        return target
    place = unquote(target[1:])
    new = with_references(place, rename)
    return target if new == place else f"#{new}"


def new_names(
    names: Sequence[str], translations: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """The sheets whose names change, with their new names, and a sentence for each that stays.

    Args:
        names: The names of all sheets.
        translations: The translations of some.
    """
    new = {
        name: text
        for name, translation in translations.items()
        if (text := " ".join(translation.split())) != name and _is_valid(text)
    }
    while True:
        counts = Counter(new.get(name, name).casefold() for name in names)
        equal = [name for name, text in new.items() if counts[text.casefold()] > 1]
        if not equal:
            break
        for name in equal:
            del new[name]
    reports = [
        f"the sheet {name!r} has a translation that cannot name a sheet, because it is too long, "
        "has a character such as ':' or '/', or is the name of another sheet"
        for name, translation in translations.items()
        if name not in new and translation != name
    ]
    return new, reports


def _is_valid(name: str) -> bool:
    n_characters = len(name.encode("utf-16-le", "surrogatepass")) // 2
    is_short = 0 < n_characters <= _LONGEST
    return is_short and not _INVALID.search(name) and name.casefold() != _RESERVED
