"""The verb `check`: a report on a corpus before training, or what a model says about it."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

import yakusu
from yakusu.cli.console import ConsoleProgress, say
from yakusu.cli.corpus_options import takes_pairs, takes_test_files
from yakusu.cli.options import Format
from yakusu.errors import RecipeError

if TYPE_CHECKING:
    from yakusu.recipe import Recipe

_Src = Annotated[
    str | None,
    typer.Argument(
        metavar="SRC", help="Source sentences, one per line (default: data.train of the recipe)."
    ),
]
_Tgt = Annotated[
    str | None, typer.Argument(metavar="TGT", help="Their translations, line by line.")
]
_RecipeName = Annotated[
    str, typer.Option(help="Recipe with the filters: a TOML file or the name of a packaged recipe.")
]
_Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override a key of the recipe, such as filters.max_ratio=3. Repeatable.",
    ),
]
_OutputFormat = Annotated[
    Format,
    typer.Option(
        "--format", help="text, or json (one object; a list of them for several language pairs)."
    ),
]
_Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Instead, list the pairs that this model finds least probable, the worst first; with "
        "--dev-src and --dev-tgt, calibrate its estimated quality.",
        rich_help_panel="Model",
    ),
]
_Worst = Annotated[
    int,
    typer.Option("-n", "--worst", min=1, help="Number of pairs to list.", rich_help_panel="Model"),
]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("check")(check_verb)


@takes_test_files
@takes_pairs
def check_verb(
    src: _Src = None,
    tgt: _Tgt = None,
    recipe: _RecipeName = "base",
    set_: _Set = None,
    format: _OutputFormat = Format.TEXT,
    model: _Model = None,
    worst: _Worst = 20,
    *,
    files: "yakusu.RecipeFiles",
    test: "yakusu.RecipeFiles",
) -> None:
    """Report the contents of a corpus and what training would drop, without training.

    Counts the pairs that each filter drops, suspicious pairs, repetitions, lengths, characters and
    languages, and the sentences that the training, dev and test sets share. The corpora of each
    language pair of the recipe are checked separately.

    Example: `yakusu check train.en train.de --test-src test.en --test-tgt test.de`

    Example: `yakusu check --pairs memory.tmx --columns en,de`

    Example: `yakusu check --model runs/en-de/model train.en train.de`
    """
    files["src"], files["tgt"] = src, tgt
    test["errors"], test["encoding"] = files["errors"], files["encoding"]
    if test["pairs"]:
        test["columns"] = files["columns"]
        if not (files["pairs"] or files["dev_pairs"]):
            files["columns"] = None
    loaded = yakusu.load_recipe(recipe, set_ or (), **files)
    if model is not None:
        _check_with(model, loaded, worst, format)
        return
    held_out = yakusu.load_recipe("base", **test)  # a recipe has no key for a test set
    reports = [
        (each.languages, yakusu.check(each, test=held_out.data.train, progress=ConsoleProgress()))
        for each in loaded.directions
    ]
    (_, first), *others = reports
    if format is Format.TEXT:
        named = (f"# {'-'.join(languages)}\n\n{report}" for languages, report in reports)
        print("\n\n".join(named) if others else first)
        return
    objects = [{"languages": codes, **report.model_dump(mode="json")} for codes, report in reports]
    content = objects if others else first.model_dump(mode="json")
    print(json.dumps(content, indent=2, ensure_ascii=False))


def _check_with(model: str, recipe: "Recipe", worst: int, format: Format) -> None:
    """Calibrate a model on the dev set of a recipe, and list the least probable training pairs."""
    from yakusu.data.files.shortened import shorten
    from yakusu.pipeline.calibration import calibrate  # loads a model's engine
    from yakusu.pipeline.check.improbable import improbable_pairs
    from yakusu.pipeline.check.report import Example

    if not (recipe.data.train or recipe.data.dev):
        raise RecipeError(
            "there is nothing to check: specify SRC and TGT, or --dev-src and --dev-tgt to "
            "calibrate the model"
        )
    if recipe.data.dev:
        made = calibrate(model, recipe.data.dev)
        say(
            f"calibrated the estimated quality of {model} on {made.n_sentences:,} sentences: rank "
            f"correlation with chrF {made.correlation:.2f}"
        )
    if recipe.data.train:
        found = improbable_pairs(model, recipe.data.train, n=worst, progress=ConsoleProgress())
        left_out = f"; {found.n_left_out:,} left out: empty or too long" if found.n_left_out else ""
        say(f"the least probable of {found.n_pairs:,} pairs{left_out}")
        if format is Format.JSON:
            print(json.dumps([asdict(pair) for pair in found.pairs], indent=2, ensure_ascii=False))
            return
        for pair in found.pairs:
            example = Example(line=pair.line, src=shorten(pair.src), tgt=shorten(pair.tgt))
            print(f"{pair.log_prob:.2f}  {pair.reason}\n       {example}")
