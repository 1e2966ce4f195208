"""The verb `vectors evaluate`."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

import yakusu
from yakusu.cli.console import ConsoleProgress

if TYPE_CHECKING:
    from yakusu.vectors.evaluation import SystemScores

_HARM = 0.02  # drop in a score due to whitening, above which a warning is printed


def evaluate(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of compressed vectors.")],
    tasks: Annotated[
        list[str],
        typer.Argument(metavar="TASK...", help="Test sets: similarity, analogy, completion."),
    ],
    original: Annotated[
        str | None,
        typer.Option(help="Vectors before compression; adds their scores and a control."),
    ] = None,
    words: Annotated[
        str | None, typer.Option(help="File with one word per line, for a matrix without words.")
    ] = None,
    candidates: Annotated[
        int,
        typer.Option(
            min=0, help="Number of most frequent words among which analogies are answered; 0: all."
        ),
    ] = 30_000,
) -> None:
    """Score codes and rebuilt vectors on word tasks, section 4.2 of the paper.

    "Code" uses the codes as vectors, "Real" the rebuilt vectors. --original adds the floats before
    compression and, as a control, the same floats after whitening: codes are whitened vectors, so
    gains or losses due to whitening are not an effect of compression.

    Example: `yakusu vectors evaluate glove.ykv ws353.tsv questions-words.txt --original glove.txt`
    """
    systems = yakusu.vectors.evaluate(
        file,
        tasks,
        original=original,
        words=words,
        candidates=candidates or None,
        progress=ConsoleProgress(),
    )
    _print_scores(systems)
    if original is not None:
        _print_control(systems)
    else:
        print("no control: add the vectors before compression with --original to print one")


def _print_scores(systems: "list[SystemScores]") -> None:
    table = Table(
        "task", *(system.system for system in systems), "items", "left out", box=box.SIMPLE
    )
    for results in zip(*(system.results for system in systems), strict=True):
        first = results[0]
        scores = [f"{100 * result.score:.1f}" if result.used else "-" for result in results]
        table.add_row(Text(first.name), *scores, f"{first.used:,}", f"{first.left_out:,}")
    Console().print(table)
    print("\n".join(dict.fromkeys(result.how for result in systems[0].results)))


def _print_control(systems: "list[SystemScores]") -> None:
    print("Codes are whitened: compare Code with the whitened floats, and Real with the floats.")
    floats, control = systems[0].results, systems[1].results
    for before, after in zip(floats, control, strict=True):
        if after.score < before.score - _HARM:
            lost = 100 * (before.score - after.score)
            print(
                f"whitening alone loses {lost:.1f} points on {before.name}: use the rebuilt "
                "vectors there"
            )
