"""Files and tests that the pages name exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_relative_links_lead_to_files(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert len(links) >= 3
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_files_in_the_tables_of_the_readme_exist() -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Where is")[2]
    files = re.findall(r"`([\w/]+(?:\.py|/))`", section.partition("| in the paper")[2])
    assert len(files) > 15
    assert [file for file in files if not (ROOT / "src" / "yakusu" / file).exists()] == []


@pytest.mark.parametrize(("name", "fewest"), [("reliability.md", 11), ("engine.md", 6)])
def test_tests_that_a_page_names_exist(name: str, fewest: int) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    code = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/test_*.py"))
    names = re.findall(r"`(test_\w+)(?:\.\.\.)?`", page)
    assert len(names) >= fewest
    assert [each for each in names if f"def {each}" not in code] == []


def test_test_files_and_records_that_the_pages_name_exist() -> None:
    files = {path.name for path in ROOT.glob("tests/**/*.py")}
    records = {path.name for path in (ROOT / "benchmarks" / "results").iterdir()}
    for page in ROOT.glob("docs/*.md"):
        text = page.read_text(encoding="utf-8")
        assert set(re.findall(r"`(?:tests/[\w/]*)?(test_\w+\.py)`", text)) <= files, page
        assert set(re.findall(r"`benchmarks/results/(\w+\.json)`", text)) <= records, page
