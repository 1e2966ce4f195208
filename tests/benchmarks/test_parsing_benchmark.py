"""The parsing benchmark: its parts of the trees, its parses, its intervals and its tables."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from yakusu.data.trees import read_trees, tree_line, tree_of, words_of
from yakusu.metrics import Score

parsing_f1: Any = pytest.importorskip(
    "benchmarks.paper.parsing_f1", reason="only a checkout has benchmarks"
)
bootstrap: Any = pytest.importorskip("benchmarks.bootstrap")
parsing_systems: Any = pytest.importorskip("benchmarks.paper.parsing_systems")
parsing_trees: Any = pytest.importorskip("benchmarks.paper.parsing_trees")
quick: Any = pytest.importorskip("benchmarks.quick")
records: Any = pytest.importorskip("benchmarks.records")

FULL = "(S (NP (NN {0})) (VP (VBZ runs)))"


@pytest.fixture
def trees(tmp_path: Path) -> Any:
    """The parts of generated corpora: 60 gold trees, 2 to choose with and 3 to report."""
    quick.write_data(tmp_path / "data")
    return parsing_trees.Trees.of(tmp_path / "data", tmp_path / "runs" / "trees", 2)


def lines(*paths: Path) -> list[str]:
    return [tree_line(tree) for tree in read_trees(paths)]


# ---- trees ---------------------------------------------------------------------------------------


def test_the_parts_of_dev_are_consecutive_and_disjoint(trees: Any, tmp_path: Path) -> None:
    parts = lines(trees.choosing), lines(trees.reporting)
    assert [len(part) for part in parts] == [2, 3]
    assert [*parts[0], *parts[1]] == lines(tmp_path / "data" / "treebank" / "dev.mrg")


def test_half_is_the_first_half_of_the_gold_trees(trees: Any) -> None:
    assert lines(trees.half) == lines(trees.gold)[:30]


class FakeParser:
    """A parser that fails on sentences with "bread", and is killed after `limit` sentences."""

    def __init__(self, limit: int) -> None:
        self.parsed, self.limit = 0, limit

    def translate(self, sentences: Iterable[str]) -> Iterator[str]:
        for sentence in sentences:
            self.parsed += 1
            if self.parsed > self.limit:
                raise KeyboardInterrupt
            tag = "XX" if "bread" in sentence else "NN"
            yield f"(TOP {' '.join(f'({tag} {word})' for word in sentence.split())})"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A model folder, and blocks of 25 sentences."""
    folder = tmp_path / "runs" / "transformer-gold" / "model"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(
        '{"files": {"model.safetensors": {"sha256": "0123456789abcdef"}}}'
    )
    monkeypatch.setattr(parsing_trees, "BLOCK", 25)
    return folder


def test_parsing_resumes_after_the_last_complete_block(
    trees: Any, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed, resumed, again = FakeParser(limit=40), FakeParser(limit=100), FakeParser(limit=0)
    parsers = iter((killed, resumed, again))
    monkeypatch.setattr(parsing_trees.yakusu.Translator, "load", lambda path: next(parsers))
    with pytest.raises(KeyboardInterrupt):
        parsing_trees.parsed(model, trees.gum)
    folder = parsing_trees.parsed(model, trees.gum)
    assert parsing_trees.parsed(model, trees.gum) == folder and again.parsed == 0
    assert resumed.parsed == 60 - 25  # the first block of 25 was complete
    made = [words_of(tree) for tree in read_trees(sorted(folder.glob("*.mrg")))]
    assert made == [words_of(tree) for tree in read_trees([trees.gum])]


def test_sentences_without_a_parse_are_not_trained_on(
    trees: Any, model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(parsing_trees.yakusu.Translator, "load", lambda path: FakeParser(100))
    parsing_trees.write_parses(model, trees.gum, tmp_path / "own.mrg")
    kept = [words_of(tree_of(line)) for line in lines(trees.gum) if "bread" not in line]
    assert [words_of(tree_of(line)) for line in lines(tmp_path / "own.mrg")] == kept
    assert 0 < len(kept) < 60


def test_right_branching_trees_open_at_words_but_not_at_punctuation() -> None:
    tree = tree_of("(S (NP (DT the) (NN cat)) (, ,) (VP (VBZ sees) (NP (PRP it))) (. .))")
    assert parsing_trees.right_branching(tree, "VP") == (
        "(S (XX the) (VP (XX cat) (XX ,) (VP (XX sees) (XX it) (XX .))))"
    )


# ---- intervals -----------------------------------------------------------------------------------


def test_an_interval_of_right_and_wrong_sentences_is_that_of_a_binomial_distribution() -> None:
    part, whole = bootstrap.resampled(np.array([[2, 2], [0, 2]] * 200)).T
    low, high = bootstrap.interval(100 * part / whole)
    spread = 1.96 * 100 * (0.25 / 400) ** 0.5  # of the mean of 400 sentences
    assert (low, high) == pytest.approx((50 - spread, 50 + spread), abs=1)


def test_f1_and_its_interval_are_those_of_the_parses(tmp_path: Path) -> None:
    truth, made = tmp_path / "true.mrg", tmp_path / "made.mrg"
    parsing_trees.write_lines(truth, [FULL.format("she"), FULL.format("he")])
    parsing_trees.write_lines(made, [FULL.format("she"), "(S (NN he) (VBZ runs))"])
    scored = parsing_trees.Scored.of(made, truth)
    assert scored.f1 == pytest.approx(100 * 2 * 4 / (4 + 6))  # 4 of 4 brackets, 4 of 6
    assert scored.interval == [50.0, 100.0]  # twice the second sentence, twice the first
    assert scored.scores == parsing_trees.yakusu.evaluate_trees(made, truth)


# ---- systems -------------------------------------------------------------------------------------


def scored(f1: float) -> Any:
    return parsing_trees.Scored([Score("F1", f1, "")], np.array([f1 - 1, f1 + 1]))


def test_semi_supervision_and_more_annotated_trees_add_up_to_the_whole_gain() -> None:
    f1 = {"transformer-gold": 30.0, "transformer-own": 34.0, "transformer-gum": 45.0}
    rows = parsing_f1.differences({name: scored(value) for name, value in f1.items()})
    effects = {(row["before"], row["after"]): row["difference"] for row in rows}
    assert effects == {
        ("transformer-gold", "transformer-own"): 4,
        ("transformer-own", "transformer-gum"): 11,
        ("transformer-gold", "transformer-gum"): 15,
    }


def test_comparisons_are_between_trained_systems() -> None:
    compared = {side for row in parsing_systems.COMPARISONS for side in row[:2]}
    assert compared == parsing_systems.SYSTEMS.keys()


@pytest.mark.parametrize(
    ("name", "engine", "attention"),
    [
        ("transformer-half", "native", None),
        ("transformer-words-subtrees", "native", None),
        ("lstm-attention-own", "torch", "additive"),
        ("lstm-fixed-gum", "torch", "none"),
    ],
)
def test_the_native_engine_validates_the_models_that_it_supports(
    name: str, engine: str, attention: str | None, trees: Any, tmp_path: Path
) -> None:
    settings = ["training.engine=native", "training.precision=bf16"]
    args = parsing_f1.benchmark.parser.parse_args(
        ["--runs", str(tmp_path / "runs"), "--set", *settings]
    )
    recipe = parsing_f1.recipe_of(name, args, trees)
    assert (recipe.training.engine, recipe.training.precision) == (engine, "bf16")
    assert getattr(recipe.model, "attention", None) == attention
    assert recipe.data.dev.trees == str(trees.choosing)
    kinds = {
        "half": (trees.half, ""),
        "subtrees": (trees.gold, str(trees.gold)),
        "gum": (trees.gold, str(trees.gum)),
    }
    own = str(tmp_path / "runs" / "lstm-attention-gold" / "gum.mrg")
    gold, extra = kinds.get(name.split("-")[-1], (trees.gold, own))
    assert (recipe.data.train.trees, recipe.data.extra.trees) == (str(gold), extra)
    assert recipe.data.extra.subtrees == ("subtrees" in name)
    assert recipe.data.extra.weight == {"half": 1.0, "subtrees": 0.2}.get(name.split("-")[-1], 0.5)


def test_runs_of_another_seed_share_no_parses(trees: Any, tmp_path: Path) -> None:
    args = parsing_f1.benchmark.parser.parse_args(["--runs", str(tmp_path / "runs"), "--seed", "2"])
    recipe = parsing_f1.recipe_of("lstm-attention-own", args, trees)
    assert (recipe.seed, Path(recipe.run).name) == (2, "lstm-attention-own-2")
    assert Path(recipe.data.extra.trees).parent.name == "lstm-attention-gold-2"


# ---- the section ---------------------------------------------------------------------------------


def record(**fields: Any) -> Any:
    circumstances = {
        "commit": "0123456",
        "date": "2026-01-01T00:00:00+00:00",
        "machine": {"cpu": "", "cores": 1, "threads": 1},
        "torch": "",
        "python": "",
        "seed": 1,
        "command": "",
    }
    return records.Record.model_validate(circumstances | fields)


REPORT = record(
    name="transformer-gold",
    model="Transformer",
    kind="gold",
    choosing="F1 = 33.00 (labelled|sentences:135)",
    score="F1 = 32.10; precision = 31.00; recall = 33.00; exact match = 5.00",
    f1=32.1,
    interval=[30.0, 34.5],
    gum="F1 = 21.00",
    pairs=3160,
    steps=6000,
    training_minutes=30.0,
    paper=91.3,
)
TRIAL = record(
    name="lstm-attention-gold",
    model="LSTM with attention",
    kind="gold",
    choosing="F1 = 30.00 (labelled|sentences:135)",
    steps=1000,
    overrides=["training.lr_scale=0.6"],
    trial=True,
)
DIFFERENCES = record(
    name="differences",
    rows=[
        {
            "before": "transformer-gold",
            "after": "transformer-gum",
            "effect": "more",
            "difference": 12.5,
            "interval": [10.0, 15.0],
        }
    ],
)


def test_earlier_records_without_an_interval_are_not_shown() -> None:
    earlier = record(name="transformer", score="F1 = 34.73", f1=34.73, paper=91.3)
    tables = parsing_f1.tables([earlier, REPORT, DIFFERENCES, TRIAL])
    assert [shown for table in tables for shown in table.records] == [REPORT, DIFFERENCES, TRIAL]


def test_the_tables_of_a_report_have_the_recorded_numbers() -> None:
    results, compared, trials = parsing_f1.tables([REPORT, DIFFERENCES, TRIAL])
    row = dict(zip(results.head, results.rows[0], strict=True))
    assert (row["F1, choosing"], row["F1"], row["95% interval"]) == (
        "33.00",
        "32.10",
        "30.00 to 34.50",
    )
    assert (row["Training pairs"], row["Paper's F1, WSJ 23"]) == ("3,160", "91.3")
    assert compared.rows[0][1:3] == [
        "Transformer, gold trees",
        "Transformer, gold trees, and GUM's trees",
    ]
    assert trials.rows[0][2:] == ["training.lr_scale=0.6", "30.00", "1,000"]


def test_the_figure_leaves_out_what_is_not_a_system_with_an_interval(tmp_path: Path) -> None:
    given = {"f1": 20.0, "interval": [18.0, 22.0], "curve": [{"step": 5, "dev_f1": 19.0}]}
    systems = [record(**given, name=name) for name in parsing_systems.SYSTEMS]
    others = [record(**given, name="right-branching"), record(name="transformer-gold", f1=30.0)]
    parsing_f1.draw(tmp_path / "a.png", systems + others)
    parsing_f1.draw(tmp_path / "b.png", systems)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_of_each_difference_the_newest_record_is_shown() -> None:
    row = DIFFERENCES.get("rows")[0]
    first = record(
        name="first", rows=[row | {"difference": 1.0}, row | {"after": "transformer-own"}]
    )
    _, compared = parsing_f1.tables([REPORT, first, DIFFERENCES])
    assert [row[3] for row in compared.rows] == ["+12.50", "+12.50"]
    assert compared.records == [first, DIFFERENCES]
