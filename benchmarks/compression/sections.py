"""The page of the tables of the paper on deterministic compression of word embeddings."""

from collections.abc import Iterable
from typing import Any

from benchmarks.compression import large_sections, translation_sections
from benchmarks.compression.trade_off import PAPER, PAPER_TASKS, TASKS, formatted, spread
from benchmarks.pages import NONE, Section, Table, fixed
from benchmarks.records import Record

TITLE = "Compression of embeddings"
INTRODUCTION = """\
The tables of the paper on deterministic compression, with its baseline (Shu and Nakayama 2018),
with integers, which go beyond the paper, and with other quantisers. A ratio is the size of the
float32 vectors divided by the size of codes and codebook. The word vectors are GloVe 6B, 400,000
words with 50 dimensions and 341,479 of them with 100; the translators are trained with the recipes
in [recipes](../recipes)."""


def codes(records: list[Record]) -> Iterable[Table]:
    """Table 1: the codes of four words."""
    names = [record["name"].partition(",")[0] for record in records]
    parsed = [_codes(record["score"]) for record in records]
    paper = _codes(records[0]["paper"])
    rows = [[word, *(each[word] for each in parsed), paper[word]] for word in paper]
    yield Table(["Word", *names, "Paper, GloVe 6B 300d"], rows, records, "Codes, M = 8 and K = 8")
    apart = [record["steps_apart"] for record in records]
    rows = [
        [pair, *(str(each[pair]["ours"]) for each in apart), str(apart[0][pair]["paper"])]
        for pair in apart[0]
    ]
    rows.append(["any two", *(fixed(r["steps_apart_any_two"], 1) for r in records), NONE])
    yield Table(["Words", *names, "Paper"], rows, records, "Steps between two codes")


def _codes(text: str) -> dict[str, str]:
    return dict(each.split(" ", 1) for each in text.split("; "))


def word_tasks(records: list[Record]) -> Iterable[Table]:
    """Table 2: the claims and their final count, and the uncompressed vectors, of each record."""
    for record in records:
        found: dict[str, dict[str, Any]] = {}
        for claim in record["claims"]:
            name = f"{claim['system']} {claim['curve']}".strip()
            found.setdefault(name, {})[claim["task"]] = claim
        tasks = [task for task in TASKS if task in record["tasks"]]
        head = ["System", "Against", *(task.capitalize() for task in tasks), "Paper, similarity"]
        rows = [
            [
                name,
                each[tasks[0]]["reference"],
                *(_counted(each[task]) for task in tasks),
                PAPER.get(each[tasks[0]]["system"], NONE),
            ]
            for name, each in found.items()
        ]
        yield Table(head, rows, [record], f"{record['name']}: ratios without loss")
        scored = [task for task in tasks if task in PAPER_TASKS]
        rows = [
            [name, against, *(_ratio(each[task]["others"][against]) for task in scored)]
            for name, each in found.items()
            for against in each[scored[0]]["others"]
        ]
        head = ["System", "Against", *(f"{task.capitalize()}, ratio" for task in scored)]
        yield Table(head, rows, [record], f"{record['name']}: against other floats, not counted")
        rows = [
            [point["system"], *(formatted(task, point["scores"][task]) for task in tasks)]
            for point in record["points"]
            if not point["kind"]
        ]
        head = ["Vectors", *(task.capitalize() for task in tasks)]
        yield Table(head, rows, [record], f"{record['name']}: uncompressed vectors")


def _counted(claim: dict[str, Any]) -> str:
    """The ratio of a claim, and the difference, interval and verdict of each of its counts."""
    counts = [
        f"{_signed(name, count['difference'])} ({_signed(name, count['low'])} to "
        f"{_signed(name, count['high'])}) {count['verdict']}"
        for name, count in claim["counts"].items()
    ]
    return f"{_ratio(claim['ratio'])}: {'; unused sets '.join(counts)}" if counts else NONE


def _signed(task: str, value: float) -> str:
    return ("+" if value > 0 else "") + formatted(task, value)


def _ratio(value: float | None) -> str:
    return NONE if value is None else f"x{value:.1f}"


def stability(records: list[Record]) -> Iterable[Table]:
    """Table 4: the spread of scores when the same vectors are compressed again."""
    head = ["System", "Ratio", "Runs", "Different results"]
    head += [f"{task.capitalize()}, spread" for task in PAPER_TASKS]
    for record in records:
        ours, shu, paper = record["ours"], record["shu"]["runs"], record["paper_runs"]
        digests = ours["sha256"]
        rows = [
            ["yakusu", fixed(ours["ratio"], 1), str(len(digests)), str(len(set(digests)))]
            + ["0"] * 3
        ]
        for name, size, runs in (
            ("Shu+'18", record["shu"]["ratio"], shu),
            ("Shu+'18 in the paper", 11, paper),
        ):
            spreads = spread(runs)
            cells = [fixed(spreads[task], 3 if task == "similarity" else 2) for task in PAPER_TASKS]
            different = len({tuple(run.values()) for run in runs})
            rows.append([name, fixed(size, 1), str(len(runs)), str(different), *cells])
        yield Table(head, rows, [record], record["name"])


def chance(records: list[Record]) -> Iterable[Table]:
    """Table 5: BLEU when the source embedding is compressed ten times."""
    for record in records:
        before, ours = (float(part) for part in _bleus(record["score"]))
        shu = record["shu"]
        rows = [
            ["uncompressed", NONE, NONE, fixed(before), fixed(before)],
            ["yakusu, K = 8", "10", "1" if record["equal"] else "more", fixed(ours), fixed(ours)],
            ["Shu+'18", str(len(shu)), str(len(set(shu))), fixed(min(shu)), fixed(max(shu))],
            ["Proposed, in the paper", "10", NONE, "26.90", "27.00"],
            ["Shu+'18 in the paper", "10", NONE, "24.90", "25.60"],
        ]
        head = ["System", "Runs", "Different results", "Lowest BLEU", "Highest BLEU"]
        yield Table(head, rows, [record], record["name"])


def _bleus(text: str) -> tuple[str, str]:
    """BLEU before and after from "uncompressed 39.66; ours, K = 8: 39.55, ..."."""
    before, after = text.split("; ")[:2]
    return before.split()[-1], after.partition(": ")[2].split(",")[0]


SECTIONS = (
    Section(
        "embedding_codes",
        "Table 1: codes of king, man, woman and queen",
        "As in the paper, king and queen (7 and 5 steps) are close to each other, and so are man "
        "and woman; with 100 dimensions, the other pairs are hardly closer than any two words "
        "(17.3 steps on average), unlike in the paper.",
        "python -m benchmarks.compression.embedding_codes --vectors glove100.npz --name 'GloVe 6B "
        "100d'",
        codes,
        "The paper's vectors have 300 dimensions, and the signs of its components are not "
        'known, so the codes can equal the paper\'s only by chance. "Any two" are a word and the '
        "one that is half of the vocabulary less frequent.",
    ),
    Section(
        "word_tasks",
        "Table 2 and Figure 1: word tasks against the ratio",
        "Rebuilt integers hold to ratios of 8.2 (100 dimensions) and 7.6 (50) on analogies, and "
        "to 8.2 and 7.1 on similarity; rebuilt codes hold to 6.4 on analogies with 100 dimensions "
        "only, and to 6.4 and 8.0 on similarity. Of the sizes of peers that were measured, only "
        "8-bit numbers keep the analogies; none is between 4 and 6.9.",
        "python -m benchmarks.compression.embedding_tasks --vectors glove100.npz --name 'GloVe 6B "
        "100d' --shu shu.npz",
        word_tasks,
        "A ratio is chosen on half of the items of each test set: the largest measured one such "
        "that it and every smaller ratio of the curve score at most 0.5 points (analogy, "
        "completion), 0.005 (similarity), 10 points (10 nearest neighbours kept) or 1 point (kept "
        'among the 100 nearest, candidates) less than the reference. "-": the smallest ratio '
        "already loses more. After the colon: the difference from the same reference on the other "
        "half, at this ratio only, with its 95% interval (paired bootstrap, 1,000 resamples, each "
        "set on its own). A claim holds if the lower end is at least -1 point, -0.01 "
        "(similarity), -12 points (neighbours) or -2 points (candidates). Otherwise, it fails if "
        "the upper end is below 0 or the difference below that margin, and is undecided if not. "
        "Similarity is also counted on sets that are not in the paper: SimVerb-3500, YP-130 and "
        'Verb-143. "Real" is the rebuilt vectors and "floats" the vectors before compression, '
        'both as they are; "Code" is the codes as vectors, centred. Codes are whitened by nature, '
        "so their reference is whitened in the same way. The halves of the analogies share words. "
        "Shu+'18 was measured only at a ratio of 24. The other tables and the figures show the "
        "half on which ratios are chosen.",
        (
            ("word_tasks_100d.png", "Scores against the ratio, 100 dimensions"),
            ("word_tasks_50d.png", "Scores against the ratio, 50 dimensions"),
        ),
    ),
    *translation_sections.SECTIONS,
    Section(
        "embedding_stability",
        "Table 4: repeated compression of word vectors",
        "Ten runs of yakusu give the same bytes, with one thread and with two; the scores of ten "
        "runs of the baseline are up to 2.70 points apart.",
        "python -m benchmarks.compression.embedding_stability --vectors glove50.npz --name 'GloVe "
        "6B 50d' --ours 50x8 --shu 32x16 --seeds 10",
        stability,
        "The baseline was trained for 10,000 of its 200,000 steps.",
    ),
    Section(
        "embedding_chance",
        "Table 5: repeated compression of a translator",
        "Ten runs of yakusu give the same bytes and therefore the same BLEU, 39.55; with the "
        "baseline, BLEU ranges from 28.08 to 36.82, depending on the seed.",
        "python -m benchmarks.compression.embedding_chance --model runs/multi30k/model --name "
        "'Multi30k en-de, test2016'",
        chance,
        "The source embedding is compressed; test2016, lower-cased. The baseline was trained for "
        "20,000 steps. The paper's translator is trained on WMT16 en-de.",
    ),
    large_sections.LARGE_MATRIX,
)
