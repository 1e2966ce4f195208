"""The rows of Table 3 as published, our variants of them, and how both compare."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.records import Record

Result = Mapping[str, Any]  # of one model: name, perplexity, bleu, recipe and more

NOISE = {"perplexity": 0.02, "bleu": 0.1}  # a published difference up to this size is not an effect
RATES = (0.5, 1.0, 2.0)  # factors of the recipe's lr_scale, where the rate is tuned
BIG = (("post", 0.3), ("post", 0.1), ("pre", 0.3), ("pre", 0.1))  # norm, dropout; the paper's first


@dataclass(frozen=True)
class Row:
    """A row of Table 3, as published."""

    recipe: str
    perplexity: float
    bleu: float
    millions: int  # parameters


ROWS = {
    "base": Row("base", 4.92, 25.8, 65),
    "A, h = 1": Row("table3/A-h1", 5.29, 24.9, 65),
    "A, h = 4": Row("table3/A-h4", 5.00, 25.5, 65),
    "A, h = 16": Row("table3/A-h16", 4.91, 25.8, 65),
    "A, h = 32": Row("table3/A-h32", 5.01, 25.4, 65),
    "B, d_k = 16": Row("table3/B-dk16", 5.16, 25.1, 58),
    "B, d_k = 32": Row("table3/B-dk32", 5.01, 25.4, 60),
    "C, N = 2": Row("table3/C-N2", 6.11, 23.7, 36),
    "C, N = 4": Row("table3/C-N4", 5.19, 25.3, 50),
    "C, N = 8": Row("table3/C-N8", 4.88, 25.5, 80),
    "C, d_model = 256": Row("table3/C-d256", 5.75, 24.5, 28),
    "C, d_model = 1024": Row("table3/C-d1024", 4.66, 26.0, 168),
    "C, d_ff = 1024": Row("table3/C-ff1024", 5.12, 25.4, 53),
    "C, d_ff = 4096": Row("table3/C-ff4096", 4.75, 26.2, 90),
    "D, P_drop = 0.0": Row("table3/D-drop0.0", 5.77, 24.6, 65),
    "D, P_drop = 0.2": Row("table3/D-drop0.2", 4.95, 25.5, 65),
    "D, eps_ls = 0.0": Row("table3/D-smooth0.0", 4.67, 25.3, 65),
    "D, eps_ls = 0.2": Row("table3/D-smooth0.2", 5.47, 25.7, 65),
    "E, learned positions": Row("table3/E-learned", 4.92, 25.7, 65),
    "big": Row("big", 4.33, 26.4, 213),
}
NOT_RUN = {"A, h = 32": "its 16 heads would have 8 dimensions each"}
TUNED = tuple(row for row in ROWS if row.startswith(("C", "big")))


@dataclass(frozen=True)
class Variant:
    """A model that stands for a row.

    row: Key of `ROWS`.
    seed: Seed of weights, data order and dropout.
    rate: Factor of the recipe's lr_scale; None: the rate is not tuned.
    cell: Norm and dropout of `BIG`; None: those of the row.
    """

    row: str
    seed: int = 1
    rate: float | None = None
    cell: tuple[str, float] | None = None

    @property
    def name(self) -> str:
        """Name of the record, such as "C, N = 2, rate x 0.5"."""
        parts = [self.row]
        if self.cell:
            parts.append(f"{self.cell[0]}-norm, dropout {self.cell[1]:g}")
        if self.seed != 1:
            parts.append(f"seed {self.seed}")
        if self.rate:
            parts.append(f"rate x {self.rate:g}")
        return ", ".join(parts)


def row_of(name: str) -> str:
    """Return the row that a record of this name stands for."""
    return next(row for row in ROWS if f"{name}, ".startswith(f"{row}, "))


def comparable(records: Iterable[Record]) -> list[Record]:
    """Return the records with learning curves, or all records if none has one.

    Records without curves are older, from models with d_model = 64 and a fixed number of steps.
    """
    found = list(records)
    return [record for record in found if record.get("curve")] or found


def best(results: Iterable[Result]) -> dict[str, Result]:
    """Return the result with the lowest perplexity over the rates, by name without the rate."""
    falling = sorted(results, key=lambda result: -result["perplexity"])
    lowest = {result["name"].partition(", rate x")[0]: result for result in falling}
    order = list(ROWS)
    return dict(sorted(lowest.items(), key=lambda item: (order.index(row_of(item[0])), item[0])))


def trained_as(result: Result, base: Result) -> str:
    """Return the sizes that differ from our base model's and a tuned rate: "N = 1, rate x 2"."""
    labels = {"n_layers": "N", "d_model": "d_model", "d_ff": "d_ff", "n_heads": "h", "d_k": "d_k"}
    ours, others = result["recipe"]["model"], base["recipe"]["model"]
    sizes = [f"{labels[size]} = {ours[size]}" for size in labels if ours[size] != others[size]]
    rate = result.get("rate")
    return ", ".join([*sizes, f"rate x {rate:g}"] if rate else sizes)


@dataclass(frozen=True)
class Base:
    """A score of the base model over its seeds.

    mean: Mean of the seeds.
    noise: Difference between the best and the worst seed.
    """

    mean: float
    noise: float

    @classmethod
    def of(cls, results: Mapping[str, Result], measure: str) -> "Base":
        """Compute mean and noise from the results whose name begins with "base"."""
        values = [result[measure] for name, result in results.items() if name.startswith("base")]
        return cls(sum(values) / len(values), max(values) - min(values))


def verdict(name: str, measure: str, value: float, base: Base) -> str:
    """Compare the effect of a row on the base model with the published effect."""
    row = row_of(name)
    if row == "base":
        return ""
    paper = getattr(ROWS[row], measure) - getattr(ROWS["base"], measure)
    ours = value - base.mean
    is_published = round(abs(paper), 3) > NOISE[measure]
    if abs(ours) <= base.noise:
        return "within the noise" if is_published else "none in either"
    if not is_published:
        return "only here"
    return "same direction" if paper * ours > 0 else "opposite direction"
