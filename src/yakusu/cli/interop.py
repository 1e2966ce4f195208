"""The verbs that exchange translators with other toolkits."""

import shlex
from typing import TYPE_CHECKING, Annotated

import typer
from rich.filesize import decimal

import yakusu
from yakusu.cli.console import command

if TYPE_CHECKING:
    from yakusu.translator.folder import TranslatorConfig

Folder = Annotated[
    str,
    typer.Argument(
        metavar="FOLDER",
        help="Folder of a Marian model, such as Opus-MT: with config.json (Hugging Face), or with "
        "model.npz and its vocabularies.",
    ),
]
Out = Annotated[str, typer.Argument(metavar="OUT", help="The model folder to write.")]
SourceLanguage = Annotated[
    str | None,
    typer.Option(metavar="CODE", help="Source language (default: as the model says)."),
]
TargetLanguage = Annotated[
    str | None,
    typer.Option(metavar="CODE", help="Target language (default: as the model says)."),
]


def add_to(app: typer.Typer) -> None:
    """Add these verbs to the command line."""
    app.command("import")(import_model)


def import_model(
    folder: Folder,
    out: Out,
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
) -> None:
    """Make a translator from a Marian model, such as Opus-MT.

    Example: `yakusu import opus-mt-en-de models/en-de`
    """
    made = yakusu.import_model(
        folder,
        out,
        source_language=source_language or "",
        target_language=target_language or "",
    )
    print(f"imported: {made.origin.format}, {made.origin.name or 'without a name'}")
    print(f"model: {_described(made.config)}")
    print(f"weights: {made.parameters:,} parameters, {decimal(4 * made.parameters)} as float32")
    print(f"licence: {made.origin.licence or 'unknown: ask its authors'}")
    print(f"next: echo 'A sentence.' | {command()} translate {shlex.quote(str(made.folder))}")


def _described(config: "TranslatorConfig") -> str:
    """Return the languages and sizes of a Transformer."""
    from yakusu.model.config import TransformerConfig  # loads pydantic

    codes = config.source_language, config.target_language
    languages = " to ".join(code or "unknown" for code in codes)
    sizes, model = {config.src_vocab_size - 1, config.tgt_vocab_size - 1}, config.model
    tokens = " and ".join(f"{size:,}" for size in sorted(sizes))
    assert isinstance(model, TransformerConfig)
    layers = " + ".join(map(str, model.depths))
    return (
        f"{languages}, {layers} layers, d_model {model.d_model}, d_ff {model.d_ff}, "
        f"{model.n_heads} heads, {tokens} tokens"
    )
