"""Base classes of configurations and registries.

A configuration is a frozen group of settings that rejects unknown keys. A registry maps names to
factories: models, metrics and tasks register themselves.
"""

import difflib
import tomllib
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from yakusu.errors import RecipeError


class Config(BaseModel):
    """Frozen group of settings; unknown keys and values of the wrong type are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def apply_override(
    values: dict[str, Any], override: str, *, example: str = "training.max_steps=500"
) -> None:
    """Set a key of nested settings, such as "a.b=1".

    Args:
        values: Parsed TOML; changed in place.
        override: KEY=VALUE; the value is TOML, and a bare word is a string.
        example: A valid override, shown in the error message.

    Raises:
        RecipeError: There is no "=", or a part of the key is not a group of keys.
    """
    key, separator, text = override.partition("=")
    if not separator:
        raise RecipeError(f"--set {override}: write it as key=value, as in --set {example}")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text  # a bare word is a string
    *groups, last = key.strip().split(".")
    for group in groups:
        values = values.setdefault(group, {})
        if not isinstance(values, dict):
            raise RecipeError(f"--set {override}: '{group}' is not a group of keys")
    values[last] = value


def nearest(name: str, known: list[str], *, section: str = "") -> str:
    """Return a hint for an unknown name: "did you mean 'x'?", or a list of all known names.

    Args:
        name: The unknown name.
        known: The existing names.
        section: Start of the existing names in the hint, such as "compress."; not compared.
    """
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f"did you mean '{section}{close[0]}'?"
    return f"choose from {', '.join(section + other for other in sorted(known))}"


T = TypeVar("T")


class Registry(Generic[T]):
    """Named factories of one kind.

    Attributes:
        kind: What the factories create, for error messages, such as "model".
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._factories: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that registers a class or function as `name` and returns it."""

        def register_factory(factory: T) -> T:
            assert name not in self._factories, f"{self.kind} '{name}' is registered twice"
            self._factories[name] = factory
            return factory

        return register_factory

    def __getitem__(self, name: str) -> T:
        """Return the factory registered as `name`.

        Raises:
            RecipeError: The name is unknown; the message suggests the most similar name.
        """
        if name not in self._factories:
            raise RecipeError(f"there is no {self.kind} '{name}': {nearest(name, list(self))}")
        return self._factories[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._factories)
