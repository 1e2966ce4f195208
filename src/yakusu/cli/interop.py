"""The verbs that exchange translators with other toolkits."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.filesize import decimal

import yakusu
from yakusu.cli.console import ConsoleProgress, command
from yakusu.cli.options import Model
from yakusu.errors import RunError

if TYPE_CHECKING:
    from yakusu.translator.folder.folder import TranslatorConfig

Folder = Annotated[
    str,
    typer.Argument(
        metavar="FOLDER",
        help="Folder of a Marian model, such as Opus-MT (Hugging Face, or model.npz), or of "
        "CTranslate2; or an .argosmodel file.",
    ),
]
_Out = Annotated[str, typer.Argument(metavar="OUT", help="The model folder to write.")]
_SourceLanguage = Annotated[
    str | None,
    typer.Option(metavar="CODE", help="Source language (default: as the model says)."),
]
_TargetLanguage = Annotated[
    str | None,
    typer.Option(metavar="CODE", help="Target language (default: as the model says)."),
]


_Exported = Annotated[str, typer.Argument(metavar="OUT", help="The folder to write.")]
_Target = Annotated[
    Literal["hf", "ctranslate2", "argos", "onnx", "web"],
    typer.Option(
        "--to",
        help="hf: Hugging Face; ctranslate2; argos: a package of Argos Translate; onnx: graphs for "
        "onnxruntime; web: an ES module for browsers and node.",
    ),
]
Rounded = Annotated[
    Literal["float32", "int8"],
    typer.Option(help="int8 rounds the weights of ctranslate2 and argos to 8 bits."),
]
Samples = Annotated[
    str | None,
    typer.Option(
        "--src",
        help="Sentences to translate with both, one per line (default: random pieces of the "
        "vocabulary).",
    ),
]
_Sentences = Annotated[int, typer.Option(min=1, help="Number of these sentences.")]


def add_to(app: typer.Typer) -> None:
    """Add these verbs to the command line."""
    app.command("import")(import_verb)
    app.command("export")(export_verb)


def import_verb(
    folder: Folder,
    out: _Out,
    source_language: _SourceLanguage = None,
    target_language: _TargetLanguage = None,
) -> None:
    """Make a translator from a model of Marian, such as Opus-MT, CTranslate2 or Argos Translate.

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
    codes = made.config.source_language, made.config.target_language
    stored = shlex.quote(str(made.folder))
    if not all(codes):
        storing = f"{command()} card {stored} --source CODE --target CODE"
        print(f"languages: unknown: store them with {storing}")
    print(f"next: echo 'A sentence.' | {command()} translate {stored}")


def export_verb(
    model: Model,
    out: _Exported,
    to: _Target,
    precision: Rounded = "float32",
    src: Samples = None,
    sentences: _Sentences = 100,
) -> None:
    """Write a translator in the format of another library, and verify it there.

    The library of the format translates sentences with the written model. If its scores or
    translations differ from those of the original, nothing is left in OUT.

    Example: `yakusu export runs/en-de/model models/en-de-hf --to hf --src test.en`
    """
    if to == "web":
        _export_web(model, out, precision, src)
        return
    found = yakusu.export_model(
        model,
        out,
        to=to,
        precision=precision,
        src=Path(src) if src is not None else None,
        sentences=sentences,
        progress=ConsoleProgress(),
    )
    n = found.sentences
    tested = f"{n:,} sentence{'s' * (n != 1)}"
    print(f"largest difference of {found.compared}: {found.difference:.1e}, in {tested}")
    for what, searched in ("greedy search", found.greedy), ("beam 4", found.beam):
        others = "different" if precision == "int8" else "of equal score"
        ties = f", {searched.ties:,} {others}" if searched.ties else ""
        print(f"identical translations, {what}: {searched.identical:,} of {n:,}{ties}")
    reason = " (the searches differ)" if found.shipped < n and precision == "float32" else ""
    print(f"identical translations, the model's own settings: {found.shipped:,} of {n:,}{reason}")
    print(f"model: {out}")


def _export_web(model: str, out: str, precision: str, src: str | None) -> None:
    """Write an ES module, which no other library verifies."""
    if src is not None or precision != "float32":
        raise RunError("--to web takes neither --src nor --precision: remove them")
    made = yakusu.export_web(model, out)
    for name, size in made.sizes.items():
        print(f"{name}: {decimal(size)}")
    rounded = f", {made.rounded:,} rows rounded to 8 bits" if made.rounded else ", without rounding"
    print(f"weights: {decimal(made.weights)} in {model}{rounded}")
    print(f"module: {Path(out) / 'yakusu.js'}")


def _described(config: "TranslatorConfig") -> str:
    """Return the languages and sizes of a Transformer."""
    from yakusu.model.config import TransformerConfig

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
