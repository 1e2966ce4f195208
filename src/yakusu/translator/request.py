"""Requests to a translator: sentences with their own settings."""

from dataclasses import dataclass
from threading import Event

from pydantic import ConfigDict, with_config

from yakusu.search.spelling import Phrase
from yakusu.search.trace import Step


@with_config(ConfigDict(extra="forbid"))  # of objects in JSON
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
    """

    text: str
    prefix: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a phrase in place of a tuple of phrases."""
        given: list[object] = [self.include, self.exclude]
        if any(isinstance(phrases, str) for phrases in given):
            raise TypeError("include and exclude are tuples of phrases: pass (phrase,)")


@dataclass(frozen=True)
class Job:
    """The input of the search for one sentence."""

    text: str
    ids: list[int]  # of the source, ending with eos
    prefix: list[int]  # of the target
    include: tuple[str | Phrase, ...]
    exclude: tuple[str, ...]
    slots: tuple[int, ...] = ()  # placeholder tokens of the target, in the order of the source
    n_terms: int = 0  # terms of the glossary that the source contains
    aligns: bool = False  # whether the units of the translation are linked to those of the source
    trace: list[Step[int]] | None = None  # see `Query`
    cancelled: Event | None = None  # see `Query`
