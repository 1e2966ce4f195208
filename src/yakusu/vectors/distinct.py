"""The distinct words of a file of vectors; rows that are left out are counted, and named once."""

import logging
from array import array
from collections.abc import Callable
from typing import Literal

from yakusu.errors import DataError

Place = Callable[[int], str]
UndecodableWords = Literal["strict", "skip"]

_log = logging.getLogger(__name__)


class DistinctWords:
    """Words by the first row that has them; later rows with the same word are left out.

    Args:
        place: Returns the name of a row, by its index, for messages.
        encoding: Encoding of the words; it must contain ASCII.
        errors: "strict" refuses words in another encoding, "skip" leaves them out.

    Raises:
        DataError: The encoding is unknown or does not contain ASCII.
    """

    def __init__(
        self, place: Place, encoding: str = "utf-8", errors: UndecodableWords = "strict"
    ) -> None:
        self._place, self._encoding, self._errors = place, encoding, errors
        self._rows: dict[str, int] = {}
        self._left_out: dict[str, tuple[int, str]] = {}  # reason -> number of rows, first row
        _check(encoding)

    def add(self, word: bytes | str, row: int) -> bool:
        """Add the word of the next row; return whether the row is kept.

        Raises:
            DataError: The word is in another encoding, unless such words are left out.
        """
        try:
            text = word if isinstance(word, str) else word.decode(self._encoding)
        except UnicodeError as error:
            if self._errors == "strict":
                raise DataError(
                    f"{self._place(row)}: the word {word[:40]!r} is not "
                    f"{self._encoding.upper()}: name the encoding of the words (--encoding "
                    "latin-1), or leave out such words (--errors skip)"
                ) from error
            return self._leave_out(f"not {self._encoding.upper()}", word, row)
        first = self._rows.setdefault(text, row)
        return first == row or self._leave_out("repeated", text, row)

    def finish(self) -> tuple[list[str], Place]:
        """Warn of what was left out; return the words, and the names of their rows."""
        for reason, (n, first) in self._left_out.items():
            which = (
                "row is left out: its word is" if n == 1 else "rows are left out: their words are"
            )
            _log.warning("%d %s %s; the first is %s", n, which, reason, first)
        words, place, self._rows = self._rows, self._place, {}  # of many words: freed
        if not self._left_out:
            return list(words), place
        rows = array("q", words.values())
        return list(words), lambda index: place(rows[index])

    def _leave_out(self, reason: str, word: bytes | str, row: int) -> bool:
        n, first = self._left_out.get(reason, (0, f"{self._place(row)}, {word[:40]!r}"))
        self._left_out[reason] = (n + 1, first)
        return False


def _check(encoding: str) -> None:
    try:
        has_ascii = b" 0\n".decode(encoding) == " 0\n"
    except (LookupError, ValueError):
        has_ascii = False
    if not has_ascii:
        raise DataError(
            f"the encoding {encoding!r} is unknown or does not contain ASCII: choose another one, "
            "such as latin-1"
        )
