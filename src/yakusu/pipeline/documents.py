"""Translates a document, or all documents of a folder."""

import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.words import has_letter
from yakusu.documents.document import (
    Document,
    DocumentOptions,
    check_translations,
    plain_text,
)
from yakusu.documents.registry import read_document
from yakusu.engine.config import Engine, EngineConfig
from yakusu.errors import DataError, ModelError
from yakusu.folder import write_file
from yakusu.pipeline.document_plan import FileJob, Plan, plan
from yakusu.pipeline.translate import open_translator
from yakusu.progress import Progress, Silent, Tracker
from yakusu.search.config import SearchConfig
from yakusu.translator import Translator

_SHOWN = 60  # characters of a text in a message
TranslateTexts = Callable[[Sequence[str]], Iterable[str]]  # one translation for each text


@dataclass(frozen=True)
class TranslatedFile:
    """What was done with one file.

    Attributes:
        source: The file that was read.
        out: The file that was written.
        texts: Number of texts in it, without those that have no letter.
        unchanged: Number of these texts whose translation is the same text.
        copied: The format is unknown, so the file was copied.
        skipped: A sentence for each text that was left unchanged, with the reason and, for a
            message, its line.
    """

    source: Path
    out: Path
    texts: int = 0
    unchanged: int = 0
    copied: bool = False
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True)
class TranslatedDocuments:
    """What was done with a file or a folder.

    Attributes:
        files: Each file, sorted by name.
        left_out: What was neither translated nor copied: links to folders, and what is neither a
            file nor a folder.
    """

    files: tuple[TranslatedFile, ...]
    left_out: tuple[Path, ...] = ()

    @property
    def texts(self) -> int:
        """Number of texts in all files."""
        return sum(file.texts for file in self.files)

    @property
    def unchanged(self) -> int:
        """Number of texts whose translation is the same text."""
        return sum(file.unchanged for file in self.files)

    @property
    def copied(self) -> int:
        """Number of files that were copied because their format is unknown."""
        return sum(file.copied for file in self.files)


def translate_document(
    model: str | Path,
    path: str | Path,
    out: str | Path,
    options: SearchConfig | None = None,
    *,
    text: TextConfig | None = None,
    retranslate: bool = False,
    overwrite: bool = False,
    engine: EngineConfig | Engine | None = None,
    progress: Progress | None = None,
) -> TranslatedDocuments:
    """Translate a document, or all documents of a folder, and keep everything that is not text.

    The suffix of a file is its format. Files in a folder whose format is unknown are copied; hidden
    files and folders are skipped. All files are read before the first one is translated, and each
    file is written completely or not at all.

    Args:
        model: Model folder of a translator.
        path: The file or folder to translate; it is never changed.
        out: The file or folder to write.
        options: Settings of the search; those that are not given are the model's.
        text: How text is read; None: the defaults.
        retranslate: Translate messages that already have a translation, too (PO, XLIFF).
        overwrite: Replace files that exist.
        engine: What runs the model, as in `translate`.
        progress: Progress reporter.

    Returns:
        The numbers of texts of each file.

    Raises:
        DataError: A file does not exist, exists but must not be replaced, is not valid, or has an
            unknown format. The message names the file.
        ModelError: The model folder is incomplete or corrupt, or the model is a parser.

    Example:
        `yakusu.translate_document("runs/en-de/model", "guide.docx", "guide.de.docx")`
    """
    planned = plan(Path(path), Path(out), overwrite=overwrite)  # before the model is read
    translator = open_translator(model, options, text=text, engine=engine)
    return translate_with(translator, planned, retranslate=retranslate, progress=progress)


def translate_with(
    translator: Translator,
    planned: Plan,
    *,
    retranslate: bool = False,
    batch: int = 64,
    window: int | None = None,
    progress: Progress | None = None,
) -> TranslatedDocuments:
    """Translate documents with an open translator.

    Args:
        translator: The translator.
        planned: The files, from `document_plan.plan`.
        retranslate: As in `translate_document`.
        batch: As in `Translator.stream`.
        window: As in `Translator.stream`.
        progress: Progress reporter.

    Raises:
        DataError: As in `translate_document`.
        ModelError: The model is a parser.
    """
    if translator.task.constrains:
        raise ModelError("a parser cannot translate documents: use a translator")

    def translate(texts: Sequence[str]) -> Iterable[str]:
        return (best[0].text for best in translator.stream(texts, batch=batch, window=window))

    options = DocumentOptions(translator.languages, retranslate)
    return _translate(planned, translate, options, progress or Silent())


def translate_files(
    translate: TranslateTexts,
    path: str | Path,
    out: str | Path,
    options: DocumentOptions | None = None,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> TranslatedDocuments:
    """Translate documents with any function that translates texts.

    Args:
        translate: Returns one translation for each text, with the same marks
            (`data.lines.private_use`), each once. It is called once for each document.
        path: The file or folder to translate.
        out: The file or folder to write.
        options: How documents are read.
        overwrite: Replace files that exist.
        progress: Progress reporter.

    Raises:
        DataError: As in `translate_document`.
    """
    planned = plan(Path(path), Path(out), overwrite=overwrite)
    return _translate(planned, translate, options or DocumentOptions(), progress or Silent())


def _translate(
    planned: Plan, translate: TranslateTexts, options: DocumentOptions, progress: Progress
) -> TranslatedDocuments:
    files = []
    document = None
    n_texts = 0
    for job in planned.jobs:
        document = _read(job, options)  # raises every error before the first translation
        n_texts += len(document.texts) if document else 0
    only = document if len(planned.jobs) == 1 else None  # all documents could fill the memory
    del document
    with progress.track("translating", "texts", n_texts) as tracker:
        for job in planned.jobs:
            document = only or _read(job, options)
            if document:
                files.append(_translate_file(job, document, translate, tracker))
            else:
                files.append(_copy(job))
    return TranslatedDocuments(tuple(files), planned.left_out)


def _read(job: FileJob, options: DocumentOptions) -> Document | None:
    """Read a document; None for a file to copy, if it can be read."""
    if not job.copied:
        return read_document(job.source, options)
    try:
        job.source.open("rb").close()
    except OSError as error:
        raise DataError(f"{job.source} cannot be read: {error.strerror}") from error
    return None


def _copy(job: FileJob) -> TranslatedFile:
    job.target.parent.mkdir(parents=True, exist_ok=True)
    with job.source.open("rb") as source:
        write_file(job.target, lambda file: shutil.copyfileobj(source, file))
    with suppress(OSError):  # some file systems have no modes
        shutil.copymode(job.source, job.target)
    return TranslatedFile(job.source, job.out, copied=True)


def _translate_file(
    job: FileJob, document: Document, translate: TranslateTexts, tracker: Tracker
) -> TranslatedFile:
    texts = document.texts
    translations: list[str] = []
    try:
        for translation in translate(texts) if texts else ():
            translations.append(translation)
            tracker.advance(note=job.source.name)
    except DataError as error:
        raise DataError(f"{job.source}: {error}") from error
    translations, blank = usable(document, translations)
    data = document.render(translations)
    job.target.parent.mkdir(parents=True, exist_ok=True)
    write_file(job.target, lambda file: file.write(data))
    pairs = [pair for pair in zip(texts, translations, strict=True) if has_letter(pair[0])]
    unchanged = sum(text == translation for text, translation in pairs)
    skipped = (*blank, *document.skipped)
    return TranslatedFile(job.source, job.out, len(pairs), unchanged, skipped=skipped)


def usable(document: Document, translations: Sequence[str]) -> tuple[list[str], list[str]]:
    """Replace blank translations by their texts, unless the document does that in `render`.

    Returns:
        The translations, and a sentence for each of those that were blank.

    Raises:
        ValueError: A translation does not have the marks of its text.
    """
    check_translations(document.texts, translations)
    if document.reports_blank:
        return list(translations), []
    kept, reasons = [], []
    for text, translation in zip(document.texts, translations, strict=True):
        is_blank = plain_text(text) and not plain_text(translation)
        kept.append(text if is_blank else translation)
        if is_blank:
            reasons.append(f"the translation of {plain_text(text)[:_SHOWN]!r} is blank")
    return kept, reasons
