"""The verb `translate`: standard input, a text file, a document or a folder of documents."""

import logging
import os
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Literal

import typer

from yakusu.cli.console import command
from yakusu.cli.documents import refuse_document, translate_documents
from yakusu.cli.options import Device, Model
from yakusu.cli.search_options import takes_search_options
from yakusu.cli.show import as_json, as_text, print_all, report
from yakusu.cli.text_options import takes_text_options
from yakusu.data.text import (
    ErrorPolicy,
    InvalidLines,
    ReadAhead,
    count_lines,
    decode_lines,
    raw_lines,
)
from yakusu.errors import DataError, ModelError, RecipeError

if TYPE_CHECKING:
    from yakusu.search.config import SearchConfig
    from yakusu.translator import Translator
    from yakusu.translator.passage import TextConfig
    from yakusu.translator.request import Request

_log = logging.getLogger(__name__)

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="Text file, or - for standard input; with --out, a document or a folder.",
    ),
]
Format = Annotated[
    Literal["text", "json"],
    typer.Option(
        "--format",
        help="json: an object per line.",
    ),
]
Prefix = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="File with the beginning of each translation.",
        rich_help_panel="Content of the translation",
        hidden=True,
    ),
]
Alignments = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="File for the word alignments, as in 0-0 1-2.",
        rich_help_panel="Content of the translation",
        hidden=True,
    ),
]
Input = Annotated[
    Literal["text", "tsv", "json"],
    typer.Option(
        help="tsv: sentence and prefix; json: an object per line with text, prefix, include and "
        "exclude.",
        rich_help_panel="Content of the translation",
        hidden=True,
    ),
]
Ensemble = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODEL",
        help="Additional model; probabilities are averaged. Repeatable.",
        rich_help_panel="Models and speed",
        hidden=True,
    ),
]
Batch = Annotated[
    int,
    typer.Option(
        min=1,
        help="Maximum number of sentences translated together.",
        rich_help_panel="Models and speed",
        hidden=True,
    ),
]
Window = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of sentences read ahead and sorted by length (default: 32 batches).",
        rich_help_panel="Models and speed",
        hidden=True,
    ),
]


Out = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="Document or folder to write.",
    ),
]
Retranslate = Annotated[
    bool,
    typer.Option(
        "--retranslate",
        help="Translate messages that have a translation, too (PO, XLIFF).",
        rich_help_panel="Documents",
        hidden=True,
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite", help="Replace existing files.", rich_help_panel="Documents", hidden=True
    ),
]
Errors = Annotated[
    Literal["strict", "skip", "replace"],
    typer.Option(
        help="Lines that are not UTF-8: refuse the input, leave them empty, or read U+FFFD for "
        "each invalid byte.",
        rich_help_panel="Reading of the text",
        hidden=True,
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command(epilog=_MORE)(takes_search_options(takes_text_options(translate)))


_MORE = (
    "All options (length, repetition, sampling, ensembles, ...): `yakusu translate --help-all`. "
    "Search options default to the model's settings; see docs/search.md."
)


def translate(
    model: Model,
    source: Source = "-",
    out: Out = None,
    output: Format = "text",
    prefix: Prefix = None,
    alignments: Alignments = None,
    input_format: Input = "text",
    errors: Errors = "strict",
    retranslate: Retranslate = False,
    overwrite: Overwrite = False,
    ensemble: Ensemble = None,
    batch: Batch = 64,
    window: Window = None,
    device: Device = "cpu",
    *,
    options: "SearchConfig",
    text: "TextConfig",
) -> None:
    """Translate standard input, a text file, a document or a folder of documents.

    Without --out, the translation of each line goes to standard output.

    Example: `yakusu translate runs/en-de/model guide.html --out guide.de.html`
    """
    _refuse_sentence(source, model)
    models, aligns = [model, *(ensemble or ())], alignments is not None
    lines = _Lines(source, output, prefix, alignments, input_format, errors, batch, window)
    if out is not None:
        if not lines.are_default or options.n_best > 1:
            raise DataError("--out takes a document or a folder, and no option of single lines")
        translator = _open(models, options, text, device=device, aligns=False)
        translate_documents(translator, source, out, retranslate=retranslate, overwrite=overwrite)
        return
    lines.check()
    translator = _open(models, options, text, device=device, aligns=aligns)
    lines.translate(translator, model)


@dataclass(frozen=True)
class _Lines:
    """Lines to translate, and the options that only they have."""

    source: str
    output: str
    prefix: str | None
    alignments: str | None
    input_format: Literal["text", "tsv", "json"]
    errors: ErrorPolicy
    batch: int
    window: int | None

    @property
    def are_default(self) -> bool:
        """Whether the source is a path and no option is given that only lines have."""
        formats = self.output == self.input_format == "text"
        given = self.prefix or self.alignments or self.errors != "strict"
        return self.source != "-" and formats and not given

    def check(self) -> None:
        """Refuse a document, and an output that would replace an input."""
        refuse_document(self.source, is_text=self.input_format == "text")
        inputs = map(os.path.realpath, (self.source, self.prefix or ""))
        if self.alignments and os.path.realpath(self.alignments) in inputs:
            raise DataError(
                f"--alignments would replace {self.alignments}, which is read: use another file"
            )

    def translate(self, translator: "Translator", model: str) -> None:
        """Print the translation of each line, then what was kept.

        Args:
            translator: The translator.
            model: Its name in error messages.
        """
        from yakusu.data.layout import Layout

        n_lines, invalid = _count(self.source, self.errors), InvalidLines(self.errors)
        requests = self._requests(translator, model, n_lines, invalid)
        start = time.monotonic()
        found = translator.stream(
            ReadAhead(requests) if self.source == "-" else requests,
            batch=self.batch,
            window=self.window,
            details=self.output == "json" or self.alignments is not None,
            layout=Layout() if self.input_format == "text" else None,
        )
        found = chain(list(islice(found, 1)), found)  # errors come before the file is replaced
        with _opened(self.alignments) as links:
            show = as_json if self.output == "json" else as_text(translator.search.n_best)
            print_all(found, n_lines, show=show, links=links, start=start)
        report(translator.tally)
        if warning := invalid.warning(_name(self.source)):
            _log.warning(warning)

    def _requests(
        self, translator: "Translator", model: str, n_lines: int | None, invalid: InvalidLines
    ) -> "Iterator[Request]":
        from yakusu.pipeline.requests import read_requests  # loads torch

        return read_requests(
            _lines(translator, self.source, model, invalid),
            name=_name(self.source),
            n_lines=n_lines,
            input_format=self.input_format,
            prefixes=self.prefix,
        )


def _opened(path: str | None) -> AbstractContextManager[IO[str] | None]:
    return Path(path).open("w", encoding="utf-8") if path else nullcontext()


def _lines(
    translator: "Translator", source: str, model: str, invalid: InvalidLines
) -> Iterable[str]:
    """The lines of standard input or a file, or the words of trees."""
    from yakusu.data.corpus import holds_trees  # loads pydantic
    from yakusu.pipeline.translate import sentences_for

    if source == "-":
        return decode_lines(_stdin(), _name(source), errors=invalid)
    if holds_trees(source):
        return sentences_for(translator, Path(source), name=model)
    return raw_lines(source, errors=invalid)


def _name(source: str) -> str:
    return "standard input" if source == "-" else source


def _open(
    models: Sequence[str],
    options: "SearchConfig",
    text: "TextConfig",
    *,
    device: str,
    aligns: bool,
) -> "Translator":
    """Open a model folder, or several as an ensemble; `aligns`: it must have cross-attention."""
    from yakusu.alignment import attends
    from yakusu.pipeline.translate import open_translator

    try:
        translator = open_translator(
            models[0], options, text=text, ensemble=models[1:], device=device
        )
    except RecipeError as error:
        options_named = " (--beam or --n-best)" if str(error).startswith("n_best") else ""
        raise RecipeError(f"{error}{options_named}") from error
    if aligns and not attends(translator.model):
        raise ModelError("this model has no attention to the source: leave out --alignments")
    return translator


def _count(source: str, errors: ErrorPolicy) -> int | None:
    """The number of sentences; None for a pipe, which can be read only once, and for trees."""
    from yakusu.data.corpus import holds_trees  # loads pydantic

    seekable = Path(source).is_file() and not holds_trees(source)
    return count_lines(source, errors=InvalidLines(errors)) if seekable else None


def _refuse_sentence(source: str, model: str) -> None:
    exists = os.path.exists  # Path.exists fails if a sentence is too long for a path
    if " " in source and not exists(source):
        raise DataError(
            f"'{source}' is not a file: to translate a sentence, use echo {shlex.quote(source)} | "
            f"{command()} translate {shlex.quote(model)}"
        )


def _stdin() -> Iterator[bytes]:
    """Yield the lines of standard input, unbuffered: a thread that reads would hold its lock."""
    if sys.stdin is None:
        raise DataError("standard input is closed: specify a file, or redirect it, as in < FILE")
    raw, rest = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer), b""
    while chunk := raw.read(2**16):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line + b"\n" for line in lines)
    if rest:
        yield rest
