"""The verb `vectors evaluate`."""

import math
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

import yakusu
from yakusu.cli.console import ConsoleProgress
from yakusu.cli.vectors_words import WordEncoding, WordErrors, WordList, read_as_told

if TYPE_CHECKING:
    from yakusu.vectors.bootstrap import Interval
    from yakusu.vectors.evaluation import SystemScores

_HARM = 0.02  # drop in a score due to whitening, above which a warning is printed


def vectors_evaluate_verb(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of compressed vectors.")],
    tasks: Annotated[
        list[str],
        typer.Argument(metavar="TASK...", help="Test sets: similarity, analogy, completion."),
    ],
    original: Annotated[
        str | None,
        typer.Option(
            help="Vectors before compression; adds their scores, controls and neighbours kept."
        ),
    ] = None,
    words: WordList = None,
    encoding: WordEncoding = None,
    errors: WordErrors = None,
    candidates: Annotated[
        int,
        typer.Option(
            min=0, help="Number of most frequent words among which analogies are answered; 0: all."
        ),
    ] = 30_000,
) -> None:
    """Score codes and rebuilt vectors on word tasks, section 4.2 of the paper.

    "Code" uses the codes as vectors, "Real" the rebuilt vectors. --original adds the floats before
    compression as they are, centred, half-whitened and whitened, and the differences from them with
    intervals of a paired bootstrap: 95%, 1,000 resamples. Codes are whitened vectors and integers
    half-whitened ones, so gains or losses due to whitening are not an effect of compression.

    Example: `yakusu vectors evaluate glove.ykv ws353.tsv questions-words.txt --original glove.txt`
    """
    systems = yakusu.vectors.evaluate(
        file,
        tasks,
        original=original and read_as_told(original, words, encoding, errors),
        words=words,
        candidates=candidates or None,
        progress=ConsoleProgress(),
    )
    _print_scores(systems)
    if original is not None:
        _print_differences(systems)
        _print_control(systems)
    else:
        print("no comparison with the uncompressed vectors: add them with --original")
    for result in systems[0].results:
        print(f"{result.name}: {result.used:,} items, {result.left_out:,} left out; {result.how}")


def _print_scores(systems: "list[SystemScores]") -> None:
    print("scores x 100")
    table = _table()
    for system in systems:
        table.add_column(_folded(system.system), justify="right", no_wrap=True)
    for results in zip(*(system.results for system in systems), strict=True):
        scores = [
            "-" if math.isnan(result.score) else f"{100 * result.score:.1f}" for result in results
        ]
        table.add_row(Text(results[0].name), *scores)
    Console().print(table)


def _table() -> Table:
    """Return an empty table; it fits in 80 columns, with long names of test sets folded."""
    return Table(Column("task", overflow="fold"), box=box.SIMPLE, collapse_padding=True)


def _folded(name: str) -> str:
    """Return the name of a system in two short lines, without the words that all controls share."""
    if name == "half-whitened floats":
        return "half-\nwhitened"
    return name.removesuffix(" floats").replace(", ", ",\n")


def _print_differences(systems: "list[SystemScores]") -> None:
    compared = [system for system in systems if system.reference]
    print("differences x 100, with 95% intervals of a paired bootstrap")
    table = _table()
    for system in compared:
        reference = _folded(str(system.reference)).replace("\n", "")
        table.add_column(f"{system.system}\n- {reference}", justify="right", no_wrap=True)
    for i, result in enumerate(systems[0].results):
        cells = [Text(_interval(system.differences[i])) for system in compared]
        table.add_row(Text(result.name), *cells)
    Console().print(table)


def _interval(found: "Interval") -> str:
    if math.isnan(found.difference):
        return "-"
    difference, low, high = (100 * each for each in (found.difference, found.low, found.high))
    return f"{difference:+.1f} [{low:+.1f}, {high:+.1f}]"


def _print_control(systems: "list[SystemScores]") -> None:
    results = {system.system: system.results for system in systems}
    control = systems[-1].reference
    print(
        f"If the {control} gain over the floats as much as Code does, whitening is the cause, not "
        f"compression:\ncompare Code with the {control}, and Real with the floats."
    )
    for before, after in zip(results["centred floats"], results[str(control)], strict=True):
        if after.score < before.score - _HARM:
            lost = 100 * (before.score - after.score)
            print(
                f"compared with centred floats, whitening alone loses {lost:.1f} points on "
                f"{before.name}: use the rebuilt vectors there"
            )
