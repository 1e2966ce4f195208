"""Picture of the trade-off between size and loss."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from yakusu.compress.budget import SizeChoice


def draw_trade_off(path: Path, choices: Sequence[SizeChoice], made: tuple[float, float]) -> None:
    """Draw the loss of every M and K against the compression ratio, and mark one result.

    Args:
        path: The picture to write, PNG or SVG.
        choices: Choices measured by `trade_off`.
        made: Compression ratio of the result, and the share of the variance that it loses.
    """
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for n_codes in sorted({choice.n_codes for choice in choices}):
        of_one = [choice for choice in choices if choice.n_codes == n_codes]
        axes.plot(
            [choice.ratio for choice in of_one],
            [choice.loss for choice in of_one],
            linewidth=1,
            label=f"K = {n_codes}",
        )
    axes.plot(*made, "k*", markersize=12, label="this file")
    axes.set(
        xscale="log",
        ylim=(0, 1),
        xlabel="ratio: bits of float32 vectors over bits of codes and codebook",
        ylabel="share of the variance lost",
        title="Every M for each K (on a sample of the vectors)",
    )
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120, metadata={"Software": None} if path.suffix == ".png" else None)
