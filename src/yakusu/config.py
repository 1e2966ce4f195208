"""The base of every configuration: frozen, and no key that nobody reads."""

import difflib
import tomllib
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from yakusu.errors import RecipeError


class Config(BaseModel):
    """A frozen group of settings; an unknown key is an error. Each lives beside its owner."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def apply_override(
    values: dict[str, Any], override: str, *, example: str = "training.max_steps=500"
) -> None:
    """Set a key of nested settings, such as "a.b=1".

    Args:
        values: Parsed TOML; changed in place.
        override: KEY=VALUE; the value is TOML, and a bare word is a string.
        example: Shown by the error message.

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


T = TypeVar("T")


def nearest(name: str, known: list[str]) -> str:
    """The remedy for an unknown name: "did you mean 'x'?", or all that is known.

    Args:
        name: What was written.
        known: The names that exist.
    """
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'?" if close else f"known: {', '.join(sorted(known))}"


class Registry(Generic[T]):
    """Factories of one kind, by name."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._factories: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """A decorator that files its class or function under `name`."""

        def file(factory: T) -> T:
            assert name not in self._factories, f"{self.kind} '{name}' is registered twice"
            self._factories[name] = factory
            return factory

        return file

    def __getitem__(self, name: str) -> T:
        """The factory called `name`.

        Raises:
            RecipeError: No such name; the message proposes the nearest one.
        """
        if name not in self._factories:
            raise RecipeError(f"there is no {self.kind} '{name}': {nearest(name, list(self))}")
        return self._factories[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._factories)
