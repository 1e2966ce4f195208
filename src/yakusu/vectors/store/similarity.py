"""The three ways to compare vectors, as values of which the largest is best.

    cosine          q . x / |x|, of a query of length 1; stored vectors are scaled to length 1, too
    inner-product   q . x
    euclidean       -|q - x|^2 = 2 q . x - |x|^2 - |q|^2; the score is the distance |q - x|

n rows, H dimensions.
"""

import numpy as np

from yakusu.arrays import Doubles
from yakusu.compress.blocks import Matrix
from yakusu.vectors.store.file import StoreSimilarity

_LIMITS = {
    "cosine": (-1.0, 1.0),
    "inner-product": (-np.inf, np.inf),
    "euclidean": (-np.inf, 0.0),
}


def comparable(vectors: Matrix, similarity: StoreSimilarity) -> Doubles:
    """Return vectors (n, H) as they are compared: scaled to length 1 for the cosine."""
    found: Doubles = vectors.astype(np.float64)
    if similarity == "cosine":
        largest = np.abs(found).max(axis=1, keepdims=True)  # squares of tiny numbers are 0
        np.divide(found, largest, out=found, where=largest > 0)
        lengths = np.sqrt(np.einsum("nh,nh->n", found, found))
        found /= np.where(lengths > 0, lengths, 1)[:, None]
    return found


def row_terms(lengths: Doubles, similarity: StoreSimilarity) -> Doubles:
    """Return what `values_of` needs of rows with these lengths (n,): reciprocals or squares."""
    if similarity == "cosine":
        return np.divide(1, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
    return np.square(lengths)


def values_of(
    products: Doubles, terms: Doubles, square: float, similarity: StoreSimilarity
) -> Doubles:
    """Return the values (n,) of rows from their products with a query; they grow with these.

    Args:
        products: (n,).
        terms: See `row_terms`, (n,).
        square: Squared length of the query.
        similarity: What is compared.
    """
    if similarity == "cosine":
        return products * terms
    if similarity == "inner-product":
        return products
    return 2 * products - terms - square


def values_of_originals(vectors: Doubles, query: Doubles, similarity: StoreSimilarity) -> Doubles:
    """Return the values (n,) of vectors (n, H) that were kept."""
    if similarity == "euclidean":
        away = vectors - query
        squares: Doubles = np.einsum("nh,nh->n", away, away)
        return -squares
    products: Doubles = np.einsum("nh,h->n", vectors, query)
    if similarity == "cosine":
        products *= row_terms(np.sqrt(np.einsum("nh,nh->n", vectors, vectors)), similarity)
    return products


def clipped(values: Doubles, similarity: StoreSimilarity) -> Doubles:
    """Return values without what rounding adds to the largest and the least cosine or distance."""
    least, most = _LIMITS[similarity]
    return np.clip(values, least, most)


def score_of(value: float, similarity: StoreSimilarity) -> float:
    """Return the score of a value: the distance for "euclidean", otherwise the value."""
    return max(0.0, -value) ** 0.5 if similarity == "euclidean" else value
