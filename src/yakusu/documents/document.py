"""What every document format provides: the texts of a file, and the file with other texts.

    data -> document = format.read(data, options)
    document.texts -> translate -> translations
    document.render(translations) -> data

A format handles containers only; it neither splits sentences nor loads a model. A text is what a
reader sees as one paragraph, cell, title or message: without surrounding white space, with its
entities and escapes decoded, and with inline markup as in `data.lines.private_use`. A line break
that a reader sees is "\\n" or, where it must keep its place in a sentence, an empty mark. Texts
without a letter are left out. Plain text is the exception: the whole file is one text, with its
white space, because the translator keeps its layout.

`render` writes the translations in place of the texts, and every other byte as it was. The caller
makes sure that each text has a translation with the marks of the text (`check_translations`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from yakusu.data.lines.private_use import MARKS, has_marks_of

_SHOWN = 60  # characters of a text in a message


@dataclass(frozen=True)
class DocumentOptions:
    """How documents are read and written.

    Attributes:
        languages: Codes of the source and target languages, "" if unknown.
        retranslate: Translate messages that already have a translation (PO, XLIFF, .xcstrings, Qt).
        columns: Names or numbers of the columns of a table to translate.
        suffix: That of the output, if it is another one (PDF); "": the default of the format.
        sheet_names: Translate the names of the sheets of spreadsheets.
    """

    languages: tuple[str, str] = ("", "")
    retranslate: bool = False
    columns: tuple[str, ...] = ()
    suffix: str = ""
    sheet_names: bool = False


@dataclass(frozen=True)
class Offer:
    """A translation that a memory offers for a text.

    Attributes:
        match: How well it matches, in percent.
        source: The text that it translates.
        target: The translation.
        origin: Where it comes from.
    """

    match: int
    source: str
    target: str
    origin: str


@dataclass(frozen=True)
class Known:
    """What memories know of a text, and what is known of its translation.

    Attributes:
        match: How well the translation that is written matches, in percent; None: it is not from a
            memory.
        offers: What else they offer.
        quality: The estimated quality of the translation, from 0 to 100; None: unknown.
        doubt: Why the translation is probably bad; "": it is not, or its quality is unknown.
        kept: Why there is no translation that can be used; "": there is one.
    """

    match: int | None = None
    offers: Sequence[Offer] = ()
    quality: int | None = None
    doubt: str = ""
    kept: str = ""


@runtime_checkable
class StatesOrigin(Protocol):
    """A document whose file states where its translations come from."""

    def tell(self, known: Mapping[int, Known]) -> None:
        """What is known of the texts, by their numbers; for the next `render`."""


@runtime_checkable
class NamesTexts(Protocol):
    """A document whose texts have names, such as the `msgctxt` of PO and the `id` of XLIFF."""

    @property
    def keys(self) -> Sequence[str]:
        """The name of each text; "": it has none."""


@runtime_checkable
class NamesForms(NamesTexts, Protocol):
    """A document whose texts may be forms of a plural, which translations have more or less of."""

    @property
    def categories(self) -> Sequence[str]:
        """The plural category of each text; "": none."""


@runtime_checkable
class NeedsChecks(Protocol):
    """A document with what the source lacks, such as plural forms, which a person must check."""

    @property
    def checks(self) -> Sequence[str]:
        """A sentence for each message to check; complete after `render`."""


class Document(Protocol):
    """A file whose texts can be replaced."""

    @property
    def texts(self) -> Sequence[str]:
        """The texts to translate, in reading order."""

    @property
    def lines(self) -> Sequence[int]:
        """The line of the file in which each text begins, from 1; (): unknown."""

    @property
    def skipped(self) -> Sequence[str]:
        """A sentence for each message that stays as it was; complete after `render`."""

    @property
    def reports_blank(self) -> bool:
        """Whether `render` leaves messages with blank translations untranslated, and reports them.

        In other documents, the caller replaces blank translations by their texts.
        """

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""


class DocumentFormat(Protocol):
    """A document format: a module of `documents` that defines `read`."""

    def read(self, data: bytes, options: DocumentOptions) -> Document:
        """Read a document.

        Raises:
            DataError: The data is not a valid document of this format. The message does not name
                the file; it gives the line and column if they are known.
        """


def check_translations(
    texts: Sequence[str], translations: Sequence[str], *, blank: bool = False
) -> None:
    """Check that each text has a translation with the marks of the text.

    Args:
        texts: The texts.
        translations: Their translations.
        blank: Whether a translation may be empty.

    Raises:
        ValueError: Their numbers differ; or a mark is missing, occurs twice, or ends before it
            begins.
    """
    if len(texts) != len(translations):
        raise ValueError(f"{len(translations)} translations of {len(texts)} texts")
    for text, translation in zip(texts, translations, strict=True):
        if not (blank and not translation) and not has_marks_of(text, translation):
            raise ValueError(
                f"the translation {translation!r} of {text!r} has other marks, or ends a pair "
                "before it begins"
            )


def plain_text(text: str) -> str:
    """A text without its markup and the white space around it."""
    return re.sub(MARKS, "", text).strip()


def usable(document: Document, translations: Sequence[str]) -> tuple[list[str], list[str]]:
    """Replace blank translations by their texts, unless the document does that in `render`.

    Returns:
        The translations, and a sentence for each of those that were blank.

    Raises:
        ValueError: A translation does not have the marks of its text.
    """
    check_translations(document.texts, translations, blank=document.reports_blank)
    if document.reports_blank:
        return list(translations), []
    kept, reasons = [], []
    for text, translation in zip(document.texts, translations, strict=True):
        is_blank = plain_text(text) and not plain_text(translation)
        kept.append(text if is_blank else translation)
        if is_blank:
            reasons.append(f"the translation of {plain_text(text)[:_SHOWN]!r} is blank")
    return kept, reasons
