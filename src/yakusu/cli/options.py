"""Arguments and options shared by several verbs."""

from typing import Annotated

import typer

Model = Annotated[str, typer.Argument(metavar="MODEL", help="Model folder.")]
Device = Annotated[
    str, typer.Option(help="cpu, cuda, or auto: a GPU if there is one, otherwise the CPU.")
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="CODE", help="Target language, if several."),
]
Lowercase = Annotated[bool, typer.Option("--lowercase", help="Ignore case.")]
