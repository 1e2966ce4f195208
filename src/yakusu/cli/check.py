"""The verb `check`: a report on a corpus before training."""

import json
from typing import Annotated

import typer

import yakusu
from yakusu.cli.console import ConsoleProgress
from yakusu.cli.corpus_options import require_one_form, takes_pairs, takes_test_files
from yakusu.cli.options import Format

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
    """
    require_one_form(files["pairs"], {"SRC": src, "TGT": tgt}, "--pairs")
    files["src"], files["tgt"], test["errors"] = src, tgt, files["errors"]
    if test["pairs"]:
        test["columns"] = files["columns"]
        if not (files["pairs"] or files["dev_pairs"]):
            files["columns"] = None
    loaded = yakusu.load_recipe(recipe, set_ or (), **files)
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
