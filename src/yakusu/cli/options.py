"""Arguments and options shared by several verbs."""

from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"


Model = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="Model folder, or a bundled model."),
]
Device = Annotated[
    str, typer.Option(help="cpu, cuda, or auto: a GPU if there is one, otherwise the CPU.")
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="CODE", help="Target language, if several."),
]
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Ignore case.")]
