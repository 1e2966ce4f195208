"""Lines of the verb `translate`, and the options that documents do not have."""

import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from yakusu.cli.documents import refuse_document
from yakusu.cli.option_groups import grouped
from yakusu.cli.show import STORED, as_json, as_text, counted, print_all, report
from yakusu.data.files.long_lines import LongLine, StoredLines, byte_lines, too_many_bytes
from yakusu.data.files.text import (
    ErrorPolicy,
    InvalidLines,
    ReadAhead,
    count_lines,
    decode_lines,
    raw_lines,
)
from yakusu.data.files.tree_files import holds_trees
from yakusu.errors import DataError, ModelError

if TYPE_CHECKING:
    from yakusu.translator import Translation, Translator
    from yakusu.translator.request import Request

_log = logging.getLogger(__name__)
_CONTENT = "Content of the translation"
_LISTED = 10  # sentences that are kept because their translations differ
_OPTIONS: dict[str, Any] = {
    "format": Annotated[
        Literal["text", "json"] | None,
        typer.Option("--format", help="text (default), or json: an object per line."),
    ],
    "trace": Annotated[
        bool,
        typer.Option(
            "--trace",
            help="Add the hypotheses of each step of the search to the output of --format json.",
            rich_help_panel="Search",
            hidden=True,
        ),
    ],
    "prefix": Annotated[
        str | None,
        typer.Option(
            "--prefix",
            metavar="FILE",
            help="File with the beginning of each translation, line by line.",
            rich_help_panel=_CONTENT,
            hidden=True,
        ),
    ],
    "alignments": Annotated[
        str | None,
        typer.Option(
            "--alignments",
            metavar="FILE",
            help="File to write the word alignments to, as in 0-0 1-2.",
            rich_help_panel=_CONTENT,
            hidden=True,
        ),
    ],
    "input_format": Annotated[
        Literal["text", "tsv", "json"] | None,
        typer.Option(
            "--input-format",
            help="text (default); tsv: sentence and prefix; json: an object per line with text, "
            "prefix, include and exclude.",
            rich_help_panel=_CONTENT,
            hidden=True,
        ),
    ],
    "errors": Annotated[
        Literal["strict", "skip", "replace"] | None,
        typer.Option(
            "--errors",
            help="What to do with lines that are not UTF-8: refuse the input (strict, the "
            "default without --ray), leave them empty (skip), or read each invalid byte as U+FFFD "
            "(replace).",
            rich_help_panel="Text processing",
            hidden=True,
        ),
    ],
}


class LineOptions(NamedTuple):
    """How lines are read and printed."""

    format: Literal["text", "json"] = "text"
    trace: bool = False
    prefix: str | None = None
    alignments: str | None = None
    input_format: Literal["text", "tsv", "json"] = "text"
    errors: ErrorPolicy | None = None  # None: strict

    @property
    def given(self) -> list[str]:
        """The options whose values are not the defaults."""
        values, default = self._asdict().items(), self._field_defaults
        names = [name for name, value in values if value != default[name]]
        return ["--" + name.replace("_", "-") for name in names]

    def check(self, source: str) -> None:
        """Refuse a document, and an output that would replace an input."""
        refuse_document(source, is_text=self.input_format == "text")
        if self.trace and self.format == "text":
            raise DataError("--trace needs JSON output: add --format json")
        inputs = map(os.path.realpath, (source, self.prefix or ""))
        if self.alignments and os.path.realpath(self.alignments) in inputs:
            raise DataError(
                f"--alignments would replace {self.alignments}, which is read: use another file"
            )


def _line_options(values: dict[str, Any]) -> LineOptions:
    return LineOptions(**{name: value for name, value in values.items() if value is not None})


takes_line_options = grouped("lines", _OPTIONS, _line_options)


class Lines(NamedTuple):
    """Lines to translate.

    Attributes:
        source: Path of a file, or "-": standard input.
        options: How they are read and printed.
        model: Name of the model in error messages.
        strict: Print nothing if a sentence would be kept because its translation differs.
    """

    source: str
    options: LineOptions
    model: str
    strict: bool = False

    def translate(self, translator: "Translator", *, batch: int, window: int | None) -> None:
        """Print the translation of each line, then what was kept; see `Translator.stream`."""
        from yakusu.data.lines.layout import Layout
        from yakusu.translator.request import length

        if self.options.alignments is not None and "cross" not in translator.decoder.roles:
            raise ModelError("this model has no attention to the source: leave out --alignments")
        options, n_lines = self.options, self._count()
        invalid = InvalidLines(options.errors or "strict")
        stored = StoredLines()
        requests = self._requests(translator, n_lines, invalid, stored)
        start = monotonic()
        found = translator.stream(
            ReadAhead(requests, length) if self.source == "-" else requests,
            batch=batch,
            window=window,
            details=options.format == "json" or options.alignments is not None,
            trace=options.trace,
            layout=Layout() if options.input_format == "text" else None,
        )
        found = _with_stored(found, stored, translator.text_config.longest_line)
        found = iter(_without_differences(found)) if self.strict else _noting(found)
        found = chain(list(islice(found, 1)), found)  # raises errors before the file is replaced
        with _opened(options.alignments) as links:
            show = as_json if options.format == "json" else as_text(translator.search.n_best)
            print_all(found, n_lines, show=show, links=links, stored=stored, start=start)
        report(translator.tally)
        if warning := invalid.warning(self._name, skipped="left empty"):
            _log.warning(warning)

    @property
    def _name(self) -> str:
        return "standard input" if self.source == "-" else self.source

    @property
    def _holds_trees(self) -> bool:
        return self.source != "-" and holds_trees(self.source)

    def _count(self) -> int | None:
        """The number of lines; None for a pipe, which can be read only once, and for trees."""
        seekable = Path(self.source).is_file() and not self._holds_trees
        invalid = InvalidLines(self.options.errors or "strict")
        return count_lines(self.source, errors=invalid) if seekable else None

    def _requests(
        self,
        translator: "Translator",
        n_lines: int | None,
        invalid: InvalidLines,
        stored: StoredLines,
    ) -> "Iterator[Request]":
        from yakusu.pipeline.requests import read_requests  # loads numpy

        return read_requests(
            self._read(translator, invalid, stored),
            name=self._name,
            n_lines=n_lines,
            input_format=self.options.input_format,
            prefixes=self.options.prefix,
            single_lines=self.options.format == "text",
        )

    def _read(
        self, translator: "Translator", invalid: InvalidLines, stored: StoredLines
    ) -> Iterable[str]:
        """The lines of standard input or a file, or the words of trees.

        Those that are too long are stored, unless they are objects or have prefixes.
        """
        from yakusu.pipeline.translate import sentences_for

        is_text = self.options.input_format == "text" and not self.options.prefix
        longest = translator.text_config.longest_line
        long = stored if is_text and not translator.task.constrains else None
        if self.source == "-":
            return decode_lines(_stdin(longest), self._name, errors=invalid, long=long)
        if not self._holds_trees:
            return raw_lines(self.source, errors=invalid, long=long, longest=longest)
        if invalid.policy != "strict":
            raise DataError(
                f"{self.source} contains trees, to which --errors does not apply: remove it"
            )
        return sentences_for(translator, Path(self.source), name=self.model)


def _with_stored(
    found: "Iterator[list[Translation]]", stored: StoredLines, longest: int
) -> "Iterator[list[Translation]]":
    """The same translations; that of a stored line says that it is kept."""
    for number, best in enumerate(found, start=1):
        if n_bytes := stored.size(number):
            reason = too_many_bytes(n_bytes, longest)
            best = [replace(best[0], text=STORED, copied=True, differences=(reason,))]
        yield best


def _noting(found: "Iterator[list[Translation]]") -> "Iterator[list[Translation]]":
    """The same translations, with a warning for each sentence that is kept."""
    n_kept = 0
    for number, best in enumerate(found, start=1):
        for difference in best[0].differences:
            n_kept += 1
            if n_kept <= _LISTED:
                _log.warning("line %d: %s: the sentence is kept", number, difference)
        yield best
    if n_kept > _LISTED:
        _log.warning("%s more are kept", counted(n_kept - _LISTED, "sentence"))


def _without_differences(found: "Iterable[list[Translation]]") -> "list[list[Translation]]":
    """All translations.

    Raises:
        DataError: A sentence is kept.
    """
    every = list(found)
    differences = [
        f"line {number}: {difference}"
        for number, best in enumerate(every, start=1)
        for difference in best[0].differences
    ]
    for difference in differences[1:_LISTED]:
        _log.warning(difference)
    if differences:
        more = f", and {len(differences) - 1:,} more differ" if differences[1:] else ""
        raise DataError(f"{differences[0]}{more}: nothing is printed, because of --strict")
    return every


def _opened(path: str | None) -> AbstractContextManager[IO[str] | None]:
    return Path(path).open("w", encoding="utf-8") if path else nullcontext()


def _stdin(longest: int) -> Iterator[bytes | LongLine]:
    """The lines of standard input, unbuffered: a thread that reads would hold its lock."""
    if sys.stdin is None:
        raise DataError("standard input is closed: specify a file, or redirect it, as in < FILE")
    return byte_lines(getattr(sys.stdin.buffer, "raw", sys.stdin.buffer).read, longest)
