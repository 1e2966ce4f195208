"""Compression by other systems: known roundings, sizes in bits, and estimates of inner products."""

from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

quantisers: Any = pytest.importorskip("benchmarks.peers.quantisers", reason="only in a checkout")
systems: Any = pytest.importorskip("benchmarks.compression.embedding_systems")

Matrix = npt.NDArray[np.float32]
RNG_SEED = 3


def centred_vectors(n_words: int = 600, width: int = 8) -> Matrix:
    """Correlated vectors with mean 0 whose columns have different spreads."""
    rng = np.random.default_rng(RNG_SEED)
    mixing = rng.standard_normal((width, width)) * np.geomspace(2, 0.2, width)
    vectors = rng.standard_normal((n_words, width)) @ mixing.T
    return (vectors - vectors.mean(axis=0)).astype(np.float32)


def lost(vectors: Matrix, rebuilt: Matrix) -> float:
    return float(np.square(vectors - rebuilt).sum() / np.square(vectors).sum())


# ---- without faiss -------------------------------------------------------------------------------


def test_a_row_is_rounded_to_multiples_of_its_own_step() -> None:
    made = quantisers.quantised_rows(np.array([[7, -3.4, 0.6], [0, 0, 0]], np.float32), 4)
    np.testing.assert_allclose(made.vectors, [[7, -3, 1], [0, 0, 0]])
    assert made.bits == 3 * 4 + 32


def test_a_column_of_the_sixteen_levels_is_kept() -> None:
    levels = np.arange(-7.5, 8, dtype=np.float32)
    vectors = np.stack([levels, levels[::-1] * 4], axis=1)
    made = quantisers.quantised_columns(vectors, 4)
    np.testing.assert_array_equal(made.vectors, vectors)
    assert made.bits == 2 * 4 + 2 * 32 / 16


def test_a_column_is_rounded_to_the_nearest_level() -> None:
    """At 1 bit the levels are those closest to -0.9 and 0.9 that are tried."""
    made = quantisers.quantised_columns(np.array([[-1], [0.8], [1], [-0.8]], np.float32), 1)
    np.testing.assert_allclose(made.vectors.ravel(), [-0.9, 0.9, 0.9, -0.9], atol=0.03)


def test_an_outlier_is_clipped_if_that_lowers_the_error() -> None:
    column = np.append(np.random.default_rng(1).standard_normal(5_000), 40).astype(np.float32)
    made = quantisers.quantised_columns(column[:, None], 4).vectors[:, 0]
    step = 2 * float(np.abs(made).min())
    assert made.max() == pytest.approx(7.5 * step) and made.max() < 30
    unclipped = 40 / 7.5 * (np.floor(column * 7.5 / 40) + 0.5)
    assert np.square(made - column).sum() < 0.2 * np.square(unclipped - column).sum()


def test_a_column_of_zeros_stays_finite() -> None:
    made = quantisers.quantised_columns(np.zeros((4, 2), np.float32), 4)
    assert np.abs(made.vectors).max() <= 0.5


def test_signs_are_rebuilt_as_the_mean_absolute_value_of_a_column() -> None:
    vectors = np.array([[1, -4], [-3, 2], [2, 2]], np.float32)
    made = quantisers.signs(vectors, rotated=False)
    np.testing.assert_allclose(made.vectors, np.array([[2, -8 / 3], [-2, 8 / 3], [2, 8 / 3]]))
    assert made.bits == pytest.approx(2 + 2 * 32 / 3)


def test_rotated_signs_are_rotated_back() -> None:
    """The signs of vectors along the rotated axes are all that there is to know about them."""
    rotation = quantisers.random_rotation(5)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(5), atol=1e-6)
    turned = np.random.default_rng(2).choice([-1.0, 1.0], (40, 5)).astype(np.float32)
    made = quantisers.signs(turned @ rotation.T, rotated=True)
    np.testing.assert_allclose(made.vectors, turned @ rotation.T, atol=1e-5)
    assert made.bits == pytest.approx(5 + (5 + 25) * 32 / 40)


def test_a_peer_rebuilds_vectors_around_their_mean_and_counts_it() -> None:
    vectors = np.array([[10, 21], [12, 19], [11, 20]], np.float32)
    (eight, _) = systems.integer_rows(vectors)
    np.testing.assert_allclose(eight.vectors, vectors, atol=1e-6)
    assert eight.ratio == pytest.approx(64 / (2 * 8 + 32 + 2 * 32 / 3))


def test_all_systems_rebuild_vectors_in_their_own_coordinates() -> None:
    vectors = centred_vectors(40, 20) + np.float32(50)
    made = list(systems.all_systems(vectors))
    own = {"Proposed", "Integers", "int8 rows", "int4 rows", "int4 columns"}
    own |= {"signs", "rotated signs"}
    peers = {"faiss SQ8", "faiss SQ4", "RaBitQ", "TurboQuant", "faiss PQ", "faiss OPQ"}
    expected = own | peers if find_spec("faiss") else own
    assert made[0].system == "floats" and made[0].vectors is vectors
    assert {point.system for point in made if point.kind} == expected
    centred = vectors - vectors.mean(axis=0)
    for point in made:
        if point.kind == "Real":
            assert point.vectors.dtype == np.float32
            assert lost(centred, point.vectors - vectors.mean(axis=0)) < 1, point.system


# ---- with faiss ----------------------------------------------------------------------------------


@pytest.fixture
def faiss() -> Any:
    return pytest.importorskip("faiss")


def test_more_bits_lose_less(faiss: Any) -> None:
    vectors = centred_vectors()
    for quantise, sizes in (
        (quantisers.scalar_quantised, (4, 8)),
        (quantisers.turboquantised, (1, 2, 3, 4)),
        (quantisers.rabitq, (1, 2, 3, 4)),
    ):
        losses = [lost(vectors, quantise(vectors, n_bits).vectors) for n_bits in sizes]
        assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0] / 20
        assert losses[-1] < 0.03


def test_the_best_step_loses_no_more_than_minimum_and_maximum(faiss: Any) -> None:
    vectors = centred_vectors()
    best = quantisers.quantised_columns(vectors, 4).vectors
    assert lost(vectors, best) < lost(vectors, quantisers.scalar_quantised(vectors, 4).vectors)


def test_scalar_quantisation_counts_codes_and_two_floats_per_column(faiss: Any) -> None:
    vectors = centred_vectors()
    for n_bits, kind in ((4, "QT_4bit"), (8, "QT_8bit")):
        own = faiss.ScalarQuantizer(8, getattr(faiss.ScalarQuantizer, kind))
        own.train(vectors)
        expected = 8 * own.code_size + 32 * own.trained.size() / 600
        assert quantisers.scalar_quantised(vectors, n_bits).bits == pytest.approx(expected)


def test_product_quantisation_counts_codes_and_centroids(faiss: Any) -> None:
    vectors = centred_vectors()
    own, codes = quantisers.quantise(vectors, 4, 4)
    assert codes.shape == (600, own.code_size) == (600, 2)
    book = 32 * faiss.vector_to_array(own.centroids).size / 600
    made = quantisers.product_quantised(vectors, 4, 4)
    assert made.bits == pytest.approx(8 * own.code_size + book)
    rotated = quantisers.rotated_product_quantised(vectors, 4, 4)
    assert rotated.bits == pytest.approx(made.bits + 32 * 64 / 600)


def test_a_rotated_product_quantiser_rebuilds_in_the_original_coordinates(faiss: Any) -> None:
    """Rotated the wrong way round, rebuilt vectors would be as far away as any others."""
    vectors = centred_vectors()
    plain = quantisers.product_quantised(vectors, 4, 4).vectors
    rotated = quantisers.rotated_product_quantised(vectors, 4, 4).vectors
    assert lost(vectors, rotated) < 0.9 * lost(vectors, plain)
    again = quantisers.rotated_product_quantised(vectors, 4, 4).vectors
    np.testing.assert_array_equal(rotated, again)


def test_rebuilt_vectors_of_rabitq_have_the_inner_products_that_faiss_estimates(faiss: Any) -> None:
    vectors, queries = centred_vectors(), centred_vectors(5)
    rotation = quantisers.random_rotation(8)
    for n_bits in (1, 3):
        index = faiss.IndexRaBitQ(8, faiss.METRIC_INNER_PRODUCT, n_bits)
        index.qb = 0
        index.train(vectors @ rotation)
        index.add(vectors @ rotation)
        estimates, rows = index.search(queries @ rotation, 600)
        rebuilt = quantisers.rabitq(vectors, n_bits)
        products = np.take_along_axis(queries @ rebuilt.vectors.T, rows, axis=1)
        np.testing.assert_allclose(products, estimates, atol=1e-4)
        assert rebuilt.bits == pytest.approx(8 * n_bits + 32 + 64 * 32 / 600)
        assert 8 * index.code_size >= 8 * n_bits + 32  # faiss keeps factors for distances, too


def test_turboquant_counts_codes_norm_rotation_and_levels(faiss: Any) -> None:
    own = faiss.ScalarQuantizer(8, faiss.ScalarQuantizer.QT_2bit_tqmse)
    made = quantisers.turboquantised(centred_vectors(), 2)
    assert made.bits == pytest.approx(8 * own.code_size + 32 + (64 + 4) * 32 / 600)


def test_turboquant_keeps_the_direction_whatever_the_norm(faiss: Any) -> None:
    vectors = centred_vectors()
    made = quantisers.turboquantised(vectors, 3).vectors
    longer = quantisers.turboquantised(100 * vectors, 3).vectors
    np.testing.assert_allclose(longer, 100 * made, rtol=1e-3, atol=1e-3)
