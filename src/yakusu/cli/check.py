"""The verb `check`: what a corpus holds, before training on it."""

from enum import StrEnum
from typing import Annotated, Literal

import typer

import yakusu
from yakusu.cli.console import ConsoleProgress


class Format(StrEnum):
    """How the report is printed."""

    TEXT = "text"
    JSON = "json"


_CORPUS, _HELD_OUT = "Corpus", "Dev and test set"
Src = Annotated[
    str | None,
    typer.Argument(
        metavar="SRC", help="Source sentences, one per line (default: data.train of the recipe)."
    ),
]
Tgt = Annotated[str | None, typer.Argument(metavar="TGT", help="Their translations, line by line.")]
Pairs = Annotated[
    str | None,
    typer.Option(
        help="One file with both sides, instead of SRC and TGT: TMX, XLIFF, PO, TSV or CSV.",
        rich_help_panel=_CORPUS,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="SRC,TGT",
        help="Source and target in files of pairs: language codes (en,de), or names or numbers of "
        "columns (1,3).",
        rich_help_panel=_CORPUS,
    ),
]
Errors = Annotated[
    Literal["strict", "skip", "replace"] | None,
    typer.Option(
        help="Lines that are not UTF-8: refuse the file (strict, the default), leave out their "
        "pairs (skip), or read U+FFFD for each invalid byte (replace).",
        rich_help_panel=_CORPUS,
    ),
]
DevSrc = Annotated[
    str | None, typer.Option(help="Source sentences of the dev set.", rich_help_panel=_HELD_OUT)
]
DevTgt = Annotated[
    str | None, typer.Option(help="Translations of --dev-src.", rich_help_panel=_HELD_OUT)
]
DevPairs = Annotated[
    str | None,
    typer.Option(help="One file with both sides of the dev set.", rich_help_panel=_HELD_OUT),
]
TestSrc = Annotated[
    str | None, typer.Option(help="Source sentences of the test set.", rich_help_panel=_HELD_OUT)
]
TestTgt = Annotated[
    str | None, typer.Option(help="Translations of --test-src.", rich_help_panel=_HELD_OUT)
]
TestPairs = Annotated[
    str | None,
    typer.Option(help="One file with both sides of the test set.", rich_help_panel=_HELD_OUT),
]
RecipeName = Annotated[
    str, typer.Option(help="Recipe with the filters: a TOML file or a packaged recipe.")
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override a key of the recipe, such as filters.max_ratio=3. Repeatable.",
    ),
]
OutputFormat = Annotated[Format, typer.Option("--format", help="text, or json: one object.")]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(check)


def check(
    src: Src = None,
    tgt: Tgt = None,
    pairs: Pairs = None,
    columns: Columns = None,
    errors: Errors = None,
    dev_src: DevSrc = None,
    dev_tgt: DevTgt = None,
    dev_pairs: DevPairs = None,
    test_src: TestSrc = None,
    test_tgt: TestTgt = None,
    test_pairs: TestPairs = None,
    recipe: RecipeName = "base",
    set_: Set = None,
    format: OutputFormat = Format.TEXT,
) -> None:
    """Report what is in a corpus and what training would drop, without training.

    Counts the pairs that each filter drops, suspicious lines, repetitions, lengths, characters and
    languages, and the sentences that the training, dev and test sets have in common.

    Example: `yakusu check train.en train.de --test-src test.en --test-tgt test.de`

    Example: `yakusu check --pairs memory.tmx --columns en,de`
    """
    loaded = yakusu.load_recipe(
        recipe,
        set_ or (),
        src=src,
        tgt=tgt,
        pairs=pairs,
        columns=columns if pairs or dev_pairs or not test_pairs else None,
        errors=errors,
        dev_src=dev_src,
        dev_tgt=dev_tgt,
        dev_pairs=dev_pairs,
    )
    held_out = yakusu.load_recipe(  # a second recipe, because the first has no key for a test set
        "base",
        src=test_src,
        tgt=test_tgt,
        pairs=test_pairs,
        columns=columns if test_pairs else None,
        errors=errors,
    )
    report = yakusu.check(loaded, test=held_out.data.train, progress=ConsoleProgress())
    print(report.model_dump_json(indent=2) if format is Format.JSON else report)
