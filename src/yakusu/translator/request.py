"""Requests to a translator: sentences with their own settings."""

from dataclasses import dataclass

from yakusu.data.segments import UNKNOWN_CONTEXT, SegmentContext


@dataclass(frozen=True)
class Request:
    """A sentence to translate, with its own settings.

    Attributes:
        text: The source sentence.
        prefix: Text that the translation must begin with.
        include: Words or phrases that the translation must contain, in addition to those of the
            `SearchConfig`.
        exclude: Words or phrases that it must not contain, in addition to those of the
            `SearchConfig`.
        context: Where the sentence stands, by which a memory chooses among several translations.
    """

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012  (of objects in JSON)

    text: str
    prefix: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    context: SegmentContext = UNKNOWN_CONTEXT

    @property
    def is_plain(self) -> bool:
        """Whether nothing restricts the translation."""
        return not (self.prefix or self.include or self.exclude)

    def __post_init__(self) -> None:
        """Refuse a phrase in place of a tuple of phrases."""
        given: list[object] = [self.include, self.exclude]
        if any(isinstance(phrases, str) for phrases in given):
            raise TypeError("include and exclude are tuples of phrases: pass (phrase,)")


def length(item: str | Request) -> int:
    """The number of characters of a text to translate."""
    text: object = item.text if isinstance(item, Request) else item
    return len(text) if isinstance(text, str) else 0  # others are refused later
