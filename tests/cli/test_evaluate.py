"""The verbs `evaluate` and `verify`."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from yakusu.folder import sha256

Yakusu = Callable[..., Any]


def test_evaluate_prints_bleu_chrf_and_ter_with_signatures(run_yakusu: Yakusu, work: Path) -> None:
    said = run_yakusu("evaluate", work / "a.de", work / "a.de", "--language", "de")
    assert said.code == 0 and said.err == ""
    names = [line.split(" (")[0] for line in said.out.splitlines()]
    assert names == ["BLEU = 100.00", "chrF2 = 100.00", "TER = 0.00"]
    assert said.out.splitlines()[0].split(" (")[1].startswith("nrefs:1|case:mixed|eff:no|tok:13a|")


def test_evaluate_warns_if_the_output_never_has_capital_letters(
    run_yakusu: Yakusu, tmp_path: Path
) -> None:
    (tmp_path / "truth").write_text("The ferry sails.\nWe wait.\n")
    (tmp_path / "out").write_text("the ferry sails.\nwe wait.\n")
    said = run_yakusu("evaluate", tmp_path / "out", tmp_path / "truth")
    assert "no capital letters" in said.err and "--lowercase" in said.err
    for options in (("out", "truth", "--lowercase"), ("truth", "truth"), ("out", "out")):
        files = [tmp_path / name for name in options[:2]]
        assert "capital" not in run_yakusu("evaluate", *files, *options[2:]).err


def test_evaluate_of_a_model_scores_its_translations(
    run_yakusu: Yakusu, work: Path, model: Path, tmp_path: Path
) -> None:
    for name in ("a.en", "a.de"):
        lines = (work / name).read_text().splitlines()[:20]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    (tmp_path / "out").write_text(run_yakusu("translate", model, tmp_path / "a.en").out)
    of_model = run_yakusu("evaluate", model, tmp_path / "a.de", "--src", tmp_path / "a.en")
    of_file = run_yakusu("evaluate", tmp_path / "out", tmp_path / "a.de")
    assert of_model.code == 0
    assert of_model.out == of_file.out


def test_evaluate_compares_with_a_baseline_and_adds_the_papers_bleu(
    run_yakusu: Yakusu, work: Path
) -> None:
    said = run_yakusu(
        "evaluate", work / "a.de", work / "a.de", "--baseline", work / "a.en",
        "--paper", "--language", "de",
    )  # fmt: skip
    lines = said.out.splitlines()
    assert said.code == 0 and len(lines) == 7
    assert lines[3].startswith("BLEU (tokenised, compound-split) = 100.00 (")
    assert lines[4].startswith("baseline: BLEU = 0.") and lines[5].startswith(
        "system:   BLEU = 100"
    )
    assert re.match(r"paired bootstrap: p-value = 0\.\d{4} ", lines[6])


def test_a_missing_file_to_translate_or_to_score_is_refused(
    run_yakusu: Yakusu, model: Path, tmp_path: Path
) -> None:
    missing = tmp_path / "none"
    told = f"{missing} does not exist: check the path"
    assert run_yakusu("translate", model, missing).error == told
    assert run_yakusu("evaluate", missing, missing).error == told


def test_texts_of_unequal_length_or_a_model_without_src_are_refused(
    run_yakusu: Yakusu, work: Path, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "one").write_text("x\n")
    (tmp_path / "two").write_text("x\ny\n")
    assert run_yakusu("evaluate", tmp_path / "one", tmp_path / "two").error == (
        f"{tmp_path / 'one'} and {tmp_path / 'two'} differ in length (1 and 2 lines): align them "
        "line by line"
    )
    assert run_yakusu("evaluate", model, tmp_path / "two").error == (
        f"{model} is a model folder: add --src FILE with the sentences to translate"
    )


def test_a_parser_is_no_baseline_of_translations(run_yakusu: Yakusu, work: Path) -> None:
    parser = Path(__file__).parents[1] / "fixtures" / "format-1" / "parser"
    files = (work / "a.de", work / "a.de", "--baseline", parser, "--src", work / "a.en")
    assert run_yakusu("evaluate", *files).error.startswith(f"{parser} is a parser: use trees")


def test_verify_prints_how_a_model_was_made_and_names_a_changed_file(
    run_yakusu: Yakusu, own: Path
) -> None:
    model = own / "run" / "model"
    said = run_yakusu("verify", model)
    assert said.code == 0
    assert f"{sha256(model / 'model.safetensors')}  model.safetensors" in said.out
    assert f"input train.src: {sha256(own / 'a.en')}" in said.out
    assert re.search(
        r"6 steps, [\d,]+ target tokens, .* FLOPs counted, .* paper's formula", said.out
    )
    assert said.out.endswith(f"intact: all 7 files of {model} match their recorded hashes\n")
    (model / "README.md").write_text("mine")
    assert f"{model / 'README.md'} is corrupt" in run_yakusu("verify", model).error


def test_the_model_card_has_languages_data_scores_and_usage(own: Path) -> None:
    text = (own / "run" / "model" / "README.md").read_text()
    assert text.startswith("---\nlanguage: [en, de]\n")
    for wanted in ("# en to de", " sentence pairs |", "- BLEU = ", "yakusu translate"):
        assert wanted in text


def test_evaluate_compares_two_models(
    run_yakusu: Yakusu, work: Path, model: Path, tmp_path: Path
) -> None:
    for name in ("a.en", "a.de"):
        lines = (work / name).read_text().splitlines()[:9]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    args = ["evaluate", model, tmp_path / "a.de", "--baseline", model]
    said = run_yakusu(*args, "--src", tmp_path / "a.en")
    *_, baseline, system, p = said.out.splitlines()
    assert baseline.split(":")[1].split() == system.split(":")[1].split()
    assert p.startswith("paired bootstrap: p-value = 1.0000 ")
    files = [tmp_path / "a.de", tmp_path / "a.de", "--baseline", model]
    assert "is a model folder: add --src FILE" in run_yakusu("evaluate", *files).error


def test_evaluate_decides_between_trees_and_text_by_the_reference(
    run_yakusu: Yakusu, tmp_path: Path
) -> None:
    trees, text = tmp_path / "a.txt", tmp_path / "b.txt"
    trees.write_text("(S (NP (DT the) (NN boat)) (VP (VBZ sails)))\n")
    text.write_text("the boat sails\n")
    assert run_yakusu("evaluate", trees, trees).out.startswith("F1 = 100.00 (")
    assert run_yakusu("evaluate", trees, trees, "--text").out.startswith("BLEU = 100.00 (")
    assert run_yakusu("evaluate", text, text).out.startswith("BLEU = 0.00 (")
    assert "line 1" in run_yakusu("evaluate", text, text, "--trees").error
    refused = run_yakusu("evaluate", trees, trees, "--lowercase").error
    assert refused.startswith(
        f"{trees} contains trees, to which these options do not apply: omit the"
    )


@pytest.mark.parametrize("code", ["xx", "xyz", "german", "d", "", "12", "de-"])
def test_evaluate_refuses_an_unknown_language(run_yakusu: Yakusu, work: Path, code: str) -> None:
    said = run_yakusu("evaluate", work / "a.de", work / "a.de", "--language", code)
    assert said.error.startswith(f"there is no language '{code}': ")


@pytest.mark.parametrize("code", ["de", "pt-BR", "zh_CN", "gsw", "DE", "jpn", "zho_Hant", "zt"])
def test_evaluate_accepts_any_spelling(run_yakusu: Yakusu, work: Path, code: str) -> None:
    assert run_yakusu("evaluate", work / "a.de", work / "a.de", "--language", code).code == 0


def test_evaluate_refuses_src_without_a_model(run_yakusu: Yakusu, work: Path) -> None:
    said = run_yakusu("evaluate", work / "a.de", work / "a.de", "--src", "none")
    assert said.error == (
        "--src has no effect unless SYSTEM or --baseline is a model folder: omit it"
    )


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ("--engine torch", "--engine has no effect unless {}: omit it"),
        ("--threads 2 --precision int8", "--precision, --threads have no effect unless {}: omit"),
        ("--src none --device cpu", "--src, --device have no effect unless {}: omit them"),
    ],
)
def test_evaluate_refuses_options_of_an_engine_without_a_model(
    run_yakusu: Yakusu, work: Path, options: str, refused: str
) -> None:
    said = run_yakusu("evaluate", work / "a.de", work / "a.de", *options.split())
    assert said.error.startswith(refused.format("SYSTEM or --baseline is a model folder"))
    said = run_yakusu("evaluate", work / "a.de", work / "a.de", "--baseline", work / "a.en",
                      *options.split())  # fmt: skip
    assert said.error.startswith(refused.format("SYSTEM or --baseline is a model folder"))


def test_evaluate_of_trees_refuses_options_of_an_engine_without_a_model(
    run_yakusu: Yakusu, tmp_path: Path
) -> None:
    trees = tmp_path / "a.mrg"
    trees.write_text("(S (NP (DT the) (NN boat)) (VP (VBZ sails)))\n")
    said = run_yakusu("evaluate", trees, trees, "--engine", "native")
    assert said.error == "--engine has no effect unless SYSTEM is a model folder: omit it"


# ---- robustness ----------------------------------------------------------------------------------


@pytest.fixture
def few(work: Path, tmp_path: Path) -> list[str | Path]:
    """A reference and --src with a few lines."""
    for name in ("a.en", "a.de"):
        lines = (work / name).read_text().splitlines()[:4]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    return [tmp_path / "a.de", "--src", tmp_path / "a.en"]


def test_evaluate_robust_prints_a_row_for_each_way_to_type(
    run_yakusu: Yakusu, model: Path, few: list[str | Path]
) -> None:
    said = run_yakusu("evaluate", model, *few, "--robust")
    rows = [re.split(r"\s{2,}", line)[0] for line in said.out.splitlines()[1:8]]
    assert said.code == 0
    assert rows == [
        *("plain", "capitals", "title case", "lower case"),
        *("no final punctuation", "typos", "emoji"),
    ]
    plain = run_yakusu("evaluate", model, *few).out.splitlines()[0]
    assert said.out.splitlines()[1].split()[1] == plain.split()[2]


def test_evaluate_prints_json(run_yakusu: Yakusu, model: Path, few: list[str | Path]) -> None:
    scores = json.loads(run_yakusu("evaluate", few[0], few[0], "--format", "json").out)
    assert [(score["name"], round(score["value"])) for score in scores][:2] == [
        ("BLEU", 100),
        ("chrF2", 100),
    ]
    assert scores[0]["signature"].startswith("nrefs:1|")
    found = json.loads(run_yakusu("evaluate", model, *few, "--robust", "--format", "json").out)
    first = found["rows"][0]
    assert first["name"] == "plain" and first["digits"] == {"n_right": 0, "n_sentences": 0}
    assert {"bleu", "of_plain", "emoji_kept"} < set(first)


def test_evaluate_robust_refuses_what_it_does_not_score(
    run_yakusu: Yakusu, model: Path, few: list[str | Path]
) -> None:
    assert run_yakusu("evaluate", few[0], few[0], "--robust").error == (
        f"--robust translates sentences, but {few[0]} is not a model folder: give a model folder, "
        "or omit --robust"
    )
    assert run_yakusu("evaluate", model, *few, "--robust", "--paper").error == (
        "--robust scores one model with BLEU: omit --paper"
    )
    assert "add --src FILE" in run_yakusu("evaluate", model, few[0], "--robust").error
