"""The languages that a file states, compared with those of the model."""

from collections.abc import Sequence

from yakusu.data.languages import language_code, same_language
from yakusu.errors import DataError

_SHOWN = 5  # languages in a message


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
    code = language_code(stated)
    if code and wanted and not same_language(wanted, code):
        translates = "translates from" if side == "source" else "translates into"
        raise DataError(
            f"line {line}: the {side} language of the file is {stated!r}, but the model "
            f"{translates} {wanted!r}: use another model, or correct the language of the file"
        )


def check_single_language(keys: Sequence[str], source: str) -> None:
    """Check that the keys at the top of a file are not the source language and others.

    Args:
        keys: The keys.
        source: The source language of the model, or "".

    Raises:
        DataError: They are.
    """
    if not (source and all(map(language_code, keys))):
        return
    are_same = {same_language(source, code) for code in {*map(language_code, keys)}}
    if len(are_same) == 2:
        shown = ", ".join(keys[:_SHOWN]) + (", ..." if keys[_SHOWN:] else "")
        raise DataError(
            f"the file has texts in several languages ({shown}): move those to translate into a "
            "file of their own"
        )
