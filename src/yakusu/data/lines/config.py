"""How text is read: the options of a translator that do not concern the search."""

from typing import Any

from pydantic import Field, field_validator

from yakusu.config import Config


class TextConfig(Config):
    """How text is read.

    Attributes:
        to: Code of the target language; "": the model's default. Required if the model has several
            target languages and no default.
        protect: Regular expressions of further text to copy; a string is a single one.
        builtin_spans: Copy placeholders, tags, entities and addresses.
        capitals: Read sentences in capitals in sentence case, and write their translations in
            capitals, unless there is a prefix, or a phrase to include or exclude.
        one_sentence_per_line: Do not divide lines. White space at their ends is removed, and their
            layout is not kept.
        glossary: Path of a glossary; "": none.
    """

    to: str = ""
    protect: tuple[str, ...] = Field((), strict=False)  # lists, too
    builtin_spans: bool = True
    capitals: bool = True
    one_sentence_per_line: bool = False
    glossary: str = ""

    @field_validator("protect", mode="before")
    @classmethod
    def _accept_string(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value
