"""Table 2 and the length graph: what is tried and chosen, budgets, and which records are shown."""

import argparse
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from yakusu.training.schedule import lrate

table2: Any = pytest.importorskip("benchmarks.paper.table2", reason="only a checkout has it")
grid: Any = pytest.importorskip("benchmarks.paper.table2_grid")
length: Any = pytest.importorskip("benchmarks.paper.length")
pages: Any = pytest.importorskip("benchmarks.pages")
rows: Any = pytest.importorskip("benchmarks.paper.table2_rows")
records: Any = pytest.importorskip("benchmarks.records")

ARGS = argparse.Namespace(step_tokens=2000, set=[])
SEEDS = {"bleus": [30.0, 31.0, 32.0], "spread": 2.0, "p_values": [0.01, 0.3, 0.02]}


@pytest.fixture(autouse=True)
def corpora(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recipes name files in this folder, which are not read."""
    monkeypatch.setenv("YAKUSU_DATA", "corpora")


def recipe(name: str, *settings: str) -> Any:
    args = argparse.Namespace(step_tokens=2000, set=list(settings))
    return grid.recipe_of(rows.SYSTEMS[name], args)


def record(name: str, *, day: int, budget: Any = 2e13, step_tokens: int = 2000, **more: Any) -> Any:
    training = {"keep_last": 1, "ema_decay": 0.9, "precision": "fp32"} | more.pop("training", {})
    batches = {"step_tokens": step_tokens, "batch_tokens": 500}
    machine = {"cpu": "made", "cores": 2, "threads": 1}
    return records.Record.model_validate(
        {"commit": "0", "date": f"2026-01-{day:02}T00:00:00Z", "machine": machine}
        | {"torch": "2", "python": "3", "seed": 1, "command": "", "name": name, "budget": budget}
        | {"recipe": {"batches": batches, "training": training}, "parameters": 9, "bleu": 31.0}
        | more
    )


# ---- settings and budgets ------------------------------------------------------------------------


def test_the_grid_is_two_rates_by_two_dropouts() -> None:
    assert len(set(grid.GRID)) == 4
    assert {len({each.rate for each in grid.GRID}), len({each.dropout for each in grid.GRID})} == {
        2
    }


@pytest.mark.parametrize("name", ["Transformer", "LSTM with attention", "ByteNet"])
def test_a_setting_is_the_peak_of_the_learning_rate_and_dropout(name: str) -> None:
    tried = grid.Setting(0.004, 0.2).apply(recipe(name))
    peak = lrate(
        tried.training.warmup_steps,
        d_model=tried.model.d_model,
        warmup_steps=tried.training.warmup_steps,
        scale=tried.training.lr_scale,
    )
    assert (peak, tried.model.dropout) == (pytest.approx(0.004), 0.2)
    assert grid.Setting.of(tried).rate == pytest.approx(0.004)


def test_the_lowest_dev_perplexity_is_chosen_and_all_tries_are_kept() -> None:
    perplexities = dict(zip(grid.GRID, (9.0, 7.0, 8.0, 7.5), strict=True))

    def train(setting: Any) -> dict[str, Any]:
        first = {"dev_perplexity": 1.0, "dev_bleu": 1.0}  # only the last validation counts
        last = {"dev_perplexity": perplexities[setting], "dev_bleu": 100 - perplexities[setting]}
        return {"validations": [first, last]}

    chosen, tries = grid.choose(grid.GRID, train)
    assert chosen == grid.GRID[1]
    assert [each["dev_perplexity"] for each in tries] == [9.0, 7.0, 8.0, 7.5]


@pytest.mark.parametrize("name", ["Transformer", "LSTM with attention"])
def test_a_budget_keeps_the_peak_rate_and_all_systems_warm_up_for_a_fifth_of_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid, "_steps", lambda *_: 800)
    full = grid.Setting(0.003, 0.1).apply(recipe(name))
    short = grid.within(2e13, full, Path())
    assert short.training.max_steps == 800
    assert short.training.warmup_steps == 160
    assert grid.Setting.of(short).rate == pytest.approx(0.003)
    assert short.training.ema_decay == pytest.approx(1 - 1 / 40)  # a mean age of 40 steps


def test_a_run_without_a_budget_ends_by_patience_and_warms_up_for_a_fifth_of_its_recipe() -> None:
    full = grid.Setting(0.003, 0.1).apply(recipe("LSTM with attention"))
    ended = grid.within(None, full, Path())
    assert (ended.training.patience, ended.training.warmup_steps) == (grid.PATIENCE, 1200)
    assert grid.Setting.of(ended).rate == pytest.approx(0.003)


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("Transformer", "native"),
        ("Transformer with 4 experts per layer", "torch"),
        ("GNMT (without RL)", "torch"),
    ],
)
def test_the_native_engine_is_used_only_where_it_supports_the_system(
    name: str, engine: str
) -> None:
    assert recipe(name, "training.engine=native").training.engine == engine


def test_an_ensemble_of_equal_cost_divides_the_budget_among_its_members() -> None:
    shares = {each.share * each.members for each in rows.SYSTEMS.values() if each.share < 1}
    assert shares == {1}


def test_only_the_systems_with_a_fixed_vector_have_tuned_rates_and_one_is_reversed() -> None:
    tried = {
        name: [each.rate for each in length.settings(name, grid.recipe_of(system, ARGS))]
        for name, system in length.READERS.items()
    }
    tuned = [name for name, rates in tried.items() if rates == list(length.RATES)]
    assert [len(rates) for rates in tried.values()] == [1, 1, 3, 3]
    turned = [grid.recipe_of(length.READERS[name], ARGS).model.reversed_source for name in tuned]
    assert turned == [False, True]


# ---- tables --------------------------------------------------------------------------------------


def test_records_of_other_settings_are_not_mixed_with_the_newest() -> None:
    made = [
        record("ByteNet", day=1, step_tokens=4000),
        record("ConvS2S", day=2, training={"precision": "bf16"}),
        record("GNMT", day=3, training={"ema_decay": 0.0}),
        record("ConvS2S", day=4, training={"ema_decay": 0.95}),
        record("Transformer", day=5),
    ]
    assert set(rows.newest(made)) == {("ConvS2S", 2e13), ("Transformer", 2e13)}
    assert rows.newest([]) == {} and rows.comparable(made[:1]) == made[:1]


def test_budgets_are_columns_with_the_mean_and_the_spread_of_seeds() -> None:
    made = [
        record("Transformer", day=1, bleu=30.5),
        record("ConvS2S", day=2, budget=rows.CONVERGED, **SEEDS),
        record("ConvS2S", day=3, bleu=31.5, bleus=[31.5], spread=0.0, p_values=[0.001]),
    ]
    (table,) = table2.tables(made)
    assert table.head[1::2][:2] == ["BLEU, 2e+13 FLOPs", "BLEU, until convergence"]
    assert [row[:5] for row in table.rows] == [
        ["ConvS2S", "31.50", "0.0010", "31.00 (spread 2.00, n = 3)", "0.3000"],
        ["Transformer", "30.50", "-", "-", "-"],
    ]


def test_the_page_says_why_systems_are_not_reproduced() -> None:
    page = " ".join((pages.HERE / "paper" / "README.md").read_text(encoding="utf-8").split())
    reasons = [f"{name}, because {reason}" for name, reason in rows.NOT_REPRODUCED.items()]
    assert reasons and [reason for reason in reasons if reason not in page] == []


def test_all_settings_tried_are_shown_once_per_system() -> None:
    tries = [
        {"rate": 0.003, "dropout": 0.1, "dev_perplexity": 9.5, "dev_bleu": 28.0},
        {"rate": 0.006, "dropout": 0.1, "dev_perplexity": 8.25, "dev_bleu": 29.0},
    ]
    made = [
        record(name, day=1, budget=budget, grid={"budget": 2e13, "tries": tries})
        for name in ("ByteNet", "ensemble of two GNMT")
        for budget in (2e13, 8e13)
    ]
    _, table = table2.tables(made)
    assert table.title == "Settings tried within 2e+13 FLOPs"
    assert table.rows == [
        ["ByteNet", "0.003", "0.1", "9.50", "28.00"],
        ["ByteNet", "0.006", "0.1", "8.25", "29.00"],
    ]


def test_the_figure_has_a_row_for_each_system_the_best_first_and_a_marker_for_each_budget(
    tmp_path: Path,
) -> None:
    facts = {"counted": 2e13, "steps": 8, "curve": [(4, 20.0), (8, 30.0)]}
    made = [
        record("ByteNet", day=1, **facts | {"bleu": 26.0}),
        record("ConvS2S", day=1, **facts | {"bleu": 35.0}),
        record("Transformer", day=1, **facts | {"bleu": 30.0}),
        record("Transformer", day=1, budget=8e13, **facts | {"bleu": 39.0}),
        record("a former system", day=1, **facts | {"bleu": 99.0}),
    ]
    found, names = table2.ranked(made)
    assert names == ["Transformer", "ConvS2S", "ByteNet"]
    axes = Figure().subplots()
    table2.draw_ends(axes, found, names)
    drawn = [line for line in axes.lines if len(line.get_xdata())]
    assert sorted((line.get_xdata()[0], line.get_ydata()[0]) for line in drawn) == [
        *[(26.0, 2), (30.0, 0), (35.0, 1), (39.0, 0)]
    ]
    assert len({line.get_marker() for line in drawn}) == 2
    table2.draw(tmp_path / "figure.png", made)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_curves_are_drawn_against_counted_flops_and_those_of_smaller_budgets_are_dashed() -> None:
    facts = {"steps": 8, "curve": [(4, 20.0), (8, 30.0)]}
    small = record("Transformer", day=1, counted=2e13, **facts)
    large = record("Transformer", day=1, budget=8e13, counted=8e13, **facts)
    axes = Figure().subplots()
    table2.draw_curves(axes, *table2.ranked([small, large]))
    assert [
        (list(line.get_xdata()), list(line.get_ydata()), line.get_linestyle())
        for line in axes.lines
    ] == [
        ([1e13, 2e13], [20.0, 30.0], "--"),
        ([4e13, 8e13], [20.0, 30.0], "-"),
    ]
