"""Other ways to make vectors small: whole-number rows, and faiss' product quantisation.

V words, H dimensions. Sizes in bits are all that a file would hold, but for the mean vector.
"""

import time
from dataclasses import dataclass

import faiss
import numpy as np


@dataclass(frozen=True)
class Rebuilt:
    """Vectors after a round trip.

    vectors: (V, H), float32.
    bits: Of a word, with its share of what all words have in common.
    seconds: Of learning and encoding.
    """

    vectors: np.ndarray
    bits: float
    seconds: float


def whole_rows(vectors: np.ndarray, n_bits: int) -> Rebuilt:
    """Each row as whole numbers of `n_bits` times a float32 scale; the largest is the limit."""
    began = time.perf_counter()
    most = 2 ** (n_bits - 1) - 1
    scale = np.abs(vectors).max(axis=1, keepdims=True) / most
    numbers = np.rint(vectors / np.where(scale > 0, scale, 1)).astype(np.int8)
    seconds = time.perf_counter() - began
    return Rebuilt(numbers * scale, n_bits * vectors.shape[1] + 32, seconds)


def product_quantised(
    vectors: np.ndarray, n_parts: int, n_bits: int, *, threads: int = 1
) -> Rebuilt:
    """By `quantise`, and back."""
    n_words, width = vectors.shape
    began = time.perf_counter()
    quantiser, codes = quantise(vectors, n_parts, n_bits, threads=threads)
    seconds = time.perf_counter() - began
    book = 2**n_bits * width * 32 / n_words
    return Rebuilt(quantiser.decode(codes), n_parts * n_bits + book, seconds)


def quantise(
    vectors: np.ndarray, n_parts: int, n_bits: int, *, threads: int = 1
) -> tuple[faiss.ProductQuantizer, np.ndarray]:
    """faiss' ProductQuantizer with its defaults: 2^bits centroids for each of the parts of H."""
    faiss.omp_set_num_threads(threads)
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    quantiser = faiss.ProductQuantizer(vectors.shape[1], n_parts, n_bits)
    quantiser.train(vectors)
    return quantiser, quantiser.compute_codes(vectors)
