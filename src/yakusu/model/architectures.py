"""All architectures, by the name in their configuration."""

import yakusu.model.bytenet
import yakusu.model.convolutional
import yakusu.model.recurrent
import yakusu.model.transformer  # noqa: F401  (each registers itself)
from yakusu.model.base import Seq2Seq, models
from yakusu.model.config import ModelConfig


def build(config: ModelConfig, *, src_vocab_size: int, tgt_vocab_size: int) -> Seq2Seq:
    """Build a model with random weights, drawn from torch's default generator.

    Args:
        config: Architecture and sizes of the model.
        src_vocab_size: Size V of the source vocabulary, including padding.
        tgt_vocab_size: Size V of the target vocabulary, including padding.

    Raises:
        RecipeError: The architecture does not allow these sizes.
    """
    factory = models[config.name]
    return factory(config, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
