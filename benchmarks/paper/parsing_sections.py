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
        yield _differences(compared)
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
                record.machine.device if record.get("steps") else NONE,
                fixed(record.get("paper"), 1),
            ]
        )
    head = ["System", "Trained on", "F1, choosing", "F1", "95% interval", "Precision", "Recall"]
    head += ["Exact match", "F1, GUM", "Training pairs", "Steps", "Minutes", "Device"]
    return Table([*head, "Paper's F1, WSJ 23"], rows, records)


def _differences(records: list[Record]) -> Table:
    """The newest comparison of each two systems."""
    newest = {(row["before"], row["after"]): row for record in records for row in record["rows"]}
    rows = []
    for row in newest.values():
        low, high = row["interval"]
        systems = [title(row[side]) for side in ("before", "after")]
        rows.append(
            [row["effect"], *systems, f"{row['difference']:+.2f}", f"{low:+.2f} to {high:+.2f}"]
        )
    head = ["Effect", "From", "To", "Difference in F1", "95% interval"]
    return Table(head, rows, records, "Differences between systems")


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
        "Trained on half of the gold trees, on all of them, and with GUM's trees in addition, the "
        "Transformer has an F1 of 28.90, 40.50 and 58.03; right-branching trees have 16.30. With "
        "its own trees of GUM's sentences, it has 41.91, and with gold trees alone on the same "
        "machine 37.14. With gold trees alone, an LSTM with attention has 65.13 and is ahead of "
        "the Transformer; in the paper, it is behind. Without attention, it has 19.27.",
        "python -m benchmarks.paper.parsing_f1 --runs runs/parsing",
        parsers,
        "F1 is that of 223 of the 358 dev trees of the Penn Treebank sample. When training stops, "
        "and which checkpoints are averaged, is chosen on the other 135 (F1, choosing). The gold "
        "trees are the 3,167 of the sample; GUM's 10,224 trees were parsed automatically, from "
        "gold tags. F1, GUM is agreement with that parser on GUM's dev set. Each system has one "
        "seed. The settings of the recipe were chosen on all 358 trees, before they were divided. "
        "The paper trains on 40,000 gold trees. Minutes were measured with up to sixteen other "
        "training runs on the GPU, and with one to three on the two cores of the CPU.",
        (("parsing_f1.png", "F1 in training, and of the final models"),),
    ),
)
