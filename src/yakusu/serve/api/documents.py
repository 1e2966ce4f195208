"""Documents and pages of requests: they are read in worker processes, and translated."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from threading import Event
from typing import BinaryIO

from yakusu.documents.document import DocumentOptions, plain_text
from yakusu.documents.html import html
from yakusu.folder import write_file
from yakusu.pipeline.document_plan import FileJob
from yakusu.pipeline.documents import TranslatedText, translate_opened
from yakusu.progress import Silent
from yakusu.serve.api.texts import BestTexts, TranslateNBest, along, html_bytes, translate_html
from yakusu.serve.api.workers import opened
from yakusu.serve.errors import not_stored
from yakusu.serve.service import RequestLanguages, Service
from yakusu.translator.request import Request as TextRequest

_LITTLE_HTML = 4000  # bytes that are parsed in this process
# The languages of a document, or what identifies them in its first texts.
FindTerms = Callable[[Sequence[str]], Sequence[tuple[str, str]]]  # for texts
DocumentLanguages = RequestLanguages | Callable[[Sequence[str]], RequestLanguages]


@dataclass(frozen=True)
class DocumentWork:
    """What is done with a document.

    Attributes:
        languages: Its languages, or what identifies them.
        file: The document.
        size: Its size in bytes.
        target: Where the translation is written; its suffix is that of the document.
        key: The API key of the request; "": none.
        find_terms: Returns the glossary for some texts; None: there is none.
    """

    languages: DocumentLanguages
    file: BinaryIO
    size: int
    target: Path
    key: str = ""
    find_terms: FindTerms | None = None


@dataclass(frozen=True)
class DocumentResult:
    """What was done.

    Attributes:
        kept: A sentence for each text that is kept, as in `TranslatedFile`.
        characters: Number of characters of the texts.
    """

    kept: Sequence[str]
    characters: int


def translate_upload(service: Service, work: DocumentWork, cancelled: Event) -> DocumentResult:
    """Translate a document.

    Raises:
        AbandonedError: Nobody waits for it.
        DataError: It is not valid.
        RefusedError: It exceeds a limit, its language is not served, or it cannot be stored.
    """
    chosen: list[RequestLanguages] = []
    n = 0

    def options(texts: Sequence[str]) -> DocumentOptions:
        chosen[:] = [work.languages(texts) if callable(work.languages) else work.languages]
        return DocumentOptions(chosen[0].codes)

    def best(requests: Iterable[TextRequest]) -> Iterator[TranslatedText]:
        nonlocal n
        given = list(requests)
        texts = [plain_text(each.text) for each in given]
        terms = work.find_terms([each.text for each in given]) if work.find_terms else ()
        n = counted.enter_context(service.counting(work.key, chosen[0].codes, texts))
        every = along(chosen[0].route, cancelled, terms=terms)(given)
        return (TranslatedText(each.texts[0], each.differences, each.known) for each in every)

    target = work.target
    job = FileJob(Path(target.name), target, target, copied=False)
    how = options if callable(work.languages) else options(())
    try:
        with (
            opened(
                service, target.name, work.file, how, size=work.size, cancelled=cancelled
            ) as document,
            Silent().track("translating", "texts", None) as tracker,
            ExitStack() as counted,
        ):
            done, data = translate_opened(job, document, best, tracker)
            _write(target, data)
        return DocumentResult(done.kept, n)
    finally:
        if cancelled.is_set():  # nobody waits for it
            shutil.rmtree(target.parent, ignore_errors=True)


def _write(target: Path, data: bytes) -> None:
    try:
        write_file(target, lambda file: file.write(data))
    except OSError as error:
        raise not_stored(error) from error


def new_folder(service: Service) -> tuple[str, Path]:
    """An empty folder for one document, and its random name.

    Raises:
        RefusedError: It cannot be created (503).
    """
    try:
        return service.files.new()
    except OSError as error:
        raise not_stored(error) from error


def translate_page(
    service: Service, text: str, translate_all: TranslateNBest, cancelled: Event
) -> BestTexts:
    """The best translations of HTML, which is parsed in a worker process if that takes long."""
    data = html_bytes(text)
    if len(data) <= _LITTLE_HTML:
        return translate_html(html.read(data, DocumentOptions()), translate_all)
    with opened(
        *(service, "text.html", BytesIO(data), DocumentOptions()),
        size=len(data),
        cancelled=cancelled,
    ) as document:
        return translate_html(document, translate_all)
