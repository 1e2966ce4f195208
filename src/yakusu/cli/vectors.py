"""The verbs for vectors; those of stores, `export` and `evaluate` are in other modules."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

import yakusu
from yakusu.cli.compress import (
    Bits,
    CompressOverrides,
    ConfigFile,
    MaxLoss,
    Method,
    Ratio,
    compress_config,
)
from yakusu.cli.console import ConsoleProgress
from yakusu.cli.show import counted
from yakusu.cli.vectors_evaluate import vectors_evaluate_verb
from yakusu.cli.vectors_export import vectors_export_verb
from yakusu.cli.vectors_store import (
    vectors_compact_verb,
    vectors_delete_verb,
    vectors_index_verb,
    vectors_search_verb,
)
from yakusu.cli.vectors_words import WordEncoding, WordErrors, WordList, read_as_told
from yakusu.errors import DataError

if TYPE_CHECKING:
    from yakusu.compress.config import CompressConfig
    from yakusu.vectors.static.verbs import StaticReport
    from yakusu.vectors.verbs import Facts, Report

vectors = typer.Typer(
    name="vectors",
    help="Compress, inspect, score and search vectors.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
vectors.command("export")(vectors_export_verb)
vectors.command("evaluate")(vectors_evaluate_verb)
vectors.command("index")(vectors_index_verb)
vectors.command("search")(vectors_search_verb)
vectors.command("delete")(vectors_delete_verb)
vectors.command("compact")(vectors_compact_verb)
File = Annotated[str, typer.Argument(metavar="FILE", help="A file of compressed vectors.")]
_Source = Annotated[
    str,
    typer.Argument(
        metavar="IN",
        help="Word vectors (GloVe, word2vec, fastText, .npz, ...), a matrix (.npy, .npz, "
        "safetensors, Parquet), or the folder of a model2vec model.",
    ),
]
_Out = Annotated[
    str,
    typer.Argument(
        metavar="OUT",
        help="The file or folder to write; existing compressed vectors are replaced.",
    ),
]
_Weights = Annotated[
    str | None,
    typer.Option(
        help="Word frequencies, one per line (without it, IN must be sorted by frequency)."
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the verbs to the command line."""
    app.add_typer(vectors)


@vectors.command("compress")
def vectors_compress_verb(
    source: _Source,
    out: _Out,
    method: Method = None,
    ratio: Ratio = None,
    bits: Bits = None,
    max_loss: MaxLoss = None,
    words: WordList = None,
    encoding: WordEncoding = None,
    errors: WordErrors = None,
    weights: _Weights = None,
    config: ConfigFile = None,
    settings: CompressOverrides = None,
) -> None:
    """Compress vectors into one file; the report is written to OUT.json and OUT.png.

    A matrix without --words is compressed without words: its rows are numbered from 0. Static
    embeddings, as model2vec saves them, become a folder, which contains the report.

    --ratio, --bits or --max-loss determines the sizes of codes, or the step size of integers. All
    other settings are read from section [compress] of a TOML file (--config) or set with --set; see
    docs/compress.md.

    Example: `yakusu vectors compress glove.6B.100d.txt glove.ykv --set compress.k=16`

    Example: `yakusu vectors compress embeddings.npy embeddings.ykv --bits 1024`

    Example: `yakusu vectors compress potion small --method integers --ratio 8`
    """
    options = {"method": method, "ratio": ratio, "bits": bits, "max_loss": max_loss}
    existed, made_with = Path(out).exists(), compress_config(config, settings, options)
    if Path(source).is_dir():
        if any((words, encoding, errors, weights)):
            raise DataError(
                f"{source} is a folder, whose tokens are in its tokenizer: leave out --words, "
                "--encoding, --errors and --weights"
            )
        _compress_folder(source, out, made_with)
        return
    report = yakusu.vectors.compress(
        read_as_told(source, words, encoding, errors),
        out,
        config=made_with,
        words=words,
        weights=weights,
        progress=ConsoleProgress(),
    )
    _print_report(report)
    print(f"{'replaced' if existed else 'file:'} {out}\nreport: {out}.json, {out}.png")


def _print_report(report: "Report") -> None:
    facts = report.facts
    _print_facts(facts)
    if facts.ratio < 1:
        fix = "set --ratio" if facts.are_compressible else "they are too few to compress"
        print(f"the result is larger than the vectors: {fix}")
    for what, n in (("fitted", report.n_fitted), ("measured", report.n_measured)):
        if n < facts.n_vectors:
            print(f"{what} on {n:,} of {facts.n_vectors:,} vectors, evenly spaced")
    print(
        f"loss: {report.share_lost:.2%} of the variance, squared error {report.loss:.5g} per vector"
    )
    if facts.has_words:
        table = Table("frequency ranks", "of 10 nearest words kept", box=box.SIMPLE)
        for band in report.recall:
            table.add_row(f"{band.first:,} to {band.last:,}", f"{band.recall:.1%}")
        Console().print(table)
    else:
        for band in report.recall:
            print(f"of the 10 nearest vectors, {band.recall:.1%} are kept ({band.used} examined)")


def _compress_folder(source: str, out: str, config: "CompressConfig") -> None:
    """Compress the static embeddings of a folder."""
    existed = Path(out).exists()
    made = yakusu.vectors.compress_static(source, out, config=config, progress=ConsoleProgress())
    _print_report(made.vectors)
    _print_sizes(made)
    print(f"{'replaced' if existed else 'folder:'} {out}")


def _print_sizes(made: "StaticReport") -> None:
    print(
        f"model: {decimal(made.before)} before, {decimal(made.after)} after "
        f"({made.before / made.after:.1f} times smaller), both with {decimal(made.tokenizer)} of "
        "tokenizer"
    )


@vectors.command("inspect")
def vectors_inspect_verb(file: File) -> None:
    """Print the contents of a file of compressed vectors.

    Example: `yakusu vectors inspect glove.ykv`
    """
    _print_facts(yakusu.vectors.inspect(file))


def _print_facts(facts: "Facts") -> None:
    codes = f"{counted(facts.n_components, 'code')} with K = {facts.n_codes}"
    kind = codes if facts.n_codes else "integers"
    words = "with words" if facts.has_words else "no words, rows numbered from 0"
    without_words = f"{facts.ratio:.1f} (file without words), " if facts.has_words else ""
    print(
        f"{counted(facts.n_vectors, 'vector')} x {counted(facts.width, 'dimension')} as {kind}: "
        f"{facts.bits:.1f} bits per vector; {words}\n"
        f"compression ratio, compared with float32: {facts.codes_ratio:.1f} (codes alone), "
        f"{without_words}{facts.file_ratio:.1f} (file)\n"
        f"file size: {decimal(facts.file_bytes)}; the vectors as float32: "
        f"{decimal(facts.dense_bytes)}"
    )


@vectors.command("append")
def vectors_append_verb(
    file: File,
    source: Annotated[
        str, typer.Argument(metavar="IN", help="The new vectors, in any format of 'compress'.")
    ],
    words: WordList = None,
    encoding: WordEncoding = None,
    errors: WordErrors = None,
) -> None:
    """Add vectors to the end of a file, with the codebook that it has.

    Example: `yakusu vectors append glove.ykv new-words.txt`
    """
    given = read_as_told(source, words, encoding, errors)
    made = yakusu.vectors.append(file, given, words=words, progress=ConsoleProgress())
    print(
        f"{counted(made.n_added, 'vector')} added, {made.share_lost:.2%} of the variance lost\n"
        f"{file}: {made.n_vectors:,} vectors, {decimal(made.file_bytes)}"
    )


@vectors.command("neighbours")
def vectors_neighbours_verb(
    file: File,
    word: Annotated[
        str, typer.Argument(help="A word in FILE, or a row number if FILE has no words.")
    ],
    n: Annotated[int, typer.Option("-n", min=1, help="Number of neighbours.")] = 10,
) -> None:
    """Print the words or rows nearest to one of them, by the cosine of the rebuilt vectors.

    Example: `yakusu vectors neighbours glove.ykv king`
    """
    for neighbour, cosine in yakusu.vectors.neighbours(file, word, n):
        print(f"{cosine:.4f}\t{neighbour}")
