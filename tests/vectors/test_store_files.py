"""Files of stores that are damaged, hostile, or whose writer is killed."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cases import THOROUGH, examples
from yakusu.compress.config import CompressConfig
from yakusu.errors import DataError
from yakusu.memory.memory import TranslationMemory
from yakusu.vectors import create_store, open_store

V, H = 300, 6
RNG = np.random.default_rng(5)
VECTORS = RNG.standard_normal((V, H)) + 0.4
IDS = [f"id {i}" for i in range(V)]
KINDS = {
    "codes": CompressConfig(k=9, fit="closed"),
    "integers": CompressConfig(method="integers", step=0.1),
}


@pytest.fixture(params=KINDS, scope="module")
def original(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "s.db"
    with create_store(path, VECTORS, originals="float16", config=KINDS[request.param]) as store:
        store.add(IDS, VECTORS, [{"n": i} for i in range(V)])
    return path


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path / "s.db"))


def used(path: Path) -> Any:
    """Read all of a store."""
    with open_store(path) as store:
        return store.search(VECTORS[:5], V), len(store), [*store]


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        used(path)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("content", [b"", b"text\n" * 1000, b"SQLite format 3\0", b"\0" * 9000])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s.db").write_bytes(content)
    assert "not a store of vectors" in refusal(tmp_path / "s.db")
    assert (tmp_path / "s.db").read_bytes() == content


def test_a_memory_a_folder_and_nothing_are_refused(tmp_path: Path) -> None:
    TranslationMemory.open(tmp_path / "m.db", ("en", "de"), writable=True).close()
    assert "is an SQLite file, but not a store of vectors" in refusal(tmp_path / "m.db")
    assert "is a folder" in refusal(tmp_path)
    assert "does not exist" in refusal(tmp_path / "other.db")


def test_a_newer_format_is_refused(path: Path) -> None:
    altered(path, "UPDATE meta SET value = 2 WHERE name = 'format'")
    assert "has format 2 of stores of vectors, and this version of yakusu reads 1" in refusal(path)


def altered(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as db:
        db.create_function("crc32", 2, lambda a, b: zlib.crc32(b, zlib.crc32(a)))
        for statement in statements:
            db.execute(statement)
    db.close()


_CHECKED = "UPDATE codes SET checksum = crc32(codes, lengths)"
HOSTILE = {
    "no codebook": ["DELETE FROM meta WHERE name = 'codebook'"],
    "short codebook": ["UPDATE meta SET value = x'00' WHERE name = 'codebook'"],
    "text as codebook": ["UPDATE meta SET value = 'x' WHERE name = 'codebook'"],
    "NaN in codebook": [
        "UPDATE meta SET value = CAST(x'0000c07f' || substr(value, 5) AS BLOB) "
        "WHERE name = 'codebook'"
    ],
    "a billion dimensions": ["UPDATE meta SET value = 1000000000 WHERE name = 'width'"],
    "many components": ["UPDATE meta SET value = 7 WHERE name = 'components'"],
    "K above 16": ["UPDATE meta SET value = 99 WHERE name = 'n_codes'"],
    "text as K": ["UPDATE meta SET value = 'x' WHERE name = 'n_codes'"],
    "similarity": ["UPDATE meta SET value = 'manhattan' WHERE name = 'similarity'"],
    "originals": ["UPDATE meta SET value = 'int8' WHERE name = 'originals'"],
    "a blob as originals": ["UPDATE meta SET value = x'00' WHERE name = 'originals'"],
    "no meta": ["DELETE FROM meta WHERE name <> 'format'"],
    "text as revision": ["UPDATE meta SET value = 'x' WHERE name = 'revision'"],
    "no revision": ["DELETE FROM meta WHERE name = 'revision'"],
    "huge block": ["UPDATE block SET n = 1000000000000"],
    "no rows": ["UPDATE block SET n = 0"],
    "text as n": ["UPDATE block SET n = 'x'"],
    "version": ["UPDATE block SET version = NULL"],
    "overlapping blocks": ["INSERT INTO block SELECT first + 1, n, version, live, NULL FROM block"],
    "negative number": ["UPDATE block SET first = -5"],
    "huge number": ["UPDATE block SET first = 9223372036854775807"],
    "live": ["UPDATE block SET live = x'ff'"],
    "text as live": ["UPDATE block SET live = 'x'"],
    "short centre": ["UPDATE block SET centre = x'00'"],
    "text as centre": ["UPDATE block SET centre = 'x'"],
    "NaN in centre": [f"UPDATE block SET centre = x'{'0000c07f' * H}'"],
    "no codes": ["DELETE FROM codes"],
    "short codes": [
        "UPDATE codes SET codes = x'00'",
        _CHECKED,
    ],
    "codes out of range": [
        "UPDATE codes SET codes = CAST(x'ffff' || substr(codes, 3) AS BLOB)",
        _CHECKED,
    ],
    "flipped codes": ["UPDATE codes SET codes = CAST(x'11' || substr(codes, 2) AS BLOB)"],
    "large codes": [
        "UPDATE codes SET codes = zeroblob(3000000)",
        _CHECKED,
    ],
    "NaN as length": [
        "UPDATE codes SET lengths = CAST(x'0000c07f' || substr(lengths, 5) AS BLOB)",
        _CHECKED,
    ],
    "no items": ["DELETE FROM item"],
    "no vector": ["UPDATE item SET vector = NULL"],
    "short vector": ["UPDATE item SET vector = x'00'"],
    "NaN in vector": ["UPDATE item SET vector = CAST(x'007e' || substr(vector, 3) AS BLOB)"],
    "metadata": ["UPDATE item SET metadata = '{'"],
    "deep metadata": [f"UPDATE item SET metadata = '{'[' * 200_000}' WHERE number = 3"],
    "list as metadata": ["UPDATE item SET metadata = '[1]'"],
    "blob as metadata": ["UPDATE item SET metadata = x'7b7d'"],
    "blob as id": ["UPDATE item SET id = x'41' WHERE number = 3"],
    "no id": ["UPDATE item SET id = NULL"],
    "undecodable id": ["UPDATE item SET id = CAST(x'ff' AS TEXT) WHERE number = 3"],
    "a table more": ["CREATE TABLE more (x)"],
    "a trigger": ["CREATE TRIGGER t AFTER DELETE ON item BEGIN DELETE FROM codes; END"],
    "a view": [
        "DROP TABLE item",
        "CREATE VIEW item AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT i AS number, 'a' AS id, NULL AS metadata, NULL AS vector FROM n",
    ],
    "no table": ["DROP TABLE codes"],
}


@pytest.mark.parametrize("statements", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_store_is_refused(path: Path, statements: list[str]) -> None:
    altered(path, *statements)
    assert "damaged" in refusal(path)


def test_cells_of_dead_blocks_are_not_made(path: Path) -> None:
    altered(path, "UPDATE block SET live = zeroblob(length(live))")
    with open_store(path, writable=True) as store:
        store.compact(cells=True)
        assert store.search(VECTORS[:1]) == [[]]


def test_a_store_of_zeros_that_inflate_is_refused(path: Path) -> None:
    bomb = zlib.compress(bytes(2**24))
    with sqlite3.connect(path) as db:
        lengths = db.execute("SELECT lengths FROM codes").fetchone()[0]
        check = zlib.crc32(lengths, zlib.crc32(bomb))
        db.execute("UPDATE codes SET codes = ?, checksum = ?", (bomb, check))
    db.close()
    assert "damaged" in refusal(path)


@pytest.mark.parametrize("seed", range(examples(90)))
def test_a_damaged_store_is_read_or_refused(path: Path, seed: int) -> None:
    rng, content = random.Random(seed), bytearray(path.read_bytes())
    if seed % 4 == 0:
        del content[rng.randrange(len(content)) :]
    else:
        for _ in range(rng.choice((1, 3, 200))):
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)
    try:
        found, n, ids = used(path)
        assert len(found) == 5 and n <= V + 8192 and all(isinstance(each, str) for each in ids)
    except DataError as error:
        assert "\n" not in str(error) and len(str(error)) < 400
    with open_or_nothing(path) as store:
        if store:
            write_or_refuse(store)


class open_or_nothing:  # noqa: N801 - a context manager
    def __init__(self, path: Path) -> None:
        try:
            self.store: Any = open_store(path, writable=True)
        except DataError:
            self.store = None

    def __enter__(self) -> Any:
        return self.store

    def __exit__(self, *_: object) -> None:
        if self.store:
            self.store.close()


def write_or_refuse(store: Any) -> None:
    for write in (
        lambda: store.add(["new"], VECTORS[:1]),
        lambda: store.delete(IDS[:100]),
        store.compact,
        lambda: store.search(VECTORS[:5]),
    ):
        try:
            write()
        except DataError as error:
            assert "\n" not in str(error)


# ---- kills

WRITERS = """
import os, random, sys
import numpy as np
from yakusu.vectors.store.store import open_store

def write(path, seed):
    rng, at = random.Random(seed), 0
    with open_store(path, writable=True) as store:
        print(os.getpid(), flush=True)
        while True:
            at += 1
            ids = [f"{seed} {at} {i}" for i in range(rng.choice((1, 3, 200)))]
            vectors = np.array([np.random.default_rng([seed, at, i]).normal(size=6)
                                for i in range(len(ids))])
            store.add(ids, vectors)
            print("+", at, len(ids), flush=True)
            if rng.random() < 0.4:
                print("?", at, len(ids), flush=True)
                store.delete(ids)
                print("-", at, len(ids), flush=True)
            if rng.random() < 0.2:
                store.compact()

for seed in sys.stdin:
    if pid := os.fork():
        os.waitpid(pid, 0)
        print("killed", flush=True)
    else:
        write(sys.argv[1], int(seed))
"""


@pytest.fixture
def writers(path: Path) -> Iterator[Any]:
    """A process that starts another one, which writes to the store, for each line that it reads."""
    command = [sys.executable, "-c", WRITERS, str(path)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield process
        process.stdin.close()


def killed(writers: Any, seed: int, rng: random.Random) -> list[list[str]]:
    """Write to a store until the writer is killed; return what it said."""
    writers.stdin.write(f"{seed}\n")
    writers.stdin.flush()
    pid = int(writers.stdout.readline())
    time.sleep(rng.uniform(0.02, 0.5))
    os.kill(pid, signal.SIGKILL)
    return [line.split() for line in iter(writers.stdout.readline, "killed\n")]


def test_a_killed_writer_loses_nothing_that_it_committed(path: Path, writers: Any) -> None:
    rng, there = random.Random(7), {*IDS}
    for seed in range(50 if THOROUGH else 3):
        said, gone, doubtful = killed(writers, seed, rng), set[str](), set[str]()
        for what, at, n in said:
            ids = {f"{seed} {at} {i}" for i in range(int(n))}
            there, gone = (there | ids, gone) if what == "+" else (there, gone)
            doubtful = ids if what == "?" else set()
            if what == "-":
                there, gone = there - ids, gone | ids
        with open_store(path) as store:
            found = {*store}
            assert there - doubtful <= found and not gone & found
            extra = found - there  # what was being added, as a whole
            assert len({each.rsplit(" ", 1)[0] for each in extra}) <= 1
            assert len(extra) in (0, 1, 3, 200) and len(doubtful & found) in (0, len(doubtful))
            there = found
            assert len(store) == len(found)
            for id_ in rng.sample(sorted(found), 5):
                name = id_.split()
                vector = (
                    VECTORS[int(name[1])]
                    if name[0] == "id"
                    else np.random.default_rng([*map(int, name)]).normal(size=H)
                )
                assert store.search(vector[None], 1)[0][0].id == id_
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
