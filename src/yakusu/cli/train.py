"""The verbs that make a translator: `prepare`, `train`, `average` and `demo`."""

import shlex
from typing import Annotated

import typer

import yakusu
from yakusu.cli.console import ConsoleProgress, command
from yakusu.errors import RunError
from yakusu.recipes import recipe_names

RecipeName = Annotated[
    str,
    typer.Argument(
        metavar="RECIPE",
        help=f"TOML file, or the name of a packaged recipe: {', '.join(recipe_names())}.",
    ),
]
Run = Annotated[str | None, typer.Option("--run", help="Run folder, which receives all output.")]
Src = Annotated[
    str | None, typer.Option("--src", help="Source sentences, one per line (may be .gz).")
]
Tgt = Annotated[str | None, typer.Option("--tgt", help="Their translations, line by line.")]
DevSrc = Annotated[
    str | None,
    typer.Option(
        "--dev-src", help="Source sentences of the dev set (default: held out from --src)."
    ),
]
DevTgt = Annotated[str | None, typer.Option("--dev-tgt", help="Translations of --dev-src.")]
Trees = Annotated[
    str | None,
    typer.Option("--trees", help="Bracketed trees for a parser: a file, a folder or a pattern."),
]
DevTrees = Annotated[
    str | None,
    typer.Option("--dev-trees", help="Trees of the dev set (default: held out from --trees)."),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override a key of the recipe, such as training.max_steps=500. Repeatable.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add these verbs to the command line."""
    for verb in (prepare, train, average, demo):
        app.command()(verb)


def prepare(
    recipe: RecipeName,
    run: Run = None,
    src: Src = None,
    tgt: Tgt = None,
    dev_src: DevSrc = None,
    dev_tgt: DevTgt = None,
    trees: Trees = None,
    dev_trees: DevTrees = None,
    set_: Set = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of processes (default: one per core).")
    ] = None,
) -> None:
    """Filter a corpus, learn its vocabulary and convert it to token ids.

    `yakusu train` does this too; run it separately to check the data first.

    Example: `yakusu prepare tiny --src train.en --tgt train.de --run runs/en-de`
    """
    files = yakusu.RecipeFiles(
        run=run,
        src=src,
        tgt=tgt,
        dev_src=dev_src,
        dev_tgt=dev_tgt,
        trees=trees,
        dev_trees=dev_trees,
    )
    loaded = yakusu.load_recipe(recipe, set_ or (), **files)
    made = yakusu.prepare(loaded, progress=ConsoleProgress(), workers=workers)
    print(("already prepared: " if made.existed else "") + str(made))


def train(
    recipe: RecipeName,
    run: Run = None,
    src: Src = None,
    tgt: Tgt = None,
    dev_src: DevSrc = None,
    dev_tgt: DevTgt = None,
    trees: Trees = None,
    dev_trees: DevTrees = None,
    set_: Set = None,
) -> None:
    """Train a translator.

    Interrupt at any time; rerun the same command to resume.

    Example: `yakusu train tiny --src train.en --tgt train.de --run runs/en-de`
    """
    files = yakusu.RecipeFiles(
        run=run,
        src=src,
        tgt=tgt,
        dev_src=dev_src,
        dev_tgt=dev_tgt,
        trees=trees,
        dev_trees=dev_trees,
    )
    made = yakusu.train(recipe, set_ or (), progress=ConsoleProgress(), **files)
    if made.rank:
        return  # rank 0 reports for all processes
    print(
        f"stopped at step {made.steps:,} after {made.seconds / 60:.1f} minutes: {made.reason}\n"
        f"dev {made.dev_score}\n"
        f"model: {made.model}\n"
        f"next: echo '{made.example}' | {command()} translate {made.model}"
    )


def average(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run folder.")],
    out: Annotated[
        str | None, typer.Option(help="New model folder to write (default: RUN/model).")
    ] = None,
    last: Annotated[
        int | None,
        typer.Option(min=1, help="Number of checkpoints to average (default: training.keep_last)."),
    ] = None,
    best: Annotated[bool, typer.Option("--best", help="Use the best checkpoint only.")] = False,
) -> None:
    """Average the last checkpoints of a run into a model folder.

    Without --last and --best, the best checkpoint is used instead if it scores higher than the
    average.

    Example: `yakusu average runs/en-de --last 5`
    """
    if best and last is not None:
        raise RunError("--best and --last are mutually exclusive: use only one of them")
    print(yakusu.average(run, out=out, last=last, best=best, progress=ConsoleProgress()))


def demo(
    target: Annotated[
        str, typer.Option(help="Target language: ja, de, fr or ko; the source is English.")
    ] = "ja",
    folder: Annotated[str, typer.Option(help="Parent folder of the run folder.")] = "runs",
) -> None:
    """Train a small translator on a generated phrasebook and translate unseen sentences.

    Example: `yakusu demo --target de`
    """
    made = yakusu.demo(target, folder=folder, progress=ConsoleProgress())
    for source, translation, reference in made.samples:
        print(f"source:      {source}\ntranslation: {translation}\nreference:   {reference}\n")
    good = [source for source, translation, truth in made.samples if translation == truth]
    example = min(good or [made.samples[0][0]], key=len)
    print(
        f"{made.bleu} on {made.n_test} unseen sentences; trained in {made.seconds / 60:.1f} "
        f"minutes\n"
        f"model: {made.model}\n"
        f"next: echo {shlex.quote(example)} | {command()} translate {made.model}"
    )
