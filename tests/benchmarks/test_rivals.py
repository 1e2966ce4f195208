"""Rivals in the search of neighbours: what each finds; those not installed are skipped."""

import importlib
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

rivals: Any = pytest.importorskip(
    "benchmarks.compression.rivals", reason="only a checkout has benchmarks"
)
side: Any = importlib.import_module("benchmarks.peers.rival_side")

LIBRARIES = {
    "faiss": "faiss",
    "usearch": "usearch",
    "rabitqlib": "rabitqlib",
    "turbovec": "turbovec",
}
LEAST = {"usearch binary": 0.2, "yakusu codes": 0.5}  # of the recall at 10; others 0.6
SLOW = ("faiss LSQ", "faiss OPQ", "faiss PQ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Vectors, queries and the nearest vectors."""
    folder: Path = tmp_path_factory.mktemp("rivals")
    rng = np.random.default_rng(3)
    given = rng.standard_normal((1510, 16)) @ rng.standard_normal((16, 64))
    given += 0.3 * rng.standard_normal(given.shape)
    np.save(folder / "given.npy", given.astype(np.float32))
    rivals.prepared(folder, Namespace(vectors=folder / "given.npy", rows=None, queries=10))
    return folder


def test_queries_are_left_out_and_the_nearest_are_exact(folder: Path) -> None:
    vectors, queries, truth = (
        np.load(folder / f"{name}.npy") for name in ("vectors", "queries", "truth")
    )
    assert vectors.shape == (1500, 64) and queries.shape == (10, 64) and truth.shape == (10, 100)
    assert (truth == np.argsort(-(queries @ vectors.T), axis=1)[:, :100]).all()
    assert (queries @ vectors.T).max() < 1 - 1e-6


def test_recall_is_a_share_of_the_nearest() -> None:
    truth = np.arange(100)[None]
    found = np.concatenate([np.arange(5), np.arange(200, 205), np.arange(5, 95)])[None]
    assert rivals.recalls(truth, found) == {"at_10": 0.5, "at_100": 0.95, "again": 1.0}


@pytest.mark.parametrize("system", [*side.SYSTEMS, *side.FIXED])
def test_each_system_finds_most_neighbours(folder: Path, system: str) -> None:
    if system in SLOW:
        pytest.skip("takes minutes")
    if library := LIBRARIES.get(system.split()[0]):
        pytest.importorskip(library)
    found = side.measured(folder, system, 4, 1, 1)
    recall = rivals.recalls(np.load(folder / "truth.npy"), np.load(folder / "found.npy"))
    assert recall["again"] >= recall["at_10"] >= LEAST.get(system, 0.6)
    assert 1500 * 64 // 8 <= found["bytes"] < 4 * 1500 * 64 and len(found["sha256"]) == 64


def test_a_system_that_fails_is_a_row_with_the_reason(folder: Path) -> None:
    found = rivals.run(folder, "nothing", 4, 1, 1, 1)
    assert found == {"why": "KeyError: 'nothing'"}
    (row,) = rivals.tables.rows({"systems": {"nothing, 4 bits": found}})
    assert row["name"] == "nothing, 4 bits: not run, KeyError: 'nothing'"
