"""The verbs `yakusu vectors index`, `search`, `delete` and `compact`: output and errors."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.filesize import decimal

from yakusu.vectors import open_store

RunYakusu = Callable[..., Any]
VECTORS = np.random.default_rng(2).standard_normal((300, 5)).astype(np.float32)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    np.save(tmp_path / "v.npy", VECTORS)
    np.save(tmp_path / "q.npy", VECTORS[[7, 1]])
    write(tmp_path / "ids.txt", [f"id {i}" for i in range(300)])
    write(tmp_path / "facts.jsonl", [f'{{"n": {i}, "ü": null}}' for i in range(299)] + ["null"])
    write(tmp_path / "few.txt", ["id 3", "id 1", "id 299", "unknown"])
    return tmp_path


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def test_vectors_are_indexed_searched_deleted_and_compacted(
    run_yakusu: RunYakusu, files: Path
) -> None:
    store, v, q, few = (files / name for name in ("s.db", "v.npy", "q.npy", "few.txt"))
    more = ("--ids", files / "ids.txt", "--metadata", files / "facts.jsonl")
    said = run_yakusu("vectors", "index", store, v, *more, "--originals", "float32")
    assert (said.code, said.err) == (0, "")
    assert re.fullmatch(
        r"300 vectors added, \d\.\d\d% of the variance lost by the codes\n"
        rf"{re.escape(str(store))}: 300 vectors x 5 dimensions, \d+\.\d kB\n",
        said.out,
    )
    assert said.out.endswith(f", {decimal(store.stat().st_size)}\n")
    said = run_yakusu("vectors", "search", store, q, "-n", "1")
    lines = [
        {"query": "0", "id": "id 7", "score": 1.0, "metadata": {"n": 7, "ü": None}},
        {"query": "1", "id": "id 1", "score": 1.0, "metadata": {"n": 1, "ü": None}},
    ]
    assert [json.loads(line) for line in said.out.splitlines()] == lines and "ü" in said.out
    said = run_yakusu("vectors", "search", store, q, "--among", few)
    found = [json.loads(line) for line in said.out.splitlines()]
    assert sorted(each["id"] for each in found) == sorted(["id 1", "id 299", "id 3"] * 2)
    assert all(("metadata" in each) == (each["id"] != "id 299") for each in found)

    said = run_yakusu("vectors", "index", store, v, *more, "--replace")
    assert said.code == 0 and said.out.startswith("300 vectors added (300 replaced), ")
    said = run_yakusu("vectors", "search", store, q, "--share", "0.5")
    assert said.err.startswith(f"{store} has no cells, so all of its vectors are searched: ")
    said = run_yakusu("vectors", "compact", store, "--cells")
    assert said.err == "cells: 17\n"
    said = run_yakusu("vectors", "search", store, q, "--share", "0.5", "--among", few)
    missing = f"{{}} of 4 ids are not in {store}, such as '{{}}'\n"
    assert said.err == missing.format(1, "unknown") and said.out

    said = run_yakusu("vectors", "delete", store, few)
    assert (said.out, said.err) == (
        f"{store}: 3 vectors removed\n",
        missing.format(1, "unknown"),
    )
    said = run_yakusu("vectors", "delete", store, few)
    assert (said.out, said.err) == (f"{store}: 0 vectors removed\n", missing.format(4, "id 3"))
    said = run_yakusu("vectors", "compact", store)
    assert said.code == 0 and re.search(r": \d+\.\d kB -> \d+\.\d kB\n\Z", said.out)
    with open_store(store) as opened:
        assert len(opened) == 297 and "id 1" not in opened


def test_words_or_row_numbers_are_ids(run_yakusu: RunYakusu, files: Path) -> None:
    (files / "w.txt").write_bytes(b"king 1 2 3\nK\xf6nigin 1 2 2.5\nboat -1 0 4\n")
    said = run_yakusu("vectors", "index", files / "w.db", files / "w.txt")
    assert said.code == 2 and "--encoding latin-1" in said.err
    options = ("--similarity", "euclidean", "--encoding", "latin-1")
    said = run_yakusu("vectors", "index", files / "w.db", files / "w.txt", *options)
    assert said.code == 0, said.err
    (files / "q.txt").write_text("prince 1 2 3\n")
    said = run_yakusu("vectors", "search", files / "w.db", files / "q.txt", "-n", "2")
    found = [json.loads(line) for line in said.out.splitlines()]
    assert [(each["query"], each["id"]) for each in found] == [
        ("prince", "king"),
        ("prince", "Königin"),
    ]
    assert found[0]["score"] < found[1]["score"]
    run_yakusu("vectors", "index", files / "n.db", files / "v.npy")
    with open_store(files / "n.db") as opened:
        assert [*opened] == [*map(str, range(300))]
    (files / "far.txt").write_text("far 900 -700 800\n")
    said = run_yakusu("vectors", "index", files / "w.db", files / "far.txt")
    assert said.code == 0 and said.err.startswith("the codes of the new vectors lose ")


def test_what_cannot_be_done_is_refused_and_leaves_no_file(
    run_yakusu: RunYakusu, files: Path
) -> None:
    write(files / "bad.jsonl", ["{}", "{"])
    write(files / "list.jsonl", ["[]"])
    write(files / "twice.txt", ["a"] * 300)
    (files / "latin.txt").write_bytes(b"\xe4\n")
    index = ("vectors", "index", files / "s.db", files / "v.npy")
    refused: dict[tuple[Any, ...], str] = {
        (*index, "--ids", files / "few.txt"): "4 ids do not fit 300 vectors: give one per vector",
        (*index, "--ids", files / "twice.txt"): "rows 0 and 1 have the same id 'a'",
        (*index, "--ids", files / "latin.txt"): "latin.txt is not UTF-8",
        (*index, "--ids", files / "none.txt"): "none.txt",
        (*index, "--metadata", files / "bad.jsonl"): "bad.jsonl, line 2 is not JSON",
        (*index, "--metadata", files / "list.jsonl"): "list.jsonl, line 1 is not an object",
        (*index, "--set", "compress.k=32"): "set compress.k to 16 or less",
        ("vectors", "search", files / "s.db", files / "q.npy"): "s.db does not exist",
        ("vectors", "delete", files / "s.db", files / "few.txt"): "s.db does not exist",
        ("vectors", "compact", files / "v.npy"): "v.npy is not a store of vectors, or is damaged",
    }
    for arguments, message in refused.items():
        said = run_yakusu(*arguments)
        assert said.code != 0 and message in said.err and said.err.count("\n") == 1, said.err
        assert not (files / "s.db").exists()
    assert run_yakusu(*index).code == 0
    np.save(files / "wide.npy", np.ones((500, 9)))
    said = run_yakusu("vectors", "search", files / "s.db", files / "wide.npy")
    assert said.code == 2 and "vectors have shape (500, 9)" in said.err
    said = run_yakusu("vectors", "search", files / "q.npy", files / "s.db")
    assert said.code == 2 and "s.db is a store or another SQLite file" in said.err
    said = run_yakusu(*index)
    assert said.code == 2 and "already has 300 of these ids, such as '0'" in said.err
    said = run_yakusu(*index, "--similarity", "cosine", "--replace")
    assert said.code == 0
    said = run_yakusu(*index, "--similarity", "euclidean")
    assert said.code == 2 and "has similarity = cosine, which does not change" in said.err
    said = run_yakusu(*index, "--set", "compress.k=8")
    assert (
        said.code == 2 and "its codebook does not change: leave out compress settings" in said.err
    )
