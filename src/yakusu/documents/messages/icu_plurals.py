"""The plural forms that a message of ICU needs in the target language."""

from collections.abc import Sequence

from yakusu.data.numbers.cldr import cldr_locale
from yakusu.documents.messages.icu import with_forms
from yakusu.documents.messages.plurals import CATEGORIES, plural_categories


def with_plural_forms(string: str, language: str) -> tuple[str, str]:
    """Add the forms that a language has and the plurals of a message lack, from `other`.

    Args:
        string: The message, translated.
        language: Code of the target language, "" if unknown.

    Returns:
        The message, and what a person must check; "": nothing.
    """
    categories = plural_categories(language)
    if not categories:
        return string, ""
    forms = {"plural": categories, "selectordinal": _ordinal_categories(language)}
    new, added = with_forms(string, forms)
    if not added:
        return string, ""
    names = ", ".join(each for each in CATEGORIES if each in added)
    return new, f"the plural forms {names} are copies of 'other': check them"


def _ordinal_categories(language: str) -> Sequence[str]:
    """The categories of ordinal numbers."""
    locale = cldr_locale(language)
    tags = locale.ordinal_form.tags if locale else ()
    return [each for each in CATEGORIES if each in tags or each == "other"]
