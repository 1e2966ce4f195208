"""The verbs of compression: `compress` for translators, `vectors ...` for word vectors."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

import yakusu
from yakusu.cli.console import ConsoleProgress, escape
from yakusu.cli.methods import CodeOptions, NumberOptions, method_of
from yakusu.cli.options import Model

if TYPE_CHECKING:
    from yakusu.pipeline.compress import CompressedTranslator, Side
    from yakusu.vectors.verbs import Facts, Report, SystemScores

LIBRARIES = ("constriction", "matplotlib", "numba", "scipy", "sklearn")  # yakusu[compress]
_HARM = 0.02  # loss of a score that users are told of
vectors = typer.Typer(
    name="vectors",
    help="Compress word vectors, look into them, score them.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
File = Annotated[str, typer.Argument(metavar="FILE", help="A file of compressed vectors.")]
Words = Annotated[
    str, typer.Option(help="The words of a matrix without them, one a line, in its order.")
]
Decoder = Annotated[
    bool, typer.Option("--decoder", help="The target embedding and the output matrix.")
]
Exact = Annotated[
    int | None,
    typer.Option(
        min=0, help="Most frequent pieces that stay as they are; 128, or 0 with --uniform."
    ),
]
M = Annotated[int, typer.Option("--m", min=0, help="Components, M; 0: as below.")]
K = Annotated[int, typer.Option("--k", min=0, help="Codes a component, K; 0 for 16.")]
Fit = Annotated[
    str,
    typer.Option(
        help="Of the codebook: least-squares, closed (none), or adam (the paper's; slow)."
    ),
]
Mean = Annotated[
    str, typer.Option(help="Of the vectors: stored, or folded into the weights (the paper's).")
]
Uniform = Annotated[
    bool, typer.Option("--uniform", help="Entropy-coded whole numbers, not the paper's codes.")
]
Step = Annotated[float | None, typer.Option(help="Of --uniform, for a fixed step.")]
Whitening = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Of --uniform: 0 keeps, 1 evens out; 0.5 by default."),
]
Tiers = Annotated[
    str, typer.Option(help="Of --uniform: ranks from which the step doubles, as 10000,50000.")
]
Bits = Annotated[float | None, typer.Option(help="At most so many bits of codes a word.")]
Ratio = Annotated[float | None, typer.Option(help="At least so many times smaller.")]
MaxLoss = Annotated[float | None, typer.Option(help="At most this share of the variance lost.")]
Weights = Annotated[
    str, typer.Option(help="Frequencies of the words, one a line; else the first is the first.")
]
Half = Annotated[bool, typer.Option("--half", help="The codebook in float16.")]


def add_to(app: typer.Typer) -> None:
    """Add these verbs to the command line."""
    app.command(name="compress")(compress)
    app.add_typer(vectors)


# ---- translators ---------------------------------------------------------------------------------


def compress(
    model: Model,
    out: Annotated[str, typer.Argument(metavar="OUT", help="The model folder to write.")],
    encoder: Annotated[bool, typer.Option("--encoder", help="The source embedding.")] = False,
    decoder: Decoder = False,
    m: M = 0,
    k: K = 0,
    uniform: Uniform = False,
    step: Step = None,
    whitening: Whitening = None,
    bits: Bits = None,
    ratio: Ratio = None,
    max_loss: MaxLoss = None,
    exact: Exact = None,
    int8: Annotated[bool, typer.Option("--int8", help="All else in 8 bits a number.")] = False,
    src: Annotated[str, typer.Option(help="Sentences, for BLEU before and after.")] = "",
    ref: Annotated[str, typer.Option(help="Their translations.")] = "",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case in BLEU.")] = False,
) -> None:
    """Compress the embeddings of a translator, without training; both sides where none is named.

    M is the width of the model where it is not given, or --bits, --ratio or --max-loss choose M
    and K, or the step. Codes with --exact 0 are the paper's method.

    Example: `yakusu compress runs/en-de/model small --uniform --ratio 8 --int8`
    """
    codes, numbers = CodeOptions(m, k), NumberOptions(step, whitening)
    method = method_of(uniform, codes, numbers, wishes=(bits, ratio, max_loss))
    made = yakusu.compress_translator(
        model,
        out,
        sides=_sides(encoder, decoder),
        method=method,
        n_exact=(0 if uniform else 128) if exact is None else exact,
        int8=int8,
        src=Path(src) if src else None,
        references=Path(ref) if ref else None,
        lowercase=lowercase,
        progress=ConsoleProgress(),
    )
    _print_translator(model, made)


def _sides(encoder: bool, decoder: bool) -> "tuple[Side, ...]":
    """Those that were named, or both."""
    if encoder == decoder:
        return ("encoder", "decoder")
    return ("encoder",) if encoder else ("decoder",)


def _print_translator(model: str, made: "CompressedTranslator") -> None:
    from yakusu.pipeline.compress import memory_of

    for table in made.tables:
        print(table)
    print(f"weights on disk: {_from_to(made.file_bytes)}")
    if made.file_bytes[1] > made.file_bytes[0]:
        print("that is larger: compress both sides of tied tables, or choose the size by --ratio")
    memory = memory_of(model), memory_of(made.folder)
    print(f"a process that translates grows by: {_from_to(memory)}")
    if made.scores:
        print(f"before: {made.scores[0]}\nafter:  {made.scores[1]}")
    print(f"the model: {made.folder}")


def _from_to(sizes: tuple[int, int]) -> str:
    before, after = (max(1, size) for size in sizes)
    return f"{decimal(before)} -> {decimal(after)} ({after / before:.0%})"


# ---- word vectors --------------------------------------------------------------------------------


@vectors.command(name="compress")
def compress_vectors(
    source: Annotated[str, typer.Argument(metavar="IN", help="Word vectors, of any usual kind.")],
    out: Annotated[str, typer.Argument(metavar="OUT", help="The file to write.")],
    m: M = 0,
    k: K = 0,
    fit: Fit = "least-squares",
    mean: Mean = "stored",
    uniform: Uniform = False,
    step: Step = None,
    whitening: Whitening = None,
    tiers: Tiers = "",
    bits: Bits = None,
    ratio: Ratio = None,
    max_loss: MaxLoss = None,
    words: Words = "",
    weights: Weights = "",
    half: Half = False,
) -> None:
    """Compress word vectors into one file; the report goes beside it, as .json and .png.

    M is the width of the vectors where it is not given; --bits, --ratio or --max-loss choose
    M and K, or the step, by the error that they measure.

    Example: `yakusu vectors compress glove.6B.100d.txt glove.ykv --k 16`
    """
    codes, numbers = CodeOptions(m, k, fit, mean), NumberOptions(step, whitening, tiers)
    report = yakusu.vectors.compress(
        source,
        out,
        method=method_of(uniform, codes, numbers, wishes=(bits, ratio, max_loss)),
        words=words or None,
        weights=weights or None,
        precision="float16" if half else "float32",
        progress=ConsoleProgress(),
    )
    _print_report(out, report)


def _print_report(out: str, report: "Report") -> None:
    _print_facts(report.facts)
    if report.facts.ratio < 1:
        print("that is larger than the vectors were: choose the size by --ratio")
    print(
        f"lost: {report.share_lost:.2%} of the variance, {report.loss:.5g} of squared error a word"
    )
    table = Table("ranks of words", "of 10 nearest words stay", box=box.SIMPLE)
    for band in report.recall:
        table.add_row(f"{band.first:,} to {band.last:,}", f"{band.recall:.1%}")
    Console().print(table)
    print(f"the file: {out}\nthe report: {out}.json, {out}.png")


@vectors.command()
def inspect(file: File) -> None:
    """What a file holds.

    Example: `yakusu vectors inspect glove.ykv`
    """
    _print_facts(yakusu.vectors.inspect(file))


@vectors.command()
def evaluate(
    file: File,
    tasks: Annotated[
        list[str], typer.Argument(metavar="TASK...", help="Sets of similarities, analogies, ...")
    ],
    original: Annotated[
        str, typer.Option(help="The vectors before: adds the baseline and the control.")
    ] = "",
    words: Words = "",
    candidates: Annotated[
        int, typer.Option(min=0, help="Most frequent words that answer analogies; 0: all.")
    ] = 30_000,
) -> None:
    """Score codes and rebuilt vectors at word tasks, section 4.2 of the paper.

    "Code" is the codes as vectors, "Real" the rebuilt vectors. With --original also the floats,
    and as a control the same whitened: what whitening gains or loses, Code does without merit.

    Example: `yakusu vectors evaluate glove.ykv ws353.tsv questions-words.txt --original glove.txt`
    """
    systems = yakusu.vectors.evaluate(
        file,
        tasks,
        original=original or None,
        words=words or None,
        candidates=candidates,
        progress=ConsoleProgress(),
    )
    _print_scores(systems)
    if original:
        _print_control(systems)
    else:
        print(
            "no control: it is whitened floats, and these are in the vectors before: give them by "
            "--original"
        )


def _print_scores(systems: "list[SystemScores]") -> None:
    table = Table(
        "task", *(system.system for system in systems), "items", "left out", box=box.SIMPLE
    )
    for results in zip(*(system.results for system in systems), strict=True):
        first = results[0]
        scores = [f"{100 * result.score:.1f}" if result.used else "-" for result in results]
        table.add_row(escape(first.name), *scores, f"{first.used:,}", f"{first.left_out:,}")
    Console().print(table)
    print("\n".join(dict.fromkeys(result.how for result in systems[0].results)))


def _print_control(systems: "list[SystemScores]") -> None:
    print(
        "Code is of whitened vectors: compare it with the whitened floats, and Real with the floats"
    )
    floats, control = systems[0].results, systems[1].results
    for before, after in zip(floats, control, strict=True):
        if after.score < before.score - _HARM:
            lost = 100 * (before.score - after.score)
            print(
                f"whitening alone loses {lost:.1f} at {before.name}: use the rebuilt vectors there"
            )


@vectors.command()
def neighbours(
    file: File,
    word: Annotated[str, typer.Argument(help="A word.")],
    n: Annotated[int, typer.Option("-n", min=1, help="How many.")] = 10,
) -> None:
    """The words that are nearest to a word, by cosine of the rebuilt vectors.

    Example: `yakusu vectors neighbours glove.ykv king`
    """
    for neighbour, cosine in yakusu.vectors.neighbours(file, word, n):
        print(f"{cosine:.4f}\t{neighbour}")


def _print_facts(facts: "Facts") -> None:
    kind = f"{facts.n_components} codes of {facts.n_codes}" if facts.n_codes else "whole numbers"
    print(
        f"{facts.n_words:,} words x {facts.width} numbers as {kind}: {facts.bits:.1f} bits a word, "
        f"{facts.ratio:.1f} times smaller (codes and codebook against float32)\n"
        f"the file, its words too: {decimal(facts.file_bytes)}; the numbers alone were "
        f"{decimal(facts.dense_bytes)}"
    )
