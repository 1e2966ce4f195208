"""The options for words in files of vectors, shared by the verbs that read such files."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

import yakusu
from yakusu.cli.console import ConsoleProgress

if TYPE_CHECKING:
    from yakusu.vectors import WordVectors

WordList = Annotated[
    str | None, typer.Option(help="File with one word per line, for a matrix without words.")
]
WordEncoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Encoding of the words, such as latin-1 (default: UTF-8)."),
]
WordErrors = Annotated[
    Literal["strict", "skip"] | None,
    typer.Option(
        help="What to do with words in another encoding: refuse the file (strict, the default), or "
        "leave them out (skip)."
    ),
]


def read_as_told(
    source: str,
    words: str | None,
    encoding: str | None,
    errors: Literal["strict", "skip"] | None,
) -> "str | WordVectors":
    """Read vectors with the options for their words; return the path if there are none."""
    if encoding is None and errors is None:
        return source
    return yakusu.vectors.read_vectors(
        source,
        words=words,
        encoding=encoding or "utf-8",
        errors=errors or "strict",
        progress=ConsoleProgress(),
    )
