"""The verb `card`: the languages of a model, and its memory."""

from pathlib import Path
from typing import Annotated

import typer

import yakusu
from yakusu.cli.options import Model
from yakusu.errors import DataError

_SourceCode = Annotated[
    str | None, typer.Option("--source", metavar="CODE", help="Source language, such as en.")
]
_TargetCode = Annotated[
    str | None, typer.Option("--target", metavar="CODE", help="Target language, such as ko.")
]

_Memory = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Translation memory to use if none is given."),
]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("card")(card_verb)


def card_verb(
    model: Model,
    source: _SourceCode = None,
    target: _TargetCode = None,
    memory: _Memory = None,
) -> None:
    """Store language codes or a memory in a model folder, and renew its hashes.

    Codes are understood in any spelling: jpn, ja_JP and ja are Japanese. The weights stay as they
    are.

    Example: `yakusu card runs/en-ko/model --source en --target ko`
    """
    if not (source or target or memory):
        raise DataError(
            "there is nothing to change: add --source CODE, --target CODE or --memory FILE"
        )
    config = yakusu.card(model, source=source or "", target=target or "", memory=memory)
    codes = config.source_language, config.target_language
    print(f"languages: {' to '.join(code or 'unknown' for code in codes)}")
    if memory:
        print(f"memory: {memory}")
    print(f"model: {model}")
