"""The systems of parsing_f1.py, the differences that they show, and the paper's scores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.runs import RECIPES

# Table 4 of the paper: WSJ section 23, from 40,000 gold trees.
PAPER = {
    "Vinyals & Kaiser et al. 2014, LSTM with attention, WSJ only": 88.3,
    "Vinyals & Kaiser et al. 2014, LSTM with attention, semi-supervised": 92.1,
    "Transformer (4 layers), WSJ only": 91.3,
    "Transformer (4 layers), semi-supervised": 92.7,
    "Recurrent Neural Network Grammar, generative": 93.3,
    "BerkeleyParser, WSJ only": 90.4,
}
TREES = {
    "half": "half of the gold trees",
    "gold": "gold trees",
    "subtrees": "gold trees, and their constituents",
    "own": "gold trees, and its own trees of GUM's sentences",
    "gum": "gold trees, and GUM's trees",
}


@dataclass(frozen=True)
class Model:
    """A kind of parser.

    title: Its name in tables.
    recipe: Name or path of its recipe.
    trees: What it is trained on, keys of `TREES`.
    changes: Settings that differ from the recipe.
    paper: F1 of its counterparts in the paper.
    """

    title: str
    recipe: str | Path
    trees: tuple[str, ...]
    changes: tuple[str, ...] = ()
    paper: Mapping[str, float] = field(default_factory=dict)


MODELS = {
    "transformer": Model(
        "Transformer",
        "parse-small",
        ("half", "gold", "subtrees", "own", "gum"),
        changes=("model.positions=sinusoidal",),
        paper={"gold": 91.3, "gum": 92.7},
    ),
    "transformer-words": Model(
        "Transformer with word positions",
        "parse-small",
        ("gold", "subtrees", "gum"),
    ),
    "lstm-attention": Model(
        "LSTM with attention",
        RECIPES / "parse-lstm.toml",
        ("gold", "subtrees", "own", "gum"),
        changes=("model.attention=additive",),
        paper={"gold": 88.3, "gum": 92.1},
    ),
    "lstm-fixed": Model("LSTM with a fixed vector", RECIPES / "parse-lstm.toml", ("gold", "gum")),
}
# Name of each run: model and trees.
SYSTEMS = {
    f"{name}-{trees}": (name, trees) for name, model in MODELS.items() for trees in model.trees
}
_TREES_EFFECTS = (
    ("half", "gold", "twice as many gold trees"),
    ("gold", "subtrees", "constituents of the gold trees"),
    ("gold", "gum", "GUM's sentences with GUM's trees"),
    ("gold", "own", "of which: its own trees of the sentences (semi-supervision)"),
    ("own", "gum", "of which: GUM's trees instead of its own (more annotation)"),
)
_MODEL_EFFECTS = (
    ("lstm-fixed", "lstm-attention", "attention in the LSTM"),
    ("lstm-attention", "transformer", "Transformer instead of the LSTM with attention"),
    ("transformer", "transformer-words", "word positions in the Transformer"),
    ("lstm-attention", "transformer-words", "that Transformer instead of the LSTM with attention"),
)
# Runs that are compared, and the effect that their difference measures.
COMPARISONS = tuple(
    comparison
    for comparison in (
        *((f"{m}-{a}", f"{m}-{b}", effect) for m in MODELS for a, b, effect in _TREES_EFFECTS),
        *(
            (f"{a}-{trees}", f"{b}-{trees}", effect)
            for trees in ("gold", "subtrees", "gum")
            for a, b, effect in _MODEL_EFFECTS
        ),
    )
    if {*comparison[:2]} <= SYSTEMS.keys()
)


def title(system: str) -> str:
    """Return the name of a run in tables, such as "Transformer, gold trees"."""
    model, trees = SYSTEMS[system]
    return f"{MODELS[model].title}, {TREES[trees]}"
