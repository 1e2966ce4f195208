"""The verb `yakusu export`. What it calls is tested in tests/export, with the libraries."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import yakusu
from yakusu.export.verify import Searched, Verification

RunYakusu = Callable[..., Any]


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The arguments of each call; 40 of 50 translations are identical with beam 4."""
    calls: list[dict[str, Any]] = []

    def export_model(model: str, out: str, **options: Any) -> Verification:
        calls.append({"model": model, "out": out, **options})
        beam = Searched(identical=40, ties=10)
        return Verification("logits", 6.7e-6, 50, Searched(identical=50, ties=0), beam, 39)

    monkeypatch.setattr(yakusu, "export_model", export_model)
    return calls


def test_export_prints_what_was_compared(
    run_yakusu: RunYakusu, exported: list[dict[str, Any]]
) -> None:
    said = run_yakusu("export", "model", "out", "--to", "hf", "--src", "test.en")
    assert said.code == 0, said.err
    assert said.out.splitlines() == [
        "largest difference of logits: 6.7e-06, in 50 sentences",
        "identical translations, greedy search: 50 of 50",
        "identical translations, beam 4: 40 of 50, 10 of equal score",
        "identical translations, the model's own settings: 39 of 50 (the searches differ)",
        "model: out",
    ]
    assert exported[0]["src"] == Path("test.en")
    assert (exported[0]["to"], exported[0]["precision"]) == ("hf", "float32")


@pytest.mark.usefixtures("exported")
def test_rounded_models_have_different_translations(run_yakusu: RunYakusu) -> None:
    said = run_yakusu("export", "model", "out", "--to", "argos", "--precision", "int8")
    assert "identical translations, beam 4: 40 of 50, 10 different" in said.out.splitlines()


def test_an_unknown_precision_is_refused_with_those_of_the_format(tmp_path: Path) -> None:
    with pytest.raises(yakusu.RunError, match=r"^onnx has no precision int4: choose from float32$"):
        yakusu.export_model(tmp_path, tmp_path / "out", to="onnx", precision="int4")  # type: ignore[arg-type]


def test_a_format_without_the_precision_is_refused(run_yakusu: RunYakusu, tmp_path: Path) -> None:
    said = run_yakusu("export", tmp_path, tmp_path / "out", "--to", "onnx", "--precision", "int8")
    assert said.error == "onnx has no precision int8: choose --to ctranslate2 or argos"
    assert not (tmp_path / "out").exists()
