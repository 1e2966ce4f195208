"""The verb `card`: the languages of a model, its memory and its lexicon."""

from pathlib import Path
from typing import Annotated

import typer

import yakusu
from yakusu.cli.options import Model
from yakusu.data.corpus import Corpus
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
_Src = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Source sentences, preferably the training text, from which the lexicon for "
        "`translate --shortlist` is learned.",
    ),
]
_Tgt = Annotated[str | None, typer.Option(metavar="FILE", help="Translations of --src.")]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("card")(card_verb)


def card_verb(
    model: Model,
    source: _SourceCode = None,
    target: _TargetCode = None,
    memory: _Memory = None,
    src: _Src = None,
    tgt: _Tgt = None,
) -> None:
    """Store language codes, a memory or a lexicon in a model folder, and renew its hashes.

    Codes are understood in any spelling: jpn, ja_JP and ja are Japanese. The weights stay as they
    are.

    Example: `yakusu card runs/en-ko/model --source en --target ko`
    """
    if bool(src) != bool(tgt):
        raise DataError("a lexicon is learned from pairs: specify both --src and --tgt")
    if not (source or target or memory or src):
        raise DataError(
            "there is nothing to change: add --source CODE, --target CODE, --memory FILE, or --src "
            "FILE and --tgt FILE"
        )
    lexicon = None
    if src and tgt:
        from yakusu.pipeline.shortlist import add_shortlist  # loads a model's engine

        lexicon = add_shortlist(model, Corpus(src=src, tgt=tgt))
    config = yakusu.card(model, source=source or "", target=target or "", memory=memory)
    codes = config.source_language, config.target_language
    print(f"languages: {' to '.join(code or 'unknown' for code in codes)}")
    if memory:
        print(f"memory: {memory}")
    if lexicon:
        print(f"lexicon: {len(lexicon.targets):,} token translations")
    print(f"model: {model}")
