"""Translates a document, or all documents of a folder."""

import logging
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory

from yakusu.data.lines.config import TextConfig
from yakusu.data.lines.words import has_letter
from yakusu.data.segments import SegmentContext
from yakusu.documents.document import (
    Document,
    DocumentOptions,
    Known,
    NamesTexts,
    NeedsChecks,
    Offer,
    StatesOrigin,
    usable,
)
from yakusu.documents.registry import open_file, read_document
from yakusu.documents.suffixes import SUFFIXES
from yakusu.engine.config import Engine, EngineConfig
from yakusu.errors import DataError, ModelError
from yakusu.folder import create_private, write_file
from yakusu.pipeline.document_plan import FileJob, Plan, plan
from yakusu.pipeline.translate import open_translator
from yakusu.progress import Progress, Silent, Tracker
from yakusu.search.config import SearchConfig
from yakusu.translator import Translation, Translator
from yakusu.translator.request import Request

_log = logging.getLogger(__name__)
LONGEST_TEXT = 100_000  # characters; a longer text of a document is left unchanged
_SHOWN = 60  # characters of a text in a message
_LISTED = 10  # texts that --strict names
_LINE = re.compile(r"line (\d+): ")  # of a text with several
TranslateTexts = Callable[[Sequence[str]], Iterable[str]]  # one translation for each text
# Reads a document; its `render` may be called inside the context.
OpenDocument = Callable[[Path, DocumentOptions], AbstractContextManager[Document]]


@dataclass(frozen=True)
class TranslatedText:
    """A text of a document.

    Attributes:
        text: Its translation.
        differences: Why parts of it are kept.
        known: What memories know of it, and the quality of its translation; None: nothing.
    """

    text: str
    differences: Sequence[str] = ()
    known: Known | None = None

    @classmethod
    def of(cls, best: Translation) -> "TranslatedText":
        """The translation of a text."""
        if best.match is None and not best.matches and best.quality is None:
            return cls(best.text, best.differences)
        offers = [
            Offer(each.match, each.segment.source, each.target, each.segment.origin)
            for each in best.matches
            if best.match is None or each.target != best.text
        ]
        known = Known(best.match, offers, best.quality, best.doubt)
        return cls(best.text, best.differences, known)


_TranslateAll = Callable[[Iterable[Request]], Iterable[TranslatedText]]


@dataclass(frozen=True)
class TranslatedFile:
    """What was done with one file.

    Attributes:
        source: The file that was read.
        out: The file that was written.
        texts: Number of texts in it, without those that have no letter.
        unchanged: Number of these texts whose translation is the same text.
        copied: The file was copied, because its format is unknown or its name states another
            language.
        untranslated: It was copied, although it may contain text.
        language: The other language that its name states; "": none.
        checks: A sentence for each message that a person must check, such as one with plural forms
            that the source lacks.
        skipped: A sentence for each text that was left unchanged, with the reason and, for a
            message, its line.
        kept: Those of `skipped` that have no translation that can be used.
    """

    source: Path
    out: Path
    texts: int = 0
    unchanged: int = 0
    copied: bool = False
    skipped: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    untranslated: bool = False
    checks: tuple[str, ...] = ()
    language: str = ""


@dataclass(frozen=True)
class TranslatedDocuments:
    """What was done with a file or a folder.

    Attributes:
        files: Each file, sorted by name.
        left_out: What was neither translated nor copied: links to folders, and what is neither a
            file nor a folder.
        refused: A sentence for each file of a folder that was not translated. It names the file.
    """

    files: tuple[TranslatedFile, ...]
    left_out: tuple[Path, ...] = ()
    refused: tuple[str, ...] = ()

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
        """Number of files that were copied because of their format or language."""
        return sum(file.copied for file in self.files)

    @property
    def untranslated(self) -> tuple[Path, ...]:
        """The files that were copied although they may contain text."""
        return tuple(file.source for file in self.files if file.untranslated)

    @property
    def in_other_languages(self) -> tuple[TranslatedFile, ...]:
        """The files that were copied because their names state other languages."""
        return tuple(file for file in self.files if file.language)


def translate_document(
    model: str | Path,
    path: str | Path,
    out: str | Path,
    options: SearchConfig | None = None,
    *,
    text: TextConfig | None = None,
    retranslate: bool = False,
    columns: Sequence[str] = (),
    sheet_names: bool = False,
    overwrite: bool = False,
    strict: bool = False,
    engine: EngineConfig | Engine | None = None,
    progress: Progress | None = None,
) -> TranslatedDocuments:
    """Translate a document, or all documents of a folder, and keep everything that is not text.

    The suffix of a file is its format. Files in a folder whose format is unknown, and messages
    whose name states another language, are copied; hidden files and folders are skipped. All files
    are read before the first one is translated. A file that is not valid does not stop the others,
    but is an error at the end. Each file is written completely or not at all. Files are read in
    this process, without limits: pass only files that you trust.

    Args:
        model: Model folder of a translator.
        path: The file or folder to translate; it is never changed.
        out: The file or folder to write.
        options: Settings of the search; those that are not given are the model's.
        text: How text is read; None: the defaults.
        retranslate: Translate messages that already have a translation, too (PO, XLIFF,
            .xcstrings, Qt).
        columns: Names or numbers of the columns of tables (CSV, TSV) to translate; a name makes the
            first row a header, which stays.
        sheet_names: Translate the names of the sheets of spreadsheets, too.
        overwrite: Replace files that exist.
        strict: Write nothing if a text or a sentence has no translation that can be used.
        engine: What runs the model, as in `translate`.
        progress: Progress reporter.

    Returns:
        The numbers of texts of each file.

    Raises:
        DataError: A file does not exist, exists but must not be replaced, is not valid, or has an
            unknown format, or `strict` is true and a text has no translation that can be used.
            The message names the file. The valid files of a folder are written, unless `strict` is
            true.
        ModelError: The model folder is incomplete or corrupt, or the model is a parser.

    Example:
        `yakusu.translate_document("runs/en-de/model", "guide.docx", "guide.de.docx")`
    """
    planned = plan(  # before the model is read
        Path(path), Path(out), overwrite=overwrite, has_columns=bool(columns)
    )
    translator = open_translator(model, options, text=text, engine=engine)
    done = translate_with(
        translator,
        planned,
        retranslate=retranslate,
        columns=columns,
        sheet_names=sheet_names,
        strict=strict,
        progress=progress,
    )
    for warning in copied_files(done):
        _log.warning("%s", warning)
    return _without_refused(done)


def copied_files(done: TranslatedDocuments, fix: str = "") -> Iterator[str]:
    """Yield a sentence about files in other languages, and one about untranslated files, if any.

    Args:
        done: What was done.
        fix: The end of the sentence about untranslated files.
    """
    others = [f"{file.source} ({file.language})" for file in done.in_other_languages]
    is_one = len(others) == 1
    state = "its name states another language" if is_one else "their names state other languages"
    for files, what, end in (
        (others, f"copied because {state}", ""),
        ([*map(str, done.untranslated)], "copied untranslated", fix),
    ):
        if files:
            names = ", ".join(files[:_LISTED]) + (", ..." if files[_LISTED:] else "")
            yield f"{len(files):,} file{'s' * (len(files) != 1)} {what}: {names}{end}"


def translate_with(
    translator: Translator,
    planned: Plan,
    *,
    retranslate: bool = False,
    columns: Sequence[str] = (),
    sheet_names: bool = False,
    strict: bool = False,
    batch: int = 64,
    window: int | None = None,
    read: OpenDocument | None = None,
    progress: Progress | None = None,
) -> TranslatedDocuments:
    """Translate documents with an open translator.

    Args:
        translator: The translator.
        planned: The files, from `document_plan.plan`.
        retranslate: As in `translate_document`.
        columns: As in `translate_document`.
        sheet_names: As in `translate_document`.
        strict: As in `translate_document`.
        batch: As in `Translator.stream`.
        window: As in `Translator.stream`.
        read: Reads a document; None: in this process.
        progress: Progress reporter.

    Raises:
        DataError: As in `translate_document`, if there is only one file or `strict` is true.
        ModelError: The model is a parser.
    """
    if translator.task.constrains:
        raise ModelError("a parser cannot translate documents: use a translator")

    def translate(texts: Iterable[Request]) -> Iterable[TranslatedText]:
        every = translator.stream(texts, batch=batch, window=window)
        return (TranslatedText.of(best[0]) for best in every)

    options = DocumentOptions(
        translator.languages, retranslate, tuple(columns), sheet_names=sheet_names
    )
    planned = planned.for_languages(options.languages)
    opened = partial(_opened, read or in_this_process, options)
    with translator.memories.held() if translator.memories else nullcontext():
        return _translate(planned, translate, opened, progress or Silent(), strict=strict)


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

    def translate_all(texts: Iterable[Request]) -> Iterable[TranslatedText]:
        return map(TranslatedText, translate([request.text for request in texts]))

    options = options or DocumentOptions()
    planned = plan(Path(path), Path(out), overwrite=overwrite, has_columns=bool(options.columns))
    planned = planned.for_languages(options.languages)
    opened = partial(_opened, in_this_process, options)
    return _without_refused(_translate(planned, translate_all, opened, progress or Silent()))


def _translate(
    planned: Plan,
    translate: _TranslateAll,
    opened: "_Opened",
    progress: Progress,
    *,
    strict: bool = False,
) -> TranslatedDocuments:
    """Translate each file; one of several files that is refused does not stop the others."""
    is_only = len(planned.jobs) == 1
    n_texts, refused = (None, {}) if is_only else _counted(planned.jobs, opened, strict=strict)
    files = list[TranslatedFile]()
    staging = TemporaryDirectory() if strict else nullcontext("")
    with staging as folder, progress.track("translating", "texts", n_texts) as tracker:
        staged = {job: Path(folder, str(number)) for number, job in enumerate(planned.jobs)}
        for job in (each for each in planned.jobs if each not in refused):
            try:
                file, data = _done(job, opened, translate, tracker, is_only=is_only)
            except DataError as error:
                if strict or is_only:
                    raise
                refused[job] = str(error)
                continue
            files.append(file)
            if not strict:
                _write(job, data)
            elif data is not None:
                with create_private(staged[job]) as private:
                    private.write(data)
        if strict:
            _refuse_skipped(files)
            for job, path in staged.items():
                _write(job, path.read_bytes() if path.exists() else None)
    return TranslatedDocuments(tuple(files), planned.left_out, tuple(refused.values()))


def _done(
    job: FileJob, opened: "_Opened", translate: _TranslateAll, tracker: Tracker, *, is_only: bool
) -> tuple[TranslatedFile, bytes | None]:
    """What is done with a file, and what is to be written; None: a copy."""
    with opened(job) as document:
        if not document:
            copied = TranslatedFile(job.source, job.out, copied=True, language=job.language)
            return replace(copied, untranslated=job.untranslated), None
        if is_only:  # the texts of several files are counted before
            tracker.advance(0, total=len(document.texts))
        return translate_opened(job, document, translate, tracker)


_Opened = Callable[[FileJob], AbstractContextManager[Document | None]]


def _counted(
    jobs: Sequence[FileJob], opened: _Opened, *, strict: bool
) -> tuple[int, dict[FileJob, str]]:
    """Read all files before the first one is translated.

    Returns:
        The number of their texts, and the reasons why some cannot be translated, which are logged
        at once.

    Raises:
        DataError: `strict` is true and a file cannot be translated.
    """
    n_texts, refused = 0, dict[FileJob, str]()
    for job in jobs:
        try:
            with opened(job) as document:
                n_texts += len(document.texts) if document else 0
        except DataError as error:
            if strict:
                raise
            _log.warning("%s", error)
            refused[job] = str(error)
    return n_texts, refused


@contextmanager
def in_this_process(path: Path, options: DocumentOptions) -> Iterator[Document]:
    """Read a document in this process, without limits."""
    yield read_document(path, options)


@contextmanager
def _opened(
    read: OpenDocument, options: DocumentOptions, job: FileJob
) -> Iterator[Document | None]:
    """Read a document; None for a file to copy, if it can be read."""
    if job.copied:
        open_file(job.source).close()
        yield None
    else:
        with read(job.source, replace(options, suffix=job.out.suffix.lower())) as document:
            yield document


def _write(job: FileJob, data: bytes | None) -> None:
    """Write a file; None: a copy of its source."""
    job.target.parent.mkdir(parents=True, exist_ok=True)
    if data is not None:
        write_file(job.target, lambda file: file.write(data))
        return
    with job.source.open("rb") as source:
        write_file(job.target, lambda file: shutil.copyfileobj(source, file))
    with suppress(OSError):  # some file systems have no modes
        shutil.copymode(job.source, job.target)


def translate_opened(
    job: FileJob, document: Document, translate: _TranslateAll, tracker: Tracker
) -> tuple[TranslatedFile, bytes]:
    """What is done with a document, and its translation, which is not yet written.

    Raises:
        DataError: A text cannot be translated, or the document cannot be written.
    """
    texts, kept, known = document.texts, list[str](), Counter(document.skipped)
    translations: list[str] = []
    memorised: dict[int, Known] = {}
    try:
        for number, each in enumerate(_unless_long(document, job.source, translate, kept)):
            if each.differences and document.reports_blank:
                translations.append("")  # a message of which a sentence is kept stays as it is
                kept_because = "; ".join(each.differences)
                memorised[number] = replace(each.known or Known(), kept=kept_because)
            else:
                line = document.lines[number:][:1]
                kept += (_with_line(difference, line) for difference in each.differences)
                translations.append(each.text)
                if each.known:
                    memorised[number] = each.known
            tracker.advance(note=job.source.name)
    except DataError as error:
        raise DataError(f"{job.source}: {error}") from error
    translations, blank = usable(document, translations)
    if isinstance(document, StatesOrigin):
        document.tell(memorised)
    data = document.render(translations)
    pairs = [pair for pair in zip(texts, translations, strict=True) if has_letter(pair[0])]
    unchanged = sum(text == translation for text, translation in pairs)
    unusable = (*blank, *kept, *(Counter(document.skipped) - known).elements())
    file = TranslatedFile(
        *(job.source, job.out, len(pairs), unchanged),
        skipped=(*unusable, *known.elements()),
        kept=unusable,
        checks=tuple(document.checks) if isinstance(document, NeedsChecks) else (),
    )
    return file, data


def _unless_long(
    document: Document, path: Path, translate: _TranslateAll, kept: list[str]
) -> Iterator[TranslatedText]:
    """Translate the texts of a document; one that is too long stays, and `kept` gets the reason."""
    whole_file = SUFFIXES.get(path.suffix.lower()) == "text"  # its lines are texts
    short = (
        request
        for request in _requests(document, path.name)
        if whole_file or len(request.text) <= LONGEST_TEXT
    )
    translations = iter(translate(short))
    for number, text in enumerate(document.texts):
        if whole_file or len(text) <= LONGEST_TEXT:
            yield from islice(translations, 1)
            continue
        reason = (
            f"a text of {len(text):,} characters, beginning with {text[:_SHOWN]!r}, exceeds "
            f"{LONGEST_TEXT:,} characters"
        )
        kept.append(_with_line(reason, document.lines[number:][:1]))
        yield TranslatedText("" if document.reports_blank else text)
    yield from translations  # too many, which is an error of the caller


def _requests(document: Document, name: str) -> Iterator[Request]:
    """The texts of a document, and where they stand."""
    texts = document.texts
    keys = document.keys if isinstance(document, NamesTexts) else [""] * len(texts)
    before, after = chain([""], texts[:-1]), chain(texts[1:], [""])
    for text, *context in zip(texts, before, after, repeat(name), keys, strict=False):
        yield Request(text, context=SegmentContext(*context))


def _with_line(difference: str, first: Sequence[int]) -> str:
    """A difference with its line in the file, given the first line of its text, if it is known."""
    if not first:
        return difference
    inside = _LINE.match(difference)
    line = first[0] + int(inside[1]) - 1 if inside else first[0]
    return f"line {line}: {difference[inside.end() if inside else 0 :]}"


def _without_refused(done: TranslatedDocuments) -> TranslatedDocuments:
    """Raise an error for files of a folder that were not translated.

    Raises:
        DataError: There are some.
    """
    if not done.refused:
        return done
    first, *others = done.refused
    n_all = len(done.files) + len(done.refused)
    more = (
        f" (and {len(others):,} others of {n_all:,} files cannot be translated)" if others else ""
    )
    raise DataError(first + more)


def _refuse_skipped(files: Iterable[TranslatedFile]) -> None:
    """Refuse to write documents in which a text has no translation that can be used."""
    reasons = [f"{file.source}: {reason}" for file in files for reason in file.kept]
    for reason in reasons[1:_LISTED]:
        _log.warning("%s", reason)
    if reasons:
        more = f", and {len(reasons) - 1:,} more would be left unchanged" if reasons[1:] else ""
        raise DataError(f"{reasons[0]}{more}: nothing is written, because of --strict")
