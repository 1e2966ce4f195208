"""Arguments and options that several verbs have."""

from typing import Annotated

import typer

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model folder.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, or auto: a GPU where there is one.")]
