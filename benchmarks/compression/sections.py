"""The page of the tables of the paper on deterministic compression of word embeddings."""

from collections.abc import Iterable

from benchmarks.compression.trade_off import (
    PAPER,
    TASKS,
    Point,
    formatted,
    name_of,
    spread,
    trade_offs,
)
from benchmarks.pages import NONE, Section, Table, fixed, scores
from benchmarks.records import Record

TITLE = "Compression of embeddings"
INTRODUCTION = """\
The tables of the paper on deterministic compression, with its baseline (Shu and Nakayama 2018),
with integers, which go beyond the paper, and with product quantisation. A ratio is the size of the
float32 vectors divided by the size of codes and codebook. The word vectors are GloVe 6B; the
translators are trained with the recipes in [recipes](../recipes)."""


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
    """Table 2: the largest ratio without loss, a table for each set of vectors."""
    head = ["System"]
    for task in TASKS:
        head += [f"{task.capitalize()}, ratio", "score"]
    head.append("Paper, similarity ratio")
    for record in records:
        points = record["points"]
        rows = [
            [name_of(point), *_cells(dict.fromkeys(TASKS, point)), NONE]
            for point in points
            if not point["kind"]
        ]
        rows += [
            [system, *_cells(best), PAPER.get(system, NONE)]
            for system, best in trade_offs(points).items()
        ]
        yield Table(
            head, rows, [record], record["name"].removesuffix(", largest ratio without loss")
        )


def _cells(best: dict[str, Point | None]) -> list[str]:
    cells = []
    for task in TASKS:
        point = best.get(task)
        cells += (
            [fixed(point["ratio"], 1), formatted(task, point["scores"][task])]
            if point
            else [NONE, NONE]
        )
    return cells


def translation(records: list[Record]) -> Iterable[Table]:
    """Table 3: the largest ratio within 0.5 BLEU, a table for each translator."""
    head = ["Table", "Method", "Ratio", "Size", "BLEU before", "BLEU after"]
    head += ["Paper: ratio", "BLEU before", "BLEU after"]
    for record in records:
        before = fixed(scores(record["score"])["BLEU"])
        rows = []
        for key, found in record["table 3"].items():
            side, method = key.split(", ", 1)
            ours, paper = found["ours"], found["paper"]
            own = [NONE, NONE, before, NONE]
            if ours:
                own = [fixed(ours["ratio"], 1), ours["size"], before, fixed(ours["bleu"])]
            published = [NONE] * 3
            if paper:
                published = [str(paper[2]), *(fixed(bleu, 1) for bleu in paper[:2])]
            rows.append([side, method.replace("whole numbers", "integers"), *own, *published])
        yield Table(head, rows, [record], record["name"])


def stability(records: list[Record]) -> Iterable[Table]:
    """Table 4: the spread of scores when the same vectors are compressed again."""
    head = ["System", "Ratio", "Runs", "Different results"]
    head += [f"{task.capitalize()}, spread" for task in TASKS]
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
            cells = [fixed(spreads[task], 3 if task == "similarity" else 2) for task in TASKS]
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
        "As in the paper, king and queen have similar codes: they are 7 and 5 steps apart (paper: "
        "7), whereas any two words are 17.3 and 16.7 steps apart on average.",
        "python -m benchmarks.compression.embedding_codes --vectors glove100.npz --name 'GloVe 6B "
        "100d'",
        codes,
        "The paper's vectors have 300 dimensions, and the signs of its components are not "
        "known, so the codes can equal the paper's only by chance.",
    ),
    Section(
        "embedding_tasks",
        "Table 2 and Figure 1: word tasks against the ratio",
        "Without a loss in score, the paper's rebuilt vectors reach a ratio of 6.4 on analogies "
        "and of at least 15.9 on similarity; product quantisation loses on analogies at every size "
        "and reaches 12.8 on similarity; integers reach at least 7.7 on analogies.",
        "python -m benchmarks.compression.embedding_tasks --vectors glove100.npz --name 'GloVe 6B "
        "100d' --shu 200000",
        word_tasks,
        "The largest measured ratio whose score is within 0.5 points (analogy, completion) or "
        '0.005 (similarity) of the floats; - if there is none. "Code" uses the codes as '
        'vectors, "Real" the rebuilt vectors. Codes are whitened by nature, so their control '
        "is whitened floats. Completion has about a thousand questions and a standard error "
        "of 1.4 points, so a high ratio there may be chance. Shu+'18 was trained for 40,000 (100d) "
        'and 20,000 (50d) of its 200,000 steps. The figures call integers "Numbers".',
        (
            ("embedding_tasks_100d.png", "Scores against the ratio, 100 dimensions"),
            ("embedding_tasks_50d.png", "Scores against the ratio, 50 dimensions"),
        ),
    ),
    Section(
        "embedding_translation",
        "Table 3 and Figure 2: translation against the ratio",
        "With a loss of at most 0.5 BLEU, integers make the Transformer's source embedding 13.7 "
        "times and its output projection 8.7 times smaller, the paper's codes 8.6 and 4.6 times; "
        "the baseline loses more at every size.",
        "python -m benchmarks.compression.embedding_translation --model runs/multi30k/model --name "
        "'Multi30k en-de, test2016' --shu 20000",
        translation,
        "The largest measured ratio that loses at most 0.5 BLEU on test2016, lower-cased. "
        '"128 exact" keeps the vectors of the 128 most frequent tokens as floats. The '
        "paper's translator is trained on WMT16 en-de and has embeddings four times as wide. The "
        'figures call integers "whole numbers".',
        (
            (
                "embedding_translation-multi30k-en-de-test2016.png",
                "BLEU against the ratio, Transformer",
            ),
            (
                "embedding_translation-multi30k-en-de-lstm-test2016.png",
                "BLEU against the ratio, LSTM",
            ),
        ),
    ),
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
)
