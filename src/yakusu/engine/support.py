"""Which models the engine supports; torch runs the others."""

from yakusu.model.config import ModelConfig, TransformerConfig
from yakusu.search.config import SearchConfig

_MIXING = {
    "restricted": "restricted self-attention",
    "convolution": "separable convolutions",
    "recurrent": "LSTMs in place of self-attention",
}


def unsupported(config: ModelConfig, search: SearchConfig | None = None) -> str | None:
    """What the engine does not support in a model and its search, such as "experts".

    Args:
        config: The model.
        search: The search; None: any that the engine supports.

    Returns:
        The name of the part, or None if all of it is supported.
    """
    if not isinstance(config, TransformerConfig):
        return f"{config.name} models"
    if config.mixing != "attention":
        return _MIXING[config.mixing]
    if config.score == "additive":
        return "additive attention"
    if config.n_experts:
        return "experts"
    return "search.coverage" if search and search.coverage else None
