"""The table of rules in docs/real-text.md is the one that the code yields.

`python -m tests.docs.test_code_rules` prints it.
"""

import sys
from pathlib import Path

from yakusu.data.lines.code import CODE_RULES

PAGE = Path(__file__).parents[2] / "docs" / "real-text.md"


def table() -> str:
    """The rules and their examples, in Markdown."""
    rows = [f"| `{rule.name}` | {rule.about} | {_examples(rule.examples)} |" for rule in CODE_RULES]
    return "\n".join(("| rule | what it finds | examples |", "|---|---|---|", *rows))


def _examples(examples: tuple[str, ...]) -> str:
    escaped = (example.replace("|", "\\|") for example in examples)
    return " ".join(f"`` {each} ``" if "`" in each else f"`{each}`" for each in escaped)


def test_the_page_lists_the_rules_with_their_examples() -> None:
    assert table() in PAGE.read_text(encoding="utf-8")


def test_the_page_names_the_rules_that_are_new_in_version_2() -> None:
    *others, last = (f"`{rule.name}`" for rule in CODE_RULES if rule.since == 2)
    section = PAGE.read_text(encoding="utf-8").partition("\n## Versions\n")[2]
    assert f"The rules {', '.join(others)} and {last} are off." in " ".join(section.split())


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n")
