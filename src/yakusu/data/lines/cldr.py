"""CLDR's data of a language, which Babel contains."""

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from babel import Locale


@lru_cache(maxsize=64)
def cldr_locale(language: str) -> "Locale | None":
    """The locale of a language code; None: CLDR does not have it."""
    from babel import Locale, UnknownLocaleError  # 0.05 s

    if not language:
        return None
    for code in (language, language.partition("-")[0]):
        try:
            return Locale.parse(code, sep="-")
        except (UnknownLocaleError, ValueError):
            continue
    return None


@lru_cache(maxsize=64)
def decimal_sign(language: str) -> str:
    """What precedes the decimals of a number, such as "." and ","; "": unknown."""
    if not (locale := cldr_locale(language)):
        return ""
    return str(locale.number_symbols.get("latn", {}).get("decimal", ""))
