"""The tables of docs/search.md and docs/recipe.md list every setting of the search."""

import re
from pathlib import Path
from typing import Any

import typer

from yakusu.cli.verbs import app
from yakusu.search.config import SamplingConfig, SearchConfig

DOCS = Path(__file__).parents[2] / "docs"


def rows_of(page: str, heading: str) -> list[list[str]]:
    """The cells of the tables in a section."""
    text = (DOCS / page).read_text(encoding="utf-8").partition(f"\n{heading}\n")[2]
    lines = re.split(r"^## ", text, flags=re.MULTILINE)[0].splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:1] == "|"]


def shown(value: Any) -> str:
    return "none" if value in (None, ()) else str(value)


def test_the_table_of_options_lists_every_option_of_translate() -> None:
    command = typer.main.get_command(app).commands["translate"]  # type: ignore[attr-defined]
    options = {name for each in command.params for name in each.opts if name.startswith("--")}
    cells = [row[0] for row in rows_of("search.md", "## Options")]
    assert set(re.findall(r"`(--[\w-]+)", " ".join(cells))) == options - {
        "--help",
        "--help-all",
        "--debug",
    }


def test_the_table_of_options_has_the_fields_and_their_defaults() -> None:
    listed = {row[2].strip("`"): row[1] for row in rows_of("search.md", "## Options")}
    of_search = {
        name: shown(f.default)
        for name, f in SearchConfig.model_fields().items()
        if name != "sampling"
    }
    of_sampling = {
        f"sampling.{name}": shown(f.default) for name, f in SamplingConfig.model_fields().items()
    }
    wanted = {**of_search, **of_sampling}
    assert {name: listed.get(name) for name in wanted} == wanted


def test_the_page_on_recipes_lists_every_key_of_the_search() -> None:
    cells = [row[0] for row in rows_of("recipe.md", "## `[search]`")]
    assert set(re.findall(r"`(\w+)`", " ".join(cells))) == set(SearchConfig.model_fields())
