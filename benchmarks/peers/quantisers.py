"""Other ways to compress vectors: integer rows, and faiss' product quantisation.

V words, H dimensions. Sizes in bits count all that a file would hold, except the mean vector.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Rebuilt:
    """Vectors after compression and decompression.

    vectors: (V, H), float32.
    bits: Bits per word, including its share of what is stored once for all words.
    seconds: Time for training and encoding.
    """

    vectors: np.ndarray
    bits: float
    seconds: float


def quantised_rows(vectors: np.ndarray, n_bits: int) -> Rebuilt:
    """Round each row to integers of `n_bits` times a float32 scale, which maps its maximum."""
    start = time.perf_counter()
    most = 2 ** (n_bits - 1) - 1
    scale = np.abs(vectors).max(axis=1, keepdims=True) / most
    numbers = np.rint(vectors / np.where(scale > 0, scale, 1)).astype(np.int8)
    seconds = time.perf_counter() - start
    return Rebuilt(numbers * scale, n_bits * vectors.shape[1] + 32, seconds)


def product_quantised(
    vectors: np.ndarray, n_parts: int, n_bits: int, *, threads: int = 1
) -> Rebuilt:
    """Compress vectors (V, H) by `quantise` and rebuild them."""
    n_words, width = vectors.shape
    start = time.perf_counter()
    quantiser, codes = quantise(vectors, n_parts, n_bits, threads=threads)
    seconds = time.perf_counter() - start
    book = 2**n_bits * width * 32 / n_words
    return Rebuilt(quantiser.decode(codes), n_parts * n_bits + book, seconds)


def quantise(
    vectors: np.ndarray, n_parts: int, n_bits: int, *, threads: int = 1
) -> tuple[Any, np.ndarray]:
    """Train faiss' ProductQuantizer, with 2^bits centroids per part; return it and the codes."""
    import faiss

    faiss.omp_set_num_threads(threads)
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    quantiser = faiss.ProductQuantizer(vectors.shape[1], n_parts, n_bits)
    quantiser.train(vectors)
    return quantiser, quantiser.compute_codes(vectors)
