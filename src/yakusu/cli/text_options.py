"""The options that say how text is read, from which a verb gets one `TextConfig`."""

import re
from collections.abc import Sequence
from typing import Any

from yakusu.cli.option_groups import Shown, flag, grouped, options_of
from yakusu.data.lines.config import TextConfig
from yakusu.errors import DataError

_TO = {"to": Shown("Target language, if several.", "CODE")}
_GLOSSARY = {"glossary": Shown("Glossary. Repeatable.", "FILE")}
_PROTECT = {"protect": Shown("Regular expression of text to copy. Repeatable.", "REGEX")}
_PROTECT_SECONDS = {
    "protect_seconds": Shown(
        "Longest time of these expressions for a line, in seconds.", panel="Text processing"
    )
}
_LONGEST_LINE = {
    "longest_line": Shown(
        "Longest line that is translated, in bytes; longer ones are kept.", panel="Text processing"
    )
}
_ONE_SENTENCE = {"one_sentence_per_line": Shown("Do not divide lines.")}


def _less_protected(panel: str | None) -> dict[str, Any]:
    none = Shown("Treat placeholders, tags and addresses as ordinary text.", panel=panel)
    rule = Shown("The same for what one rule finds. Repeatable.", "RULE", panel)
    no_protect = flag("--no-protect", none)
    return {"no_protect": no_protect, **options_of(TextConfig, {"unprotect": rule})}


_PANEL = "Text processing"
_MEMORY = {
    "memory": Shown("Memory file. Repeatable.", "FILE"),
    "threshold": Shown("Lowest match rate that is offered.", "PERCENT", _PANEL),
}
_PENALTIES = Shown(
    "Penalty for matches of an origin; * stands for any text. Repeatable.",
    "ORIGIN=PERCENT",
    _PANEL,
)
_MIN_QUALITY = {
    "min_quality": Shown(
        "Lowest estimated quality, 0 to 100; sentences with worse translations are kept.",
        panel=_PANEL,
    )
}
_SWITCHES = {
    "no_capitals": flag(
        "--no-capitals",
        Shown("Read sentences in capitals or title case as they are.", panel=_PANEL),
    ),
    "no_check": flag(
        "--no-check",
        Shown("Accept translations whose numbers or code-like tokens differ.", panel=_PANEL),
    ),
}
_NOT_USED = {
    "no_exact": flag(
        "--no-exact",
        Shown("Only offer exact matches; the model translates all texts.", panel=_PANEL),
    ),
    "no_learning": flag(
        "--no-learning",
        Shown("Use matches only; do not learn from related segments.", panel=_PANEL),
    ),
    "no_memory": flag(
        "--no-memory", Shown("Do not use the memory that the model names.", panel=_PANEL)
    ),
}


def _text_version(panel: str | None) -> dict[str, Any]:
    shown = Shown("Version of the text rules; 1: those of older versions.", panel=panel)
    return {"text_version": options_of(TextConfig, {"version": shown})["version"]}


def _penalty() -> dict[str, Any]:
    return {"penalty": options_of(TextConfig, {"penalties": _PENALTIES})["penalties"]}


def _penalties(given: Sequence[str]) -> dict[str, int]:
    found = dict[str, int]()
    for each in given:
        origin, _, percent = each.rpartition("=")
        if not origin or not re.fullmatch(r"\d{1,2}|100", percent):
            raise DataError(
                f"--penalty {each!r} is not an origin and a percentage: write it as in 'mt*=10'"
            )
        found[origin] = int(percent)
    return found


def _text_config(values: dict[str, Any]) -> TextConfig:
    values["builtin_spans"] = not values.pop("no_protect")
    for name in ("capitals", "check", "exact", "learning"):
        values[name] = not values.pop(f"no_{name}", False)
    values["own_memory"] = not values.pop("no_memory", False)
    values["version"] = values.pop("text_version")
    values["penalties"] = _penalties(values.pop("penalty", None) or ())
    return TextConfig(**{name: value for name, value in values.items() if value is not None})


takes_text_options = grouped(
    "text",
    {
        **options_of(TextConfig, _TO | _GLOSSARY | _MEMORY | _PROTECT),
        **_less_protected(_PANEL),
        **_SWITCHES,
        **_NOT_USED,
        **_penalty(),
        **options_of(TextConfig, _MIN_QUALITY | _PROTECT_SECONDS | _LONGEST_LINE),
        **options_of(TextConfig, _ONE_SENTENCE),
        **_text_version(_PANEL),
    },
    _text_config,
)
# Scoring has no glossary: it restricts the search, but does not change probabilities.
takes_reading_options = grouped(
    "text",
    {
        **options_of(TextConfig, _TO | _PROTECT | _PROTECT_SECONDS),
        **_less_protected(None),
        **options_of(TextConfig, _ONE_SENTENCE),
        **_text_version(None),
    },
    _text_config,
)
