"""The base of every configuration: frozen, and no key that nobody reads."""

from pydantic import BaseModel, ConfigDict


class Config(BaseModel):
    """A frozen group of settings; an unknown key is an error. Each lives beside its owner."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
