"""The search options of a verb, from which it gets one `SearchConfig`."""

from typing import Annotated, Any

import typer
from typer.core import TyperOption

from yakusu.cli.option_groups import Shown, flag, grouped, options_of
from yakusu.errors import RecipeError
from yakusu.search.config import FAST_MARGIN, SamplingConfig, SearchConfig
from yakusu.typed import ValidationError

_SEARCH, _TEXT, _RANDOM = "Search", "Content of the translation", "Sampling"

_OF_SEARCH = {
    "beam": Shown("Open hypotheses kept at each step; 1: greedy search.", "N"),
    "n_best": Shown(
        "Translations per sentence, at most --beam. Columns: number, score, log-probability, text.",
        "N",
    ),
    "alpha": Shown(
        "Exponent of the length penalty; larger values favour longer translations.", panel=_SEARCH
    ),
    "coverage": Shown(
        "Weight of GNMT's coverage penalty, for models with attention (0: no penalty).",
        panel=_SEARCH,
    ),
    "max_length": Shown("Maximum number of tokens of a translation.", panel=_SEARCH),
    "max_extra": Shown(
        "Maximum number of tokens by which a translation may exceed its source or its prefix.",
        panel=_SEARCH,
    ),
    "margin": Shown(
        "Drop hypotheses whose log-probability is more than this many nats below that of the "
        "best one. Smaller values are faster, but change more translations; --fast: 2.",
        panel=_SEARCH,
    ),
    "shortlist": Shown(
        "Generate only probable translations of the tokens of the source, if the model has a "
        "lexicon ('yakusu card'): faster, but many translations change.",
        panel=_SEARCH,
    ),
}
_OF_TEXT = {
    "include": Shown("Phrase that translations must contain. Repeatable.", "PHRASE"),
    "exclude": Shown("Phrase that translations must not contain. Repeatable.", "PHRASE"),
    "no_repeat_ngram": Shown(
        "Do not generate any n-gram of N tokens twice (0: no limit).", panel=_TEXT
    ),
    "max_repeats": Shown(
        "Maximum number of times that an n-gram occurs in a row, unless the source repeats one "
        "more often (0: no limit).",
        panel=_TEXT,
    ),
}
_OF_SAMPLING = {
    "temperature": Shown(
        "Divisor of the logits; below 1, likely tokens become more likely.", panel=_RANDOM
    ),
    "top_k": Shown("Draw from the K most likely tokens.", panel=_RANDOM),
    "top_p": Shown(
        "Draw from the most likely tokens that together have probability P.", panel=_RANDOM
    ),
    "mbr": Shown(
        "Draw N samples, and choose the one that is most like all of them (minimum Bayes risk).",
        "N",
        panel=_RANDOM,
    ),
    "seed": Shown("Seed; a sample depends only on it and on the sentence.", panel=_RANDOM),
}
_FAST = Shown("Drop unlikely hypotheses early; a few translations change.")
_SAMPLE = Shown(
    "Draw translations at random; the other options of this section imply it.", panel=_RANDOM
)
_OPTIONS = {
    **options_of(SearchConfig, _OF_SEARCH),
    "fast": flag("--fast", _FAST),
    **options_of(SearchConfig, _OF_TEXT),
    "sample": flag("--sample", _SAMPLE),
    **options_of(SamplingConfig, _OF_SAMPLING),
}


def search_config(values: dict[str, Any]) -> SearchConfig:
    """The settings that were given; they are checked together with those of the model."""
    given = {
        name: value
        for name, value in values.items()
        if not (value is None or value is False or value == [])
    }
    for name in ("beam", "margin", "fast", "shortlist") if "mbr" in given else ():
        if name in given:
            raise RecipeError(f"--{name} has no effect with --mbr, which draws samples: omit it")
    if given.pop("fast", False):
        if "margin" in given:
            raise RecipeError("--fast is --margin 2: give one of them")
        given["margin"] = FAST_MARGIN
    sampling = {name: given.pop(name) for name in _OF_SAMPLING if name in given}
    if given.pop("sample", False) or sampling:
        try:
            given["sampling"] = SamplingConfig(**sampling)
        except ValidationError as error:
            option = "--" + str(error.path[0]).replace("_", "-")
            message = error.why[0].lower() + error.why[1:]
            raise RecipeError(f"{option} {error.value}: {message}") from error
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
