"""Which models the engine supports; torch runs the others."""

from yakusu.model.config import ModelConfig, TransformerConfig

_MIXING = {
    "restricted": "restricted self-attention",
    "convolution": "separable convolutions",
    "recurrent": "LSTMs in place of self-attention",
}


def unsupported(config: ModelConfig) -> str | None:
    """What the engine does not support in a model, such as "experts"; None: nothing."""
    if not isinstance(config, TransformerConfig):
        return f"{config.name} models"
    if config.mixing != "attention":
        return _MIXING[config.mixing]
    if config.score == "additive":
        return "additive attention"
    return "experts" if config.n_experts else None
