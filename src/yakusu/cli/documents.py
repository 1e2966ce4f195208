"""Documents of the verb `translate`, and the options that only they have."""

import logging
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from yakusu.cli.console import ConsoleProgress
from yakusu.cli.option_groups import grouped
from yakusu.cli.show import counted, report
from yakusu.errors import DataError

if TYPE_CHECKING:
    from yakusu.documents.isolated.readers import Readers
    from yakusu.pipeline.documents import TranslatedDocuments, TranslatedFile
    from yakusu.translator import Translator

_log = logging.getLogger(__name__)
_LISTED = 10  # texts of a document that were left as they were; paths that were left out
_PANEL = "Documents"
_MB = 1_000_000  # bytes
_OPTIONS: dict[str, Any] = {
    "retranslate": Annotated[
        bool,
        typer.Option(
            "--retranslate",
            help="Also translate messages that already have a translation (PO, XLIFF, .xcstrings, "
            "Qt).",
            rich_help_panel=_PANEL,
            hidden=True,
        ),
    ],
    "columns": Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="Names or numbers of the columns of a table to translate (CSV, TSV); a name makes "
            "the first row a header, which stays.",
            rich_help_panel=_PANEL,
            hidden=True,
        ),
    ],
    "sheet_names": Annotated[
        bool,
        typer.Option(
            "--sheet-names",
            help="Also translate the names of the sheets of spreadsheets.",
            rich_help_panel=_PANEL,
            hidden=True,
        ),
    ],
    "copy_unknown": Annotated[
        bool,
        typer.Option(
            "--copy-unknown",
            help="Exit with 0 although files of a folder that contain text are in unknown formats.",
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
    "file_memory": Annotated[
        int | None,
        typer.Option(
            metavar="MB",
            min=0,
            help="Memory for reading and writing a document (default: 512); 0: no limit.",
            rich_help_panel=_PANEL,
            hidden=True,
        ),
    ],
    "file_seconds": Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="Processor seconds for reading and writing a document (default: 60), in at most "
            "ten times as much time; 0: no limit.",
            rich_help_panel=_PANEL,
            hidden=True,
        ),
    ],
}


def refuse_document(source: str, *, is_text: bool) -> None:
    """Refuse a document that would be read as lines of text."""
    from yakusu.documents.suffixes import SUFFIXES, TABLES

    if Path(source).is_dir():
        raise DataError(f"{source} is a folder: add --out FOLDER to translate its documents")
    suffix = Path(source).suffix.lower()
    if is_text and suffix not in TABLES and SUFFIXES.get(suffix, "text") != "text":
        raise DataError(f"{source} is a document: add --out FILE to translate it")


class DocumentOutputOptions(NamedTuple):
    """How documents are written.

    Attributes:
        retranslate: Also translate messages that already have a translation.
        columns: The columns of tables to translate, separated by commas; None: not given.
        sheet_names: Also translate the names of sheets.
        copy_unknown: Accept files with text in unknown formats.
        overwrite: Replace existing files.
        file_memory: MB of memory for reading and writing a document; None: the default.
        file_seconds: Processor seconds for reading and writing a document; None: the default.
    """

    retranslate: bool
    columns: str | None
    sheet_names: bool
    copy_unknown: bool
    overwrite: bool
    file_memory: int | None
    file_seconds: int | None

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        values = self._asdict().items()
        given = [name for name, value in values if value is not None and value is not False]
        return [f"--{name.replace('_', '-')}" for name in given]

    @property
    def table_columns(self) -> tuple[str, ...]:
        """The columns of tables to translate."""
        return tuple(filter(None, map(str.strip, (self.columns or "").split(","))))

    def readers(self) -> "Readers":
        """What reads documents, with limits."""
        from yakusu.documents.isolated.limits import DocumentLimits, LimitSettings
        from yakusu.documents.isolated.readers import Readers

        default = DocumentLimits()
        memory = default.memory // _MB if self.file_memory is None else self.file_memory
        seconds = default.cpu_seconds if self.file_seconds is None else self.file_seconds
        limits = DocumentLimits(memory=_MB * memory, cpu_seconds=seconds, seconds=10.0 * seconds)
        setting = f"--file-seconds {seconds}"
        return Readers(
            limits,
            LimitSettings(f"--file-memory {memory} (MB)", setting, f"ten times {setting}"),
        )

    def refuse(self) -> None:
        """Refuse the options where lines are translated."""
        if self.given:
            name = self.given[0]
            raise DataError(f"{name} applies to documents: add --out PATH, or remove {name}")


takes_document_options = grouped(
    "documents", _OPTIONS, lambda given: DocumentOutputOptions(**given)
)


class DocumentOutput(NamedTuple):
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
        opened: "Callable[[], Translator]",
        source: str,
        *,
        strict: bool,
        batch: int,
        window: int | None,
    ) -> None:
        """Translate documents and print what was done with each.

        Args:
            opened: Opens the translator, after the paths are checked.
            source: A file or a folder.
            strict: As in `translate_document`.
            batch: As in `Translator.stream`.
            window: As in `Translator.stream`.

        Raises:
            DataError: A file was refused; the others of a folder are written.
            typer.Exit: Files with text were copied untranslated, and that is not accepted.
        """
        from yakusu.documents.suffixes import TABLES
        from yakusu.pipeline.document_plan import plan
        from yakusu.pipeline.documents import copied_files, translate_with

        columns = self.options.table_columns
        planned = plan(
            *(Path(source), Path(self.out)),
            overwrite=self.options.overwrite,
            has_columns=bool(columns),
        )
        with closing(self.options.readers()) as readers:
            readers.start()  # while the model is read
            translator = opened()
            done = translate_with(
                translator,
                planned,
                retranslate=self.options.retranslate,
                columns=columns,
                sheet_names=self.options.sheet_names,
                strict=strict,
                batch=batch,
                window=window,
                read=readers.read,
                progress=ConsoleProgress(),
            )
        for file in done.files:
            _show(file)
        for path in done.left_out[:_LISTED]:
            _log.warning("%s was left out: it is a link to a folder, or not a file", path)
        if more := done.left_out[_LISTED:]:
            _log.warning("%s: %s more were left out", source, counted(len(more), "path"))
        report(translator.tally)
        is_refused = done.untranslated and not self.options.copy_unknown
        has_table = any(path.suffix.lower() in TABLES for path in done.untranslated)
        columns_of = "name the columns of tables with --columns, " if has_table else ""
        fix = f" (convert them, {columns_of}or add --copy-unknown to accept this)"
        for warning in copied_files(done, fix if is_refused else ""):
            _log.warning("%s", warning)
        _list_refused(source, done)
        if is_refused:
            raise typer.Exit(1)


def _list_refused(source: str, done: "TranslatedDocuments") -> None:
    """List the files that were refused, at the end, where they are seen.

    Raises:
        DataError: There are some.
    """
    for reason in done.refused:
        _log.warning("not translated: %s", reason)
    if done.refused:
        n_all = counted(len(done.refused) + len(done.files), "file")
        raise DataError(f"{source}: {len(done.refused):,} of {n_all} not translated: see above")


def _show(file: "TranslatedFile") -> None:
    print(f"{file.out}: " + ("copied" if file.copied else counted(file.texts, "text")))
    for check in file.checks[:_LISTED]:
        _log.warning("%s: %s", file.source, check)
    if more := file.checks[_LISTED:]:
        _log.warning("%s: %s more to check", file.source, counted(len(more), "message"))
    for reason in file.skipped[:_LISTED]:
        _log.warning("%s: %s: left unchanged", file.source, reason)
    if more := file.skipped[_LISTED:]:
        _log.warning("%s: %s more are unchanged", file.source, counted(len(more), "text"))
