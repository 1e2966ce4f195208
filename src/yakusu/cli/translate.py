"""The verb `translate`: a file or standard input, sentence by sentence."""

import os
import shlex
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from yakusu.cli.console import ConsoleProgress, command, err
from yakusu.cli.options import Device, Model
from yakusu.data.text import ReadAhead, count_lines, decode_lines
from yakusu.errors import DataError

if TYPE_CHECKING:
    from yakusu.translator import Translation


Source = Annotated[
    str, typer.Argument(metavar="SOURCE", help="Text file, or - for standard input.")
]
Ensemble = Annotated[
    list[str] | None,
    typer.Option(metavar="MODEL", help="Additional model; probabilities are averaged. Repeatable."),
]
Beam = Annotated[
    int | None, typer.Option(min=1, max=256, help="Beam width (default: the model's setting).")
]
Alpha = Annotated[
    float | None,
    typer.Option(min=0, help="Exponent of the length penalty (default: the model's setting)."),
]
NBest = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of translations per sentence, tab-separated with their scores "
        "(default: the model's setting).",
    ),
]
Batch = Annotated[int, typer.Option(min=1, help="Number of sentences translated together.")]
Window = Annotated[
    int | None,
    typer.Option(
        min=1, help="Number of sentences read ahead and sorted by length (default: 32 batches)."
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command()(translate)


def translate(
    model: Model,
    source: Source = "-",
    ensemble: Ensemble = None,
    beam: Beam = None,
    alpha: Alpha = None,
    n_best: NBest = None,
    batch: Batch = 64,
    window: Window = None,
    device: Device = "cpu",
) -> None:
    """Translate a file or standard input, one sentence per line.

    Translations go to standard output, the speed to standard error.

    Example: `yakusu translate runs/en-de/model news.en > news.de`
    """
    _refuse_sentence(source, model)
    from yakusu.data.corpus import holds_trees  # loads pydantic
    from yakusu.pipeline.translate import open_translator, sentences_for  # loads torch

    arriving = ReadAhead(decode_lines(_stdin(), "standard input"))
    translator = open_translator(
        model, ensemble=ensemble or (), beam=beam, alpha=alpha, n_best=n_best, device=device
    )
    place = arriving if source == "-" else Path(source)
    sentences = sentences_for(translator, place, name=model)
    found = translator.stream(sentences, batch=batch, window=window)
    seekable = Path(source).is_file() and not holds_trees(source)  # a pipe can be read only once
    total = count_lines(source) if seekable else None
    _print_all(found, total, plain=translator.search.n_best == 1)


def _refuse_sentence(source: str, model: str) -> None:
    exists = os.path.exists  # Path.exists fails if a sentence is too long for a path
    if " " in source and not exists(source):
        raise DataError(
            f"'{source}' is not a file: to translate a sentence, use echo {shlex.quote(source)} | "
            f"{command()} translate {shlex.quote(model)}"
        )


def _print_all(found: "Iterable[list[Translation]]", total: int | None, *, plain: bool) -> None:
    """Print translations as they are found, then the speed."""
    start, n_sentences, n_tokens = time.monotonic(), 0, 0
    progress = ConsoleProgress(bars=not sys.stdout.isatty())
    with progress.track("translating", "sentences", total) as tracker:
        for number, best in enumerate(found, start=1):
            n_sentences, n_tokens = number, n_tokens + best[0].n_tokens
            lines = [t.text if plain else f"{number}\t{t.score:.4f}\t{t.text}" for t in best]
            print("\n".join(lines), flush=True)
            tracker.advance()
    seconds = time.monotonic() - start
    err.print(
        f"{n_sentences:,} sentence{'s' * (n_sentences != 1)} in {seconds:.1f} s: "
        f"{n_sentences / seconds:.1f} sentences/s, {n_tokens / seconds:,.0f} target tokens/s"
    )


def _stdin() -> Iterator[bytes]:
    """Yield the lines of standard input, unbuffered: a thread that reads would hold its lock."""
    if sys.stdin is None:
        raise DataError("standard input is closed: specify a file, or redirect it, as in < FILE")
    raw, rest = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer), b""
    while chunk := raw.read(2**16):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line + b"\n" for line in lines)
    if rest:
        yield rest
