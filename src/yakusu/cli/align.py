"""The verbs `align` and `mine`: two texts -> pairs of sentences."""

from typing import Annotated

import typer

import yakusu
from yakusu.cli.console import ConsoleProgress

_Src = Annotated[str, typer.Argument(metavar="SRC", help="A text or a document.")]
_Tgt = Annotated[str, typer.Argument(metavar="TGT", help="Its translation.")]
_Out = Annotated[
    str,
    typer.Option(
        metavar="PAIRS",
        help="File for the pairs, such as pairs.tsv; what is left out goes to pairs.left.tsv.",
    ),
]
_Language = Annotated[
    str,
    typer.Option(
        metavar="CODE", help="Language of the first text (default: from the end of the file name)."
    ),
]
_OtherLanguage = Annotated[
    str,
    typer.Option(
        metavar="CODE", help="Language of the second text (default: from the end of the file name)."
    ),
]
_MinScore = Annotated[
    float | None,
    typer.Option(
        help="Leave out pairs with a lower score; unrelated sentences score about 0 or less."
    ),
]
_Encoding = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Encoding of text files that are not UTF-8, such as cp949, or one per file: "
        "cp949,utf-8 (default: detected).",
    ),
]
_One = Annotated[str, typer.Argument(metavar="A", help="A text or a document.")]
_Other = Annotated[
    str, typer.Argument(metavar="B", help="A text or a document in the other language.")
]
_Pairs = Annotated[str, typer.Option(metavar="PAIRS", help="File for the pairs (.tsv).")]
_KnownSrc = Annotated[
    str, typer.Option(metavar="FILE", help="Known translations, in the language of A.")
]
_KnownTgt = Annotated[
    str,
    typer.Option(metavar="FILE", help="Their translations, line by line, in the language of B."),
]
_Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Compare TGT with translations of SRC by this model.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("align")(align_verb)
    app.command("mine")(mine_verb)


def align_verb(
    src: _Src,
    tgt: _Tgt,
    out: _Out,
    source_language: _Language = "",
    target_language: _OtherLanguage = "",
    min_score: _MinScore = None,
    model: _Model = None,
    encoding: _Encoding = "",
) -> None:
    """Pair the sentences of a text with those of its translation.

    Both texts must have the same order, but either may lack sentences or divide them differently.
    Lengths and words show which sentences match; neither a dictionary nor a model is needed.

    Example: `yakusu align book.en.docx book.de.docx --out pairs.tsv`

    Example: `yakusu align train.en train.de --out pairs.tsv --min-score 0.2`
    """
    languages = (source_language, target_language)
    print(
        yakusu.align(
            src,
            tgt,
            out,
            languages=languages,
            min_score=min_score,
            model=model,
            encoding=encoding,
            progress=ConsoleProgress(),
        )
    )


def mine_verb(
    one: _One,
    other: _Other,
    out: _Pairs,
    src: _KnownSrc,
    tgt: _KnownTgt,
    source_language: _Language = "",
    target_language: _OtherLanguage = "",
    min_score: Annotated[
        float | None, typer.Option(help="Drop pairs with a lower score (default: 0.7).")
    ] = None,
    encoding: _Encoding = "",
) -> None:
    """Find the sentences of two texts that translate each other, in any order.

    How sentences correspond is learned from known translations, such as the training text of a
    translator.

    Example: `yakusu mine forum.en forum.de --src train.en --tgt train.de --out pairs.tsv`
    """
    print(
        yakusu.mine(
            one,
            other,
            out,
            src=src,
            tgt=tgt,
            languages=(source_language, target_language),
            min_score=min_score,
            encoding=encoding,
            progress=ConsoleProgress(),
        )
    )
