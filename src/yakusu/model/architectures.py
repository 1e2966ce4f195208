"""All architectures, by the name in their configuration."""

import yakusu.model.convolutional
import yakusu.model.recurrent
import yakusu.model.transformer  # noqa: F401  (each registers itself)
from yakusu.model.base import Seq2Seq, models
from yakusu.model.config import ModelConfig


def build(config: ModelConfig, *, src_vocab_size: int, tgt_vocab_size: int) -> Seq2Seq:
    """A model with random weights, drawn from torch's generator.

    Args:
        config: Its architecture and sizes.
        src_vocab_size: V of the source side, including padding.
        tgt_vocab_size: V of the target side, including padding.

    Raises:
        RecipeError: The architecture does not allow these sizes.
    """
    factory = models[config.name]
    return factory(config, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
