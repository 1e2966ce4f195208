"""JoeyNMT's vocabulary and configuration, and the tables of translation quality."""

import argparse
from pathlib import Path
from typing import Any

import pytest

joeynmt: Any = pytest.importorskip(
    "benchmarks.paper.joeynmt", reason="only a checkout has benchmarks"
)
fast_student: Any = pytest.importorskip("benchmarks.paper.fast_student")
quick: Any = pytest.importorskip("benchmarks.quick")
records: Any = pytest.importorskip("benchmarks.records")
techniques: Any = pytest.importorskip("benchmarks.paper.techniques")


def test_the_vocabulary_has_all_pieces_except_the_symbols_that_joeynmt_adds(tmp_path: Path) -> None:
    quick.write_data(tmp_path)
    joeynmt.learn_pieces(tmp_path / "tatoeba" / "en-de", tmp_path, 110)
    pieces = (tmp_path / "pieces.txt").read_text().splitlines()
    assert len(pieces) == 110 - len(["<unk>", "<s>", "</s>"]) == len(set(pieces))
    assert not {"<unk>", "<s>", "</s>"} & set(pieces)


def test_the_configuration_is_the_published_one_for_160_000_pairs(tmp_path: Path) -> None:
    config = joeynmt.config_of(tmp_path, tmp_path, 7, 256)
    model, training = config["model"], config["training"]
    assert model["encoder"] == model["decoder"]
    sizes = {key: model["encoder"][key] for key in ("num_layers", "num_heads", "ff_size")}
    assert sizes == {"num_layers": 6, "num_heads": 4, "ff_size": 1024}
    # JoeyNMT's defaults differ between the encoder and the decoder.
    assert model["encoder"]["layer_norm"] == "pre"
    assert config["testing"]["max_output_length"] == 100
    assert training["learning_rate_min"] == 0  # YAML reads 1e-08, as JSON writes it, as text
    assert (training["batch_size"], training["scheduling"]) == (4096, "plateau")


def test_an_epoch_continues_from_the_one_before(tmp_path: Path) -> None:
    first, second = (joeynmt.config_of(tmp_path, tmp_path, epoch, 256) for epoch in (1, 2))
    assert first["training"]["load_model"] is None
    assert second["training"]["load_model"] == f"{first['model_dir']}/latest.ckpt"
    assert [each["training"]["epochs"] for each in (first, second)] == [1, 2]
    assert first["random_seed"] != second["random_seed"]


def test_the_table_has_no_test_score_of_a_run_that_did_not_translate_the_test_set() -> None:
    facts = {"name": "a", "parameters": 5, "epochs": 1, "steps": 2, "minutes": 3.0}
    dev, both = facts | {"dev": "BLEU = 1.25"}, facts | {"dev": "BLEU = 1.25", "test": "BLEU = 2.5"}
    (table,) = joeynmt.tables([dev, both])
    assert [row[-2:] for row in table.rows] == [["1.25", "-"], ["1.25", "2.50"]]


def test_a_student_is_compared_with_the_ensemble_with_each_beam() -> None:
    model, other, student = Path("a"), Path("b"), Path("c")
    args = argparse.Namespace(model=model, ensemble=[other], student=student, beams=[2])
    assert fast_student.sides_of(args) == {
        "ensemble of 2": ((model, other), None),
        "ensemble of 2, greedy": ((model, other), 1),
        "student": ((student,), None),
        "student, beam of 2": ((student,), 2),
    }


def test_students_have_a_table_for_each_model_they_are_compared_with() -> None:
    row = {"name": "a", "beam": 1, "parameters": 5, "score": "BLEU = 1.25", "ratio": {"value": 2.0}}
    row |= {"difference": [0.0, -1.0, 1.0], "sentences_per_second": 3.0}
    with_model, with_ensemble = (row | {"compared_with": name} for name in ("model", "ensemble"))
    tables = list(fast_student.tables([row, with_model, with_ensemble, with_model]))
    assert [len(table.rows) for table in tables] == [1, 2, 1]


def test_the_scores_on_the_test_sets_are_not_a_row_of_the_techniques() -> None:
    row = {"name": "a", "dev_bleu": 3.0, "gain": [0.0, 0.0, 0.0], "minutes": 1.0}
    row |= {"flops": 1.0, "device": "made"}
    tests = {"name": techniques.TESTED, "model": "a", "tests": {"test2016": "BLEU = 2.5"}}
    first, second = techniques.tables([row, tests])
    assert [each[0] for each in first.rows] == ["a"]
    assert (second.head, second.rows) == (["Model", "test2016"], [["a", "2.50"]])


def test_the_figure_of_the_techniques_has_a_row_for_each_except_runs_with_equal_settings(
    tmp_path: Path,
) -> None:
    machine = {"cpu": "made", "cores": 2, "threads": 1}
    circumstances = {"commit": "0", "date": "2026-01-01T00:00:00Z", "machine": machine}
    circumstances |= {"torch": "2", "python": "3", "seed": 1, "command": ""}
    made = [
        records.Record.model_validate(circumstances | {"name": name, "dev_bleu": bleu} | more)
        for name, bleu, more in (
            (techniques.FIRST, 40.0, {"gain": [0.0, 0.0, 0.0]}),
            ("seed 2", 39.0, {"gain": [-1.0, -2.0, 0.0]}),
            ("a", 41.0, {"gain": [1.0, 0.5, 1.5]}),
            (techniques.TESTED, 0.0, {}),
        )
    ]
    techniques.draw(tmp_path / "a.png", made)
    techniques.draw(tmp_path / "b.png", made[:3])
    techniques.draw(tmp_path / "c.png", [*made[:2], made[2].model_copy(update={"name": "seed 3"})])
    drawn = [(tmp_path / f"{name}.png").read_bytes() for name in "abc"]
    assert drawn[0] == drawn[1] != drawn[2]


def test_each_run_of_the_first_row_has_a_table_of_its_own() -> None:
    row = {"dev_bleu": 3.0, "gain": [0.0, 0.0, 0.0], "minutes": 1.0, "device": "made"}
    again = row | {"first_bleu": 2.0}
    records = [
        row | {"name": techniques.FIRST, "flops": 1.0},
        row | {"name": "a", "flops": 2.0},
        again | {"name": techniques.FIRST, "flops": 4.0},
        again | {"name": "b", "flops": 2.0},
    ]
    for table, other in zip(
        techniques.tables(records), (("a", "2.00"), ("b", "0.50")), strict=True
    ):
        assert [(row[0], row[-1]) for row in table.rows] == [(techniques.FIRST, "1.00"), other]
