"""yakusu (訳す, "to translate") trains, runs and compresses translators and parsers.

Each verb of the command line is also a function: `check`, `align`, `mine`, `prepare`, `train`,
`improve`, `average`, `distil`, `backtranslate`, `translate`, `models`, `score`, `evaluate`,
`verify`, `card` and `demo`; the verbs `compress`, `import` and `export` are the functions
`compress_translator`, `import_model` and `export_model`.
`compress`, `memory`, `serve`, `vectors` and `view` are packages. Each name is imported when it is
first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from yakusu.version import __version__ as __version__

if TYPE_CHECKING:
    from yakusu import compress, memory, serve, vectors, view
    from yakusu.data.lines.config import TextConfig
    from yakusu.engine.config import EngineConfig
    from yakusu.errors import DataError, ModelError, RecipeError, RunError, YakusuError
    from yakusu.pipeline.aligning.align import align
    from yakusu.pipeline.aligning.mine import mine
    from yakusu.pipeline.check.check import check
    from yakusu.pipeline.compress import compress_translator
    from yakusu.pipeline.demo.demo import demo
    from yakusu.pipeline.documents import translate_document
    from yakusu.pipeline.evaluate import (
        evaluate,
        evaluate_model,
        evaluate_parser,
        evaluate_trees,
    )
    from yakusu.pipeline.export_model import export_model
    from yakusu.pipeline.export_web import export_web
    from yakusu.pipeline.import_model import import_model
    from yakusu.pipeline.improving.improve import improve
    from yakusu.pipeline.receipts.receipt import verify
    from yakusu.pipeline.receipts.relabel import card
    from yakusu.pipeline.receipts.shipped import models
    from yakusu.pipeline.robustness import evaluate_robustness
    from yakusu.pipeline.score import score
    from yakusu.pipeline.synthetic.backtranslate import BacktranslateConfig, backtranslate
    from yakusu.pipeline.synthetic.distil import DistilConfig, distil
    from yakusu.pipeline.training.average import average
    from yakusu.pipeline.training.choose_recipe import choose_recipe
    from yakusu.pipeline.training.prepare import prepare
    from yakusu.pipeline.training.train import plan_training, train
    from yakusu.pipeline.translate import translate
    from yakusu.recipe import Recipe, RecipeFiles, load_recipe, save_recipe
    from yakusu.search.config import SamplingConfig, SearchConfig
    from yakusu.translator import Translation, Translator
    from yakusu.translator.request import Request

_MODULES = {  # public name -> the module that defines it
    **dict.fromkeys(
        ("DataError", "ModelError", "RecipeError", "RunError", "YakusuError"), "errors"
    ),
    **dict.fromkeys(("Recipe", "RecipeFiles", "load_recipe", "save_recipe"), "recipe"),
    **dict.fromkeys(("SamplingConfig", "SearchConfig"), "search.config"),
    "EngineConfig": "engine.config",
    "Request": "translator.request",
    "TextConfig": "data.lines.config",
    **dict.fromkeys(("Translation", "Translator"), "translator"),
    "align": "pipeline.aligning.align",
    "average": "pipeline.training.average",
    **dict.fromkeys(("BacktranslateConfig", "backtranslate"), "pipeline.synthetic.backtranslate"),
    "card": "pipeline.receipts.relabel",
    "check": "pipeline.check.check",
    "choose_recipe": "pipeline.training.choose_recipe",
    "compress_translator": "pipeline.compress",
    "demo": "pipeline.demo.demo",
    **dict.fromkeys(("DistilConfig", "distil"), "pipeline.synthetic.distil"),
    **dict.fromkeys(
        ("evaluate", "evaluate_model", "evaluate_parser", "evaluate_trees"), "pipeline.evaluate"
    ),
    "evaluate_robustness": "pipeline.robustness",
    "export_model": "pipeline.export_model",
    "export_web": "pipeline.export_web",
    "import_model": "pipeline.import_model",
    "improve": "pipeline.improving.improve",
    "mine": "pipeline.aligning.mine",
    "models": "pipeline.receipts.shipped",
    "prepare": "pipeline.training.prepare",
    "score": "pipeline.score",
    **dict.fromkeys(("plan_training", "train"), "pipeline.training.train"),
    "translate": "pipeline.translate",
    "translate_document": "pipeline.documents",
    "verify": "pipeline.receipts.receipt",
}
_PACKAGES = (
    "compress",
    "memory",
    "serve",
    "vectors",
    "view",
)  # `yakusu.compress.kmeans1d` and the like
__all__ = [
    "BacktranslateConfig",
    "DataError",
    "DistilConfig",
    "EngineConfig",
    "ModelError",
    "Recipe",
    "RecipeError",
    "RecipeFiles",
    "Request",
    "RunError",
    "SamplingConfig",
    "SearchConfig",
    "TextConfig",
    "Translation",
    "Translator",
    "YakusuError",
    "align",
    "average",
    "backtranslate",
    "card",
    "check",
    "choose_recipe",
    "compress",
    "compress_translator",
    "demo",
    "distil",
    "evaluate",
    "evaluate_model",
    "evaluate_parser",
    "evaluate_robustness",
    "evaluate_trees",
    "export_model",
    "export_web",
    "import_model",
    "improve",
    "load_recipe",
    "memory",
    "mine",
    "models",
    "plan_training",
    "prepare",
    "save_recipe",
    "score",
    "serve",
    "train",
    "translate",
    "translate_document",
    "vectors",
    "verify",
    "view",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"yakusu.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'yakusu' has no attribute '{name}'")
    try:
        return getattr(import_module(f"yakusu.{_MODULES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ModuleNotFoundError(
            f"yakusu.{name} needs torch: install yakusu with its extra 'train', as in pip install "
            "'.[train]'",
            name="torch",
        ) from error


def __dir__() -> list[str]:
    return __all__
