"""Configurations: their base class, overrides, messages about their keys, and registries.

A configuration is a frozen group of settings that rejects unknown keys. A registry maps names to
factories: models, metrics and tasks register themselves.
"""

import difflib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import (
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
    dataclass_transform,
    get_origin,
    get_type_hints,
)

from yakusu.errors import RecipeError
from yakusu.typed import REQUIRED, Rule, ValidationError, applied, by_rule, of_type

_LONGEST_TOML = 250_000  # characters
_MOST_DOTS = 500  # in a line
_SHORT_NUMBER = re.compile(r"[+-]?(?:\.[0-9]+|[0-9]+\.)")  # TOML wants digits on both sides


class ConfigField(NamedTuple):
    """A field of a configuration.

    Attributes:
        kind: Its type.
        default: Its value if none is given; REQUIRED: it must be given.
        rule: What it accepts besides its type.
    """

    kind: Any
    default: Any
    rule: Rule | None

    def checked(self, value: Any) -> Any:
        """Return a value that the field accepts.

        Raises:
            ValidationError: It does not accept the value.
        """
        return by_rule(value, self.kind, self.rule) if self.rule else of_type(value, self.kind)


def requirement(rule: Callable[[Any], None]) -> Callable[[Any], None]:
    """Let a method of a configuration raise a ValueError if its values contradict each other."""
    rule.is_requirement = True  # type: ignore[attr-defined]
    return rule


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Config:
    """Frozen group of settings; unknown keys and values of the wrong type are errors.

    Its methods have the names of pydantic's, which is too slow to load for a command line
    (docs/decisions/0062).

    Raises:
        ValidationError: A value is not valid.
    """

    ignores_unknown: ClassVar[bool] = False
    _checks: ClassVar[tuple[Callable[[Any], None], ...]] = ()
    model_fields_set: ClassVar[frozenset[str]]  # of an instance: the fields that were given

    @classmethod
    @cache
    def model_fields(cls) -> Mapping[str, ConfigField]:
        """The fields by name, in the order of their declaration."""
        found = {}
        for name, kind in get_type_hints(cls, include_extras=True).items():
            if get_origin(kind) is not ClassVar:
                default = getattr(cls, name, REQUIRED)
                rule = default if isinstance(default, Rule) else None
                found[name] = ConfigField(kind, rule.default if rule else default, rule)
        return found

    def __init_subclass__(cls) -> None:
        own = (each for each in vars(cls).values() if getattr(each, "is_requirement", False))
        cls._checks = (*cls._checks, *own)

    def __init__(self, **values: Any) -> None:
        self._fill(applied(self._prepared, values))

    @classmethod
    def _prepared(cls, values: Any) -> Any:
        """Change what is validated, such as keys of earlier versions."""
        return values

    def _fill(self, values: Mapping[str, Any]) -> None:
        fields = self.model_fields()
        for name, field in fields.items():
            value = field.default
            try:
                if name in values:
                    value = field.checked(values[name])
                elif value is REQUIRED:
                    raise ValidationError("Field required", values)
            except ValidationError as error:
                raise error.within(name) from error.__cause__
            self.__dict__[name] = value
        for key in () if self.ignores_unknown else values:
            if key not in fields:
                why = "Extra inputs are not permitted"
                raise ValidationError(why, values[key], "unknown", path=(key,))
        self.__dict__["model_fields_set"] = frozenset(fields.keys() & values.keys())
        for rule in self._checks:
            applied(rule, self)

    @classmethod
    def model_validate(cls, values: Any) -> Self:
        """Return the configuration with the values of a mapping; one of this class is unchanged."""
        values = applied(cls._prepared, values)
        if isinstance(values, cls):
            return values
        if not isinstance(values, Mapping):
            why = f"Input should be a valid dictionary or instance of {cls.__name__}"
            raise ValidationError(why, values, "group")
        config = cls.__new__(cls)
        config._fill(values)
        return config

    @classmethod
    def model_validate_json(cls, text: str | bytes) -> Self:
        """Return the configuration with the values of an object in JSON."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValidationError(f"Invalid JSON: {error}", text) from error
        return cls.model_validate(values)

    @classmethod
    def model_construct(cls, **values: Any) -> Self:
        """Return a configuration with values that are not checked."""
        config = cls.__new__(cls)
        defaults = {name: field.default for name, field in cls.model_fields().items()}
        config.__dict__.update(defaults | values, model_fields_set=frozenset(values))
        return config

    def model_copy(self, *, update: Mapping[str, Any] = MappingProxyType({})) -> Self:
        """Return a copy with other values, which are not checked."""
        copy = self.model_construct(**dict(iter(self)) | dict(update))
        copy.__dict__["model_fields_set"] = self.model_fields_set | update.keys()
        return copy

    def model_dump(
        self,
        *,
        mode: Literal["python", "json"] = "python",
        exclude: Collection[str] = (),
        exclude_none: bool = False,
        exclude_unset: bool = False,
    ) -> Any:
        """Return the values by name; those that are configurations become dictionaries, too.

        Args:
            mode: "json": tuples become lists.
            exclude: Fields to leave out.
            exclude_none: Leave out fields that are None, also in configurations within this one.
            exclude_unset: Likewise, leave out fields that were not given.
        """

        def plain(value: Any) -> Any:
            if isinstance(value, Config):
                return value.model_dump(
                    mode=mode, exclude_none=exclude_none, exclude_unset=exclude_unset
                )
            if isinstance(value, Mapping):
                return {key: plain(item) for key, item in value.items()}
            if isinstance(value, tuple | list):
                as_list = mode == "json" or isinstance(value, list)
                return list(map(plain, value)) if as_list else tuple(map(plain, value))
            return value

        return {
            name: plain(value)
            for name, value in self
            if not (
                name in exclude
                or (exclude_none and value is None)
                or (exclude_unset and name not in self.model_fields_set)
            )
        }

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Let a model of pydantic have a configuration as a field."""
        from pydantic_core import core_schema

        def dump(config: Config, info: Any) -> Any:
            return config.model_dump(
                mode=info.mode, exclude_none=info.exclude_none, exclude_unset=info.exclude_unset
            )

        return core_schema.no_info_plain_validator_function(
            cls.model_validate,
            serialization=core_schema.plain_serializer_function_ser_schema(dump, info_arg=True),
        )

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        return ((name, self.__dict__[name]) for name in self.model_fields())

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and dict(iter(self)) == dict(iter(other))

    def __hash__(self) -> int:
        return hash((type(self), *self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self)})"

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"{type(self).__name__} is frozen: use model_copy(update={{{name!r}: ...}})"
        )


def parsed_toml(text: str) -> dict[str, Any]:
    """Parse the TOML of a user.

    `tomllib` takes time and memory in the square of the parts of a key, such as a.a.a.a.a.

    Raises:
        TOMLDecodeError: It is not valid, too long, or nested too deeply.
    """
    import tomllib

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
    import tomllib

    try:
        value = parsed_toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = float(text) if _SHORT_NUMBER.fullmatch(text) else text  # a bare word is a string
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


def fault_keys(fault: ValidationError, values: Any) -> list[str]:
    """Return the path of the key that an error is about, as far as it exists in the settings.

    The entries of a list are numbered from 1: the source language of the second `[[data.others]]`
    is ["data", "others", "2", "source_language"].
    """
    keys = []
    for part in fault.path:
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


def fault_message(fault: ValidationError, keys: Sequence[str]) -> str:
    """Return what is wrong with a value, and the fix."""
    key, value = ".".join(keys), fault.value
    if fault.kind == "refused":
        return fault.why
    if fault.kind == "list" and isinstance(value, Mapping):
        return f"{key} is a list of groups of keys: write [[{key}]]"
    if fault.kind == "group" and keys[-1].isdigit():
        groups = ".".join(keys[:-1])
        return f"{groups} is a list of groups of keys: write [[{groups}]]"
    if fault.kind == "group":
        return f"{key} = {value!r} is a group of keys: write {key}.KEY = VALUE"
    return f"{key} = {value!r}: {fault.why[0].lower()}{fault.why[1:]}"


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
