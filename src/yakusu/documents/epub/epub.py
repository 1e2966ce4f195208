"""EPUB books (.epub): pages in reading order, tables of contents, title and description.

Pages are read as HTML. The language that the package and the translated members state becomes that
of the translation. All other members stay, and so do `mimetype`, the first one, and its form.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from yakusu.data.files.office.archive import Archive
from yakusu.data.files.xmltree import writable
from yakusu.documents.document import Document, DocumentOptions
from yakusu.documents.epub.members import (
    LanguageChange,
    MemberContent,
    read_package,
    read_page,
    read_table,
)
from yakusu.documents.epub.package import Book, opened_book
from yakusu.errors import DataError

_KEPT_SIZE = (
    2**21
)  # bytes of members that are kept as they were read; they take up to 20 times that
_Read: TypeAlias = Callable[[bytes, LanguageChange], MemberContent[Any]]


def read(data: bytes, options: DocumentOptions) -> Document:
    """Read an EPUB book.

    Raises:
        DataError: The data is not a valid EPUB book, or it is protected.
    """
    archive, book = opened_book(data)
    return _BookDocument(archive, book, options.languages)


class _Member:
    """A member with texts.

    Args:
        archive: The book.
        name: The name of the member.
        read: Reads it.
        language: The languages of the translation.
        texts: Texts of previous members, to which those of this one are added.
        n_free: Bytes that may be kept.

    Attributes:
        n_kept: Bytes that are kept.
    """

    def __init__(
        self,
        archive: Archive,
        name: str,
        read: _Read,
        *,
        language: LanguageChange,
        texts: list[str],
        n_free: int,
    ) -> None:
        self._archive, self._name, self._read, self._language = archive, name, read, language
        data = archive.read(name)
        content = self._content(data)
        self.n_kept = len(data) if len(data) <= n_free else 0
        self._kept = content if self.n_kept else None
        self._slice = slice(len(texts), len(texts) + len(content.texts))
        self._texts = texts
        texts += content.texts

    def render(self, translations: Sequence[str]) -> bytes | None:
        """Return the member with these translations of all texts; None if it stays.

        The package always states the language of the translation.
        """
        own = [*translations[self._slice]]
        if own == self._texts[self._slice] and self._read is not read_package:
            return None
        content = self._kept or self._content(self._archive.read(self._name))
        return content.render([*map(writable, own)])

    def _content(self, data: bytes) -> MemberContent[Any]:
        with _in_member(self._name):
            return self._read(data, self._language)


class _BookDocument:
    """A book; see `Document`."""

    lines: Sequence[int] = ()
    reports_blank = False

    def __init__(self, archive: Archive, book: Book, languages: tuple[str, str]) -> None:
        self.texts: list[str] = []
        self._archive = archive
        language = LanguageChange(languages[0] or book.language, languages[1])
        self.skipped = [*_reports(book, language)]
        self._members: dict[str, _Member] = {}
        n_free = _KEPT_SIZE
        kinds: tuple[tuple[Sequence[str], _Read], ...] = (
            (book.packages, read_package),
            (book.pages, read_page),
            (book.tables, read_table),
        )
        for names, read_content in kinds:
            for name in names:
                self._members[name] = member = _Member(
                    *(archive, name, read_content),
                    language=language,
                    texts=self.texts,
                    n_free=n_free,
                )
                n_free -= member.n_kept

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text."""
        if [*translations] == self.texts:
            return self._archive.rewritten({})
        rendered = {name: each.render(translations) for name, each in self._members.items()}
        return self._archive.rewritten(
            {name: content for name, content in rendered.items() if content is not None}
        )


def _reports(book: Book, language: LanguageChange) -> Iterator[str]:
    """A sentence for each kind of content with words that stays."""
    if book.language and not language.is_stated(book.language):
        reason = f"not {language.source!r}" if language.target else "the target language is unknown"
        yield f"the language of the book, {book.language!r} ({reason})"
    for kind, n in book.others.items():
        yield f"{n:,} page{'s' * (n > 1)} of the type {kind}"
    if n := len(book.missing):
        yield f"{n:,} page{'s' * (n > 1)} that the file lacks, such as {book.missing[0]!r}"
    if book.n_recordings:
        yield f"{book.n_recordings:,} recording{'s' * (book.n_recordings > 1)} of read text"


@contextmanager
def _in_member(name: str) -> Iterator[None]:
    """Add the name of a member to errors."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{name}, {error}") from error
