"""The verb `check`: what a corpus holds, before training on it."""

from enum import StrEnum
from typing import Annotated

import typer

from yakusu.cli.console import ConsoleProgress
from yakusu.errors import DataError


class Format(StrEnum):
    """How the report is printed."""

    TEXT = "text"
    JSON = "json"


Src = Annotated[
    str | None,
    typer.Argument(metavar="SRC", help="Source sentences, one per line (default: data.train)."),
]
Tgt = Annotated[str | None, typer.Argument(metavar="TGT", help="Their translations, line by line.")]
DevSrc = Annotated[str | None, typer.Option(help="Source sentences of the dev set.")]
DevTgt = Annotated[str | None, typer.Option(help="Translations of --dev-src.")]
TestSrc = Annotated[str | None, typer.Option(help="Source sentences of the test set.")]
TestTgt = Annotated[str | None, typer.Option(help="Translations of --test-src.")]
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
    dev_src: DevSrc = None,
    dev_tgt: DevTgt = None,
    test_src: TestSrc = None,
    test_tgt: TestTgt = None,
    recipe: RecipeName = "base",
    set_: Set = None,
    format: OutputFormat = Format.TEXT,
) -> None:
    """Report what is in a corpus and what training would drop, without training.

    Counts the pairs that each filter drops, suspicious lines, repetitions, lengths, characters and
    languages, and the sentences that the training, dev and test sets have in common.

    Example: `yakusu check train.en train.de --test-src test.en --test-tgt test.de`
    """
    if bool(test_src) != bool(test_tgt):
        raise DataError("--test-src and --test-tgt belong together: specify both")
    import yakusu
    from yakusu.data.corpus import Corpus  # loads pydantic

    loaded = yakusu.load_recipe(
        recipe, set_ or (), src=src, tgt=tgt, dev_src=dev_src, dev_tgt=dev_tgt
    )
    test = Corpus(src=test_src, tgt=test_tgt) if test_src and test_tgt else None
    report = yakusu.check(loaded, test=test, progress=ConsoleProgress())
    print(report.model_dump_json(indent=2) if format is Format.JSON else report)
