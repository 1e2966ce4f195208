"""Every architecture, found by the name that its configuration carries.

An architecture is one file, which registers its model; here it is imported, and known by that.
"""

from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, core_schema

import yakusu.model.convolutional
import yakusu.model.recurrent
import yakusu.model.transformer  # noqa: F401  (each registers itself)
from yakusu.model.base import ModelConfig, Seq2Seq, models

DEFAULT = "transformer"


class _ByName:
    """Tells pydantic that a configuration is of the class that its `name` says."""

    def __get_pydantic_core_schema__(
        self, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        choices = {name: handler.generate_schema(models[name].Config) for name in models}
        return core_schema.tagged_union_schema(choices, discriminator=_name_of)


def _name_of(values: Any) -> str:
    if isinstance(values, dict):
        return str(values.get("name", DEFAULT))
    return str(getattr(values, "name", DEFAULT))


AnyConfig = Annotated[ModelConfig, _ByName()]
_any_config: TypeAdapter[ModelConfig] = TypeAdapter(AnyConfig)


def config_of(values: dict[str, Any]) -> ModelConfig:
    """The configuration that `model_dump` turned into `values`.

    Raises:
        ValidationError: pydantic's, where no architecture has such a configuration.
    """
    return _any_config.validate_python(values)


def build(config: ModelConfig, *, src_vocab_size: int, tgt_vocab_size: int) -> Seq2Seq:
    """A model with random weights, drawn from torch's generator.

    Args:
        config: Its architecture and sizes.
        src_vocab_size: V of the source side, pad included.
        tgt_vocab_size: V of the target side, pad included.

    Raises:
        RecipeError: The architecture does not allow these.
    """
    factory = models[config.name]
    return factory(config, src_vocab_size=src_vocab_size, tgt_vocab_size=tgt_vocab_size)
