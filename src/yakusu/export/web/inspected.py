"""What a bundle asks about functions and classes of Python."""

import ast
import dataclasses
import importlib
import inspect
import textwrap
from collections.abc import Hashable
from functools import cache
from types import FunctionType
from typing import Any

from yakusu.config import Config
from yakusu.errors import ModelError
from yakusu.typed import REQUIRED


class ScriptCode(str):
    """An expression of JavaScript."""


NO_DEFAULT = object()
_TRANSLATED = frozenset(("yakusu", "markdown_it", "mdit_py_plugins"))


def qualified_name(thing: Any) -> str:
    thing = inspect.unwrap(thing) if callable(thing) else thing
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    return f"{module}.{name}" if module and name else ""


def is_own_code(thing: Any) -> bool:
    """Whether a function or class is translated: it is one of ours, or of the Markdown parser."""
    package = str(getattr(thing, "__module__", "")).partition(".")[0]
    return package in _TRANSLATED and callable(thing)


def identity(thing: Any) -> Hashable:
    """What is equal for functions that are translated equally, such as two calls of one maker."""
    if not isinstance(thing, FunctionType) or not thing.__closure__:
        return thing if isinstance(thing, bool | int | str) else id(thing)
    cells = (cell.cell_contents for cell in thing.__closure__)
    return thing.__code__, *(identity(own) for own in cells if own is not thing)


def is_generated(kind: type, function: FunctionType) -> bool:
    """Whether a method was made by a decorator of the class, such as dataclass."""
    return function.__code__.co_filename == "<string>" or function.__module__ != kind.__module__


@cache
def method_names(kind: type) -> frozenset[str]:
    every = (item for base in kind.__mro__ for item in vars(base).items())
    return frozenset(name for name, value in every if isinstance(value, FunctionType))


def record_fields(kind: type) -> list[tuple[str, Any]] | None:
    """The fields of a record, with their defaults."""
    if dataclasses.is_dataclass(kind):
        return [(each.name, _default(each)) for each in dataclasses.fields(kind) if each.init]
    if issubclass(kind, Config):
        fields = kind.model_fields().items()
        return [
            (name, NO_DEFAULT if own.default is REQUIRED else own.default) for name, own in fields
        ]
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        defaults = kind._field_defaults  # type: ignore[attr-defined]
        return [(name, defaults.get(name, NO_DEFAULT)) for name in kind._fields]
    return None


def _default(item: "dataclasses.Field[Any]") -> Any:
    if item.default is not dataclasses.MISSING:
        return item.default
    if item.default_factory is dataclasses.MISSING:
        return NO_DEFAULT
    return ScriptCode(f"$.{getattr(item.default_factory, '__name__', '')}()")


def parameter_names(thing: Any) -> list[str]:
    """The names of parameters in the order of the translation, without self."""
    if inspect.isclass(thing):
        fields = record_fields(thing)
        if fields is not None:
            return [name for name, _ in fields]
        return parameter_names(thing.__init__)
    function = (
        thing.__func__ if isinstance(thing, classmethod | staticmethod) else inspect.unwrap(thing)
    )
    names = list(inspect.signature(function).parameters)
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


@cache
def syntax_tree(function: FunctionType) -> ast.FunctionDef:
    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if not isinstance(node, ast.FunctionDef):
        raise ModelError(f"no translation for {qualified_name(function)}: it is not a function")
    return node


def imported_inside(function: FunctionType, name: str) -> Any:
    """What a function imports under a name, when it is called."""
    module, attribute = _imports(inspect.unwrap(function)).get(name, ("", ""))
    if not module:
        return None
    found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found


@cache
def _imports(function: FunctionType) -> dict[str, tuple[str, str]]:
    """The names that a function imports: the module of each, and its name there."""
    made: dict[str, tuple[str, str]] = {}
    for node in ast.walk(syntax_tree(function)):
        if isinstance(node, ast.Import):
            made |= {each.asname or each.name: (each.name, "") for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            made |= {each.asname or each.name: (node.module, each.name) for each in node.names}
    return made
