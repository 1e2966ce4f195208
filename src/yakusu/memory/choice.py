"""Which segments of a memory are exported or removed."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SegmentChoice:
    """The segments that fulfil all given conditions; without conditions, all segments.

    Attributes:
        numbers: Their numbers in the memory.
        after: The number that is smaller than theirs.
        file: Their document.
        key: Their name in it.
        origin: Where they come from.
        who: Who confirmed them; "": nobody is named.
        pattern: What their source or target looks like: "*" stands for any text, "?" for any
            character, [abc] for one of several.
    """

    numbers: Sequence[int] = ()
    after: int | None = None
    file: str | None = None
    key: str | None = None
    origin: str | None = None
    who: str | None = None
    pattern: str | None = None

    def __bool__(self) -> bool:
        return bool(self.condition[1])

    @property
    def condition(self) -> tuple[str, list[int | str]]:
        """An expression of SQL, and its values."""
        parts, values = list[str](), list[int | str]()
        if self.numbers:
            parts.append(f"number IN ({', '.join('?' * len(self.numbers))})")
            values += self.numbers
        if self.after is not None:
            parts.append("number > ?")
            values.append(self.after)
        for column in ("file", "key", "origin", "who"):
            if (value := getattr(self, column)) is not None:
                parts.append(f"{column} = ?")
                values.append(value)
        if self.pattern is not None:
            parts.append("(source GLOB ? OR target GLOB ?)")
            values += [self.pattern, self.pattern]
        return " AND ".join(parts) or "TRUE", values
