"""Compressed vectors as a mapping; neighbours compared with brute force and gensim."""

import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from yakusu.compress.compressor import CodebookCompressor, Compressor, LatticeCompressor
from yakusu.errors import DataError
from yakusu.vectors.keyed import CompressedVectors

WORDS = ["king", "queen", "man", "woman", "訳す", *(f"w{i}" for i in range(200))]


@pytest.fixture(
    params=[CodebookCompressor(5, 64), LatticeCompressor(0.4)],
    ids=["codes", "integers"],
    scope="module",
)
def vectors(request: pytest.FixtureRequest) -> CompressedVectors:
    rng = np.random.default_rng(6)
    dense = rng.standard_normal((len(WORDS), 6)) @ rng.standard_normal((6, 6)) + 0.5
    compressor: Compressor = request.param
    return CompressedVectors.of(WORDS, compressor.fit(dense).compressed_)


def cosine(one: npt.NDArray[np.float32], other: npt.NDArray[np.float32]) -> float:
    one, other = one.astype(float), other.astype(float)  # type: ignore[assignment]
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def test_vectors_are_a_mapping_in_the_order_of_the_words(vectors: CompressedVectors) -> None:
    assert len(vectors) == len(WORDS) and list(vectors) == WORDS == list(vectors.keys())
    assert "king" in vectors and "kin" not in vectors and 3 not in vectors
    assert vectors.get("kin") is None and vectors.get("king") is not None
    dense = vectors.dense()
    for (word, vector), row in zip(vectors.items(), dense, strict=True):
        assert vector.shape == (6,) and vector.dtype == np.float32
        np.testing.assert_allclose(vector, row, rtol=1e-5, atol=1e-6, err_msg=word)


@pytest.mark.parametrize("word", ["kin", "", "King", "\ud800"])
def test_a_missing_word_is_a_key_error(vectors: CompressedVectors, word: str) -> None:
    with pytest.raises(KeyError) as caught:
        vectors[word]
    assert caught.value.args == (word,)


def test_nothing_can_be_assigned(vectors: CompressedVectors) -> None:
    with pytest.raises(TypeError):
        vectors["king"] = vectors["queen"]  # type: ignore[index]
    with pytest.raises(AttributeError):
        vectors.words = vectors.words  # type: ignore[misc]


def test_rows_are_rebuilt_from_codes_by_the_codebook(vectors: CompressedVectors) -> None:
    codes = vectors.code_rows(np.array([4, 0])).astype(int)
    np.testing.assert_allclose(
        vectors.rows(np.array([4, 0])), vectors.book.rebuild(codes), rtol=1e-6
    )
    assert vectors.dense_codes().shape == (len(WORDS), vectors.codes.n_components)
    assert (vectors.dense_codes()[[4, 0]] == codes).all()


@pytest.mark.parametrize("word", ["king", "訳す", "w77"])
def test_most_similar_matches_brute_force(vectors: CompressedVectors, word: str) -> None:
    dense = dict(zip(WORDS, vectors.dense(), strict=True))
    expected = sorted(
        ((other, cosine(dense[word], dense[other])) for other in WORDS if other != word),
        key=lambda pair: -pair[1],
    )
    found = vectors.most_similar(word, topn=12)
    assert [similarity for _, similarity in found] == pytest.approx(
        [similarity for _, similarity in expected[:12]], abs=1e-5
    )
    for other, similarity in found:
        assert similarity == pytest.approx(cosine(dense[word], dense[other]), abs=1e-5)


def test_most_similar_matches_gensim(vectors: CompressedVectors) -> None:
    gensim = pytest.importorskip("gensim.models")
    keyed = gensim.KeyedVectors(6)
    keyed.add_vectors(WORDS, vectors.dense())
    for word in ("king", "w3", "w199"):
        theirs, ours = keyed.most_similar(word, topn=10), vectors.most_similar(word)
        assert [other for other, _ in ours] == [other for other, _ in theirs]
        assert [near for _, near in ours] == pytest.approx([near for _, near in theirs], abs=1e-5)


@pytest.mark.parametrize("n", [204, 205, 10_000])
def test_a_word_is_never_its_own_neighbour(vectors: CompressedVectors, n: int) -> None:
    found = dict(vectors.most_similar("king", topn=n))
    assert found.keys() == set(WORDS) - {"king"}


def test_an_error_for_an_unknown_word_suggests_a_similar_one(vectors: CompressedVectors) -> None:
    for word, hint in [
        ("King", "'King' has no vector: did you mean 'king'?"),
        ("quen", "'quen' has no vector: did you mean 'queen'?"),
        ("xyzzy!", "'xyzzy!' has no vector"),
    ]:
        with pytest.raises(KeyError) as caught:
            vectors.most_similar(word)
        assert caught.value.args == (hint,)


def test_reading_one_word_decodes_one_row(
    vectors: CompressedVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    whole = vectors.codes.row
    watched = SimpleNamespace(row=lambda word: asked.append(word) or whole(word))
    vectors = CompressedVectors(vectors.book, watched, vectors.words)  # type: ignore[arg-type]
    assert "w50" in vectors and vectors["w50"] is not None
    assert asked == [WORDS.index("w50")]


def test_more_words_than_one_block_are_rebuilt() -> None:
    dense = np.random.default_rng(2).standard_normal((8193, 2))
    made = CodebookCompressor(2, 16).fit(dense).compressed_
    vectors = CompressedVectors.of((str(i) for i in range(8193)), made)
    rebuilt = vectors.dense()
    assert rebuilt.shape == (8193, 2)
    np.testing.assert_allclose(rebuilt[8192], vectors["8192"], rtol=1e-6)


def test_sums_and_differences_of_words_match_gensim(vectors: CompressedVectors) -> None:
    gensim = pytest.importorskip("gensim")
    keyed = gensim.models.KeyedVectors(vectors.width)
    keyed.add_vectors(list(vectors.words), vectors.dense())
    first, second, third = vectors.words[:3]
    for plus, minus in (([first, second], [third]), ([first], [])):
        theirs = keyed.most_similar(positive=plus, negative=minus, topn=5)
        ours = vectors.most_similar(plus, minus, topn=5)
        assert [word for word, _ in ours] == [word for word, _ in theirs]
        np.testing.assert_allclose([c for _, c in ours], [c for _, c in theirs], atol=1e-5)


@pytest.mark.parametrize(("words", "topn"), [((), 3), (("king",), 0), (("king",), -1)])
def test_no_word_or_no_neighbour_is_rejected(
    vectors: CompressedVectors, words: tuple[str, ...], topn: int
) -> None:
    with pytest.raises(DataError, match="give at least one word and topn >= 1"):
        vectors.most_similar(words, topn=topn)


def test_vectors_can_be_pickled_after_a_search(vectors: CompressedVectors) -> None:
    expected = vectors.most_similar("king")
    again = pickle.loads(pickle.dumps(vectors))
    assert again.most_similar("king") == expected


def test_another_number_of_words_than_rows_is_rejected(vectors: CompressedVectors) -> None:
    with pytest.raises(DataError, match="204 words do not fit 205 rows"):
        CompressedVectors.of(WORDS[1:], vectors)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([0.0, 1.5], "rows of type float64"),
        (np.arange(205) < 3, "rows of type bool"),
        (["king"], "rows of type <U4"),
        ([[0, 1]], r"rows of shape \(1, 2\)"),
        (3, r"rows of shape \(\)"),
    ],
    ids=["floats", "mask", "words", "2-D", "number"],
)
def test_rows_that_are_not_integers_are_rejected(
    vectors: CompressedVectors, rows: npt.ArrayLike, found: str
) -> None:
    for of in (vectors.rows, vectors.code_rows):
        with pytest.raises(DataError, match=f"{found}: give integers from 0 to 204"):
            of(rows)


@pytest.mark.parametrize("row", [1.0, "king", np.bool_(True), None])
def test_a_row_that_is_not_an_integer_is_rejected(vectors: CompressedVectors, row: Any) -> None:
    kind = type(row).__name__
    with pytest.raises(DataError, match=f"a row of type {kind}: give integers from 0 to 204"):
        vectors.row(row)


def test_rows_may_be_integers_of_any_type(vectors: CompressedVectors) -> None:
    for kind in ("uint8", "int16", "uint64"):
        rows = np.array([4, 0], kind)
        assert (vectors.rows(rows) == vectors.rows([4, 0])).all()
        assert (vectors.row(rows[0]) == vectors.row(4)).all()
    assert vectors.rows([]).shape == (0, 6)


def test_most_similar_says_where_vectors_are_searched(vectors: CompressedVectors) -> None:
    for given in (vectors["king"], [vectors["king"]]):
        with pytest.raises(DataError, match=r"takes words, not .*: search for a vector with index"):
            vectors.most_similar(given)  # type: ignore[arg-type]


def test_vectors_are_described_by_their_sizes(vectors: CompressedVectors) -> None:
    kind = "integers" if vectors.n_codes is None else "M = 5, K = 64"
    expected = f"CompressedVectors(V = 205, H = 6, {kind})"
    assert (repr(vectors), repr(vectors.index)) == (expected, f"Index({expected})")
