"""The verb `translate`: standard input, a text file, documents, or shards of a corpus."""

import os
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from yakusu.cli.console import command, say
from yakusu.cli.documents import DocumentOutput, DocumentOutputOptions, takes_document_options
from yakusu.cli.engine_options import takes_hidden_engine_options
from yakusu.cli.lines import LineOptions, Lines, takes_line_options
from yakusu.cli.options import Model
from yakusu.cli.search_options import takes_search_options
from yakusu.cli.shards import RayCommand, RayOptions, ShardOutput, takes_ray_options
from yakusu.cli.text_options import takes_text_options
from yakusu.errors import DataError, ModelError, RecipeError

if TYPE_CHECKING:
    from yakusu.data.files.text import ErrorPolicy
    from yakusu.data.lines.config import TextConfig
    from yakusu.engine.config import EngineConfig
    from yakusu.pipeline.shards.parts import ShardConfig
    from yakusu.search.config import SearchConfig
    from yakusu.translator import Translator

_SPEED = "Models and speed"

Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SOURCE",
        help="Text file, or - (default): standard input; with --out, a document or a folder; with "
        "--ray, files and folders.",
    ),
]
_Out = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Document or folder to write; of a PDF, .md or .docx."),
]
_Ensemble = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODEL",
        help="Additional model; probabilities are averaged. Repeatable.",
        rich_help_panel=_SPEED,
        hidden=True,
    ),
]
_Batch = Annotated[
    int,
    typer.Option(
        min=1,
        help="Maximum number of sentences translated together; with the CPU engine, in each "
        "thread.",
        rich_help_panel=_SPEED,
        hidden=True,
    ),
]
_Window = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of lines, or texts of a document, read ahead (default: 32 batches, and at "
        "least 512).",
        rich_help_panel=_SPEED,
        hidden=True,
    ),
]
_Strict = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Write nothing, and exit with code 2, if a sentence would be kept because its "
        "translation has other numbers or code-like tokens.",
        rich_help_panel="Text processing",
        hidden=True,
    ),
]
_MORE = (
    "More options (engine, length, repetition, sampling, Ray): `yakusu translate "
    "--help-all`. Search options default to the model's settings; see docs/search.md."
)


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    verb = takes_document_options(takes_hidden_engine_options(translate_verb))
    verb = takes_text_options(takes_line_options(verb))
    app.command("translate", epilog=_MORE, cls=RayCommand)(
        takes_search_options(takes_ray_options(verb))
    )


def translate_verb(
    model: Model,
    sources: Sources = None,
    out: _Out = None,
    ensemble: _Ensemble = None,
    batch: _Batch = 64,
    window: _Window = None,
    strict: _Strict = False,
    *,
    engine: "EngineConfig",
    documents: DocumentOutputOptions,
    lines: LineOptions,
    options: "SearchConfig",
    text: "TextConfig",
    ray: RayOptions,
) -> None:
    """Translate standard input, a text file, a document or a folder of documents.

    Without --out, the translation of each line goes to standard output.

    Example: `yakusu translate runs/en-de/model guide.html --out guide.de.html`
    """
    models = _Models((model, *(ensemble or ())), options, text, engine)
    if ray.address is not None:
        shards = ShardOutput(ray.address, out, sources or ())
        engine = shards.checked(_not_for_shards(lines, documents, options, strict=strict), engine)
        models = models._replace(engine=engine)
        config = models.shard_config(batch, window, errors=lines.errors, column=ray.column)
        shards.translate(models.open(), config)
        return
    ray.check()
    source = _single(sources or ["-"])
    _refuse_sentence(source, model)
    if strict and (not text.check or text.version == 1):
        name = "--text-version 1" if text.check else "--no-check"
        raise DataError(f"{name} turns off the comparison that --strict needs: omit one of them")
    if out is not None:
        output = DocumentOutput(out, documents)
        output.check(source, _not_for_documents(lines, options, text))
        output.translate(models.open, source, strict=strict, batch=batch, window=window)
    else:
        lines.check(source)
        documents.refuse()
        Lines(source, lines, model, strict=strict).translate(
            models.open(), batch=batch, window=window
        )


class _Models(NamedTuple):
    """Model folders, more than one for an ensemble, and how they translate."""

    folders: tuple[str, ...]
    options: "SearchConfig"
    text: "TextConfig"
    engine: "EngineConfig"

    def open(self) -> "Translator":
        """Open the models."""
        from yakusu.pipeline.translate import open_translator

        first, *others = self.folders
        try:
            translator = open_translator(
                first, self.options, text=self.text, ensemble=others, engine=self.engine
            )
        except RecipeError as error:
            options_named = " (--beam or --n-best)" if str(error).startswith("n_best") else ""
            raise RecipeError(f"{error}{options_named}") from error
        if translator.task.constrains and "max_repeats" in self.options.model_fields_set:
            raise ModelError(
                "--max-repeats does not apply to a parser, because trees repeat brackets: remove it"
            )
        if translator.targets and not self.text.to:
            targets = ", ".join(translator.targets)
            say(f"translating to {translator.languages[1]}; --to selects one of {targets}")
        return translator

    def shard_config(
        self, batch: int, window: int | None, *, errors: "ErrorPolicy | None", column: str | None
    ) -> "ShardConfig":
        """How the models translate shards."""
        from yakusu.pipeline.shards.parts import ShardConfig  # loads numpy

        return ShardConfig(
            self.folders,
            self.options,
            self.text,
            self.engine,
            batch=batch,
            window=window,
            errors=errors or "replace",
            column=column,
        )


def _not_for_documents(
    lines: LineOptions, options: "SearchConfig", text: "TextConfig"
) -> Iterator[str]:
    """The options that were given and that apply to lines only."""
    yield from lines.given
    if options.n_best > 1:
        yield "--n-best"
    if text.one_sentence_per_line:
        yield "--one-sentence-per-line"


def _not_for_shards(
    lines: LineOptions, documents: DocumentOutputOptions, options: "SearchConfig", *, strict: bool
) -> Iterator[str]:
    """The options that were given and that do not apply to shards."""
    if strict:
        yield "--strict"
    yield from (name for name in lines.given if name != "--errors")
    if options.n_best > 1:
        yield "--n-best"
    yield from documents.given


def _single(sources: Sequence[str]) -> str:
    """The only source."""
    source, *others = sources
    if others:
        raise DataError(
            f"{source} and {others[0]} are two sources: translate one at a time, or many with --ray"
        )
    return source


def _refuse_sentence(source: str, model: str) -> None:
    exists = os.path.exists  # Path.exists fails if a sentence is too long for a path
    if " " in source and not exists(source):
        raise DataError(
            f"'{source}' is not a file: to translate a sentence, use echo {shlex.quote(source)} | "
            f"{command()} translate {shlex.quote(model)}"
        )
