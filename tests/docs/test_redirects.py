"""The tables of old anchors in docs/redirects are well formed; the docs build checks targets."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "redirects"
OLD = (FOLDER / "anchors.txt").read_text(encoding="utf-8").split()


@pytest.mark.parametrize("table", sorted(FOLDER.glob("*-side.txt")), ids=lambda path: path.stem)
def test_a_line_leads_from_an_old_anchor_to_a_page(table: Path) -> None:
    for line in table.read_text(encoding="utf-8").splitlines():
        old, target = line.split("\t")
        page = target.partition("#")[0]
        assert old in OLD
        assert (ROOT / "docs" / page).exists() or (ROOT / page).exists(), line
