"""What every document format provides: the texts of a file, and the file with other texts.

    data -> document = format.read(data, options)
    document.texts -> translate -> translations
    document.render(translations) -> data

A format handles containers only; it neither splits sentences nor loads a model. A text is what a
reader sees as one paragraph, cell, title or message: without surrounding white space, with its
entities and escapes decoded, and with inline markup as in `data.markup`. A line break that a reader
sees is "\\n" or, where it must keep its place in a sentence, an empty mark. Texts without a letter
are left out.

`render` writes the translations in place of the texts, and every other byte as it was.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class DocumentOptions:
    """How documents are read and written.

    Attributes:
        languages: Codes of the source and target languages, "" if unknown.
        retranslate: Translate messages that already have a translation (PO, XLIFF).
    """

    languages: tuple[str, str] = ("", "")
    retranslate: bool = False


class Document(Protocol):
    """A file whose texts can be replaced."""

    @property
    def texts(self) -> Sequence[str]:
        """The texts to translate, in reading order."""

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""


class Format(Protocol):
    """A document format: a module of `documents` that defines `read`."""

    def read(self, data: bytes, options: DocumentOptions) -> Document:
        """Read a document.

        Raises:
            DataError: The data is not a valid document of this format. The message does not name
                the file; it gives the line and column if they are known.
        """
