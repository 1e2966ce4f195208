"""Word tasks: the halves of test sets, the ratio without loss, and its final count."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from yakusu.vectors import WordVectors
from yakusu.vectors.bootstrap import Interval
from yakusu.vectors.outcomes import Shares, TaskResult, result_of
from yakusu.vectors.wordtasks import Analogy, Completion, Question, Similarity

trade_off: Any = pytest.importorskip(
    "benchmarks.compression.trade_off", reason="only a checkout has benchmarks"
)
word_tasks: Any = pytest.importorskip("benchmarks.compression.word_tasks")
embedding_tasks: Any = pytest.importorskip("benchmarks.compression.embedding_tasks")


def similarity(name: str, *pairs: str) -> Similarity:
    return Similarity(name, tuple((a, b) for a, b in pairs), tuple(map(float, range(len(pairs)))))


# ---- halves --------------------------------------------------------------------------------------


def test_items_go_to_the_halves_alternately_with_their_scores() -> None:
    choice, reserved = word_tasks.split([similarity("s", "ab", "cd", "ef", "gh", "ij")])
    assert choice["similarity"] == [
        Similarity("s", tuple(map(tuple, ("ab", "ef", "ij"))), (0, 2, 4))
    ]
    assert reserved["similarity"] == [Similarity("s", tuple(map(tuple, ("cd", "gh"))), (1, 3))]


def test_each_section_of_analogies_is_split_on_its_own() -> None:
    asked = tuple(tuple(word) for word in ("abcd", "efgh", "ijkl", "mnop", "qrst"))
    task = Analogy("g", asked, ("x", "x", "x", "y", "y"))
    choice, reserved = word_tasks.split([task])
    assert choice["analogy"] == [Analogy("g", (asked[0], asked[2], asked[3]), ("x", "x", "y"))]
    assert reserved["analogy"] == [Analogy("g", (asked[1], asked[4]), ("x", "y"))]


def test_the_halves_of_all_sets_are_disjoint_and_cover_everything() -> None:
    first = similarity("first", "ab", "cd", "ef")
    second = similarity("second", "xy", "dc", "EF", "ab", "zw", "xy")
    questions = tuple(Question((word,), tuple("abcde"), 1) for word in "pqrs")
    unused = similarity("unused", "ba", "cd", "no", "ZW")
    halves = word_tasks.split([first, second, Completion("c", questions)], [unused])
    pairs = [
        {frozenset(map(str.lower, pair)) for task in half["similarity"] for pair in task.pairs}
        for half in halves
    ]
    assert pairs[0].isdisjoint(pairs[1])
    assert pairs[0] | pairs[1] == {frozenset(pair) for pair in ("ab", "cd", "ef", "xy", "zw")}
    for number, task in enumerate((first, second)):
        assert sum(len(half["similarity"][number].pairs) for half in halves) == len(task.pairs)
    assert [half["completion"][0].questions for half in halves] == [questions[::2], questions[1::2]]
    (rest,) = halves[1]["unused similarity"]  # without the items that choose ratios
    assert {frozenset(map(str.lower, pair)) for pair in rest.pairs} == (
        {frozenset(pair) for pair in ("ba", "cd", "no", "zw")} - pairs[0]
    )


def test_the_words_whose_neighbours_are_counted_are_split(tmp_path: Path) -> None:
    from benchmarks.quick import write_data

    write_data(tmp_path)
    vectors = np.random.default_rng(1).standard_normal((400, 5)).astype(np.float32)
    dense = WordVectors([f"w{i}" for i in range(400)], vectors)
    halves = word_tasks.WordTasks.halves(dense, tmp_path)
    rows = [set(half.kept.rows.tolist()) for half in halves]
    assert rows[0].isdisjoint(rows[1]) and rows[0] | rows[1] == set(range(400))
    for half in halves:
        scores = half.score(vectors)
        assert (scores["neighbours"], scores["candidates"]) == (100, 100)
    assert set(halves[1].results(vectors)) - set(halves[0].results(vectors)) == {
        "unused similarity"
    }


# ---- ratios --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ([(4, 65.0), (8, 64.6), (16, 64.4)], 8),
        ([(16, 64.4), (8, 64.6), (4, 65.0)], 8),  # in any order
        ([(8, 64.4), (15.9, 65.0), (6.4, 64.9)], 6.4),  # K = 16 fails, K = 4 passes by chance
        ([(8, 64.4), (15.9, 65.0)], None),
        ([(4, 66.0), (8, 65.0), (8, 64.0)], 4),  # of equal ratios, all must pass
        ([(4, float("nan")), (8, 65.0)], None),
        ([(4, 64.5), (8, 64.5)], 8),
    ],
)
def test_a_ratio_is_without_loss_only_if_every_smaller_one_is(
    scores: list[tuple[float, float]], best: float | None
) -> None:
    assert trade_off.without_loss(scores, 64.5) == best


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        (Interval(0.2, -0.4, 0.8), "holds"),
        (Interval(-0.6, -1.0, -0.2), "holds"),  # a loss, but less than the margin
        (Interval(-0.9, -1.3, -0.5), "fails"),
        (Interval(-1.1, -2.4, 0.2), "fails"),
        (Interval(-0.3, -1.2, 0.6), "undecided"),
        (Interval(0.9, -1.2, 3.0), "undecided"),
    ],
)
def test_the_interval_decides_the_verdict(interval: Interval, verdict: str) -> None:
    assert trade_off.verdict(interval, margin=1.0) == verdict


def result(right: float, n: int = 1000) -> TaskResult:
    return result_of("a", Shares((np.arange(n) < right * n).astype(float)), 0, "")


def point(system: str, kind: str, ratio: float, first: float, second: float, moved: float) -> Any:
    after = {"analogy": result(moved)} if kind == "Real" else {}
    results = ({"analogy": result(first)}, {"analogy": result(second)}, after)
    return trade_off.Point(system, kind, "", f"size {ratio}", ratio, *results, None)


CONTROLS = [
    point("floats", "", 1, 0.65, 0.66, 0),
    point("centred floats", "", 1, 0.63, 0.64, 0),
    point("half-whitened floats", "", 1, 0.67, 0.68, 0),
    point("whitened floats", "", 1, 0.70, 0.71, 0),
]


def test_rebuilt_vectors_are_chosen_on_one_half_and_counted_on_the_other() -> None:
    real = [
        point("Proposed", "Real", 4, 0.65, 0.66, 0.63),
        point("Proposed", "Real", 8, 0.647, 0.62, 0.63),
        point("Proposed", "Real", 12, 0.60, 0.66, 0.63),
        point("Proposed", "Real", 16, 0.66, 0.66, 0.60),
    ]
    (claim,) = trade_off.claims([*CONTROLS, *real])
    assert (claim.system, claim.reference, claim.task) == ("Proposed (Real)", "floats", "analogy")
    assert (claim.ratio, claim.size, claim.score) == (8, "size 8", pytest.approx(64.7))
    assert claim.others == {"centred floats": 12}
    count = claim.counts["analogy"]
    assert count.difference == pytest.approx(-4) and count.verdict == "fails"
    assert count.low < -4 < count.high < 0 and count.items == 1000


def test_codes_are_compared_with_floats_that_are_whitened_alike() -> None:
    systems = ("Proposed", "Integers", "Other")
    codes = [point(system, "Code", 4, 0.672, 0.70, 0) for system in systems]
    found = trade_off.claims([*CONTROLS, *codes])
    assert [(claim.reference, claim.ratio) for claim in found] == [
        ("whitened floats", None),
        ("half-whitened floats", 4),
        ("centred floats", 4),
    ]
    assert found[0].counts == {} and found[0].score is None


def test_curves_of_a_system_have_claims_of_their_own() -> None:
    full, half = (
        trade_off.Point("P", "Real", curve, "", ratio, made, made, {}, None)
        for curve, ratio, made in (
            ("M = H", 16, {"analogy": result(0.65)}),
            ("M = H/2", 8, {"analogy": result(0.3)}),
        )
    )
    found = trade_off.claims([*CONTROLS, full, half])
    assert [(claim.curve, claim.ratio) for claim in found] == [("M = H", 16), ("M = H/2", None)]


def test_a_figure_has_a_panel_for_each_task(tmp_path: Path) -> None:
    real = point("Proposed", "Real", 4, 0.65, 0.66, 0.63)
    embedding_tasks.draw([*CONTROLS, real], "title", tmp_path / "f.png")
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_shows_ratios_and_verdicts_of_a_record() -> None:
    real = [
        point("Proposed", "Real", 4, 0.65, 0.60, 0.63),
        point("Proposed", "Code", 4, 0.65, 0.60, 0),
    ]
    points = [*CONTROLS, *real]
    record = {
        "name": "GloVe",
        "tasks": {"analogy": {}},
        "points": [embedding_tasks.recorded(each) for each in points],
        "claims": [asdict(claim) for claim in trade_off.claims(points)],
    }
    first, second, third = embedding_tasks.tables([record])
    assert first.head == ["System", "Against", "Analogy", "Paper, similarity"]
    count = trade_off.claims(points)[0].counts["analogy"]
    cell = f"x4.0: -6.00 ({count.low:.2f} to {count.high:.2f}) fails"
    assert first.rows == [
        ["Proposed (Real)", "floats", cell, "11"],
        ["Proposed (Code)", "whitened floats", "-", "23"],
    ]
    assert second.rows == [
        ["Proposed (Real)", "centred floats", "x4.0"],
        ["Proposed (Code)", "centred floats", "x4.0"],
        ["Proposed (Code)", "floats", "x4.0"],
    ]
    assert [row for row in third.rows if row[0] == "floats"] == [["floats", "65.00"]]
    assert len(third.rows) == 4
