"""The systems of Table 2, those that are not reproduced, and which records can be compared."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.records import Record
from benchmarks.tables import FilledTable, Row, fill

CONVERGED = "until convergence"  # the budget of a run that ends by patience
MIN_BATCHES = 4  # of a step: with fewer, nearly every update sees sentences of only one length


@dataclass(frozen=True)
class System:
    """A system of the table.

    recipe: File in recipes/.
    changes: Settings, key=value.
    members: Models; more than one: an ensemble.
    share: Share of the budget that each model gets.
    color: Colour in the figure, as a number of matplotlib's tab20.
    paper: Result of the system in the paper, WMT 2014 en-de.
    """

    recipe: str
    changes: tuple[str, ...] = ()
    members: int = 1
    share: float = 1.0
    color: int = 0
    paper: str = "-"


BASELINE = "Transformer"
_HALF = ", half of the budget each"
_GNMT, _CONV = System("multi30k-gnmt.toml", color=2), System("multi30k-conv.toml", color=4)
SYSTEMS = {
    BASELINE: System("multi30k.toml", paper="27.3, 3.3e18 FLOPs (base)"),
    "LSTM with attention": System("multi30k-lstm.toml", color=6),
    "LSTM with a fixed vector": System("multi30k-lstm-no-attention.toml", color=7),
    "ByteNet": System("multi30k-bytenet.toml", color=8, paper="23.75"),
    "GNMT (without RL)": replace(_GNMT, paper="24.6, 2.3e19 FLOPs (with RL)"),
    "ConvS2S": replace(_CONV, paper="25.16, 9.6e18 FLOPs"),
    "ConvS2S, dilated": replace(_CONV, changes=("model.dilations=[1, 2, 4, 8, 16]",), color=5),
    "Transformer with 4 experts per layer": System(
        "multi30k.toml", ("model.n_experts=4",), color=1
    ),
    "ensemble of two Transformers": System("multi30k.toml", members=2),
    "ensemble of two GNMT": replace(_GNMT, members=2, paper="26.30, 1.8e20 FLOPs (with RL)"),
    "ensemble of two ConvS2S": replace(_CONV, members=2, paper="26.36, 7.7e19 FLOPs"),
    f"ensemble of two Transformers{_HALF}": System("multi30k.toml", members=2, share=0.5),
    f"ensemble of two GNMT{_HALF}": replace(_GNMT, members=2, share=0.5),
    f"ensemble of two ConvS2S{_HALF}": replace(_CONV, members=2, share=0.5),
}
NOT_REPRODUCED = {
    "Deep-Att + PosUnk": "it replaces unknown words, which subwords do not have, and its 16 LSTM "
    "layers do not fit the budget",
    "GNMT + RL": "yakusu has no reinforcement learning; the rows of GNMT are without it",
    "MoE": "it is an LSTM with layers of up to thousands of experts; the row with experts is a "
    "Transformer, whose feed-forward networks are mixtures of four",
}


def newest(records: Iterable[Record]) -> dict[tuple[str, Any], Record]:
    """The newest comparable record for each system and budget."""
    in_order = sorted(comparable(records), key=lambda record: record.date)
    return {(each["name"], each["budget"]): each for each in in_order}


def budgets_of(found: Iterable[tuple[str, Any]]) -> list[Any]:
    """Return the budgets of the results of `newest`, from the smallest; convergence is last."""
    return sorted({budget for _, budget in found}, key=lambda each: (each == CONVERGED, each))


def comparable(records: Iterable[Record]) -> list[Record]:
    """The records whose runs have the settings of the newest one, in the given order."""
    records = list(records)
    if not records:
        return []
    last = _settings(max(records, key=lambda record: record.date))
    return [record for record in records if _settings(record) == last]


def batch_tokens(record: Record) -> int:
    """The tokens of a batch in a run, at most those of a step."""
    batches = record["recipe"]["batches"]
    return min(batches["step_tokens"], batches["batch_tokens"])


def _settings(record: Record) -> tuple[Any, ...]:
    """The settings that all systems of a table share; early records of lengths have no recipe."""
    recipe = record.get("recipe")
    if recipe is None:
        return ()
    training = recipe["training"]
    averaging = training["keep_last"], bool(training.get("ema_decay"))
    return recipe["batches"]["step_tokens"], batch_tokens(record), averaging, training["precision"]


def tried(records: Mapping[str, Record]) -> Iterator[FilledTable]:
    """The dev scores of the settings that were tried for each system, where there are several."""
    grids = {name: record.get("grid") or {"tries": []} for name, record in records.items()}
    shown = {name: grid for name, grid in grids.items() if len(grid["tries"]) > 1}
    rows: list[Row] = [
        {"name": name, **setting} for name, grid in shown.items() for setting in grid["tries"]
    ]
    columns = (
        ("System", "{name}"),
        ("Peak rate", "{rate:g}"),
        ("Dropout", "{dropout:g}"),
        ("Dev perplexity", "{dev_perplexity:,.2f}"),
        ("Dev BLEU", "{dev_bleu:,.2f}"),
    )
    if rows:
        budgets = sorted({f"{grid['budget']:g}" for grid in shown.values()})
        title = f"Settings tried within {', '.join(budgets)} FLOPs"
        yield fill(columns, rows, [records[name] for name in shown], title)
