"""Deterministic compression of embeddings, by codes and a codebook; needs 'yakusu[compress]'."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yakusu.compress.budget import Budget, Choice, choose_codes, choose_step
    from yakusu.compress.codebook import Codebook, Statistics, compress, fit, ratio
    from yakusu.compress.codes import Coded, PrincipalAxes, code
    from yakusu.compress.compressed import CompressedVectors
    from yakusu.compress.compressor import CodebookCompressor, UniformCompressor
    from yakusu.compress.fileformat import open_compressed, write_compressed
    from yakusu.compress.kmeans import Clusters, kmeans1d
    from yakusu.compress.method import ByCodes, ByNumbers, CodesWithin, Fitting, NumbersWithin
    from yakusu.compress.readers import WordVectors, read_vectors
    from yakusu.compress.table import CodedTable
    from yakusu.compress.uniform import Lattice, Rounding

_HOMES = {
    **dict.fromkeys(("Budget", "Choice", "choose_codes", "choose_step"), "budget"),
    **dict.fromkeys(("Codebook", "Statistics", "compress", "fit", "ratio"), "codebook"),
    **dict.fromkeys(("Coded", "PrincipalAxes", "code"), "codes"),
    **dict.fromkeys(("CodebookCompressor", "UniformCompressor"), "compressor"),
    **dict.fromkeys(("Clusters", "kmeans1d"), "kmeans"),
    **dict.fromkeys(("ByCodes", "ByNumbers", "CodesWithin", "Fitting", "NumbersWithin"), "method"),
    **dict.fromkeys(("Lattice", "Rounding"), "uniform"),
    **dict.fromkeys(("WordVectors", "read_vectors"), "readers"),
    **dict.fromkeys(("open_compressed", "write_compressed"), "fileformat"),
    "CodedTable": "table",
    "CompressedVectors": "compressed",
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
    "CodedTable",
    "CodesWithin",
    "CompressedVectors",
    "Fitting",
    "Lattice",
    "NumbersWithin",
    "PrincipalAxes",
    "Rounding",
    "Statistics",
    "UniformCompressor",
    "WordVectors",
    "choose_codes",
    "choose_step",
    "code",
    "compress",
    "fit",
    "kmeans1d",
    "open_compressed",
    "ratio",
    "read_vectors",
    "write_compressed",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'yakusu.compress' has no attribute '{name}'")
    return getattr(import_module(f"yakusu.compress.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
