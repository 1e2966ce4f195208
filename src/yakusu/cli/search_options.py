"""The search options of a verb, from which it gets one `SearchConfig`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperOption

from yakusu.cli.option_groups import grouped
from yakusu.errors import RecipeError

if TYPE_CHECKING:
    from yakusu.search.config import SearchConfig

_SEARCH, _TEXT, _RANDOM = "Search", "Content of the translation", "Sampling"


def _option(help: str, *names: str, panel: str, **checks: Any) -> Any:
    """An option that `--help-all` lists and `--help` does not."""
    return typer.Option(*names, help=help, rich_help_panel=panel, hidden=True, **checks)


_OPTIONS: dict[str, Any] = {
    "beam": Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=256,
            help="Open hypotheses kept at each step; 1: greedy search.",
        ),
    ],
    "n_best": Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=256,
            help="Translations per sentence, at most --beam. Columns: sentence number, score, "
            "log-probability, text.",
        ),
    ],
    "alpha": Annotated[
        float | None,
        _option(
            "Exponent of the length penalty; larger values favour longer translations.",
            min=0,
            max=10,
            panel=_SEARCH,
        ),
    ],
    "coverage": Annotated[
        float | None,
        _option(
            "Weight of GNMT's coverage penalty, for models with attention (0: no penalty).",
            min=0,
            max=10,
            panel=_SEARCH,
        ),
    ],
    "max_length": Annotated[
        int | None, _option("Maximum number of tokens of a translation.", min=1, panel=_SEARCH)
    ],
    "max_extra": Annotated[
        int | None,
        _option(
            "Maximum number of tokens by which a translation may exceed its source or its prefix.",
            min=0,
            panel=_SEARCH,
        ),
    ],
    "margin": Annotated[
        float | None,
        _option(
            "Drop hypotheses whose log-probability is more than this many nats below that of the "
            "best one. Smaller values are faster, but change more translations; --fast: 2.",
            min=0,
            panel=_SEARCH,
        ),
    ],
    "fast": Annotated[
        bool,
        typer.Option(
            "--fast",
            help="Drop unlikely hypotheses early; a few translations change.",
        ),
    ],
    "include": Annotated[
        list[str] | None,
        typer.Option(metavar="PHRASE", help="Phrase that translations must contain. Repeatable."),
    ],
    "exclude": Annotated[
        list[str] | None,
        typer.Option(
            metavar="PHRASE", help="Phrase that translations must not contain. Repeatable."
        ),
    ],
    "no_repeat_ngram": Annotated[
        int | None,
        _option("Do not generate any n-gram of N tokens twice (0: no limit).", min=0, panel=_TEXT),
    ],
    "max_repeats": Annotated[
        int | None,
        _option(
            "Maximum number of times that an n-gram occurs in a row, unless the source repeats "
            "one more often (0: no limit).",
            min=0,
            panel=_TEXT,
        ),
    ],
    "sample": Annotated[
        bool,
        _option(
            "Draw translations at random; the other options of this section imply it.",
            "--sample",
            panel=_RANDOM,
        ),
    ],
    "temperature": Annotated[
        float | None,
        _option("Divisor of the logits; below 1, likely tokens become more likely.", panel=_RANDOM),
    ],
    "top_k": Annotated[
        int | None, _option("Draw from the K most likely tokens.", min=1, panel=_RANDOM)
    ],
    "top_p": Annotated[
        float | None,
        _option(
            "Draw from the most likely tokens that together have probability P.", panel=_RANDOM
        ),
    ],
    "seed": Annotated[
        int | None,
        _option("Seed; a sample depends only on it and on the sentence.", min=0, panel=_RANDOM),
    ],
}
_SAMPLING = ("temperature", "top_k", "top_p", "seed")


def search_config(values: dict[str, Any]) -> "SearchConfig":
    """The settings that were given; they are checked together with those of the model."""
    from pydantic import ValidationError

    from yakusu.search.config import FAST_MARGIN, SamplingConfig, SearchConfig  # loads pydantic

    given = {
        name: value
        for name, value in values.items()
        if not (value is None or value is False or value == [])
    }
    if given.pop("fast", False):
        if "margin" in given:
            raise RecipeError("--fast is --margin 2: give one of them")
        given["margin"] = FAST_MARGIN
    sampling = {name: given.pop(name) for name in _SAMPLING if name in given}
    if given.pop("sample", False) or sampling:
        try:
            given["sampling"] = SamplingConfig(**sampling)
        except ValidationError as error:
            first = error.errors()[0]
            option = "--" + str(first["loc"][0]).replace("_", "-")
            message = first["msg"][0].lower() + first["msg"][1:]
            raise RecipeError(f"{option} {first['input']}: {message}") from error
    return SearchConfig.model_construct(**given)


def _show_all(context: typer.Context, value: bool) -> None:
    """Print the help with all options."""
    if not value:
        return
    for each in context.command.params:
        if isinstance(each, TyperOption):
            each.hidden = False
    typer.echo(context.get_help())
    context.exit()


_HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all",
        callback=_show_all,
        is_eager=True,
        expose_value=False,
        help="Show all options and exit.",
    ),
]

takes_search_options = grouped("options", {**_OPTIONS, "help_all": _HelpAll}, search_config)
