"""Escapes of characters by their codes in UTF-16, such as \\u00e9."""

import re
from collections.abc import Iterable

_UNWRITABLE = re.compile("[\0-\x1f\x7f\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def joined_surrogates(text: str) -> str:
    """A text in which two halves of a character are one character."""
    return _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


class CodeEscapes:
    """How a source writes escapes such as \\u00e9.

    Args:
        codes: The hexadecimal digits of all escapes of the source.
        before: What is before the digits.
        is_ascii: Whether the source has no character beyond ASCII. If it escapes letters, then
            every such character is escaped.
    """

    def __init__(self, codes: Iterable[str], *, before: str = "\\u", is_ascii: bool) -> None:
        digits = [*codes]
        characters = joined_surrogates("".join(chr(int(each, 16)) for each in digits))
        self._used = frozenset(each for each in characters if not each.isascii())
        self._all = is_ascii and any(map(str.isalpha, self._used))
        every = "".join(digits)
        self._upper = every.upper() == every and every.lower() != every
        self._before = before

    def has(self, character: str) -> bool:
        """Whether the source would escape a character, or no source holds it."""
        escaped = character in self._used or (self._all and not character.isascii())
        return escaped or _UNWRITABLE.fullmatch(character) is not None

    def of(self, character: str) -> str:
        """The escape of a character, of two codes if it is beyond U+FFFF."""
        codes = character.encode("utf-16-be", "surrogatepass").hex()
        codes = codes.upper() if self._upper else codes
        return "".join(self._before + codes[i : i + 4] for i in range(0, len(codes), 4))
