"""Deterministic compression of embeddings, by codes and a codebook; needs 'yakusu[compress]'."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yakusu.compress.budget import Budget, Choice, choose_codes, choose_step
    from yakusu.compress.codebook import Codebook, Statistics, compress, fit, ratio
    from yakusu.compress.codes import Coded, PrincipalAxes, code
    from yakusu.compress.compressor import CodebookCompressor, UniformCompressor
    from yakusu.compress.kmeans import Clusters, kmeans1d
    from yakusu.compress.lattice import Lattice, Rounding
    from yakusu.compress.method import ByCodes, ByNumbers, CodesWithin, Fitting, NumbersWithin

_HOMES = {
    **dict.fromkeys(("Budget", "Choice", "choose_codes", "choose_step"), "budget"),
    **dict.fromkeys(("Codebook", "Statistics", "compress", "fit", "ratio"), "codebook"),
    **dict.fromkeys(("Coded", "PrincipalAxes", "code"), "codes"),
    **dict.fromkeys(("CodebookCompressor", "UniformCompressor"), "compressor"),
    **dict.fromkeys(("Clusters", "kmeans1d"), "kmeans"),
    **dict.fromkeys(("ByCodes", "ByNumbers", "CodesWithin", "Fitting", "NumbersWithin"), "method"),
    **dict.fromkeys(("Lattice", "Rounding"), "lattice"),
}
__all__ = [
    "Budget",
    "ByCodes",
    "ByNumbers",
    "Choice",
    "Clusters",
    "Codebook",
    "CodebookCompressor",
    "Coded",
    "CodesWithin",
    "Fitting",
    "Lattice",
    "NumbersWithin",
    "PrincipalAxes",
    "Rounding",
    "Statistics",
    "UniformCompressor",
    "choose_codes",
    "choose_step",
    "code",
    "compress",
    "fit",
    "kmeans1d",
    "ratio",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'yakusu.compress' has no attribute '{name}'")
    return getattr(import_module(f"yakusu.compress.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
