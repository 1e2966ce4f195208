"""The options that name corpora, from which a verb gets one `RecipeFiles`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from yakusu.cli.option_groups import grouped
from yakusu.errors import RecipeError

if TYPE_CHECKING:
    from yakusu.recipe import RecipeFiles

_CORPUS = "Corpus"


def _path(name: str, help: str, panel: str | None = None) -> Any:
    """An option that names a file or a folder."""
    return Annotated[str | None, typer.Option(name, help=help, rich_help_panel=panel)]


def _paths(*names: str, help: str) -> Any:
    """An option that names a file of the corpus, and may be given several times."""
    option = typer.Option(*names, metavar="FILE", help=help, rich_help_panel=_CORPUS)
    return Annotated[list[str] | None, option]


def _held_out(name: str, panel: str) -> dict[str, Any]:
    """The options of a dev or test set."""
    return {
        f"{name}_src": _path(f"--{name}-src", f"Source sentences of the {name} set.", panel),
        f"{name}_tgt": _path(f"--{name}-tgt", f"Translations of --{name}-src.", panel),
        f"{name}_pairs": _path(
            f"--{name}-pairs", f"One file with both sides of the {name} set, as in --pairs.", panel
        ),
    }


_DEV = "Dev set (default: pairs held out of the corpus)"
_COMPARED = "Dev and test sets to compare with the corpus"
_RUN = {"run": _path("--run", "Run folder, which receives all output.")}
_PARENT: dict[str, Any] = {
    "parent": _path("--from", "Model folder to start from, with its sizes and vocabularies."),
    "mix": Annotated[
        float | None,
        typer.Option("--mix", help="Share of the training pairs from the corpus of --from."),
    ],
}
_TEXT = {
    "src": _paths(
        "--src",
        help="Source sentences, one per line. Any file may be compressed (.gz, .bz2, .xz, .zst). "
        "Repeatable.",
    ),
    "tgt": _paths("--tgt", help="Their translations, line by line. Repeatable."),
}
_PAIRS: dict[str, Any] = {
    "pairs": _paths(
        "--pairs",
        "--tsv",
        help="One file with both sides: TMX, XLIFF, PO, TSV, CSV, JSON lines, xlsx, ods or docx. "
        "Repeatable, to combine corpora.",
    ),
    "columns": Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="SRC,TGT",
            help="Source and target in files of pairs: language codes (en,de), or names or "
            "numbers of columns (1,3). Default: the first two columns, or the only two languages.",
            rich_help_panel=_CORPUS,
        ),
    ],
    "errors": Annotated[
        Literal["strict", "skip", "replace"] | None,
        typer.Option(
            "--errors",
            help="What to do with lines that are not UTF-8: refuse the file (strict, the "
            "default), drop their pairs (skip), or read each invalid byte as U+FFFD (replace).",
            rich_help_panel=_CORPUS,
        ),
    ],
    "encoding": Annotated[
        str | None,
        typer.Option(
            "--encoding",
            metavar="NAME",
            help="Encoding of text files that are not UTF-8, such as cp949, or one per side: "
            "cp949,utf-8. Default: detected.",
            rich_help_panel=_CORPUS,
        ),
    ],
}
_TREES = {
    "trees": _path(
        "--trees", "Bracketed trees for a parser: a file, a folder or a glob pattern.", _CORPUS
    )
}
_DEV_TREES = {"dev_trees": _path("--dev-trees", "Trees of the dev set.", _DEV)}


def require_one_form(pairs: str | Path | None, texts: Mapping[str, str | None], name: str) -> None:
    """Refuse a corpus that is given as two files and as one file of pairs.

    Args:
        pairs: Value of the option that names a file of pairs.
        texts: Values of the options or arguments that name the two files, by their names.
        name: Name of the option for pairs.

    Raises:
        RecipeError: Both are given.
    """
    given = " and ".join(f"{option} {path}" for option, path in texts.items() if path)
    if pairs and given:
        raise RecipeError(
            "a corpus is two files or one file of pairs, not both: remove "
            f"{name} {pairs} or {given}"
        )


def _files(values: dict[str, Any]) -> "RecipeFiles":
    for prefix in ("dev_", "test_"):
        src, tgt, pairs = (f"{prefix}{each}" for each in ("src", "tgt", "pairs"))
        texts = {_option(key): values.get(key) for key in (src, tgt)}
        require_one_form(values.get(pairs), texts, _option(pairs))
    return cast("RecipeFiles", values)


def _option(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _test_files(values: dict[str, Any]) -> "RecipeFiles":
    files = _files(values)
    renamed = {name.removeprefix("test_"): value for name, value in files.items()}
    return cast("RecipeFiles", renamed)


takes_files = grouped(
    "files",
    {**_RUN, **_PARENT, **_TEXT, **_PAIRS, **_TREES, **_held_out("dev", _DEV), **_DEV_TREES},
    _files,
)
takes_corpus = grouped(
    "files",
    {**_RUN, **_TEXT, **_PAIRS, **_held_out("dev", "Dev set (default: a teacher's)")},
    _files,
)
takes_pairs = grouped("files", {**_PAIRS, **_held_out("dev", _COMPARED)}, _files)
takes_test_files = grouped("test", _held_out("test", _COMPARED), _test_files)
