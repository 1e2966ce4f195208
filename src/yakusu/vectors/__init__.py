"""Word vectors, matrices and static embeddings, compressed; needs 'yakusu[compress]'."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yakusu.vectors.appending import append
    from yakusu.vectors.evaluation import evaluate
    from yakusu.vectors.exports import Exported, export
    from yakusu.vectors.file import open_compressed, open_words, write_compressed
    from yakusu.vectors.formats import WordVectors, read_vectors
    from yakusu.vectors.keyed import CompressedVectors
    from yakusu.vectors.matrices import open_matrix
    from yakusu.vectors.matrixfile import MatrixFile
    from yakusu.vectors.static.model import StaticEmbeddings, open_static
    from yakusu.vectors.static.verbs import StaticReport, compress_static, export_static
    from yakusu.vectors.store.creating import create_store
    from yakusu.vectors.store.store import VectorStore, open_store
    from yakusu.vectors.store.verbs import compact, delete, index, search
    from yakusu.vectors.verbs import compress, inspect, neighbours

_MODULES = {  # public name -> the module that defines it
    **dict.fromkeys(("compress", "inspect", "neighbours"), "verbs"),
    **dict.fromkeys(("open_compressed", "open_words", "write_compressed"), "file"),
    **dict.fromkeys(("WordVectors", "read_vectors"), "formats"),
    **dict.fromkeys(("Exported", "export"), "exports"),
    **dict.fromkeys(("StaticEmbeddings", "open_static"), "static.model"),
    **dict.fromkeys(("StaticReport", "compress_static", "export_static"), "static.verbs"),
    **dict.fromkeys(("compact", "delete", "index", "search"), "store.verbs"),
    **dict.fromkeys(("VectorStore", "open_store"), "store.store"),
    "create_store": "store.creating",
    "open_matrix": "matrices",
    "MatrixFile": "matrixfile",
    "CompressedVectors": "keyed",
    "append": "appending",
    "evaluate": "evaluation",
}
__all__ = [
    "CompressedVectors",
    "Exported",
    "MatrixFile",
    "StaticEmbeddings",
    "StaticReport",
    "VectorStore",
    "WordVectors",
    "append",
    "compact",
    "compress",
    "compress_static",
    "create_store",
    "delete",
    "evaluate",
    "export",
    "export_static",
    "index",
    "inspect",
    "neighbours",
    "open_compressed",
    "open_matrix",
    "open_static",
    "open_store",
    "open_words",
    "read_vectors",
    "search",
    "write_compressed",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'yakusu.vectors' has no attribute '{name}'")
    return getattr(import_module(f"yakusu.vectors.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
