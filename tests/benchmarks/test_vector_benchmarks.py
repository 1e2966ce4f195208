"""The benchmarks of compressed word vectors: what they measure, on vectors with known answers."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from yakusu.compress import CodebookCompressor
from yakusu.vectors import CompressedVectors, write_compressed

lookup: Any = pytest.importorskip(
    "benchmarks.speed.embedding_lookup", reason="only a checkout has benchmarks"
)
static: Any = importlib.import_module("benchmarks.compression.static_embeddings")
search: Any = importlib.import_module("benchmarks.speed.embedding_search")
records: Any = importlib.import_module("benchmarks.records")

VECTORS = np.random.default_rng(0).standard_normal((300, 8)).astype(np.float32)
WORDS = [f"w{i}" for i in range(300)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of the sides."""
    made = CodebookCompressor(n_codes=16).fit(VECTORS).compressed_
    write_compressed(tmp_path / "codes, K = 16.ykv", CompressedVectors.of(WORDS, made))
    np.save(tmp_path / "vectors.npy", VECTORS)
    (tmp_path / "vectors.txt").write_text("\n".join(WORDS))
    np.save(tmp_path / "units.npy", VECTORS / np.linalg.norm(VECTORS, axis=1)[:, None])
    return tmp_path


def test_a_memory_map_looks_up_the_vectors_of_its_words(folder: Path) -> None:
    opened = lookup.open_map(folder / "vectors.npy")
    assert (opened.word("w7") == VECTORS[7]).all()
    assert (opened.rows(np.array([3, 1])) == VECTORS[[3, 1]]).all()


def test_the_time_of_a_word_is_the_median_of_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0, 1, 1, 3, 3, 13])  # groups of 1, 2 and 10 seconds
    monkeypatch.setattr(lookup.time, "perf_counter", clock.__next__)
    assert lookup.per_word(VECTORS.__getitem__, [0] * 300) == 1e6 * 2 / 100


def test_opened_files_are_measured(folder: Path) -> None:
    cost = lookup.measured(
        folder, WORDS, 200, 0, open_=lookup.open_yakusu, file="codes, K = 16.ykv"
    )
    size = (folder / "codes, K = 16.ykv").stat().st_size
    assert 0 < cost["mapped"] <= size + 4096 and cost["read"] > 0
    assert set(cost) >= {"opening", "first", "random", "repeated", "batch", "consecutive"}


def test_dense_search_finds_the_nearest_vectors(folder: Path) -> None:
    find = search._dense(folder, search.DENSE, 1)
    units = np.load(folder / "units.npy")
    expected = [set(np.argsort(-units @ query)[:10].tolist()) for query in units[:3]]
    assert [set(rows.tolist()) for rows in find(units[:3])] == expected
    assert set(find(units[:1])[0].tolist()) == expected[0]


def test_recall_leaves_out_the_word_of_the_query_and_counts_equal_words() -> None:
    units = np.eye(16, dtype=np.float32)
    units[1:11] = units[0]  # rows 0 to 10 are equal, the others are orthogonal
    found = np.array([[0, *range(1, 6), *range(11, 16)], [*range(11)]])
    recall = search.recall(units, units[:2], np.array([0, 1]), found)
    assert recall == pytest.approx((0.5 + 1.0) / 2)


def test_recall_of_all_kinds_is_measured(folder: Path) -> None:
    shares = search.recalls(folder, np.arange(0, 300, 10), kind="codes, K = 16")
    assert shares["on rebuilt vectors"] > 0.99
    assert shares["on original vectors"] <= shares["ranked again"] == 1.0


def record(**fields: Any) -> Any:
    machine = {"cpu": "made", "cores": 2, "threads": 1}
    given = {"commit": "a", "date": "2026-01-01", "machine": machine, "torch": "1", "python": "3"}
    return records.Record.model_validate({**given, "seed": 1, "command": "", **fields})


def test_ratios_of_search_compare_equal_numbers_of_threads() -> None:
    costs = {"dense float32, 1 thread": (8, 4), "dense float32, 2 threads": (6, 2)}
    costs |= {"yakusu, integers, 1 thread": (2, 2), "yakusu, integers, 2 threads": (2, 1)}
    medians = {name: {"one": a, "batch": b, "mib": 1} for name, (a, b) in costs.items()}
    made = record(name="a", medians=medians, recall={"integers": {"x": 0.9}}, queries=1000)
    speed, recall = search.tables([made])
    assert [(row[2], row[4]) for row in speed.rows[2:]] == [("4.00", "2.00"), ("3.00", "2.00")]
    assert recall.rows == [["integers", "90.0%"]]


def test_lookup_has_goals_for_yakusu_only() -> None:
    keys = ("opening", "read", "mapped", "first", "random", "repeated", "batch", "consecutive")
    medians = {name: dict.fromkeys(keys, 1.0) for name in ("yakusu, integers", "gensim")}
    made = record(name="a", medians=medians, goals=lookup.GOALS)
    (table,) = lookup.tables([made])
    assert [row[table.head.index("Goal")] for row in table.rows] == ["30", "-"]


def test_sentences_that_share_a_translation_answer_each_other() -> None:
    pairs = [("a", "A"), ("x", "X"), ("b", "A"), ("b", "B"), ("c", "B"), ("a", "A"), ("y", "Y")]
    made = static.Retrieval.of(pairs, n_sentences=4, n_queries=5)
    assert made.sentences == ["a", "b", "c", "x"] and made.queries == [0, 1, 2]
    assert made.answers == [{1}, {0, 2}, {1}]
    assert static.Retrieval.of(pairs, n_sentences=4, n_queries=1).queries == [0]


def test_the_rank_of_the_first_answer_counts_among_ten() -> None:
    angles = np.radians([0, 5, 1, 2, 3, 4, 90, *range(6, 12)])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    made = static.Retrieval([""] * len(angles), [0, 0, 0], [{1}, {2, 1}, {6}])
    assert made.reciprocal_ranks(vectors).tolist() == [1 / 5, 1, 0]
