"""The verb `models`: the bundled translators."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

import yakusu
from yakusu.cli.options import Format

_Format = Annotated[Format, typer.Option(help="text, or json.")]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("models")(models_verb)


def models_verb(format: _Format = Format.TEXT) -> None:
    """List the bundled translators, whose names can be used in place of model folders.

    Example: `yakusu translate en-de letter.txt`
    """
    found = yakusu.models()
    if format is Format.JSON:
        print(json.dumps([asdict(model) for model in found], indent=2, default=str))
        return
    for model in found:
        print(f"{model.name}  {model.parameters:,} parameters, {model.bytes / 1e6:.1f} MB")
        for line in (*model.scores, f"trained on {model.attribution}"):
            print(f"    {line}")
