"""The plural categories of a language, and those that a message lacks."""

from collections.abc import Collection

from yakusu.data.numbers.cldr import cldr_locale

CATEGORIES = ("zero", "one", "two", "few", "many", "other")  # of CLDR, in its order
NOTE = "yakusu: {} from 'other', to be checked"  # a comment on categories that were added


def plural_categories(language: str) -> tuple[str, ...]:
    """The categories of a language, in the order of CLDR; (): it is unknown."""
    if not (locale := cldr_locale(language)):
        return ()
    tags = locale.plural_form.tags
    return tuple(each for each in CATEGORIES if each in tags or each == "other")


def missing_categories(present: Collection[str], language: str) -> list[str]:
    """The categories of a language that a plural with the form `other` lacks."""
    if "other" not in present:
        return []
    return [each for each in plural_categories(language) if each not in present]
