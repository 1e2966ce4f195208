"""The verbs that make a translator: `prepare`, `train`, `average` and `demo`."""

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

import yakusu
from yakusu.cli.console import ConsoleProgress, command
from yakusu.cli.corpus_options import takes_files
from yakusu.errors import RunError
from yakusu.recipes import recipe_names

if TYPE_CHECKING:
    from yakusu.pipeline.training.trained import Detail, Trained

_RecipeName = Annotated[
    str | None,
    typer.Argument(
        metavar="RECIPE",
        help="TOML file, or the name of a packaged recipe (default: that of the run folder, or one "
        f"for the size of the corpus): {', '.join(recipe_names())}.",
    ),
]
RecipeOverrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override a key of the recipe, such as training.max_steps=500. Repeatable.",
    ),
]
_AllowMisaligned = Annotated[
    bool,
    typer.Option(
        "--allow-misaligned",
        help="Start even if lines of the corpus are misaligned (default: stop, and name the first "
        "such line and the fix).",
    ),
]

_DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Show what training would do, from a sample; write nothing."),
]
_Plain = Annotated[bool, typer.Option("--plain", help="Hide scores; the log has them.")]
_Verbose = Annotated[bool, typer.Option("--verbose", help="Show all numbers of the log as well.")]
_Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite", help="Replace a finished model even if no --set asks for more training."
    ),
]
_Exact = Annotated[
    bool,
    typer.Option(
        "--exact",
        help="Refuse to resume a run with another number of threads, precision, processor or "
        "version of a library, which gives other bytes (default: warn).",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add these verbs to the command line."""
    app.command("prepare")(prepare_verb)
    app.command("train")(train_verb)
    app.command("average")(average_verb)
    app.command("demo")(demo_verb)


@takes_files
def prepare_verb(
    recipe: _RecipeName = None,
    set_: RecipeOverrides = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of processes (default: one per core).")
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Rebuild the data folder of a run, which may be corrupt, and prove that it has "
            "the same bytes as before; otherwise, change nothing.",
        ),
    ] = False,
    allow_misaligned: _AllowMisaligned = False,
    *,
    files: "yakusu.RecipeFiles",
) -> None:
    """Filter a corpus, learn its vocabulary and convert it to token ids.

    `yakusu train` does this too; run `prepare` separately to see the counts before training.

    Example: `yakusu prepare --src train.en --tgt train.de --run runs/en-de`

    Example: `yakusu prepare small --pairs memory.tmx --columns en,de --run runs/en-de`

    Example: `yakusu prepare --again --run runs/en-de`
    """
    made = yakusu.prepare(
        recipe,
        set_ or (),
        again=again,
        allow_misaligned=allow_misaligned,
        progress=ConsoleProgress(),
        workers=workers,
        **files,
    )
    print(("already prepared: " if made.existed else "") + str(made))


@takes_files
def train_verb(
    recipe: _RecipeName = None,
    set_: RecipeOverrides = None,
    dry_run: _DryRun = False,
    plain: _Plain = False,
    verbose: _Verbose = False,
    overwrite: _Overwrite = False,
    exact: _Exact = False,
    allow_misaligned: _AllowMisaligned = False,
    *,
    files: "yakusu.RecipeFiles",
) -> None:
    """Prepare a corpus and train a translator or a parser.

    Interrupt at any time; rerun the same command to resume.

    Example: `yakusu train --src train.en --tgt train.de --run runs/en-de`

    Example: `yakusu train small --pairs memory.tmx --columns en,de --run runs/en-de`
    """
    if plain and verbose:
        raise RunError("--plain and --verbose are mutually exclusive: use only one of them")
    if dry_run:
        plan = yakusu.plan_training(
            recipe,
            set_ or (),
            allow_misaligned=allow_misaligned,
            progress=ConsoleProgress(),
            **files,
        )
        print(plan)
        return
    detail: Detail = "plain" if plain else "verbose" if verbose else "normal"
    made = yakusu.train(
        recipe,
        set_ or (),
        exact=exact,
        overwrite=overwrite,
        allow_misaligned=allow_misaligned,
        detail=detail,
        progress=ConsoleProgress(),
        **files,
    )
    print_trained(made, detail)


def print_trained(made: "Trained", detail: "Detail" = "normal") -> None:
    """Print the result of a training run.

    Args:
        made: The result.
        detail: "plain": no score; "verbose": the score with its signature.
    """
    if made.rank:
        return  # rank 0 reports for all processes
    example = f"echo {shlex.quote(made.example)}"
    if made.verdict:
        print("\n".join(made.verdict.examples()))
        example = f"echo {shlex.quote(made.verdict.sentences[0].source)}"
    print(f"stopped at step {made.steps:,} after {made.seconds / 60:.1f} minutes: {made.reason}")
    if detail != "plain":
        score, _, signature = made.dev_score.partition(" (")
        print(f"dev {score}" + f" ({signature}" * (detail == "verbose"))
    if made.verdict:
        print(made.verdict)
    print(
        f"model: {made.model}\n"
        f"next: {example} | {command()} translate {made.model}\n"
        f"  or: {command()} serve {made.model}, and open http://127.0.0.1:5000/"
    )
    limit = made.reason.partition(" ")[0]
    if limit.startswith("max_"):
        print(f"  or: train further: repeat the command with a higher --set training.{limit}=N")


def average_verb(
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


def demo_verb(
    target: Annotated[
        str, typer.Option(help="Target language: ja, de, fr or ko; the source is English.")
    ] = "ja",
    folder: Annotated[str, typer.Option(help="Parent folder of the run folder.")] = "runs",
    seed: Annotated[int, typer.Option(help="Seed of the training.")] = 1,
) -> None:
    """Train a small translator on a generated phrasebook and translate unseen sentences.

    Example: `yakusu demo --target de`
    """
    made = yakusu.demo(target, folder=folder, seed=seed, progress=ConsoleProgress())
    for source, translation, reference in made.samples:
        print(f"source:      {source}\ntranslation: {translation}\nreference:   {reference}\n")
    good = [source for source, translation, truth in made.samples if translation == truth]
    example = min(good or [made.samples[0][0]], key=len)
    print(
        f"{made.bleu} on {made.n_test} unseen sentences\n"
        f"{made.digits}; trained in {made.seconds / 60:.1f} minutes\n"
        f"model: {made.model}\n"
        f"next: echo {shlex.quote(example)} | {command()} translate {made.model}\n"
        f"  or: {command()} serve {made.model}, and open http://127.0.0.1:5000/\n"
        f"  or: open {made.page} in a browser: it translates offline"
    )
