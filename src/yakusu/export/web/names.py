"""What the names of a function mean in a bundle."""

import ast
import builtins
import enum
import functools
import importlib
import inspect
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import regex

from yakusu import lazy
from yakusu.errors import ModelError
from yakusu.export.web.expressions import OF_TEXTS_AND_ARRAYS
from yakusu.export.web.inspected import (
    imported_inside,
    is_own_code,
    method_names,
    parameter_names,
    qualified_name,
)
from yakusu.export.web.syntax import literal

if TYPE_CHECKING:
    from yakusu.export.web.bundle import Bundle

PATTERN_TYPES = (re.Pattern, regex.Pattern, lazy._Lazy)
_LIBRARIES = frozenset(
    (
        *("re", "regex", "math", "itertools", "collections", "functools", "operator", "bisect"),
        *("heapq", "dataclasses", "unicodedata", "copy", "fractions", "contextlib", "decimal"),
    )
)
_TYPES = frozenset(
    (
        *("str", "int", "float", "bool", "list", "dict", "set", "tuple", "frozenset", "bytes"),
        *("object", "deque", "defaultdict", "Counter"),
    )
)
# Methods of values that are not classes of the bundle, and of classes of `runtime.js`
_BUILT_IN = OF_TEXTS_AND_ARRAYS | frozenset(
    (
        *("add", "difference", "discard", "end", "findall", "finditer", "fullmatch", "get"),
        *("group", "groups", "intersection", "isdisjoint", "issubset", "issuperset", "items"),
        *("keys", "match", "most_common", "search", "setdefault", "span", "start", "sub"),
        *("union", "update", "values"),
    )
)


@dataclass
class Names:
    """What the names of a function mean in a bundle."""

    bundle: "Bundle"
    function: FunctionType | ModuleType | None
    kind: type | None = None

    @functools.cached_property
    def _around(self) -> Mapping[str, Any]:
        """The values that a function has from the one in which it was made."""
        if not isinstance(self.function, FunctionType) or not self.function.__closure__:
            return {}
        values = dict(inspect.getclosurevars(self.function).nonlocals)
        values.pop("__class__", None)
        return values

    def _found(self, name: str) -> Any:
        if not isinstance(self.function, FunctionType):
            return getattr(self.function, name, None) or getattr(builtins, name)
        if name in self._around:
            return self._around[name]
        scope = self.function.__globals__
        if name in scope:
            return scope[name]
        if (imported := imported_inside(self.function, name)) is not None:
            return imported
        return getattr(builtins, name)

    def name(self, name: str) -> str:
        found = self._found(name)
        if name in _TYPES and getattr(builtins, name, None) is found:
            return f"$.{name}"
        if inspect.ismodule(found):
            raise ModelError(f"no translation for the module {name}")
        if _library_of(found) and not isinstance(found, functools.partial):
            return self.library(found)
        if name in self._around:
            return self.bundle.value(found)
        return self.bundle.reference(found, name, self._module())

    def _module(self) -> str:
        """The name of the module that names are read in."""
        if isinstance(self.function, ModuleType):
            return self.function.__name__
        return self.function.__module__ if self.function else ""

    def library(self, found: Any) -> str:
        name = "" if isinstance(found, Mapping) else getattr(found, "__name__", "")
        if isinstance(found, functools.partial) or not name:
            raise ModelError(f"no translation for {found!r}")
        owner = getattr(found, "__objclass__", None)
        return f"$.{owner.__name__}.{name}" if owner else f"$.{name}"

    def attribute(self, base: str, name: str) -> str | None:
        try:
            found = self._found(base)
        except AttributeError:
            return None
        if base in _TYPES:
            return f"$.{base}.{name}"
        if isinstance(found, ModuleType):
            if found.__name__.split(".")[0] in _LIBRARIES:
                return _of_library(found, name)
            if by_hand := self.bundle.replaced.get(f"{found.__name__}.{name}"):
                return by_hand
            return self.bundle.reference(getattr(found, name), name, found.__name__)
        if isinstance(found, PATTERN_TYPES) and name == "pattern":
            return literal(found.pattern)
        if inspect.isclass(found) and issubclass(found, enum.Enum):
            return self.bundle.value(getattr(found, name))
        if inspect.isclass(found) and _library_of(found):
            return f"$.{found.__name__}.{name}"
        return None

    def pattern(self, library: str, pattern: ast.expr) -> str:
        """See `Meanings`."""
        scope = getattr(self.function, "__globals__", {})
        text = eval(compile(ast.Expression(pattern), "<pattern>", "eval"), scope)
        made = self.bundle.pattern(importlib.import_module(library).compile(text))
        return self.bundle.named_pattern(made)

    def parameters(self, function: ast.expr, named: Set[str]) -> Sequence[str] | None:
        if isinstance(function, ast.Name) and function.id == "cls" and self.kind:
            return parameter_names(self.kind)
        if isinstance(function, ast.Name):
            try:
                found = self._found(function.id)
            except AttributeError:
                return self._stated(function.id)
            return parameter_names(found) if is_own_code(found) else None
        assert isinstance(function, ast.Attribute)
        if isinstance(function.value, ast.Name):
            try:
                found = self._found(function.value.id)
            except AttributeError:
                found = None
            if isinstance(found, ModuleType) and is_own_code(getattr(found, function.attr)):
                return parameter_names(getattr(found, function.attr))
        every = {
            tuple(parameter_names(value))
            for kind in (*self.bundle.by_hand, *self.bundle.classes.values())
            for value in (inspect.getattr_static(kind, function.attr, None),)
            if isinstance(value, FunctionType | classmethod | staticmethod)
            and qualified_name(value) not in self.bundle.omitted
        }
        fitting = [own for own in every if named <= {*own}]
        places = {tuple(own.index(name) for name in sorted(named)) for own in fitting}
        return max(fitting, key=len) if len(places) == 1 else None

    def _stated(self, name: str) -> Sequence[str] | None:
        """The parameters of a function that is given, if its type is a protocol."""
        call = vars(getattr(self.function, "__annotations__", {}).get(name, object)).get("__call__")
        return parameter_names(call) if isinstance(call, FunctionType) else None

    def is_class(self, name: str) -> bool:
        found = self._found(name)
        return inspect.isclass(found) and (is_own_code(found) or issubclass(found, Exception))

    def is_method(self, name: str) -> bool:
        if name in _BUILT_IN:
            return True
        kinds = (*self.bundle.classes.values(), *self.bundle.by_hand)
        return any(name in method_names(kind) for kind in kinds)

    def uses(self, name: str) -> None:
        self.bundle.attributes.add(name)


def _library_of(thing: Any) -> bool:
    """Whether a function or type is one of Python's."""
    module = str(getattr(thing, "__module__", None) or "")
    known = module.lstrip("_").split(".")[0]
    return callable(thing) and (known in _LIBRARIES | {"builtins", "typing"} or module == "")


def _of_library(module: ModuleType, name: str) -> str:
    value = getattr(module, name)
    if isinstance(value, int | float):
        return literal(value)
    return f"$.{module.__name__}_{name}" if module in (re, regex) else f"$.{name}"
