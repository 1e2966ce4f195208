"""The exchange of models: the models of the benchmark, environments, and reports of tests."""

import argparse
from pathlib import Path
from typing import Any

import pytest

from tests.export.marians import VARIANTS, Marian
from yakusu.errors import DataError, RunError
from yakusu.export.formats import FORMATS, ExportedModel
from yakusu.translator import Translator
from yakusu.translator.folder.folder import ModelFolder

pytest.importorskip("babel")
pytest.importorskip("num2words")
models: Any = pytest.importorskip("benchmarks.interop.models", reason="only a checkout has it")
environments: Any = pytest.importorskip("benchmarks.interop.environments")
exports: Any = pytest.importorskip("benchmarks.interop.exports")
formats: Any = pytest.importorskip("benchmarks.interop.formats")
imports: Any = pytest.importorskip("benchmarks.interop.imports")
peers: Any = pytest.importorskip("benchmarks.interop.peers")

REPORT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites name="pytest tests">
<testsuite name="pytest" errors="1" failures="2" skipped="3" tests="10" time="4.5">
<testcase classname="a" name="b" time="0.1" /></testsuite></testsuites>"""
FOUND = {"passed": 3, "skipped": 0, "failed": 0, "seconds": 1.0, "versions": {"torch": "2"}}


# ---- models --------------------------------------------------------------------------------------


def test_the_generated_models_translate_sentences_differently(tmp_path: Path) -> None:
    model = models.write_model("as in the paper", tmp_path)
    texts = Translator.load(model).translate(models.sentences(8))
    assert len(set(texts)) == 8


@pytest.mark.parametrize("name", ["as in the paper", "other depths", "three tables"])
def test_an_export_to_hugging_face_keeps_all_tensors(name: str, tmp_path: Path) -> None:
    model, out = models.write_model(name, tmp_path / "own"), tmp_path / "hf"
    out.mkdir()
    FORMATS["hf"].write(out, ExportedModel.of(ModelFolder.open(model)))
    same, n_tensors = exports.same_tensors(model, out)
    assert same == n_tensors > 40


def test_a_format_that_cannot_hold_a_model_gives_the_reason(tmp_path: Path) -> None:
    model = models.write_model("convolutions", tmp_path)
    row = exports.export_row("a", model, "ONNX", tmp_path / "out", models.sentences(2))
    assert formats.refusal(row) == (
        "not supported: the format onnx has no convolution or recurrence in place of self-attention"
    )


def test_marian_and_its_converters_need_padding_at_the_end(tmp_path: Path) -> None:
    forms = [
        [form for form, *_ in imports.originals(marian, tmp_path / str(i))]
        for i, marian in enumerate((VARIANTS["pad first"], Marian(separate=True, shared=False)))
    ]
    assert forms == [["Hugging Face"], ["Hugging Face", "Marian"]]


def test_a_trained_model_has_a_name_and_a_path() -> None:
    assert formats.named("demo=runs/a=b") == ("demo", Path("runs/a=b"))
    with pytest.raises(DataError, match="--model runs/model: give NAME=PATH"):
        formats.named("runs/model")


# ---- environments --------------------------------------------------------------------------------


def test_a_report_is_counted() -> None:
    assert peers.counts(REPORT) == {"passed": 4, "skipped": 3, "failed": 3}


@pytest.mark.parametrize("name", peers.TESTS)
def test_each_peer_has_pinned_requirements_and_tests(name: str) -> None:
    assert environments.pinned(name)
    tests = environments.ROOT / "tests"
    assert [file for file in peers.TESTS[name] if not (tests / file).exists()] == []


def test_an_environment_is_used_again_until_its_requirements_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = []

    def run(command: list[Any], **_: Any) -> argparse.Namespace:
        installed.append(command)
        command[2].mkdir(parents=True)
        return argparse.Namespace(returncode=0)

    requirements = tmp_path / "requirements.txt"
    monkeypatch.setattr(environments, "FOLDER", tmp_path / "peers")
    monkeypatch.setattr(environments, "requirements", lambda _: requirements)
    monkeypatch.setattr(environments.subprocess, "run", run)
    for pins in ("a==1", "a==1", "a==2"):
        requirements.write_text(pins)
        assert environments.environment("a") == tmp_path / "peers" / "a" / "bin" / "python"
    assert len(installed) == 2


@pytest.mark.parametrize("failure", ["environment", "test"])
def test_one_failing_peer_fails_the_run_and_the_others_still_run(
    failure: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def environment(name: str) -> Path:
        if failure == "environment" and name == "onnx":
            raise RunError("the environment cannot be installed")
        return Path(name)

    def test(python: Path, _: object) -> dict[str, Any]:
        return FOUND | ({"failed": 2} if python == Path("onnx") else {})

    recorded: dict[str, Any] = {}
    monkeypatch.setattr(peers, "environment", environment)
    monkeypatch.setattr(peers, "test", test)
    monkeypatch.setattr(peers, "versions", lambda *_: {"torch": "2"})
    monkeypatch.setattr(
        peers.benchmark, "record", lambda found: recorded.update({found["name"]: found})
    )
    with pytest.raises(SystemExit) as exited:
        peers.main(argparse.Namespace(quick=False, peers=["onnx", "argos"]))
    assert exited.value.code == 1 and recorded["argos"] == {"name": "argos", **FOUND}
    said = {
        "environment": "onnx: the environment cannot be installed",
        "test": "onnx: 3 passed, 0 skipped, 2 failed in 1 s (torch 2)",
    }
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == [said[failure], "argos: 3 passed, 0 skipped, 0 failed in 1 s (torch 2)"]


def test_a_run_of_no_tests_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    done = argparse.Namespace(returncode=5)
    monkeypatch.setattr(peers.subprocess, "run", lambda *_, **__: done)
    with pytest.raises(RunError, match="no test ran: pytest ended with exit code 5"):
        peers.test(Path("python"), ("export/test_onnx.py",))
