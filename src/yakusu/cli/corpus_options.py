"""The options that name the files of a run, from which a verb gets one `RecipeFiles`."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from yakusu.cli.option_groups import grouped

if TYPE_CHECKING:
    from yakusu.recipe import RecipeFiles

_CORPUS, _DEV = "Corpus", "Dev set (default: pairs held out of the corpus)"
_OPTIONS: dict[str, Any] = {
    "run": Annotated[
        str | None, typer.Option("--run", help="Run folder, which receives all output.")
    ],
    "src": Annotated[
        str | None,
        typer.Option(
            "--src",
            help="Source sentences, one per line. Any file may be compressed (.gz, .bz2, .xz, "
            ".zst).",
            rich_help_panel=_CORPUS,
        ),
    ],
    "tgt": Annotated[
        str | None,
        typer.Option("--tgt", help="Their translations, line by line.", rich_help_panel=_CORPUS),
    ],
    "pairs": Annotated[
        str | None,
        typer.Option(
            "--pairs",
            "--tsv",
            help="One file with both sides, instead of --src and --tgt: TMX, XLIFF, PO, TSV or "
            "CSV.",
            rich_help_panel=_CORPUS,
        ),
    ],
    "columns": Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="SRC,TGT",
            help="Source and target in --pairs: language codes (en,de), or names or numbers of "
            "columns (1,3). Default: the first two columns, or the only two languages.",
            rich_help_panel=_CORPUS,
        ),
    ],
    "errors": Annotated[
        Literal["strict", "skip", "replace"] | None,
        typer.Option(
            "--errors",
            help="Lines that are not UTF-8: refuse the file (strict, the default), leave out "
            "their pairs (skip), or read U+FFFD for each invalid byte (replace).",
            rich_help_panel=_CORPUS,
        ),
    ],
    "trees": Annotated[
        str | None,
        typer.Option(
            "--trees",
            help="Bracketed trees for a parser: a file, a folder or a pattern.",
            rich_help_panel=_CORPUS,
        ),
    ],
    "dev_src": Annotated[
        str | None,
        typer.Option("--dev-src", help="Source sentences of the dev set.", rich_help_panel=_DEV),
    ],
    "dev_tgt": Annotated[
        str | None,
        typer.Option("--dev-tgt", help="Translations of --dev-src.", rich_help_panel=_DEV),
    ],
    "dev_pairs": Annotated[
        str | None,
        typer.Option(
            "--dev-pairs",
            help="One file with both sides, as --pairs; --columns applies to both.",
            rich_help_panel=_DEV,
        ),
    ],
    "dev_trees": Annotated[
        str | None,
        typer.Option("--dev-trees", help="Trees of the dev set.", rich_help_panel=_DEV),
    ],
}


def _files(values: dict[str, Any]) -> "RecipeFiles":
    return cast("RecipeFiles", values)


takes_files = grouped("files", _OPTIONS, _files)
