"""The options that say how text is read, from which a verb gets one `TextConfig`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from yakusu.cli.option_groups import grouped

if TYPE_CHECKING:
    from yakusu.translator.passage import TextConfig

_PANEL = "Reading of the text"
_OPTIONS: dict[str, Any] = {
    "glossary": Annotated[
        str | None,
        typer.Option(
            "--glossary",
            metavar="FILE",
            help="Terms and their translations, separated by a tab.",
        ),
    ],
    "protect": Annotated[
        list[str] | None,
        typer.Option(
            "--protect",
            metavar="REGEX",
            help="Further text to copy. Repeatable.",
        ),
    ],
    "no_protect": Annotated[
        bool,
        typer.Option(
            "--no-protect",
            help="Translate placeholders, tags and addresses as text.",
            rich_help_panel=_PANEL,
            hidden=True,
        ),
    ],
    "one_sentence_per_line": Annotated[
        bool,
        typer.Option(
            "--one-sentence-per-line",
            help="Do not divide lines.",
        ),
    ],
}


def _text_config(values: dict[str, Any]) -> "TextConfig":
    from yakusu.translator.passage import TextConfig  # loads pydantic

    return TextConfig(
        protect=tuple(values["protect"] or ()),
        builtin_spans=not values["no_protect"],
        one_sentence_per_line=values["one_sentence_per_line"],
        glossary=values["glossary"] or "",
    )


takes_text_options = grouped("text", _OPTIONS, _text_config)
