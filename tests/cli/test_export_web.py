"""`yakusu export --to web` refuses what it cannot do, in one sentence."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

MODEL = Path(__file__).parents[1] / "fixtures/format-1/transformer"


@pytest.mark.parametrize("more", [("--src", "x"), ("--sentences", "3"), ("--precision", "int8")])
def test_options_of_other_formats_are_refused(
    run_yakusu: Callable[..., Any], tmp_path: Path, more: tuple[str, str]
) -> None:
    said = run_yakusu("export", MODEL, tmp_path / "module", "--to", "web", *more)
    assert said.code == 2
    assert "--to web takes none of --src, --sentences and --precision: remove them" in said.error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("models", "more", "reason"),
    [
        ([MODEL, MODEL], (), "--to hf takes one model"),
        ([MODEL], ("--test-src", "a.en"), "--to hf takes neither --test-src nor --test-tgt"),
    ],
)
def test_what_only_a_page_takes_is_refused_for_others(
    run_yakusu: Callable[..., Any],
    tmp_path: Path,
    models: list[Path],
    more: tuple[str, ...],
    reason: str,
) -> None:
    said = run_yakusu("export", *models, tmp_path / "out", "--to", "hf", *more)
    assert said.code == 2
    assert reason in said.error
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_the_test_set_alone_is_refused(
    run_yakusu: Callable[..., Any], tmp_path: Path
) -> None:
    said = run_yakusu("export", MODEL, tmp_path / "a.html", "--to", "web", "--test-src", "a.en")
    assert said.code == 2
    assert "give both --test-src and --test-tgt" in said.error


def test_bleu_is_measured_on_the_pairs_that_a_run_held_out(
    run_yakusu: Callable[..., Any], tmp_path: Path
) -> None:
    model, data = tmp_path / "run/model", tmp_path / "run/data"
    shutil.copytree(MODEL, model)
    said = run_yakusu("export", model, tmp_path / "a.html", "--to", "web")
    assert said.code == 0 and "BLEU not measured" in said.out
    data.mkdir()
    for side in ("src", "tgt"):
        (data / f"dev.{side}.txt").write_text("one\ntwo\n", encoding="utf-8")
    said = run_yakusu("export", model, tmp_path / "b.html", "--to", "web")
    assert said.code == 0 and "dev set of 2 pairs" in said.out


def test_a_missing_protobuf_is_named_with_its_extra(
    run_yakusu: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*sys.modules]:
        if name.split(".")[0] == "google" or name == "yakusu.export.web.model_file":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "sentencepiece.sentencepiece_model_pb2", raising=False)
    monkeypatch.delattr(sentencepiece, "sentencepiece_model_pb2", raising=False)
    monkeypatch.setitem(sys.modules, "google", None)
    said = run_yakusu("export", MODEL, tmp_path / "module", "--to", "web")
    assert said.code == 2
    assert "install yakusu with its extra 'web'" in said.error
    assert list(tmp_path.iterdir()) == []
