"""The functions that the map of CONTRIBUTING.md names exist in the files that it names."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.findall(
    r"`([\w.]+)` \(([\w/]+\.(?:py|c))\)", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
)


def test_the_map_has_five_functions_for_each_of_five_flows() -> None:
    assert len(NAMED) >= 25


@pytest.mark.parametrize(("name", "path"), NAMED)
def test_a_function_of_the_map_is_in_its_file(name: str, path: str) -> None:
    text = (ROOT / "src" / "yakusu" / path).read_text(encoding="utf-8")
    if path.endswith(".c"):
        assert re.search(rf"^static int {name}\(", text, re.MULTILINE)
        return
    body = ast.parse(text).body
    for part in name.split("."):
        kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        (found, *_) = [node for node in body if isinstance(node, kinds) and node.name == part]
        body = found.body
