"""The languages that a file states, compared with those of the model."""

import re

from yakusu.data.languages import closeness, language_code
from yakusu.errors import DataError


def check_language(side: str, stated: str, wanted: str, line: int) -> None:
    """Check that a file does not state another language than that of the model.

    Regions are ignored, and so is what is not a language code.

    Args:
        side: "source" or "target".
        stated: The language that the file states, or "".
        wanted: The language of the model, or "".
        line: The line of the file that states it, in the message.

    Raises:
        DataError: The languages are different.
    """
    code = language_code(stated.partition("@")[0])  # sr@latin
    if code and wanted and closeness(_without_region(wanted), _without_region(code)) is None:
        translates = "translates from" if side == "source" else "translates into"
        raise DataError(
            f"line {line}: the {side} language of the file is {stated!r}, but the model "
            f"{translates} {wanted!r}: use another model, or correct the language of the file"
        )


def _without_region(code: str) -> str:
    """A language with its script: en for en-US, zh-Hant for zh-Hant-TW, no for nb."""
    import langcodes  # 0.04 s

    tag = langcodes.standardize_tag(code, macro=True) if langcodes.tag_is_valid(code) else code
    tag = re.sub(r"[-_]([A-Za-z]{2}|[0-9]{3})\b", "", tag)
    return "no" if tag == "nb" else tag
