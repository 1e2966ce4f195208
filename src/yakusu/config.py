"""Configurations: their base class, overrides, messages about their keys, and registries.

A configuration is a frozen group of settings that rejects unknown keys. A registry maps names to
factories: models, metrics and tasks register themselves.
"""

import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict
from pydantic_core import ErrorDetails

from yakusu.errors import RecipeError

_LONGEST_TOML = 250_000  # characters
_MOST_DOTS = 500  # in a line


class Config(BaseModel):
    """Frozen group of settings; unknown keys and values of the wrong type are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def parsed_toml(text: str) -> dict[str, Any]:
    """Parse the TOML of a user.

    `tomllib` takes time and memory in the square of the parts of a key, such as a.a.a.a.a.

    Raises:
        TOMLDecodeError: It is not valid, too long, or nested too deeply.
    """
    if len(text) > _LONGEST_TOML:
        raise tomllib.TOMLDecodeError(f"it has more than {_LONGEST_TOML:,} characters")
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > _MOST_DOTS:
            raise tomllib.TOMLDecodeError(f"line {number:,} has more than {_MOST_DOTS} dots")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a ValueError: a number with too many digits
        raise tomllib.TOMLDecodeError(str(error)) from error


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
        value = parsed_toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text  # a bare word is a string
    *groups, last = key.strip().split(".")
    for group in groups:
        values = values.setdefault(group, {})
        if not isinstance(values, dict):
            raise RecipeError(f"--set {override}: '{group}' is not a group of keys")
    values[last] = value


def did_you_mean(name: str, known: list[str], *, section: str = "") -> str:
    """Return a hint for an unknown name: "did you mean 'x'?", or a list of all known names.

    Args:
        name: The unknown name.
        known: The existing names.
        section: Start of the existing names in the hint, such as "compress."; not compared.
    """
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{section}{close[0]}'?"
    return f"choose from {', '.join(section + other for other in sorted(known))}"


# ---- which key of a TOML file is wrong, where it was set, and how to correct it ------------------


def fault_keys(fault: ErrorDetails, values: Any) -> list[str]:
    """Return the path of the key that a fault is about, as far as it exists in the settings.

    The entries of a list are numbered from 1: the source language of the second `[[data.others]]`
    is ["data", "others", "2", "source_language"].
    """
    keys = []
    for part in fault["loc"]:
        if isinstance(values, Mapping) and part in values:
            keys.append(str(part))
            values = values[part]
        elif isinstance(values, list) and isinstance(part, int):
            keys.append(str(part + 1))
            values = values[part]
    return keys


def fault_place(keys: Sequence[str], text: str, name: str, overrides: Sequence[str]) -> str:
    """Return where a key was set: by --set, or in a line of the file.

    Args:
        keys: The path of the key.
        text: The file.
        name: Its name.
        overrides: The arguments of --set.
    """
    key = ".".join(keys)
    given = [override.partition("=")[0].strip() for override in overrides]
    if any(f"{key}.".startswith(f"{each}.") or each.startswith(f"{key}.") for each in given):
        return "--set"
    line = next(_lines_of(keys, text), None)
    return f"{name}, line {line}" if line else name


def _lines_of(keys: Sequence[str], text: str) -> Iterator[int]:
    """Yield the numbers of the lines that set a key or its group, or that begin its section."""
    section, entries = list[str](), Counter[str]()
    for number, line in enumerate(text.split("\n"), start=1):
        if header := re.match(r"\s*(\[\[?)([\w.]+)\]", line):
            if header[1] == "[[":
                entries[header[2]] += 1
            section = _numbered(header[2], entries)
            if section == list(keys):
                yield number
        elif assigned := re.match(r"\s*([\w.]+)\s*=", line):
            path = [*section, *assigned[1].split(".")]
            if path == list(keys[: len(path)]):
                yield number


def _numbered(header: str, entries: Mapping[str, int]) -> list[str]:
    """Return the path of a section, with the numbers of the entries that it belongs to."""
    path, names = list[str](), list[str]()
    for name in header.split("."):
        names.append(name)
        number = entries.get(".".join(names))
        path += [name, str(number)] if number else [name]
    return path


def fault_message(fault: ErrorDetails, keys: Sequence[str]) -> str:
    """Return what is wrong with a value, and the fix."""
    key = ".".join(keys)
    match fault["type"]:
        case "value_error":
            return str(fault["ctx"]["error"])
        case "tuple_type" if isinstance(fault["input"], Mapping):
            return f"{key} is a list of groups of keys: write [[{key}]]"
        case "model_type" if keys[-1].isdigit():
            groups = ".".join(keys[:-1])
            return f"{groups} is a list of groups of keys: write [[{groups}]]"
        case "model_type":
            return f"{key} = {fault['input']!r} is a group of keys: write {key}.KEY = VALUE"
    message = fault["msg"][0].lower() + fault["msg"][1:].replace("tuple", "list")
    return f"{key} = {fault['input']!r}: {message}"


# ---- names of factories --------------------------------------------------------------------------

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
            raise RecipeError(f"there is no {self.kind} '{name}': {did_you_mean(name, list(self))}")
        return self._factories[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._factories)
