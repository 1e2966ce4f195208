"""The verb `compress`, for translators, and the options that it shares with `vectors compress`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.filesize import decimal

import yakusu
from yakusu.cli.console import ConsoleProgress, say
from yakusu.cli.options import Model
from yakusu.errors import DataError

if TYPE_CHECKING:
    from yakusu.compress.config import CompressConfig
    from yakusu.pipeline.compress import CompressedTranslator

ConfigFile = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE", help="TOML file with a section [compress]."),
]
CompressOverrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="compress.KEY=VALUE", help="Override a setting. Repeatable."),
]
Method = Annotated[
    str | None, typer.Option(help="codes (the paper's method, default) or integers.")
]
Ratio = Annotated[float | None, typer.Option(help="Minimum compression ratio.")]
Bits = Annotated[float | None, typer.Option(help="Maximum number of code bits per vector.")]
MaxLoss = Annotated[
    float | None, typer.Option(help="Maximum loss, as a share of the variance (0 to 1).")
]

_LARGE_LOSS = 0.02  # share of the variance; with codes that lost 4%, Multi30k lost 3 BLEU


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("compress")(compress_verb)


def compress_verb(
    model: Model,
    out: Annotated[str, typer.Argument(metavar="OUT", help="The model folder to write.")],
    method: Method = None,
    ratio: Ratio = None,
    bits: Bits = None,
    max_loss: MaxLoss = None,
    int8: Annotated[
        bool,
        typer.Option(
            "--int8",
            help="Store all other matrices with 8 bits per weight; trained models already do.",
        ),
    ] = False,
    config: ConfigFile = None,
    settings: CompressOverrides = None,
    src: Annotated[
        str | None,
        typer.Option(help="Sentences to translate before and after compression, for BLEU."),
    ] = None,
    ref: Annotated[str | None, typer.Option(help="Reference translations of --src.")] = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case in BLEU.")] = False,
) -> None:
    """Compress the embeddings of a translator, without training.

    --ratio, --bits or --max-loss determines the sizes of codes, or the step size of integers. All
    other settings are read from section [compress] of a TOML file (--config) or set with --set; see
    docs/compress.md. Codes with compress.exact=0 are the paper's method.

    Example: `yakusu compress runs/en-de/model small --method integers --ratio 8`
    """
    if (src is None) != (ref is None):
        raise DataError("--src and --ref belong together: provide both or neither")
    options = {"method": method, "ratio": ratio, "bits": bits, "max_loss": max_loss}
    made = yakusu.compress_translator(
        model,
        out,
        config=compress_config(config, settings, options | {"int8": int8 or None}),
        src=Path(src) if src is not None else None,
        references=Path(ref) if ref is not None else None,
        lowercase=lowercase,
        progress=ConsoleProgress(),
    )
    _print_result(model, made)


def compress_config(
    path: str | None,
    settings: Sequence[str] | None,
    options: dict[str, str | float | bool | None],
) -> "CompressConfig":
    """Return the settings of a file, overridden by --set, then by options that are not None."""
    given = {name: value for name, value in options.items() if value is not None}
    return yakusu.compress.load_compress_config(path, settings or (), options=given)


def _print_result(model: str, made: "CompressedTranslator") -> None:
    from yakusu.pipeline.compress import memory_of

    for table in made.tables:
        print(table)
    if max(table.loss for table in made.tables) > _LARGE_LOSS and not made.scores:
        say(
            f"a table loses more than {_LARGE_LOSS:.0%} of its variance, which can spoil "
            "translations: measure BLEU with --src and --ref; to lose less, set --method integers "
            "or a smaller --ratio",
            "warning:",
        )
    print(f"weights on disk: {_change(made.file_bytes)}")
    if made.file_bytes[1] > made.file_bytes[0]:
        print(
            "the result is larger than the original (a trained model has 8 bits per weight): set a "
            "larger --ratio, and compress both stacks of tied tables"
        )
    before, after = memory_of(model), memory_of(made.folder)
    precisions = f" in {before.precision}", f" in {after.precision}"
    change = _change((before.n_bytes, after.n_bytes), precisions)
    print(f"memory to load and translate: {change}")
    if made.scores:
        print(f"before: {made.scores[0]}\nafter:  {made.scores[1]}")
    print(f"model: {made.folder}")


def _change(sizes: tuple[int, int], kinds: tuple[str, str] = ("", "")) -> str:
    before, after = (max(1, size) for size in sizes)
    return f"{decimal(before)}{kinds[0]} -> {decimal(after)}{kinds[1]} ({after / before:.0%})"
