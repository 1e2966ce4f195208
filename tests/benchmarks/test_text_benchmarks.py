"""What the benchmarks of the text rules count."""

import json
from pathlib import Path
from typing import Any

import pytest

from yakusu.data.lines.code import CODE_RULES
from yakusu.data.tokenizer import Tokenizer

code_tokens: Any = pytest.importorskip(
    "benchmarks.reliability.code_tokens", reason="only a checkout has benchmarks"
)
normalization: Any = pytest.importorskip("benchmarks.reliability.normalization")
text_versions: Any = pytest.importorskip("benchmarks.reliability.text_versions")

MODEL = Path(__file__).parents[1] / "fixtures" / "format-1" / "transformer"


def test_every_verdict_is_about_a_rule_and_2000_lines_are_read_in_each_language() -> None:
    judged = json.loads(code_tokens.JUDGED.read_text(encoding="utf-8"))
    assert list(judged) == list(code_tokens.LANGUAGES)
    for found in judged.values():
        hits = [hit for each in found["fires"].values() for hit in each]
        assert {verdict for *_, verdict in hits} <= {"code", "prose"}
        assert {rule for _, _, rule, _ in hits} <= {rule.name for rule in CODE_RULES}
        assert sum(map(len, found["silent"].values())) in range(1990, 2001)


def test_tokens_are_counted_by_their_verdicts(tmp_path: Path) -> None:
    (tmp_path / "a.de").write_text("Nimm {n} und theForces.\nGut.\nSiehe a.txt.\n")
    judged = {
        "fires": {"a.de": [[1, 5, "field", "code"], [1, 13, "identifier", "prose"]]},
        "silent": {"a.de": [2]},
        "missed": [],
    }
    assert code_tokens.counted(tmp_path, "de", judged, show=False) == {
        **{"lines": 3, "with_token": 2, "judged": 1, "prose": 1, "read": 1, "missed": 0},
        "rules": {"field": 1, "file": 1, "identifier": 1},
    }


def test_the_share_of_full_width_forms_ignores_marks_with_a_single_form() -> None:
    assert normalization.full_width(["本、？。", "a? b!", "２"]) == 0.5
    assert normalization.full_width(["本。"]) == 0


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("DO NOT OPEN THE DOOR!", "capitals"),
        ("see user_name", "tokens"),
        ("the <b>small</b> {n}", "tags"),
        ("the small dog", "other"),
    ],
)
def test_a_line_that_changes_has_one_kind(line: str, kind: str) -> None:
    assert text_versions.kind_of(line, Tokenizer.load(MODEL)) == kind
