"""Deterministic compression of embeddings, by codes and a codebook; needs 'yakusu[compress]'."""

from yakusu.compress.codebook import Codebook, Statistics, fit
from yakusu.compress.codes import Coded, PrincipalAxes, code
from yakusu.compress.kmeans1d import Clusters, kmeans1d

__all__ = [
    "Clusters",
    "Codebook",
    "Coded",
    "PrincipalAxes",
    "Statistics",
    "code",
    "fit",
    "kmeans1d",
]
