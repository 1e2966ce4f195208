"""The new names of the sheets of a spreadsheet, which programs accept."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

_LONGEST = 31  # characters, in Excel
_INVALID = re.compile(r"[\[\]:*?/\\\x00-\x1f\ufffe\uffff]|\A'|'\Z")
_RESERVED = "history"  # of Excel


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
