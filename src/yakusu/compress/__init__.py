"""Deterministic compression of matrices by codes or integers; needs 'yakusu[compress]'.

`CodebookCompressor` is the paper's method and `LatticeCompressor` its alternative with integers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yakusu.compress.budget import Budget
    from yakusu.compress.compressor import CodebookCompressor, LatticeCompressor
    from yakusu.compress.config import CompressConfig, load_compress_config
    from yakusu.compress.kmeans import Clusters, kmeans1d
    from yakusu.compress.search import Index
    from yakusu.compress.storage import CompressedMatrix

_MODULES = {  # public name -> the module that defines it
    "Budget": "budget",
    **dict.fromkeys(("CodebookCompressor", "LatticeCompressor"), "compressor"),
    **dict.fromkeys(("CompressConfig", "load_compress_config"), "config"),
    **dict.fromkeys(("Clusters", "kmeans1d"), "kmeans"),
    "CompressedMatrix": "storage",
    "Index": "search",
}
__all__ = [
    "Budget",
    "Clusters",
    "CodebookCompressor",
    "CompressConfig",
    "CompressedMatrix",
    "Index",
    "LatticeCompressor",
    "kmeans1d",
    "load_compress_config",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'yakusu.compress' has no attribute '{name}'")
    return getattr(import_module(f"yakusu.compress.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
