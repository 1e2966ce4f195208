"""yakusu (訳す, "to translate") trains, serves and opens up attention-only translators.

The verbs of the command line are functions here: `prepare`, `train`, `average`, `translate`,
`evaluate`, `verify`, `demo`, and `compress_translator` for `compress`, which names a room here;
`view` is a room too, and `vectors` has verbs of its own. Each loads what it needs when it is first
used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yakusu import compress, vectors, view
    from yakusu.averaging import average
    from yakusu.compression import compress_translator
    from yakusu.demonstration import demo
    from yakusu.errors import DataError, ModelError, RecipeError, RunError, YakusuError
    from yakusu.evaluation import evaluate, evaluate_trees
    from yakusu.pipeline import prepare, train, translate, verify
    from yakusu.recipe import Recipe, load_recipe
    from yakusu.translator import Translator

__version__ = "0.1.0"
_HOMES = {
    **dict.fromkeys(("prepare", "train", "translate", "verify"), "pipeline"),
    **dict.fromkeys(
        ("DataError", "ModelError", "RecipeError", "RunError", "YakusuError"), "errors"
    ),
    **dict.fromkeys(("Recipe", "load_recipe"), "recipe"),
    "Translator": "translator",
    "average": "averaging",
    "compress_translator": "compression",
    "demo": "demonstration",
    **dict.fromkeys(("evaluate", "evaluate_trees"), "evaluation"),
}
_ROOMS = ("compress", "vectors", "view")  # `yakusu.compress.kmeans1d`, `yakusu.view.picture`
__all__ = [
    "DataError",
    "ModelError",
    "Recipe",
    "RecipeError",
    "RunError",
    "Translator",
    "YakusuError",
    "average",
    "compress",
    "compress_translator",
    "demo",
    "evaluate",
    "evaluate_trees",
    "load_recipe",
    "prepare",
    "train",
    "translate",
    "vectors",
    "verify",
    "view",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"yakusu.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'yakusu' has no attribute '{name}'")
    return getattr(import_module(f"yakusu.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
