"""The layers are stated in three places: pyproject.toml, CONTRIBUTING.md and docs/layers.md."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def enforced_layers() -> list[str]:
    """The layers that import-linter checks, top to bottom."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    return list(layers)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/layers.md"])
def test_the_page_states_the_layers_that_import_linter_enforces(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    (block,) = re.findall(r"^```layers\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert block.splitlines() == enforced_layers()


def test_names_in_parentheses_do_not_exist_and_all_others_do() -> None:
    for name in (name for layer in enforced_layers() for name in re.split(r" [:|] ", layer)):
        path = ROOT / "src" / "yakusu" / name.strip("()")
        exists = path.is_dir() or path.with_suffix(".py").is_file()
        assert exists is not name.startswith("("), f"{name}: put parentheses around reserved names"
