"""The options that say how text is read, from which a verb gets one `TextConfig`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from yakusu.cli.option_groups import grouped
from yakusu.cli.options import To

if TYPE_CHECKING:
    from yakusu.translator.config import TextConfig

_TO: dict[str, Any] = {"to": To}
_GLOSSARY: dict[str, Any] = {
    "glossary": Annotated[
        str | None,
        typer.Option(
            "--glossary",
            metavar="FILE",
            help="Terms and their translations, separated by a tab.",
        ),
    ],
}
_PROTECT: dict[str, Any] = {
    "protect": Annotated[
        list[str] | None,
        typer.Option(
            "--protect",
            metavar="REGEX",
            help="Regular expression of text to copy. Repeatable.",
        ),
    ],
}
_ONE_SENTENCE: dict[str, Any] = {
    "one_sentence_per_line": Annotated[
        bool,
        typer.Option(
            "--one-sentence-per-line",
            help="Do not divide lines.",
        ),
    ],
}


def _no_protect(*, hidden: bool) -> dict[str, Any]:
    return {
        "no_protect": Annotated[
            bool,
            typer.Option(
                "--no-protect",
                help="Treat placeholders, tags and addresses as ordinary text.",
                rich_help_panel="Text processing" if hidden else None,
                hidden=hidden,
            ),
        ],
    }


def _text_config(values: dict[str, Any]) -> "TextConfig":
    from yakusu.translator.config import TextConfig  # loads pydantic

    return TextConfig(
        to=values["to"] or "",
        protect=tuple(values["protect"] or ()),
        builtin_spans=not values["no_protect"],
        one_sentence_per_line=values["one_sentence_per_line"],
        glossary=values.get("glossary") or "",
    )


takes_text_options = grouped(
    "text",
    {**_TO, **_GLOSSARY, **_PROTECT, **_no_protect(hidden=True), **_ONE_SENTENCE},
    _text_config,
)
# Scoring has no glossary: it restricts the search, but does not change probabilities.
takes_reading_options = grouped(
    "text", {**_TO, **_PROTECT, **_no_protect(hidden=False), **_ONE_SENTENCE}, _text_config
)
