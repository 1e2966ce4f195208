"""The section of parsers on the page of the paper's tables."""

from collections.abc import Iterable

from benchmarks.pages import NONE, Section, Table, fixed, scores
from benchmarks.paper.parsing_systems import TREES, title
from benchmarks.records import Record


def parsers(records: list[Record]) -> Iterable[Table]:
    """Table 4.

    Earlier records, which chose and reported on the same trees, are shown if there are no others.
    """
    if found := [record for record in records if record.get("interval")]:
        yield _results(found)
    else:
        yield _same_part([record for record in records if record.get("score")])
    if compared := [record for record in records if record.get("rows")]:
        yield _differences(compared[-1])
    if trials := [record for record in records if record.get("trial")]:
        yield _trials(trials)


def _results(records: list[Record]) -> Table:
    rows = []
    for record in sorted(records, key=lambda record: float(record["f1"])):
        found = scores(record["score"])
        low, high = record["interval"]
        rows.append(
            [
                record["model"],
                TREES.get(record.get("kind", ""), NONE),
                fixed(scores(record["choosing"])["F1"]),
                fixed(record["f1"]),
                f"{low:.2f} to {high:.2f}",
                *(fixed(found[name]) for name in ("precision", "recall", "exact match")),
                fixed(scores(record.get("gum", "")).get("F1")),
                *(fixed(record.get(field), 0) for field in ("pairs", "steps", "training_minutes")),
                fixed(record.get("paper"), 1),
            ]
        )
    head = ["System", "Trained on", "F1, choosing", "F1", "95% interval", "Precision", "Recall"]
    head += ["Exact match", "F1, GUM", "Training pairs", "Steps", "Minutes", "Paper's F1, WSJ 23"]
    return Table(head, rows, records)


def _differences(record: Record) -> Table:
    rows = []
    for row in record["rows"]:
        low, high = row["interval"]
        systems = [title(row[side]) for side in ("before", "after")]
        rows.append(
            [row["effect"], *systems, f"{row['difference']:+.2f}", f"{low:+.2f} to {high:+.2f}"]
        )
    head = ["Effect", "From", "To", "Difference in F1", "95% interval"]
    return Table(head, rows, [record], "Differences between systems")


def _trials(records: list[Record]) -> Table:
    rows = [
        [
            record["model"],
            TREES[record["kind"]],
            ", ".join(record["overrides"]),
            fixed(scores(record["choosing"])["F1"]),
            fixed(record["steps"], 0),
        ]
        for record in records
    ]
    head = ["System", "Trained on", "Settings", "F1, choosing", "Steps"]
    return Table(head, rows, records, "Settings that were compared")


def _same_part(records: list[Record]) -> Table:
    rows = []
    for record in sorted(records, key=lambda record: float(record["f1"])):
        found, paper = scores(record["score"]), record["paper"]
        numbers = [fixed(found[name]) for name in ("F1", "precision", "recall", "exact match")]
        weight, steps = record.get("extra_weight"), record.get("steps")
        published = fixed(paper, 1) if isinstance(paper, float) else NONE
        trained = [fixed(weight, 1), fixed(steps, 0), fixed(record.get("training_minutes"), 0)]
        rows.append([record["name"], *numbers, *trained, published])
    head = ["System", "F1", "Precision", "Recall", "Exact match", "Weight of parsed trees"]
    return Table([*head, "Steps", "Minutes", "Paper's F1, WSJ 23"], rows, records)


SECTIONS = (
    Section(
        "parsing_f1",
        "Table 4: constituency parsing",
        "Trained on 3,167 gold trees, the Transformer reaches an F1 of 34.73, and 48.85 with "
        "additional automatically parsed trees; the LSTM without attention, trained for "
        "fewer steps, has 19.24, and right-branching trees have 17.16.",
        "python -m benchmarks.paper.parsing_f1 --runs runs/parsing",
        parsers,
        "Trained on 3,167 gold trees of the Penn Treebank sample and scored on 358 others; the "
        "10,224 automatically parsed trees are GUM's. The paper trains on 40,000 gold trees.",
    ),
)
