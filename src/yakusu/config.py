"""Base classes of configurations and registries.

A configuration is a frozen group of settings that rejects unknown keys. A registry maps names to
factories: models, metrics and tasks register themselves.
"""

import difflib
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from yakusu.errors import RecipeError


class Config(BaseModel):
    """Frozen group of settings; unknown keys and values of another type are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def nearest(name: str, known: list[str]) -> str:
    """Return the hint for an unknown name: "did you mean 'x'?", or else all known names.

    Args:
        name: The unknown name.
        known: The existing names.
    """
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'?" if close else f"known: {', '.join(sorted(known))}"


T = TypeVar("T")


class Registry(Generic[T]):
    """Named factories of one kind.

    Attributes:
        kind: What the factories make, for error messages: "model".
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
