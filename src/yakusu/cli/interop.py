"""The verbs that exchange translators with other toolkits."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.filesize import decimal

import yakusu
from yakusu.cli.console import ConsoleProgress, command
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


_Models = Annotated[
    list[str],
    typer.Argument(metavar="MODEL...", help="Model folder; for web, one or several."),
]
_Exported = Annotated[
    str,
    typer.Argument(
        metavar="OUT", help="The folder to write; for web, or a file that ends in .html."
    ),
]
_Target = Annotated[
    Literal["hf", "ctranslate2", "argos", "onnx", "web"],
    typer.Option(
        "--to",
        help="hf: Hugging Face; ctranslate2; argos: a package of Argos Translate; onnx: graphs for "
        "onnxruntime; web: a page that translates offline, and an ES module.",
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
_Sentences = Annotated[
    int | None, typer.Option(min=1, help="Number of these sentences (default: 100).")
]
_TestSrc = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Sentences to measure BLEU of web with (default: the dev set of the training run, if "
        "it is there).",
    ),
]
_TestTgt = Annotated[str | None, typer.Option(metavar="FILE", help="Translations of --test-src.")]


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
    models: _Models,
    out: _Exported,
    to: _Target,
    precision: Rounded = "float32",
    src: Samples = None,
    sentences: _Sentences = None,
    test_src: _TestSrc = None,
    test_tgt: _TestTgt = None,
) -> None:
    """Write a translator as a web page, or for another library, and verify it there.

    The library of the format translates sentences with the written model. If its scores or
    translations differ from those of the original, nothing is left in OUT.

    Example: `yakusu export runs/en-de/model models/en-de-hf --to hf --src test.en`
    """
    if to == "web":
        if src is not None or sentences is not None or precision != "float32":
            raise RunError("--to web takes none of --src, --sentences and --precision: remove them")
        _export_web(models, out, test_src, test_tgt)
        return
    if test_src is not None or test_tgt is not None:
        raise RunError(f"--to {to} takes neither --test-src nor --test-tgt: remove them")
    if len(models) > 1:
        raise RunError(f"--to {to} takes one model: export each to a folder of its own")
    (model,) = models
    found = yakusu.export_model(
        model,
        out,
        to=to,
        precision=precision,
        src=Path(src) if src is not None else None,
        sentences=100 if sentences is None else sentences,
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


def _export_web(
    models: Sequence[str], out: str, test_src: str | None, test_tgt: str | None
) -> None:
    """Write a page, which no other library verifies."""
    made = yakusu.export_web(
        models,
        out,
        test_src=Path(test_src) if test_src is not None else None,
        test_tgt=Path(test_tgt) if test_tgt is not None else None,
        progress=ConsoleProgress(),
    )
    for name, size in made.sizes.items():
        print(f"{name}: {decimal(size)}")
    for each in made.models:
        rounded = f"{each.rounded:,} rows rounded to 8 bits" if each.rounded else "without rounding"
        sizes = f"{decimal(each.weights)} in {each.folder}, {decimal(each.size)} here"
        print(f"{each.name}: {sizes}, {rounded}")
        print(f"{each.name}: {each.scores or 'BLEU not measured'}")
    if len(made.sizes) == 1:
        print(f"next: open {out}")
    else:
        print(f"next: python3 -m http.server -d {out}, and open http://localhost:8000/")


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
