"""Table 3: the models that stand for its rows, and which of their results are compared."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks import runs
from benchmarks.paper import table3
from benchmarks.paper.table3_rows import (
    BIG,
    NOT_RUN,
    RATES,
    ROWS,
    Base,
    Variant,
    best,
    comparable,
    row_of,
    trained_as,
    verdict,
)
from benchmarks.records import Record
from yakusu.recipe import Recipe, load_recipe

SIGNATURE = "nrefs:1|case:lc"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """The recipe of our base model."""
    monkeypatch.setenv("YAKUSU_DATA", "data")
    return load_recipe(runs.RECIPES / "table3.toml")


# ---- models --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "expected"),  # what differs from N = 3, d_model = 128, d_ff = 512, 4 heads of 32
    [
        ("base", ""),
        ("A, h = 1", "h = 1, d_k = 128"),
        ("A, h = 4", "h = 2, d_k = 64"),
        ("A, h = 16", "h = 8, d_k = 16"),
        ("B, d_k = 16", "d_k = 8"),
        ("B, d_k = 32", "d_k = 16"),
        ("C, N = 2", "N = 1"),
        ("C, N = 4", "N = 2"),
        ("C, N = 8", "N = 4"),
        ("C, d_model = 256", "d_model = 64, d_k = 16"),
        ("C, d_model = 1024", "d_model = 256, d_k = 64"),
        ("C, d_ff = 1024", "d_ff = 256"),
        ("C, d_ff = 4096", "d_ff = 1024"),
        ("D, P_drop = 0.2", ""),
        ("big", "d_model = 256, d_ff = 1024, h = 8"),
    ],
)
def test_sizes_keep_the_ratios_of_the_paper(row: str, expected: str, small: Recipe) -> None:
    base, ours = ({"recipe": table3.scaled(Variant(r), small).model_dump()} for r in ("base", row))
    assert trained_as(ours, base) == expected


def test_a_tuned_rate_is_listed_after_the_sizes(small: Recipe) -> None:
    base, ours = (
        {"recipe": table3.scaled(Variant(row), small).model_dump(), "rate": rate}
        for row, rate in (("base", None), ("C, N = 2", 0.5))
    )
    assert trained_as(ours, base) == "N = 1, rate x 0.5"


def test_only_the_row_that_is_not_run_has_heads_of_fewer_than_16_dimensions(small: Recipe) -> None:
    values = {row: table3.scaled(Variant(row), small).model.model_dump()["d_v"] for row in ROWS}
    assert [row for row, d_v in values.items() if d_v < 16] == list(NOT_RUN) == ["A, h = 32"]


def test_dropout_smoothing_and_positions_are_the_papers(small: Recipe) -> None:
    rows = "D, P_drop = 0.2", "D, eps_ls = 0.2", "E, learned positions", "big"
    recipes = [table3.scaled(Variant(row), small) for row in rows]
    assert [recipe.model.dropout for recipe in recipes] == [0.2, 0.1, 0.1, 0.3]
    assert [recipe.training.label_smoothing for recipe in recipes] == [0.1, 0.2, 0.1, 0.1]
    positions = [recipe.model.model_dump()["positions"] for recipe in recipes]
    assert positions == ["sinusoidal", "sinusoidal", "learned", "sinusoidal"]


def test_a_variant_changes_seed_rate_norm_and_dropout(small: Recipe) -> None:
    found = table3.scaled(Variant("big", seed=2, rate=0.5, cell=("pre", 0.1)), small)
    assert (found.seed, found.training.lr_scale) == (2, small.training.lr_scale / 2)
    assert (found.model.model_dump()["norm"], found.model.dropout) == ("pre", 0.1)


def trained(row: str, perplexity: Any) -> list[tuple[str, float | None]]:
    """Names and rates of the models that `train_row` trains, in order."""

    def train(variant: Variant) -> dict[str, Any]:
        name, rate = variant.name, variant.rate
        return {"name": name, "rate": rate, "perplexity": perplexity(variant)}

    return [(result["name"], result["rate"]) for result in table3.train_row(row, 3, train)]


def test_only_base_has_seeds_and_only_sizes_have_rates() -> None:
    assert trained("base", lambda _: 1.0) == [
        ("base", None),
        ("base, seed 2", None),
        ("base, seed 3", None),
    ]
    assert trained("A, h = 1", lambda _: 1.0) == [("A, h = 1", None)]
    assert trained("C, N = 2", lambda _: 1.0) == [
        ("C, N = 2, rate x 0.5", 0.5),
        ("C, N = 2, rate x 1", 1.0),
        ("C, N = 2, rate x 2", 2.0),
    ]


def test_big_has_four_configurations_at_the_best_rate_of_the_published_one() -> None:
    found = trained("big", lambda variant: abs(variant.rate - 1.9))
    assert found[: len(RATES)] == [
        (f"big, post-norm, dropout 0.3, rate x {rate:g}", rate) for rate in RATES
    ]
    assert found[len(RATES) :] == [
        ("big, post-norm, dropout 0.1, rate x 2", 2.0),
        ("big, pre-norm, dropout 0.3, rate x 2", 2.0),
        ("big, pre-norm, dropout 0.1, rate x 2", 2.0),
    ]


def test_every_name_says_which_row_it_stands_for() -> None:
    variants = [
        Variant(row, seed=seed, rate=rate, cell=cell)
        for row in ROWS
        for seed in (1, 2)
        for rate in (None, *RATES)
        for cell in (None, *BIG)
    ]
    assert [row_of(variant.name) for variant in variants] == [each.row for each in variants]
    assert len({runs.slug(variant.name) for variant in variants}) == len(variants)


def test_the_result_is_the_best_validation_not_the_last(
    small: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = [(250, 9.0, 20.0), (500, 7.1234, 29.126), (750, 8.0, 31.0)]
    events = [
        {
            "step": step,
            "seconds": 60.0,
            "dev_perplexity": perplexity,
            "dev_bleu": bleu,
            "best_step": min(step, 500),
        }
        for step, perplexity, bleu in measured
    ]
    facts = {
        "validations": events,
        "scores": [f"BLEU = 31.00 ({SIGNATURE})"],
        "steps": 750,
        "limit": "patience = 1 validations without a better perplexity",
        "wall_seconds": 90.0,
        "parameters": 5,
        "flops": {"counted": 1.0},
    }
    monkeypatch.setattr(runs, "train", lambda *recipe, **data: facts)
    monkeypatch.setattr(runs, "validations", lambda run: events)
    found = table3.result_of(Variant("A, h = 1"), small, Path("data"), Path("runs"))
    assert (found["perplexity"], found["bleu"], found["best_step"]) == (7.123, 29.13, 500)
    assert found["score"] == f"dev perplexity 7.12, BLEU = 29.13 ({SIGNATURE})"
    assert (found["steps"], found["minutes"], found["limit"]) == (750, 1.5, facts["limit"])
    last = {"step": 750, "minutes": 1.0, "dev_bleu": 31.0, "dev_perplexity": 8.0}
    assert found["curve"][-1] == last


# ---- results -------------------------------------------------------------------------------------


def record(name: str, perplexity: float, **more: Any) -> Record:
    """A record of Table 3."""
    sizes = {"n_layers": 3, "d_model": 128, "d_ff": 512, "n_heads": 4, "d_k": 32}
    circumstances = {
        "commit": "0",
        "date": "2026-01-01",
        "machine": {"cpu": "", "cores": 1, "threads": 1},
        "torch": "",
        "python": "",
        "seed": 1,
        "command": "",
    }
    measured = {"perplexity": perplexity, "bleu": 30.0, "parameters": 5}
    recipe = {"model": sizes}
    return Record.model_validate(
        {"name": name, **measured, "recipe": recipe, **circumstances, **more}
    )


def recent(name: str, perplexity: float) -> Record:
    """A record with a learning curve."""
    return record(
        name,
        perplexity,
        curve=[{"step": 250, "dev_perplexity": perplexity, "dev_bleu": 30.0}],
        best_step=250,
        steps=1500,
        limit="patience = 5 validations without a better perplexity",
        minutes=20.0,
        flops={"counted": 1e13},
    )


@pytest.mark.parametrize(
    ("row", "value", "expected"),
    [
        ("C, N = 2", 12.0, "same direction"),  # its perplexity is higher in the paper, too
        ("C, N = 2", 10.6, "within the noise"),
        ("big", 12.0, "opposite direction"),
        ("big, pre-norm, dropout 0.1, rate x 1", 9.0, "same direction"),
        ("E, learned positions", 10.4, "none in either"),
        ("E, learned positions", 9.0, "only here"),
        ("base, seed 2", 9.0, ""),
    ],
)
def test_an_effect_within_the_spread_of_seeds_is_noise(
    row: str, value: float, expected: str
) -> None:
    seeds = {"base": {"perplexity": 10.4}, "base, seed 2": {"perplexity": 10.6}}
    base = Base.of(seeds, "perplexity")
    assert (base.mean, base.noise) == (pytest.approx(10.5), pytest.approx(0.2))
    assert verdict(row, "perplexity", value, base) == expected


def test_a_tuned_row_is_represented_by_its_best_rate_in_the_order_of_the_table() -> None:
    values = {
        "big, pre-norm, dropout 0.1, rate x 1": 7.0,
        "C, N = 2, rate x 0.5": 9.0,
        "C, N = 2, rate x 1": 8.0,
        "C, N = 2, rate x 2": 8.5,
        "base, seed 2": 7.5,
        "base": 7.6,
    }
    found = best({"name": name, "perplexity": value} for name, value in values.items())
    assert [(name, result["perplexity"]) for name, result in found.items()] == [
        ("base", 7.6),
        ("base, seed 2", 7.5),
        ("C, N = 2", 8.0),
        ("big, pre-norm, dropout 0.1", 7.0),
    ]


def test_earlier_records_are_shown_only_if_there_are_no_newer_ones() -> None:
    earlier, new = [record("A, h = 1", 9.98)], [recent("base", 7.5)]
    assert comparable(earlier) == earlier
    assert comparable(earlier + new) == new


def test_the_page_lists_each_row_once_and_each_rate_that_was_tried() -> None:
    tried = [recent(f"C, N = 2, rate x {rate:g}", 8 + rate) for rate in RATES]
    seeds = [recent("base", 7.5), recent("base, seed 2", 7.6)]
    effects, training = table3.tables([record("A, h = 1", 9.98), *tried, *seeds])
    assert [row[0] for row in effects.rows] == ["base", "base, seed 2", "C, N = 2"]
    assert effects.rows[-1][2:5] == ["8.50", "6.11", "same direction"]
    assert [row[0] for row in training.rows] == [each["name"] for each in (*tried, *seeds)]
    assert dict(zip(training.head, training.rows[0], strict=True))["Ended by"] == "patience"
