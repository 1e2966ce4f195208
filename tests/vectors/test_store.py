"""A store of vectors: what it finds is exact, whatever was added, deleted and moved before."""

import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest

from yakusu.compress import kernels
from yakusu.compress.config import CompressConfig
from yakusu.errors import DataError, RecipeError
from yakusu.vectors import VectorStore, create_store, open_matrix, open_store
from yakusu.vectors.store import blocks
from yakusu.vectors.store import store as store_module
from yakusu.vectors.store.searching import BestRows
from yakusu.vectors.store.similarity import comparable

Floats = npt.NDArray[np.float64]
V, H, Q = 1500, 12, 7
CONFIGS = [
    None,
    CompressConfig(m=9, k=5, fit="closed"),
    CompressConfig(method="integers", step=0.5),
    CompressConfig(method="integers", step=0.004),  # some exceed 8 bits
]
SIMILARITIES = ["cosine", "inner-product", "euclidean"]
RNG = np.random.default_rng(3)
VECTORS = RNG.standard_normal((V, H)) @ RNG.standard_normal((H, H)) + 0.4
VECTORS[700:720] = VECTORS[40]  # equal scores
QUERIES = np.concatenate([VECTORS[[40, 9]] * 1.1, RNG.standard_normal((Q - 2, H)) * 3])
IDS = [f"id {i}" for i in range(V)]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks of few vectors."""
    for module in ("store", "given"):
        monkeypatch.setattr(f"yakusu.vectors.store.{module}.blocks", parts)
    monkeypatch.setattr("yakusu.vectors.store.blocks.ROWS", 256)


def parts(end: int) -> Iterator[slice]:
    return (slice(begin, min(begin + 256, end)) for begin in range(0, end, 256))


def made(path: Path, **settings: Any) -> VectorStore:
    store = create_store(path, VECTORS, **settings)
    store.add(IDS, VECTORS)
    return store


def scores(
    vectors: Floats,
    queries: Floats,
    similarity: str,
    lengths_in: type = np.float32,
    mean: Floats | float = 0.0,
) -> Floats:
    """Scores of all pairs by numpy, (Q, n), from lengths in the type in which they are stored."""
    if similarity == "cosine":
        queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    if similarity == "euclidean":  # distances are the same from any origin
        vectors, queries = vectors - mean, queries - mean
    lengths = np.linalg.norm(vectors, axis=1).astype(lengths_in).astype(np.float64)
    products = queries @ vectors.T
    if similarity == "euclidean":
        squares = np.square(queries).sum(axis=1, keepdims=True) + np.square(lengths)
        return np.sqrt(np.maximum(squares - 2 * products, 0))
    return products / lengths if similarity == "cosine" else products


def best(found: Floats, similarity: str, k: int) -> list[list[int]]:
    """The best rows, the first of equal ones first; rounded, as their sums differ."""
    ordered = np.round(found if similarity == "euclidean" else -found, 10)
    return [np.argsort(row, kind="stable")[:k].tolist() for row in ordered]


def rebuilt(store: VectorStore, vectors: Floats) -> Floats:
    book, coder = store._settings.coder.book, store._settings.coder
    return book.rebuild(coder.encode(comparable(vectors, store.similarity)))


def ids(found: list[list[Any]]) -> list[list[str]]:
    return [[match.id for match in matches] for matches in found]


def named(rows: list[list[int]]) -> list[list[str]]:
    return [[IDS[i] for i in row] for row in rows]


# ---- search


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.parametrize("compiled", [True, False])
def test_the_best_rebuilt_vectors_are_found(
    tmp_path: Path,
    config: CompressConfig | None,
    similarity: Any,
    compiled: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not compiled:
        monkeypatch.setattr(kernels, "are_available", lambda: False)
    elif not kernels.are_available():
        pytest.skip("the library is not compiled")
    with made(tmp_path / "s.db", similarity=similarity, config=config) as store:
        mean = store._settings.coder.book.mean
        expected = scores(rebuilt(store, VECTORS), QUERIES, similarity, mean=mean)
        for k in (1, 10, V):
            found = store.search(QUERIES, k)
            assert ids(found) == named(best(expected, similarity, k))
        values = [[match.score for match in matches] for matches in found]
        order = np.array(best(expected, similarity, V))
        assert np.allclose(values, np.take_along_axis(expected, order, axis=1))


def test_distances_far_from_the_origin_keep_their_digits(tmp_path: Path) -> None:
    far = VECTORS + 10_000
    with create_store(tmp_path / "s.db", far, similarity="euclidean") as store:
        store.add(IDS, far)
        known = rebuilt(store, far)
        for query, found in zip(far[:5] + 0.1, store.search(far[:5] + 0.1, 10), strict=True):
            distances = np.linalg.norm(known - query, axis=1)
            assert [IDS.index(match.id) for match in found] == distances.argsort()[:10].tolist()
            assert [match.score for match in found] == pytest.approx(np.sort(distances)[:10], 1e-4)


@pytest.mark.parametrize("originals", ["float16", "float32"])
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_candidates_are_ranked_again_with_the_vectors(
    tmp_path: Path, similarity: Any, originals: Any
) -> None:
    with made(tmp_path / "s.db", similarity=similarity, originals=originals) as store:
        kept = comparable(VECTORS, similarity).astype(originals).astype(np.float64)
        expected = scores(kept, QUERIES, similarity, np.float64)
        found = store.search(QUERIES, 10, candidates=V)
        assert ids(found) == named(best(expected, similarity, 10))
        assert found[0][0].score == pytest.approx(expected[0][[int(found[0][0].id[3:])]][0])
        few = [{*row} for row in ids(store.search(QUERIES, 10, candidates=10))]
        assert few == [{*row} for row in ids(made_without(tmp_path, similarity))]


def made_without(tmp_path: Path, similarity: Any) -> list[list[Any]]:
    with made(tmp_path / "codes.db", similarity=similarity) as store:
        return store.search(QUERIES, 10)


def test_threads_memory_and_batches_do_not_change_the_result(tmp_path: Path) -> None:
    with made(tmp_path / "s.db") as store:
        expected = store.search(QUERIES, 20)
        assert store.search(QUERIES, 20, n_jobs=3) == expected
        assert [store.search(query[None], 20)[0] for query in QUERIES] == expected
    with open_store(tmp_path / "s.db", memory=0) as store:
        assert store.search(QUERIES, 20) == expected == store.search(QUERIES, 20)
        assert not store._blocks._kept


@pytest.mark.parametrize("chosen", [slice(0, V, 2), slice(0, V, 7), slice(600, 640), slice(3, 4)])
def test_a_filter_finds_the_best_of_its_ids(tmp_path: Path, chosen: slice) -> None:
    with made(tmp_path / "s.db") as store:
        expected = scores(rebuilt(store, VECTORS), QUERIES, "cosine")
        wanted = np.zeros(V, dtype=bool)
        wanted[chosen] = True
        rows = best(np.where(wanted, expected, -9), "cosine", min(10, wanted.sum()))
        few = IDS[chosen]
        for among in (few[::-1], tuple(few), iter([*few, "unknown"]), {*few}, [], tuple(few)):
            found = ids(store.search(QUERIES, 10, among=among))
            assert found == (named(rows) if among else [[]] * Q)
        assert store.search(QUERIES, 10, among=IDS) == store.search(QUERIES, 10)
        store.delete(IDS[chosen])
        assert store.search(QUERIES, 10, among=IDS) == store.search(QUERIES, 10)
        assert store.search(QUERIES, 10, among=IDS[chosen]) == [[]] * Q
        assert store.search(QUERIES, 10, among=[]) == [[]] * Q


def test_ids_are_looked_up_once_until_the_store_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookups: list[int] = []
    real = store_module.numbers_of
    monkeypatch.setattr(store_module, "numbers_of", lambda *a: (lookups.append(1), real(*a))[1])
    few = tuple(IDS[:99])
    with made(tmp_path / "s.db") as store:
        lookups.clear()
        for among in (few, few, [*few], (*few,)):
            store.search(QUERIES, among=among)
        assert len(lookups) == 3  # a tuple, a list, and a tuple again
        with open_store(tmp_path / "s.db", writable=True) as other:
            other.delete(IDS[:1])
        lookups.clear()
        assert "id 0" not in ids(store.search(VECTORS[:1], among=few))[0]
        assert len(lookups) == 1


def test_an_empty_store_and_no_queries_find_nothing(tmp_path: Path) -> None:
    with create_store(tmp_path / "s.db", VECTORS) as store:
        assert len(store) == 0 and store.search(QUERIES) == [[]] * Q
        store.add(IDS[:3], VECTORS[:3])
        assert [len(matches) for matches in store.search(QUERIES, 10)] == [3] * Q
        assert store.search(np.empty((0, H))) == []


def test_magnitudes_do_not_matter_for_the_cosine(tmp_path: Path) -> None:
    tiny, huge = VECTORS * 1e-200, VECTORS.astype(np.float32) * 1e25
    with create_store(tmp_path / "s.db", VECTORS) as store:
        store.add(IDS, tiny)
        expected = ids(store.search(QUERIES))
        assert ids(store.search(QUERIES * 1e-250)) == expected
        store.add(IDS, huge, replace=True)
        assert ids(store.search(QUERIES * 1e20)) == expected


# ---- adding and deleting


def test_one_by_one_or_at_once_gives_the_same_results(tmp_path: Path) -> None:
    with made(tmp_path / "s.db") as store, create_store(tmp_path / "t.db", VECTORS) as other:
        begins = [0, *range(1, 40), 45, 300, 301, 302, 900, 1400]
        for begin, end in zip(begins, [*begins[1:], V], strict=True):
            other.add(IDS[begin:end], VECTORS[begin:end])
        assert other.search(QUERIES, 50) == store.search(QUERIES, 50)
        assert [*other] == IDS and len(other) == V
        n_blocks = other._db.execute("SELECT count(*) FROM block").fetchone()[0]
        assert n_blocks < 20


def test_deleted_vectors_are_not_found_and_compacting_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with made(path, originals="float16") as store:
        gone = [*IDS[5:900:2], *IDS[1000:1300]]
        left = [each for each in IDS if each not in {*gone}]
        assert store.delete([*gone, "unknown"]) == len(gone) == V - len(store)
        assert store.delete(gone) == 0
        found, before = store.search(QUERIES, 30), store.file_bytes
        assert not {*gone} & {id_ for row in ids(found) for id_ in row}
        store.compact()
        assert store.search(QUERIES, 30) == found and [*store] == left and len(store) == len(left)
        firsts = [row[:2] for row in store._db.execute("SELECT first, n FROM block")]
        assert firsts == [(at, min(256, len(left) - at)) for at in range(0, len(left), 256)]
        store.add(gone[:4], VECTORS[[int(each[3:]) for each in gone[:4]]])
        assert [*store] == [*left, *gone[:4]]
        store.delete([*store])
        store.compact()
        assert len(store) == 0 and store.search(QUERIES) == [[]] * Q
    assert path.stat().st_size < before / 2


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells that are moved in several parts."""
    monkeypatch.setattr("yakusu.vectors.store.cells._MOVED", 512)
    monkeypatch.setattr("yakusu.vectors.store.cells.ROWS", 256)


def facts(store: VectorStore, **settings: Any) -> list[list[tuple[str, float, Any]]]:
    """What is found, in an order that does not depend on that of the store."""
    found = store.search(QUERIES, V, **settings)
    return [sorted((match.id, match.score, match.metadata) for match in each) for each in found]


@pytest.mark.usefixtures("cells")
@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("originals", [None, "float32"])
def test_cells_change_only_the_order(tmp_path: Path, similarity: Any, originals: Any) -> None:
    path = tmp_path / "s.db"
    with create_store(path, VECTORS, similarity=similarity, originals=originals) as store:
        store.add(IDS, VECTORS, [{"row": row} for row in range(V)])
        store.delete(IDS[3::5])
        before = facts(store)
        store.compact(cells=True)
        assert facts(store) == before and len(store) == len([*store]) == V - V // 5
        assert {*store} == {*IDS} - {*IDS[3::5]}
        assert facts(store, share=0.9999) == before  # all cells but for none
        store.compact()
        assert facts(store) == before
        assert facts(store, share=0.1) == before  # there are none


@pytest.mark.usefixtures("cells")
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_a_share_of_the_cells_has_most_of_the_best(
    tmp_path: Path, similarity: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan, visited = BestRows.scan, dict.fromkeys(range(Q), 0)

    def counted(best: BestRows, block: Any, chosen: Any) -> None:
        query = [np.allclose(best.query.vector, each) for each in wanted].index(True)
        visited[query] += len(block.terms)
        scan(best, block, chosen)

    wanted = comparable(QUERIES, similarity)
    with made(tmp_path / "s.db", similarity=similarity) as store:
        whole = store.search(QUERIES, 10)
        store.compact(cells=True)
        monkeypatch.setattr(BestRows, "scan", counted)
        part = store.search(QUERIES, 10, share=0.2)
        assert all(V // 5 <= n < 2 * V // 5 for n in visited.values())
        alike = [
            len({match.id for match in one} & {match.id for match in other}) / 10
            for one, other in zip(whole, part, strict=True)
        ]
        assert np.mean(alike) > 0.7
        one_by_one = [store.search(query[None], 10, share=0.2)[0] for query in QUERIES]
        assert one_by_one == part == store.search(QUERIES, 10, share=0.2, n_jobs=3)


@pytest.mark.usefixtures("cells")
def test_vectors_that_are_added_later_leave_the_cells_alone(tmp_path: Path) -> None:
    with made(tmp_path / "s.db") as store:
        store.compact(cells=True)
        later = np.random.default_rng(5).standard_normal((2 * V, H))
        store.add([f"later {i}" for i in range(2 * V)], later)
        found = [store.search(VECTORS[i : i + 1], 1, share=0.1)[0][0].id for i in range(0, 600, 9)]
        assert sum(id_ == f"id {i}" for i, id_ in zip(range(0, 600, 9), found, strict=True)) > 60
        assert len(store.search(QUERIES[:1], V, share=0.01)[0]) == V


@pytest.mark.usefixtures("cells")
def test_a_small_share_has_as_many_results_as_are_wanted(tmp_path: Path) -> None:
    with made(tmp_path / "s.db") as store:
        store.compact(cells=True)
        assert [len(each) for each in store.search(QUERIES, 200, share=0.001)] == [200] * Q
        chosen = IDS[::100]
        assert all(len(each) == 10 for each in store.search(QUERIES, 10, among=chosen, share=0.01))


@pytest.mark.usefixtures("cells")
def test_vectors_that_are_in_no_cell_are_found(tmp_path: Path) -> None:
    with made(tmp_path / "s.db") as store:
        store.compact(cells=True)
        store.add(["new"], -VECTORS[:1])
        assert store.search(-VECTORS[:1], 1, share=0.001)[0][0].id == "new"
        store.compact(cells=True)
        assert store.search(-VECTORS[:1], 1, share=0.05)[0][0].id == "new"


@pytest.mark.usefixtures("cells")
def test_cells_of_equal_vectors_and_of_none(tmp_path: Path) -> None:
    with create_store(tmp_path / "s.db", VECTORS) as store:
        store.compact(cells=True)
        assert store.search(QUERIES, share=0.5) == [[]] * Q
        store.add(IDS, np.repeat(VECTORS[:1], V, axis=0))
        store.compact(cells=True)
        assert len(store.search(QUERIES, V)[0]) == V and len(store.search(QUERIES, share=0.1)) == Q


def test_replaced_vectors_have_the_new_place_and_metadata(tmp_path: Path) -> None:
    with create_store(tmp_path / "s.db", VECTORS) as store:
        store.add(IDS[:9], VECTORS[:9], [{"n": i} for i in range(9)])
        with pytest.raises(DataError, match="already has 1 of these ids, such as 'id 3'"):
            store.add(["new", "id 3"], VECTORS[:2])
        assert "new" not in store and "id 3" in store
        made = store.add(["id 3", "new"], VECTORS[[100, 101]], [None, {"ü": [1]}], replace=True)
        assert (made.n_added, made.n_replaced, len(store)) == (2, 1, 10)
        matches = [row[0] for row in store.search(VECTORS[[100, 101, 4]], 1)]
        assert [(m.id, m.metadata) for m in matches] == [
            ("id 3", None),
            ("new", {"ü": [1]}),
            ("id 4", {"n": 4}),
        ]


def test_a_matrix_in_a_file_is_read_in_blocks(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", VECTORS)
    matrix = open_matrix(tmp_path / "m.npy")
    with made(tmp_path / "s.db") as store, create_store(tmp_path / "t.db", matrix) as other:
        assert other.add(IDS, matrix).share_lost == pytest.approx(0.008, abs=0.005)
        assert other.search(QUERIES) == store.search(QUERIES)


def test_the_same_vectors_give_the_same_codes(tmp_path: Path) -> None:
    for name in ("a.db", "b.db"):
        made(tmp_path / name, originals="float32").close()
    one, other = (open_store(tmp_path / name)._db for name in ("a.db", "b.db"))
    for table in ("meta", "block", "codes", "item"):
        query = f"SELECT * FROM {table}"
        assert one.execute(query).fetchall() == other.execute(query).fetchall()
    one.close()
    other.close()


# ---- what is refused

BAD: dict[str, tuple[Any, ...]] = {
    "rows 0 and 2 have the same id 'a'": (["a", "b", "a"], VECTORS[:3]),
    "3 ids do not fit 2 vectors": (["a", "b", "c"], VECTORS[:2]),
    "1 metadata do not fit 2 vectors": (["a", "b"], VECTORS[:2], [None]),
    "give a matrix of numbers with 12 columns": (["a"], VECTORS[:1, :5]),
    "shape (12,)": (["a"], VECTORS[0]),
    "type complex128": (["a"], VECTORS[:1] * 1j),
    "row 1 ('b') is not finite": (["a", "b"], VECTORS[:2] * [[1], [np.nan]]),
    "row 0 ('a') is not finite": (["a"], VECTORS[:1] * np.inf),
    "row 0 ('a') is zero": (["a"], VECTORS[:1] * 0),
    "above 1e+30": (["a"], VECTORS[:1] * 1e40),
    "row 0: the id ''": ([""], VECTORS[:1]),
    "the id 'a\\nb'": (["a\nb"], VECTORS[:1]),
    "the id 'a\\tb'": (["a\tb"], VECTORS[:1]),
    "ids are not strings": ([7], VECTORS[:1]),
    "ids are not strings: give": ("a", VECTORS[:1]),
    "cannot be encoded": (["\ud800"], VECTORS[:1]),
    "too long": (["x" * 5000], VECTORS[:1]),
    "the metadata are not JSON": (["a"], VECTORS[:1], [{"a": {1}}]),
    "not JSON (Out of range": (["a"], VECTORS[:1], [{"a": np.inf}]),
    "not an object": (["a"], VECTORS[:1], [[1]]),
    "whose keys are strings": (["a"], VECTORS[:1], [{1: "x"}]),
    "longer than 1,048,576 bytes": (["a"], VECTORS[:1], [{"a": "x" * 2**20}]),
}


@pytest.mark.parametrize(("message", "given"), BAD.items(), ids=BAD)
def test_what_cannot_be_stored_is_refused_before_anything_is_written(
    tmp_path: Path, message: str, given: tuple[Any, ...]
) -> None:
    with create_store(tmp_path / "s.db", VECTORS) as store:
        first = [f"{i}" for i in range(600)], VECTORS[:600]
        store.add(*first)
        with pytest.raises(DataError) as caught:
            store.add(*given)
        assert message in str(caught.value) and "\n" not in str(caught.value)
        assert [*store] == first[0]


@pytest.mark.parametrize("method", ["codes", "integers"])
def test_distances_far_from_the_origin_are_exact(
    tmp_path: Path, method: Literal["codes", "integers"]
) -> None:
    vectors = np.random.default_rng(0).normal(size=(2000, 8))
    vectors[:, 0] = np.where(np.arange(2000) % 2, 3000, -3000)
    fine = {"max_loss": 1e-8, "whitening": 0.0} if method == "integers" else {}
    config = CompressConfig.model_validate({"method": method, **fine})
    with create_store(tmp_path / "s.db", vectors, similarity="euclidean", config=config) as store:
        store.add([*map(str, range(2000))], vectors)
        rebuilt = store._settings.coder.book.rebuild(store._settings.coder.encode(vectors))
        for query in vectors[:20]:
            distances = np.sqrt(np.square(rebuilt - query).sum(axis=1))
            found = store.search(query[None], 5)[0]
            np.testing.assert_allclose(
                [each.score for each in found], np.sort(distances)[:5], rtol=1e-6
            )


def test_a_store_with_distances_from_float32_lengths_is_read(tmp_path: Path) -> None:
    with create_store(tmp_path / "s.db", VECTORS, similarity="euclidean") as store:
        store.add(["a", "b"], VECTORS[:2])
        expected = store.search(VECTORS[:1], 3)[0]
        db = store._db  # as stores were written before lengths had 64 bits
        codes, lengths = db.execute("SELECT codes, lengths FROM codes").fetchone()
        lengths = np.frombuffer(lengths, "<f8").astype("<f4").tobytes()
        checksum = zlib.crc32(lengths, zlib.crc32(codes))
        db.execute("UPDATE codes SET lengths = ?, checksum = ?", (lengths, checksum))
    with open_store(tmp_path / "s.db", writable=True) as store:
        for n in (2, 3):
            found = store.search(VECTORS[:1], 2)[0]
            assert [each.id for each in found] == [each.id for each in expected]
            assert found[1].score == pytest.approx(expected[1].score, rel=1e-5)
            store.add([f"{n}"], VECTORS[:1] + 100 * n)  # joins the rows of both kinds


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    with create_store(tmp_path / "s.db", VECTORS) as store:
        pass
    with pytest.raises(DataError, match=r"s.db is closed: open it again$"):
        store.search(VECTORS[:1])


def test_numbers_too_large_for_half_precision_are_refused(tmp_path: Path) -> None:
    with create_store(tmp_path / "s.db", VECTORS, similarity="euclidean", originals="float16") as s:
        with pytest.raises(DataError, match=r"row 1 \('b'\) has a number above 65504"):
            s.add(["a", "b"], VECTORS[:2] * [[1], [1e5]])
        s.add(["a"], VECTORS[:1])
        with pytest.raises(DataError, match=r"row 0 \('tiny'\) has no number above 6.1\d*e-05"):
            s.add(["tiny"], VECTORS[1:2] * 1e-9)
        s.add(["zero"], VECTORS[:1] * 0)


def test_half_precision_keeps_the_directions_of_any_numbers(tmp_path: Path) -> None:
    with create_store(tmp_path / "s.db", VECTORS, originals="float16") as s:
        s.add(["tiny", "huge"], [VECTORS[0] * 1e-20, VECTORS[1] * 1e20])
        assert [s.search(VECTORS[i : i + 1], 1)[0][0].id for i in (0, 1)] == ["tiny", "huge"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"queries": QUERIES[:, :4]}, "with 12 columns"),
        ({"queries": QUERIES * np.nan}, "query 0 is not finite"),
        ({"queries": QUERIES * [[1]] * (np.arange(Q) != 2)[:, None]}, "query 2 is zero"),
        ({"k": 0}, "k = 0"),
        ({"n_jobs": 0}, "n_jobs = 0"),
        ({"candidates": 0}, "0 candidates"),
        ({"among": "id 1"}, "not strings"),
        ({"among": [1]}, "not strings"),
        ({"among": ["\ud800"]}, "cannot be encoded"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    with made(tmp_path / "s.db") as store, pytest.raises(DataError, match=message):
        store.search(**{"queries": QUERIES, **arguments})


@pytest.mark.parametrize(
    ("sample", "config", "message"),
    [
        (np.ones((5, 3)), None, "5 equal vectors"),
        (VECTORS[:1], None, "1 equal vectors"),
        (VECTORS * np.nan, None, "not finite"),
        (np.ones((2, 9000)), None, "at most 8,192 columns"),
        (VECTORS, CompressConfig(k=17, fit="closed"), "K = 17 cannot be searched"),
        (VECTORS, CompressConfig(ratio=8), "compress.ratio has no effect on stores"),
        (VECTORS[:0], None, "expected a matrix"),
    ],
)
def test_a_store_that_cannot_be_made_leaves_no_file(
    tmp_path: Path, sample: Floats, config: CompressConfig | None, message: str
) -> None:
    with pytest.raises((DataError, RecipeError, ValueError), match=message):
        create_store(tmp_path / "s.db", sample, config=config)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("share", [0, -1, 1.5, float("nan")])
def test_a_share_out_of_range_is_refused(tmp_path: Path, share: float) -> None:
    with made(tmp_path / "s.db") as store, pytest.raises(DataError, match="out of range"):
        store.search(QUERIES, share=share)


def test_ids_that_are_not_strings_are_refused_after_some_that_are(tmp_path: Path) -> None:
    with made(tmp_path / "s.db") as store:
        store.search(QUERIES, among=IDS[:1])
        wrong: list[Any] = [np.array([["a", "b"]]), [1], (1,), "id 1"]
        for among in wrong:
            with pytest.raises(DataError, match="ids are not strings"):
                store.search(QUERIES, among=among)


def test_the_least_integers_are_numbers(tmp_path: Path) -> None:
    least = np.full((1, H), -(2**31), dtype=np.int32)
    with (
        create_store(
            tmp_path / "i.db", VECTORS, similarity="inner-product", originals="float16"
        ) as s,
        pytest.raises(DataError, match="has a number above 65504"),
    ):
        s.add(["a"], least)
    with create_store(tmp_path / "c.db", VECTORS) as s:
        s.add(["a"], np.full((1, H), -128, dtype=np.int8))


def test_unknown_settings_are_refused(tmp_path: Path) -> None:
    unknown: list[dict[str, Any]] = [{"similarity": "l1"}, {"originals": "int8"}]
    for settings in unknown:
        with pytest.raises(RecipeError, match="is unknown: choose"):
            create_store(tmp_path / "s.db", VECTORS, **settings)
    assert not [*tmp_path.iterdir()]


def test_an_existing_file_is_not_replaced(tmp_path: Path) -> None:
    made(tmp_path / "s.db").close()
    with pytest.raises(DataError, match="exists"):
        create_store(tmp_path / "s.db", VECTORS)
    with open_store(tmp_path / "s.db") as store:
        assert len(store) == V
        for change in (
            lambda: store.add(["new"], VECTORS[:1]),
            lambda: store.delete(IDS[:1]),
            store.compact,
        ):
            with pytest.raises(DataError, match="is open read-only"):
                change()


# ---- several processes


def test_readers_see_one_state_while_another_writes(tmp_path: Path) -> None:
    path, errors = tmp_path / "s.db", list[BaseException]()
    create_store(path, VECTORS).close()
    stop = threading.Event()

    def read() -> None:
        try:
            with open_store(path) as store:
                while not stop.is_set():
                    found = ids(store.search(QUERIES[:2], V))
                    assert {*found[0]} == {*found[1]} and len(found[0]) % 100 == 0
        except BaseException as error:
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    with open_store(path, writable=True) as store:
        for begin in range(0, V, 100):
            store.add(IDS[begin : begin + 100], VECTORS[begin : begin + 100])
        store.delete(IDS[200:700])
        store.compact()
    stop.set()
    for reader in readers:
        reader.join()
    assert not errors


def test_a_store_on_a_disk_that_cannot_be_written_is_searched(tmp_path: Path) -> None:
    made(tmp_path / "s.db").close()
    (tmp_path / "s.db").chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        with open_store(tmp_path / "s.db") as store:
            assert len(store.search(QUERIES, 3)[0]) == 3
        assert [*tmp_path.iterdir()] == [tmp_path / "s.db"]
    finally:
        tmp_path.chmod(0o700)


def test_a_block_that_was_written_again_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with made(path) as store, open_store(path) as reader:
        before = reader.search(QUERIES[:1], 5)
        store.delete([match.id for match in before[0]])
        store.compact()
        assert reader.search(QUERIES[:1], 5) == store.search(QUERIES[:1], 5) != before
        assert reader._blocks._kept[0].version == next(blocks.block_rows(store._db)).version
