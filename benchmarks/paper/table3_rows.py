"""The rows of Table 3 as published, and how a measured effect compares with the published one."""

from collections.abc import Mapping
from dataclasses import dataclass

NOISE = {"perplexity": 0.02, "bleu": 0.1}  # a published difference up to this is no effect


@dataclass(frozen=True)
class Row:
    """A row of Table 3, as published."""

    recipe: str
    perplexity: float
    bleu: float
    millions: int  # parameters


ROWS = {
    "base": Row("base", 4.92, 25.8, 65),
    "D, P_drop = 0.0": Row("table3/D-drop0.0", 5.77, 24.6, 65),
    "D, P_drop = 0.2": Row("table3/D-drop0.2", 4.95, 25.5, 65),
    "D, eps_ls = 0.0": Row("table3/D-smooth0.0", 4.67, 25.3, 65),
    "D, eps_ls = 0.2": Row("table3/D-smooth0.2", 5.47, 25.7, 65),
    "C, N = 2": Row("table3/C-N2", 6.11, 23.7, 36),
    "C, N = 4": Row("table3/C-N4", 5.19, 25.3, 50),
    "C, N = 8": Row("table3/C-N8", 4.88, 25.5, 80),
    "C, d_model = 256": Row("table3/C-d256", 5.75, 24.5, 28),
    "C, d_model = 1024": Row("table3/C-d1024", 4.66, 26.0, 168),
    "C, d_ff = 1024": Row("table3/C-ff1024", 5.12, 25.4, 53),
    "C, d_ff = 4096": Row("table3/C-ff4096", 4.75, 26.2, 90),
    "A, h = 1": Row("table3/A-h1", 5.29, 24.9, 65),
    "A, h = 4": Row("table3/A-h4", 5.00, 25.5, 65),
    "A, h = 16": Row("table3/A-h16", 4.91, 25.8, 65),
    "A, h = 32": Row("table3/A-h32", 5.01, 25.4, 65),
    "B, d_k = 16": Row("table3/B-dk16", 5.16, 25.1, 58),
    "B, d_k = 32": Row("table3/B-dk32", 5.01, 25.4, 60),
    "E, learned positions": Row("table3/E-learned", 4.92, 25.7, 65),
    "big": Row("big", 4.33, 26.4, 213),
}


@dataclass(frozen=True)
class Base:
    """A score of the base model over its seeds.

    mean: Mean of the seeds.
    noise: Difference between the best and the worst seed.
    """

    mean: float
    noise: float

    @classmethod
    def of(cls, results: Mapping[str, Mapping[str, float]], measure: str) -> "Base":
        """Compute mean and noise from the results whose name begins with "base"."""
        values = [result[measure] for name, result in results.items() if name.startswith("base")]
        return cls(sum(values) / len(values), max(values) - min(values))


def verdict(row: str, measure: str, value: float, base: Base) -> str:
    """Compare the effect of a row on the base model with the published effect."""
    paper = getattr(ROWS[row], measure) - getattr(ROWS["base"], measure)
    ours = value - base.mean
    published = round(abs(paper), 3) > NOISE[measure]
    if abs(ours) <= base.noise:
        return "within the noise" if published else "none, as in the paper"
    if not published:
        return "found here, none in the paper"
    return "as in the paper" if paper * ours > 0 else "opposite to the paper"
