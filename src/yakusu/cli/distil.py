"""The verbs that write synthetic corpora: `distil` and `backtranslate`."""

import json
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

import yakusu
from yakusu.cli.console import ConsoleProgress, command
from yakusu.cli.corpus_options import takes_corpus
from yakusu.cli.engine_options import takes_engine_options
from yakusu.cli.options import To
from yakusu.cli.search_options import search_config
from yakusu.cli.train import RecipeOverrides, print_trained
from yakusu.errors import RecipeError

if TYPE_CHECKING:
    from yakusu.engine.config import EngineConfig

Beam = Annotated[
    int | None,
    typer.Option(
        "--beam",
        metavar="N",
        min=1,
        max=256,
        help="Beam width of the search (default: the model's).",
    ),
]
_HeldOut = Annotated[
    list[str] | None,
    typer.Option(
        "--held-out",
        metavar="FILE",
        help="Dev or test set, in either language, whose lines are refused. Repeatable.",
    ),
]
Drop = Annotated[
    bool, typer.Option("--drop-held-out", help="Drop held-out lines instead of refusing them.")
]

# ---- options of distil ---------------------------------------------------------------------------

_NBest = Annotated[
    int | None,
    typer.Option(
        "--n-best",
        metavar="N",
        min=1,
        help="Train on the N best translations of a sentence, N <= beam.",
    ),
]
Closest = Annotated[
    bool,
    typer.Option(
        "--closest", help="Of the --n-best translations, use only the one closest to the reference."
    ),
]
References = Annotated[
    bool, typer.Option(help="Train on the original pairs, too, if there are references.")
]
CorpusOnly = Annotated[
    bool, typer.Option("--corpus-only", help="Write RUN/corpus, but do not train.")
]

# ---- options of backtranslate --------------------------------------------------------------------

Sample = Annotated[
    bool, typer.Option("--sample", help="Draw translations at random instead of searching.")
]
Tag = Annotated[str, typer.Option("--tag", help="First token of each synthetic source; '': none.")]
Forward = Annotated[
    str | None,
    typer.Option(
        "--forward",
        metavar="MODEL",
        help="Translate back with this model, and drop pairs below --min-chrf.",
    ),
]
_SourceLanguage = Annotated[
    str | None,
    typer.Option(
        "--to", metavar="CODE", help="Language of the synthetic sources, if the model has several."
    ),
]
MinChrf = Annotated[
    float | None,
    typer.Option(
        "--min-chrf",
        min=0,
        max=100,
        help="Minimum chrF between the result of --forward and the text (default: 40).",
    ),
]


# ---- the verbs -----------------------------------------------------------------------------------


def add_to(app: typer.Typer) -> None:
    """Add these verbs to the command line."""
    app.command("distil")(takes_engine_options(takes_corpus(distil_verb)))
    app.command("backtranslate")(takes_engine_options(backtranslate_verb))


def distil_verb(
    teachers: Annotated[
        list[str],
        typer.Argument(metavar="TEACHER...", help="Model folder; several are an ensemble."),
    ],
    files: "yakusu.RecipeFiles",
    recipe: Annotated[
        str, typer.Option(metavar="RECIPE", help="Recipe of the student: a name or a TOML file.")
    ] = "fast",
    set_: RecipeOverrides = None,
    beam: Beam = None,
    n_best: _NBest = None,
    closest: Closest = False,
    references: References = True,
    corpus_only: CorpusOnly = False,
    to: To = None,
    held_out: _HeldOut = None,
    drop_held_out: Drop = False,
    *,
    engine: "EngineConfig",
) -> None:
    """Train a small student on the translations of one or several teachers.

    --tgt is optional. Interrupt at any time; rerun the same command to resume.

    Example: `yakusu distil runs/en-de/model --src mono.en --run runs/student`
    """
    made = yakusu.distil(
        teachers,
        recipe,
        overrides=set_ or (),
        options=search_config({"beam": beam, "n_best": n_best}),
        config=yakusu.DistilConfig(
            to=to or "",
            held_out=tuple(held_out or ()),
            drop_held_out=drop_held_out,
            closest=closest,
            references=references,
            corpus_only=corpus_only,
        ),
        engine=engine,
        progress=ConsoleProgress(),
        **files,
    )
    if made.trained is None:
        print(f"corpus: {made.corpus}\nnext: {command()} train {made.recipe}")
    else:
        print_trained(made.trained)


def backtranslate_verb(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Model folder of the reverse direction, from target to source."
        ),
    ],
    tgt: Annotated[str, typer.Option("--tgt", help="Target sentences, one per line.")],
    out: Annotated[str, typer.Option("--out", help="Folder to write.")],
    beam: Beam = None,
    sample: Sample = False,
    tag: Tag = "<BT>",
    forward: Forward = None,
    min_chrf: MinChrf = None,
    to: _SourceLanguage = None,
    held_out: _HeldOut = None,
    drop_held_out: Drop = False,
    *,
    engine: "EngineConfig",
) -> None:
    """Make pairs with a synthetic source from text in the target language.

    Interrupt at any time; rerun the same command to resume.

    Example: `yakusu backtranslate runs/de-en/model --tgt mono.de --out bt`
    """
    if min_chrf is not None and not forward:
        raise RecipeError("--min-chrf applies to a round trip: add --forward MODEL, or remove it")
    given = {} if min_chrf is None else {"min_chrf": min_chrf}
    made = yakusu.backtranslate(
        model,
        tgt,
        out=out,
        options=search_config({"beam": beam, "sample": sample}),
        config=yakusu.BacktranslateConfig(
            to=to or "",
            held_out=tuple(held_out or ()),
            drop_held_out=drop_held_out,
            tag=tag,
            forward=forward or "",
            **given,
        ),
        engine=engine,
        progress=ConsoleProgress(),
    )
    settings = [f"data.extra.{side}={made.corpus}/train.{side}" for side in ("src", "tgt")]
    settings += ["data.extra.share=0.5"]
    settings += [f"tokenizer.symbols={json.dumps([tag], ensure_ascii=False)}"] if tag else []
    print(
        f"{made.facts.summary}\ncorpus: {made.corpus}\n"
        f"next: {command()} train --src FILE --tgt FILE --run FOLDER "
        + " ".join(f"--set {shlex.quote(setting)}" for setting in settings)
    )
