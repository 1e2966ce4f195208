"""Documents of the verb `translate`."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from yakusu.cli.console import ConsoleProgress
from yakusu.cli.show import counted, report
from yakusu.errors import DataError

if TYPE_CHECKING:
    from yakusu.pipeline.documents import TranslatedFile
    from yakusu.translator import Translator

_log = logging.getLogger(__name__)
_LISTED = 10  # texts of a document that were left as they were; paths that were left out


def refuse_document(source: str, *, is_text: bool) -> None:
    """Refuse a document that would be read as lines of text."""
    from yakusu.documents.registry import SUFFIXES

    if Path(source).is_dir():
        raise DataError(f"{source} is a folder: add --out FOLDER to translate its documents")
    if is_text and SUFFIXES.get(Path(source).suffix.lower(), "text") != "text":
        raise DataError(f"{source} is a document: add --out FILE to translate it")


def refuse_document_options(*, retranslate: bool, overwrite: bool) -> None:
    """Refuse the options of documents where lines are translated."""
    if retranslate or overwrite:
        name = "--retranslate" if retranslate else "--overwrite"
        raise DataError(f"{name} applies to documents: add --out PATH, or remove {name}")


@dataclass(frozen=True)
class DocumentOutput:
    """Where translated documents are written, and how.

    Attributes:
        out: A file or a folder.
        retranslate: Also translate messages that already have a translation.
        overwrite: Replace existing files.
    """

    out: str
    retranslate: bool
    overwrite: bool

    def check(self, source: str, of_lines: Iterable[str]) -> None:
        """Refuse standard input, and the options in `of_lines`, which apply to lines only."""
        for name in of_lines:
            raise DataError(
                f"{name} applies to lines of text, not to documents: remove it, or remove --out"
            )
        if source == "-":
            raise DataError("--out translates documents: specify a file or a folder as SOURCE")

    def translate(
        self, translator: "Translator", source: str, *, batch: int, window: int | None
    ) -> None:
        """Translate documents and print what was done with each; see `Translator.stream`."""
        from yakusu.pipeline.document_plan import plan
        from yakusu.pipeline.documents import translate_with

        done = translate_with(
            translator,
            plan(Path(source), Path(self.out), overwrite=self.overwrite),
            retranslate=self.retranslate,
            batch=batch,
            window=window,
            progress=ConsoleProgress(),
        )
        for file in done.files:
            _show(file)
        for path in done.left_out[:_LISTED]:
            _log.warning("%s was left out: it is a link to a folder, or not a file", path)
        if more := done.left_out[_LISTED:]:
            _log.warning("%s: %s more were left out", source, counted(len(more), "path"))
        report(translator.tally)


def _show(file: "TranslatedFile") -> None:
    print(f"{file.out}: " + ("copied" if file.copied else counted(file.texts, "text")))
    for reason in file.skipped[:_LISTED]:
        _log.warning("%s: %s", file.source, reason)
    if more := file.skipped[_LISTED:]:
        _log.warning("%s: %s more are unchanged", file.source, counted(len(more), "text"))
