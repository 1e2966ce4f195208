"""Translates a document, or all documents of a folder."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from yakusu.data.markup import is_mark
from yakusu.documents.document import DocumentOptions
from yakusu.documents.registry import is_supported, read_document
from yakusu.errors import DataError, ModelError
from yakusu.folder import write_file
from yakusu.pipeline.translate import open_translator
from yakusu.progress import Progress, Silent
from yakusu.search.config import SearchConfig
from yakusu.translator.passage import TextConfig

TranslateTexts = Callable[[Sequence[str]], list[str]]  # one translation for each text


@dataclass(frozen=True)
class TranslatedFile:
    """What was done with one file.

    Attributes:
        source: The file that was read.
        out: The file that was written.
        texts: Number of texts in it, without those that have no letter.
        unchanged: Number of these texts whose translation is the same text.
        copied: The format is unknown, so the file was copied.
        skipped: A sentence for each message that was left unchanged, with its place and the reason.
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
    """

    files: tuple[TranslatedFile, ...]

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
    device: str = "cpu",
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
        device: Device to translate on: "cpu", "cuda" or "auto".
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
    plan = _plan(Path(path), Path(out), overwrite=overwrite)
    translator = open_translator(model, options, text=text, device=device)
    if translator.task.constrains:
        raise ModelError(f"{model} is a parser and cannot translate documents: use a translator")
    document_options = DocumentOptions(translator.languages, retranslate)
    return _translate(plan, translator.translate, document_options, progress or Silent())


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
        translate: Returns one translation for each text, with the same marks (`data.markup`), each
            once. It is called once for each document.
        path: The file or folder to translate.
        out: The file or folder to write.
        options: How documents are read.
        overwrite: Replace files that exist.
        progress: Progress reporter.

    Raises:
        DataError: As in `translate_document`.
    """
    plan = _plan(Path(path), Path(out), overwrite=overwrite)
    return _translate(plan, translate, options or DocumentOptions(), progress or Silent())


@dataclass(frozen=True)
class _Job:
    """A file to translate or to copy."""

    source: Path
    out: Path
    copied: bool


def _plan(path: Path, out: Path, *, overwrite: bool) -> list[_Job]:
    """The files to translate and to copy.

    Raises:
        DataError: A path does not exist or must not be written.
    """
    if not path.exists():
        raise DataError(f"{path} does not exist: check the path")
    here, there = path.resolve(), out.resolve()
    if path.is_dir():
        if here == there or here in there.parents or there in here.parents:
            raise DataError(
                f"{out} and {path} contain each other: choose an output folder outside the input"
            )
        if out.exists() and not out.is_dir():
            raise DataError(
                f"{out} is a file, but {path} is a folder: name a folder for the output"
            )
        jobs = [
            _Job(file, out / file.relative_to(path), not is_supported(file))
            for file in _files(path)
        ]
    else:
        if out.is_dir():
            raise DataError(f"{out} is a folder: name the file to write, such as {out / path.name}")
        if here == there or (out.exists() and out.samefile(path)):
            raise DataError(f"{out} is the input: choose another name for the output")
        jobs = [_Job(path, out, False)]
    existing = next((job.out for job in jobs if job.out.exists()), None)
    if existing and not overwrite:
        raise DataError(
            f"{existing} exists: choose another output, or add --overwrite (overwrite=True)"
        )
    return jobs


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder and its subfolders that are not hidden, sorted."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent) / name
            if not name.startswith(".") and path.is_file():
                yield path


def _translate(
    plan: Sequence[_Job], translate: TranslateTexts, options: DocumentOptions, progress: Progress
) -> TranslatedDocuments:
    for job in plan:
        if not job.copied:
            read_document(job.source, options)  # raises every error before the first translation
    files = []
    with progress.track("translating", "files", len(plan)) as tracker:
        for job in plan:
            files.append(_copy(job) if job.copied else _translate_file(job, translate, options))
            tracker.advance(note=job.source.name)
    return TranslatedDocuments(tuple(files))


def _copy(job: _Job) -> TranslatedFile:
    job.out.parent.mkdir(parents=True, exist_ok=True)
    with job.source.open("rb") as source:
        write_file(job.out, lambda file: shutil.copyfileobj(source, file))
    return TranslatedFile(job.source, job.out, copied=True)


def _translate_file(
    job: _Job, translate: TranslateTexts, options: DocumentOptions
) -> TranslatedFile:
    document = read_document(job.source, options)
    texts = document.texts
    try:
        translations = translate(texts) if texts else []
    except DataError as error:
        raise DataError(f"{job.source}: {error}") from error
    _check(texts, translations)
    data = document.render(translations)
    job.out.parent.mkdir(parents=True, exist_ok=True)
    write_file(job.out, lambda file: file.write(data))
    pairs = [
        pair for pair in zip(texts, translations, strict=True) if any(map(str.isalpha, pair[0]))
    ]
    unchanged = sum(text == translation for text, translation in pairs)
    skipped = tuple(getattr(document, "skipped", ()))
    return TranslatedFile(job.source, job.out, len(pairs), unchanged, skipped=skipped)


def _check(texts: Sequence[str], translations: Sequence[str]) -> None:
    """Make sure that translations have the marks of their texts, so that no markup is lost."""
    if len(texts) != len(translations):
        raise ValueError(f"{len(translations)} translations of {len(texts)} texts")
    for text, translation in zip(texts, translations, strict=True):
        if sorted(filter(is_mark, text)) != sorted(filter(is_mark, translation)):
            raise ValueError(f"the translation {translation!r} of {text!r} has other marks")
