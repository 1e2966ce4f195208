"""Documents of the verb `translate`, and the options that only they have."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from yakusu.cli.console import ConsoleProgress
from yakusu.cli.option_groups import grouped
from yakusu.cli.show import counted, report
from yakusu.errors import DataError

if TYPE_CHECKING:
    from yakusu.pipeline.documents import TranslatedFile
    from yakusu.translator import Translator

_log = logging.getLogger(__name__)
_LISTED = 10  # texts of a document that were left as they were; paths that were left out
_PANEL = "Documents"
_OPTIONS: dict[str, Any] = {
    "retranslate": Annotated[
        bool,
        typer.Option(
            "--retranslate",
            help="Also translate messages that already have a translation (PO, XLIFF).",
            rich_help_panel=_PANEL,
            hidden=True,
        ),
    ],
    "overwrite": Annotated[
        bool,
        typer.Option(
            "--overwrite", help="Replace existing files.", rich_help_panel=_PANEL, hidden=True
        ),
    ],
}


def refuse_document(source: str, *, is_text: bool) -> None:
    """Refuse a document that would be read as lines of text."""
    from yakusu.documents.registry import SUFFIXES

    if Path(source).is_dir():
        raise DataError(f"{source} is a folder: add --out FOLDER to translate its documents")
    if is_text and SUFFIXES.get(Path(source).suffix.lower(), "text") != "text":
        raise DataError(f"{source} is a document: add --out FILE to translate it")


@dataclass(frozen=True)
class DocumentOutputOptions:
    """How documents are written.

    Attributes:
        retranslate: Also translate messages that already have a translation.
        overwrite: Replace existing files.
    """

    retranslate: bool
    overwrite: bool

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        return [f"--{each.name}" for each in fields(self) if getattr(self, each.name)]

    def refuse(self) -> None:
        """Refuse the options where lines are translated."""
        if self.given:
            name = self.given[0]
            raise DataError(f"{name} applies to documents: add --out PATH, or remove {name}")


takes_document_options = grouped(
    "documents", _OPTIONS, lambda given: DocumentOutputOptions(**given)
)


@dataclass(frozen=True)
class DocumentOutput:
    """Where translated documents are written, and how.

    Attributes:
        out: A file or a folder.
        options: How they are written.
    """

    out: str
    options: DocumentOutputOptions

    def check(self, source: str, of_lines: Iterable[str]) -> None:
        """Refuse standard input, and the options in `of_lines`, which apply to lines only."""
        for name in of_lines:
            raise DataError(
                f"{name} applies to lines of text, not to documents: remove it, or remove --out"
            )
        if source == "-":
            raise DataError("--out translates documents: specify a file or a folder as SOURCE")
        if self.out == "-":
            raise DataError("--out - is not standard output: name the file or the folder to write")

    def translate(
        self,
        translator: "Translator",
        source: str,
        *,
        strict: bool,
        batch: int,
        window: int | None,
    ) -> None:
        """Translate documents and print what was done with each; see `Translator.stream`."""
        from yakusu.pipeline.document_plan import plan
        from yakusu.pipeline.documents import translate_with

        done = translate_with(
            translator,
            plan(Path(source), Path(self.out), overwrite=self.options.overwrite),
            retranslate=self.options.retranslate,
            strict=strict,
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
        _log.warning("%s: %s: left unchanged", file.source, reason)
    if more := file.skipped[_LISTED:]:
        _log.warning("%s: %s more are unchanged", file.source, counted(len(more), "text"))
