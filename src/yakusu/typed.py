"""Values of declared types: what a configuration accepts, and what is wrong with other values.

The types:

    bool  int  float  str  Any  None  Literal["a", "b"]  A | B  Annotated[T, setting(ge=1)]
    tuple[T, ...]  tuple[A, B]  list[T]  Mapping[str, T]  a Config

No value is converted, except integers to floats, lists to tuples, and mappings to configurations.
"""

import operator
from collections.abc import Callable, Mapping
from math import isfinite
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

REQUIRED: Any = ...  # the default of a field without one
_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string"}
_BOUNDS: Mapping[str, tuple[Callable[[Any, Any], Any], str]] = {
    "multiple_of": (lambda value, factor: value % factor == 0, "a multiple of"),
    "le": (operator.le, "less than or equal to"),
    "lt": (operator.lt, "less than"),
    "ge": (operator.ge, "greater than or equal to"),
    "gt": (operator.gt, "greater than"),
}


class ValidationError(ValueError):
    """A value is not valid.

    Attributes:
        why: What is wrong with it.
        value: The value.
        kind: "unknown": no field has this key; "group": the value must be a group of keys; "list":
            it must be a list; "refused": a rule or a requirement rejects it, and `why` is a
            complete message; "": any other fault.
        path: Its keys, such as ("model", "d_ff"); the entries of lists are numbered from 0.
    """

    def __init__(
        self,
        why: str,
        value: Any = None,
        kind: Literal["unknown", "group", "list", "refused", ""] = "",
        *,
        path: tuple[str | int, ...] = (),
    ) -> None:
        super().__init__(f"{'.'.join(map(str, path))}: {why}" if path else why)
        self.why, self.value, self.kind, self.path = why, value, kind, path

    def within(self, key: str | int) -> "ValidationError":
        """The error, of a value that is part of another one."""
        return ValidationError(self.why, self.value, self.kind, path=(key, *self.path))


class Rule(NamedTuple):
    """What a field accepts besides its type; see `setting`."""

    default: Any
    bounds: tuple[tuple[str, float], ...]
    min_length: int
    first: Callable[[Any], Any] | None
    then: Callable[[Any], Any] | None


def setting(
    default: Any = REQUIRED,
    *,
    min_length: int = 0,
    first: Callable[[Any], Any] | None = None,
    then: Callable[[Any], Any] | None = None,
    **bounds: float,
) -> Any:
    """What a field of a configuration accepts besides its type.

    Args:
        default: Its value if none is given.
        min_length: The smallest number of items or characters.
        first: Changes a value before it is checked.
        then: Changes a value after it was checked; may raise a ValueError with a complete message.
        bounds: ge, gt, le, lt and multiple_of, for values that are not None.
    """
    assert bounds.keys() <= _BOUNDS.keys()
    return Rule(default, tuple(bounds.items()), min_length, first, then)


def of_type(value: Any, kind: Any) -> Any:
    """Return a value if it has a type.

    Raises:
        ValidationError: It does not.
    """
    arguments = get_args(kind)
    match get_origin(kind):
        case None:
            return _plain(value, kind)
        case origin if origin is Annotated:
            return by_rule(value, arguments[0], arguments[1])
        case origin if origin in (Union, UnionType):
            return _of_one(value, arguments)
        case origin if origin is Literal:
            if any(value == each and type(value) is type(each) for each in arguments):
                return value
            *others, last = map(repr, arguments)
            choice = f"{', '.join(others)} or {last}" if others else last
            raise ValidationError(f"Input should be {choice}", value)
        case origin if origin in (tuple, list):
            return origin(_items(value, arguments))
        case _:
            return _entries(value, arguments[1])


def _plain(value: Any, kind: Any) -> Any:
    if kind is Any:
        return value
    if validate := getattr(kind, "model_validate", None):  # a configuration
        return validate(value)
    if kind is float and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise ValidationError("Input should be a finite number", value) from None
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        name = f"a valid {_NAMES[kind]}" if kind in _NAMES else f"an instance of {kind.__name__}"
        raise ValidationError(f"Input should be {name}", value)
    if kind is float and not isfinite(value):
        raise ValidationError("Input should be a finite number", value)
    if kind is str and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValidationError("Input should be valid Unicode", value) from None
    return value


def by_rule(value: Any, kind: Any, rule: Rule) -> Any:
    """Return a value that has a type and is accepted by a rule, which may change it.

    Raises:
        ValidationError: It is not valid.
    """
    if rule.first:
        value = applied(rule.first, value)
    given, value = value, of_type(value, kind)
    for name, bound in rule.bounds:
        holds, words = _BOUNDS[name]
        if value is not None and not holds(value, bound):
            raise ValidationError(f"Input should be {words} {bound}", given)
    if rule.min_length and value is not None and len(value) < rule.min_length:
        unit = "character" if isinstance(value, str) else "item"
        length = f"{rule.min_length} {unit}{'s' * (rule.min_length > 1)}"
        raise ValidationError(f"Input should have at least {length}", value)
    return applied(rule.then, value) if rule.then else value


def applied(rule: Callable[[Any], Any], value: Any) -> Any:
    """Call a function whose errors name the settings that are wrong, and the fix.

    Raises:
        ValidationError: It raises a ValueError.
    """
    try:
        return rule(value)
    except ValidationError:
        raise
    except ValueError as error:
        raise ValidationError(str(error), value, "refused") from error


def _of_one(value: Any, kinds: tuple[Any, ...]) -> Any:
    """Check a value by the first type that accepts it; the error is that of the first type."""
    if value is None and NoneType in kinds:
        return None
    errors = list[ValidationError]()
    for kind in kinds:
        if kind is not NoneType:
            try:
                return of_type(value, kind)
            except ValidationError as error:
                errors.append(error)
    raise errors[0]


def _items(value: Any, kinds: tuple[Any, ...]) -> list[Any]:
    """The items of a list or a tuple, of one type or each of its own."""
    if not isinstance(value, list | tuple):
        raise ValidationError("Input should be a valid list", value, "list")
    if len(kinds) == 1 or kinds[-1] is ...:
        kinds = (kinds[0],) * len(value)
    if len(kinds) != len(value):
        raise ValidationError(f"Input should have {len(kinds)} items", value)
    return [_part(item, kind, i) for i, (item, kind) in enumerate(zip(value, kinds, strict=True))]


def _entries(value: Any, kind: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValidationError("Input should be a valid dictionary", value)
    return {_part(key, str, key): _part(item, kind, key) for key, item in value.items()}


def _part(value: Any, kind: Any, key: str | int) -> Any:
    try:
        return of_type(value, kind)
    except ValidationError as error:
        raise error.within(key) from error.__cause__
