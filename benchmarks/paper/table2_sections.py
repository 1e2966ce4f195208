"""The tables of Table 2 and of the length graph on the page."""

from collections.abc import Iterable

from benchmarks.pages import NONE, Table, fixed
from benchmarks.paper.table2_rows import (
    CONVERGED,
    SYSTEMS,
    batch_tokens,
    budgets_of,
    comparable,
    newest,
)
from benchmarks.records import Record


def systems(records: list[Record]) -> Iterable[Table]:
    """Table 2: a row for each system, columns for each budget; and the settings tried."""
    found = newest(records)
    budgets = budgets_of(found)
    by_name = {
        name: [found.get((name, budget)) for budget in budgets]
        for name in dict.fromkeys(name for name, _ in found)
    }
    falling = sorted(by_name.items(), key=lambda item: -item[1][0]["bleu"] if item[1][0] else 0)
    rows = [_system(name, results) for name, results in falling]
    head = ["System"]
    for budget in budgets:
        named = budget if budget == CONVERGED else f"{budget:g} FLOPs"
        head += [f"BLEU, {named}", "p"]
    last = list(found.values())[-1]
    title = f"Batches of {batch_tokens(last):,} tokens"
    head += ["Parameters", "Paper, WMT 2014 en-de"]
    yield Table(head, rows, list(found.values()), title)
    tried = {
        name: record
        for (name, budget), record in found.items()
        if not name.startswith("ensemble") and (record.get("grid") or {}).get("budget") == budget
    }
    yield from _tried(tried)


def _system(name: str, results: list[Record | None]) -> list[str]:
    """Return the row of a system: the mean and the spread of its seeds for each budget."""
    cells = []
    for result in results:
        if result is None:
            cells += [NONE, NONE]
            continue
        seeds, p_values = result.get("bleus", []), result.get("p_values")
        spread = f" (spread {fixed(result['spread'])}, n = {len(seeds)})" if seeds[1:] else ""
        p = fixed(max(p_values), 4) if p_values else NONE
        cells += [fixed(result["bleu"]) + spread, p]
    (parameters, *_) = (fixed(result["parameters"], 0) for result in results if result)
    return [name, *cells, parameters, SYSTEMS[name].paper if name in SYSTEMS else NONE]


def _tried(records: dict[str, Record]) -> Iterable[Table]:
    """The dev scores of the settings that were tried for each system, where there are several."""
    found = {name: record for name, record in records.items() if len(_tries(record)) > 1}
    rows = [
        [
            name,
            f"{tried['rate']:g}",
            f"{tried['dropout']:g}",
            *(fixed(tried[score]) for score in ("dev_perplexity", "dev_bleu")),
        ]
        for name, record in found.items()
        for tried in _tries(record)
    ]
    if rows:
        budgets = {f"{record['grid']['budget']:g}" for record in found.values()}
        title = f"Settings tried within {', '.join(sorted(budgets))} FLOPs"
        head = ["System", "Peak rate", "Dropout", "Dev perplexity", "Dev BLEU"]
        yield Table(head, rows, list(found.values()), title)


def _tries(record: Record) -> list[dict[str, float]]:
    return record["grid"]["tries"] if record.get("grid") else []  # type: ignore[no-any-return]


def lengths(records: list[Record]) -> Iterable[Table]:
    """BLEU by sentence length, a column for each system and budget; and the settings tried."""
    records = comparable(records)
    rows = [
        [fixed(points[0]["words"], 1), str(points[0]["sentences"])]
        + [f"{fixed(point['bleu'])} ({fixed(point['length_ratio'])})" for point in points]
        for points in zip(*(record["points"] for record in records), strict=True)
    ]
    names = [f"{record['name']}, {record['budget']:.1e} FLOPs" for record in records]
    yield Table(["Source words, mean", "Sentences", *names], rows, records)
    yield from _tried({record["name"]: record for record in records})
