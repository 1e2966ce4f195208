"""The verb `improve`, which trains a model further on what people have confirmed."""

from typing import TYPE_CHECKING, Annotated

import typer

import yakusu
from yakusu.cli.console import ConsoleProgress, command
from yakusu.cli.options import Model
from yakusu.cli.train import RecipeOverrides

if TYPE_CHECKING:
    from yakusu.pipeline.improving.improve import Improved

_Memory = Annotated[
    list[str],
    typer.Option("--memory", metavar="FILE", help="Translation memory to learn from. Repeatable."),
]
_Run = Annotated[str, typer.Option("--run", help="Run folder for the new model.")]
_Mix = Annotated[
    float | None,
    typer.Option(
        "--mix",
        help="Share of training pairs from the corpus of MODEL (default: 0.5, if the corpus is "
        "available).",
    ),
]
_TestSrc = Annotated[
    str | None,
    typer.Option(
        help="Source sentences of an older test set (default: the dev set of MODEL, if it is "
        "available)."
    ),
]
_TestTgt = Annotated[str | None, typer.Option(help="Translations of --test-src.")]
_Replace = Annotated[
    bool,
    typer.Option(
        "--replace",
        help="Replace MODEL with the new model unless it is significantly worse, and keep the old "
        "one beside it.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("improve")(improve_verb)


def improve_verb(
    model: Model,
    memory: _Memory,
    run: _Run,
    mix: _Mix = None,
    test_src: _TestSrc = None,
    test_tgt: _TestTgt = None,
    set_: RecipeOverrides = None,
    replace: _Replace = False,
) -> None:
    """Train a model further on the pairs of translation memories, and compare both models.

    A tenth of the pairs is held out for the comparison, which uses no memory. Interrupt at any
    time; rerun the same command to resume.

    Example: `yakusu improve runs/en-de/model --memory team.db --run runs/en-de-2`
    """
    _print_improved(
        yakusu.improve(
            model,
            memory,
            run=run,
            mix=mix,
            test_src=test_src,
            test_tgt=test_tgt,
            overrides=set_ or (),
            replace=replace,
            progress=ConsoleProgress(),
        ),
        model,
    )


def _print_improved(made: "Improved", model: str) -> None:
    if made.compared:
        width = max(len(each.name) for each in made.compared)
        print(f"{'':{width}}  sentences  before   after  difference (95% interval)")
        for each in made.compared:
            print(
                f"{each.name:{width}}  {each.sentences:9,}  {each.before:6.2f}  {each.after:6.2f}  "
                f"{each.difference}"
            )
        print(made.compared[0].signature)
    print(made.conclusion)
    if made.kept:
        print(f"{model} is the new model now; the old one is in {made.kept}")
    elif made.model:
        print(f"model: {made.model}\nnext: {command()} translate {made.model} --memory FILE")
