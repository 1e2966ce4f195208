"""Other ways to compress vectors: integers per row or column, sign bits, and faiss' quantisers.

All take centred vectors (V, H) and rebuild them, so that inner products of rebuilt vectors are the
estimates of the codes. The 32 H bits of the mean are the caller's. Codes are counted without
padding to whole bytes, and rotations as matrices.

The rotation of signs, RaBitQ and TurboQuant is random but fixed. faiss trains k-means on at most
256 vectors per centroid, which it chooses with fixed seeds; OPQ's rotation is trained on 32,768
vectors, half of faiss' default of 65,536. Everything else sees all vectors.

V words, H dimensions.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

FLOAT = 32  # bits
_CLIPPED = np.geomspace(1, 1 / 16, 65)  # steps of a column, as shares of the one that clips nothing
_SEED = 1
_OPQ_VECTORS = 2**15  # for the rotation; twice as many take twice the time


@dataclass(frozen=True)
class Rebuilt:
    """Vectors after compression and decompression.

    vectors: (V, H), float32.
    bits: Bits per word, including its share of what is stored once for all words.
    """

    vectors: np.ndarray
    bits: float


def quantised_rows(vectors: np.ndarray, n_bits: int) -> Rebuilt:
    """Round each row to integers of `n_bits` times a float32 scale, which maps its maximum."""
    most = 2 ** (n_bits - 1) - 1
    scale = np.abs(vectors).max(axis=1, keepdims=True) / most
    numbers = np.rint(vectors / np.where(scale > 0, scale, 1)).astype(np.int8)
    return Rebuilt(numbers * scale, n_bits * vectors.shape[1] + FLOAT)


def quantised_columns(vectors: np.ndarray, n_bits: int) -> Rebuilt:
    """Round each column to 2^n_bits levels around 0 whose step has the least squared error.

    The levels are (k + 1/2) step. Steps that clip outliers are tried, too: with the minimum and
    the maximum as outer levels, as in `scalar_quantised`, a single outlier spoils its column.
    """
    n_words, width = vectors.shape
    rebuilt = np.empty_like(vectors)
    for column, kept in zip(vectors.T, rebuilt.T, strict=True):
        widest = float(np.abs(column).max()) / (2**n_bits - 1) * 2 or 1.0
        tried = (_rounded(column, widest * share, n_bits) for share in _CLIPPED)
        kept[:] = min(tried, key=lambda values: float(np.square(values - column).sum()))
    return Rebuilt(rebuilt, n_bits * width + FLOAT * width / n_words)


def _rounded(column: np.ndarray, step: float, n_bits: int) -> np.ndarray:
    half = 2 ** (n_bits - 1)
    return (np.clip(np.floor(column / step), -half, half - 1) + 0.5) * step


def signs(vectors: np.ndarray, *, rotated: bool) -> Rebuilt:
    """Keep a bit per component, its sign; rebuild it as the mean absolute value of the column."""
    n_words, width = vectors.shape
    rotation = random_rotation(width) if rotated else np.eye(width, dtype=np.float32)
    turned = vectors @ rotation
    kept = np.where(turned > 0, np.float32(1), np.float32(-1)) * np.abs(turned).mean(axis=0)
    once = FLOAT * width * (1 + width * rotated)
    return Rebuilt(kept @ rotation.T, width + once / n_words)


def random_rotation(width: int) -> np.ndarray:
    """Return an orthogonal matrix (H, H), float32; always the same."""
    normal = np.random.default_rng(_SEED).standard_normal((width, width))
    q, r = np.linalg.qr(normal)
    return np.asarray(q * np.sign(np.diag(r)), dtype=np.float32)


def product_quantised(
    vectors: np.ndarray, n_parts: int, n_bits: int, *, threads: int = 1
) -> Rebuilt:
    """Compress vectors by `quantise` and rebuild them."""
    quantiser, codes = quantise(vectors, n_parts, n_bits, threads=threads)
    book = FLOAT * 2**n_bits * vectors.shape[1]
    return Rebuilt(quantiser.decode(codes), n_parts * n_bits + book / len(vectors))


def quantise(
    vectors: np.ndarray, n_parts: int, n_bits: int, *, threads: int = 1
) -> tuple[Any, np.ndarray]:
    """Train faiss' ProductQuantizer, with 2^bits centroids per part; return it and the codes."""
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    quantiser = _faiss(threads).ProductQuantizer(vectors.shape[1], n_parts, n_bits)
    quantiser.train(vectors)
    return quantiser, quantiser.compute_codes(vectors)


def rotated_product_quantised(
    vectors: np.ndarray, n_parts: int, n_bits: int, *, threads: int = 1
) -> Rebuilt:
    """Product quantisation after the rotation that suits it best: faiss' OPQMatrix."""
    faiss, width = _faiss(threads), vectors.shape[1]
    rotation = faiss.OPQMatrix(width, n_parts)
    trained_for = faiss.ProductQuantizer(width, n_parts, n_bits)  # 8 bits without it
    rotation.pq, rotation.max_train_points = trained_for, _OPQ_VECTORS
    rotation.train(np.ascontiguousarray(vectors))
    turned = rotation.apply(np.ascontiguousarray(vectors))
    made = product_quantised(turned, n_parts, n_bits, threads=threads)
    back = rotation.reverse_transform(np.ascontiguousarray(made.vectors))
    return Rebuilt(back, made.bits + FLOAT * width**2 / len(vectors))


def scalar_quantised(vectors: np.ndarray, n_bits: int, *, threads: int = 1) -> Rebuilt:
    """Round each column to 2^n_bits levels between its minimum and maximum: faiss' SQ4 and SQ8."""
    faiss, width = _faiss(threads), vectors.shape[1]
    kind = getattr(faiss.ScalarQuantizer, f"QT_{n_bits}bit")
    quantiser = faiss.ScalarQuantizer(width, kind)
    quantiser.train(vectors)
    rebuilt = quantiser.decode(quantiser.compute_codes(vectors))
    return Rebuilt(rebuilt, n_bits * width + FLOAT * 2 * width / len(vectors))


def rabitq(vectors: np.ndarray, n_bits: int, *, threads: int = 1) -> Rebuilt:
    """RaBitQ (Gao and Long 2024; several bits: Gao et al. 2025), from faiss.

    A component of a rebuilt vector is the code's estimate of the inner product with a unit vector.
    Of the factors that faiss stores for each word, only the one that these estimates need is
    counted; the others serve distances and their bounds.
    """
    faiss, (n_words, width) = _faiss(threads), vectors.shape
    rotation = random_rotation(width)
    index = faiss.IndexRaBitQ(width, faiss.METRIC_INNER_PRODUCT, n_bits)
    index.qb = 0  # queries remain floats
    turned = vectors @ rotation
    index.train(turned)  # computes their mean, which is 0
    index.add(turned)
    rebuilt = np.empty((width, n_words), dtype=np.float32)
    for unit, estimates in zip(rotation, rebuilt, strict=True):
        found, rows = index.search(unit[None], n_words)
        estimates[rows[0]] = found[0]
    once = FLOAT * width**2
    return Rebuilt(rebuilt.T, n_bits * width + FLOAT + once / n_words)


def turboquantised(vectors: np.ndarray, n_bits: int, *, threads: int = 1) -> Rebuilt:
    """TurboQuant for the least squared error (Zandieh et al. 2025), from faiss.

    Unit vectors are rotated and each component becomes one of 2^n_bits fixed levels; a float32
    keeps the norm.
    """
    faiss, (n_words, width) = _faiss(threads), vectors.shape
    rotation = random_rotation(width)
    quantiser = faiss.ScalarQuantizer(
        width, getattr(faiss.ScalarQuantizer, f"QT_{n_bits}bit_tqmse")
    )
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    turned = (vectors / np.where(norms > 0, norms, 1)) @ rotation
    quantiser.train(turned)  # computes the levels, which depend on H only
    rebuilt = quantiser.decode(quantiser.compute_codes(turned)) @ rotation.T * norms
    once = FLOAT * (width**2 + 2**n_bits)
    return Rebuilt(rebuilt, n_bits * width + FLOAT + once / n_words)


def _faiss(threads: int) -> Any:
    """Import faiss and set its number of threads."""
    import faiss

    faiss.omp_set_num_threads(threads)
    return faiss
