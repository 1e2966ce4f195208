"""The functions, classes and constants of Python that a script needs, in JavaScript.

A bundle begins with a few functions and follows what they read: other functions, classes, and
constants, which are written as the values that they have. Of a class it takes the methods that
something reads.
"""

import ast
import builtins
import dataclasses
import enum
import functools
import importlib
import inspect
import logging
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any

import regex

from yakusu import lazy
from yakusu.config import Config
from yakusu.errors import ModelError
from yakusu.export.web.characters import case_changes, character_sets, zeros
from yakusu.export.web.javascript import Transpiler
from yakusu.export.web.patterns import Ranges, as_javascript
from yakusu.export.web.sets import compact
from yakusu.export.web.syntax import literal
from yakusu.typed import REQUIRED

_PATTERNS = (re.Pattern, regex.Pattern, lazy._Lazy)
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
_BUILT_IN = frozenset(
    (
        *("__getitem__", "append", "add", "capitalize", "casefold", "clear", "copy", "count"),
        *("decode", "difference", "discard", "encode", "end", "endswith", "extend", "find"),
        *("findall", "finditer", "fullmatch", "get", "group", "groups", "index"),
        *("insert", "intersection", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit"),
        *("isdisjoint", "islower", "isnumeric", "isspace", "issubset", "issuperset", "isupper"),
        *("items", "join", "keys", "lower", "lstrip", "match", "most_common", "partition"),
        *("pop", "popleft", "remove", "removeprefix", "removesuffix", "replace", "rfind"),
        *("rstrip", "search", "setdefault", "sort", "span", "split", "splitlines", "start"),
        *("startswith", "strip", "sub", "title", "translate", "union", "update", "upper"),
        *("values"),
    )
)
_HELD = frozenset(
    (
        *("Engine", "Model", "Segmenter", "Session", "WebDecoder", "WebSearches"),
        *("openTranslator", "SETTINGS", "MODELS"),
    )
)
_SPECIAL = frozenset(
    (
        *("__init__", "__len__", "__iter__", "__contains__", "__getitem__", "__call__"),
        *("__post_init__", "__bool__", "__str__"),
    )
)


@dataclass
class Bundle:
    """Collects the definitions that a script needs.

    Args:
        replaced: JavaScript names for functions and classes that are written by hand, by their
            qualified names, such as "yakusu.data.lines.sentences.split".
        omitted: Qualified names of methods that are never called.
        tabulated: Arguments of functions whose results are written as a table, such as what is
            known of a language.
        compiled: Regular expressions that are compiled while the script runs.
        by_hand: Classes and protocols that the script implements by hand, for calls of their
            methods.
    """

    replaced: Mapping[str, str]
    omitted: Set[str] = frozenset()
    tabulated: Mapping[str, Sequence[tuple[Any, ...]]] = field(default_factory=dict)
    compiled: Sequence[Any] = ()
    by_hand: Sequence[type] = ()
    _names: dict[int, str] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)
    _kept: list[object] = field(default_factory=list)  # so that no id is used twice
    _definitions: dict[str, str] = field(default_factory=dict)
    classes: dict[str, type] = field(default_factory=dict)
    _methods: dict[tuple[str, str], str] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)
    _waiting: dict[str, Any] = field(default_factory=dict)  # functions
    _sets: dict[Ranges, int] = field(default_factory=dict)
    _constants_by_value: dict[str, str] = field(default_factory=dict)
    _constants: dict[tuple[str, str], str] = field(default_factory=dict)

    def reference(self, thing: Any, name: str = "", module: str = "") -> str:
        """The JavaScript name of a function or class, or the expression of a value.

        Args:
            thing: What is used.
            name: The name of a constant, and
            module: the module that it is a constant of.
        """
        qualified = _qualified(thing) or f"{module}.{name}"
        if qualified in self.replaced:
            return self.replaced[qualified]
        if (
            inspect.isclass(thing)
            or isinstance(thing, FunctionType)
            or hasattr(thing, "__wrapped__")
        ):
            return self._defined(thing)
        if not name or _is_small(thing):
            return self.value(thing)
        return self._constant(thing, name, module)

    def read(self, *names: str) -> None:
        """Say that the script by hand reads attributes of these names."""
        self.attributes.update(names)

    def source(self) -> str:
        """All definitions, in an order in which they can be evaluated."""
        known = ", ".join(f"[{literal(p.pattern)}, {self.pattern(p)}]" for p in self.compiled)
        size = -1
        while size != (size := len(self.classes)):  # a default of a field may need a class
            self._settle()
            classes = [self._class(name, kind) for name, kind in _bases_first(self.classes)]
        lines = [self._characters(), f"$.known([{known}]);", *classes, *self._definitions.values()]
        tables = literal(compact(self._sets))
        return "\n".join([f"$.sets({tables});", *lines])

    def _characters(self) -> str:
        sets = {name: self._set(ranges) for name, ranges in character_sets().items()}
        classes = ", ".join(f"{name}: {number}" for name, number in sets.items())
        folds = literal(case_changes(str.casefold, str.lower))
        titles = literal(case_changes(str.title, str.upper))
        return (
            f"$.install({{classes: {{{classes}}}, folds: {folds}, titles: {titles}, "
            f"zeros: {list(zeros())}}});"
        )

    def _set(self, ranges: Ranges) -> int:
        return self._sets.setdefault(ranges, len(self._sets))

    # ---- names ---------------------------------------------------------------------------------

    def _new_name(self, wanted: str) -> str:
        name, number = wanted if len(wanted) > 2 else f"{wanted}$0", 1  # as local names are
        while name in self._taken or name in self.replaced.values() or name in _HELD:
            number += 1
            name = f"{wanted}${number}"
        self._taken.add(name)
        return name

    def _defined(self, thing: Any) -> str:
        """The name of a function or a class, which is translated once."""
        if id(thing) in self._names:
            return self._names[id(thing)]
        if not _is_ours(thing):
            raise ModelError(f"no translation for {_qualified(thing) or thing!r}")
        name = self._names[id(thing)] = self._new_name(thing.__name__)
        self._kept.append(thing)
        if inspect.isclass(thing):
            self.classes[name] = thing
            for base in thing.__bases__:
                if (
                    _is_ours(base)
                    and base is not Config
                    and not getattr(base, "_is_protocol", False)
                ):
                    self._defined(base)
        else:
            self._waiting[name] = thing
        return name

    def _function(self, name: str, thing: Any) -> str:
        """Translate a function."""
        function = inspect.unwrap(thing)
        if (arguments := self.tabulated.get(_qualified(function))) is not None:
            rows = (f"[{self.value(own)}, {self.value(thing(*own))}]" for own in arguments)
            return f"const {name} = $.table([{', '.join(rows)}]);"
        node = _tree(function)
        meanings = _Names(self, function)
        text = Transpiler(meanings, _qualified(function)).function(node, name)
        if hasattr(thing, "cache_info"):
            text = f"const {name} = $.cache({text});"
        return text

    def _constant(self, thing: Any, name: str, module: str) -> str:
        """The name of a constant."""
        if (module, name) not in self._constants:
            own = self._constants[module, name] = self._new_name(name)
            made = self._made(thing, name, module)
            self._definitions[f"const {own}"] = f"const {own} = {made};"
        return self._constants[module, name]

    def _made(self, thing: Any, name: str, module: str) -> str:
        """The value of a constant; that of an object is the expression that makes it."""
        plain = (tuple, Config, *_PATTERNS)
        if not _is_ours(type(thing)) or dataclasses.is_dataclass(thing) or isinstance(thing, plain):
            return self.value(thing)
        scope = sys.modules[module]
        for node in ast.parse(inspect.getsource(scope)).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
                return Transpiler(_Names(self, scope), module).value(node.value)
        return self.value(thing)

    def named_pattern(self, made: str) -> str:
        """The name of a regular expression that has none."""
        if made not in self._constants_by_value:
            name = self._constants_by_value[made] = self._new_name("PATTERN")
            self._definitions[f"const {name}"] = f"const {name} = {made};"
        return self._constants_by_value[made]

    # ---- classes -------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Translate everything that is read, until nothing new is.

        A call may name parameters of a method whose class is found later, so what has no
        translation is tried again.
        """
        faults, size = dict[str, ModelError](), -1
        while size != (size := len(self._definitions) + len(self._methods) + len(self.classes)):
            faults.clear()
            waiting, self._waiting = self._waiting, {}
            for name, thing in waiting.items():
                try:
                    self._definitions[name] = self._function(name, thing)
                except ModelError as error:
                    where = ModelError(f"{_qualified(thing)}: {error}")
                    faults[name], self._waiting[name] = where, thing
            for name, kind in list(self.classes.items()):
                faults |= self._add_methods(name, kind)
        if faults:
            raise ModelError("; ".join(map(str, faults.values())))

    def _add_methods(self, name: str, kind: type) -> dict[str, ModelError]:
        """Translate the methods of a class that are read; return why others have no translation."""
        faults = {}
        for method, value in vars(kind).items():
            needed = method in self.attributes or method in _SPECIAL
            qualified = f"{_qualified(kind)}.{method}"
            needed &= not isinstance(value, MemberDescriptorType)  # a slot
            if needed and (name, method) not in self._methods and qualified not in self.omitted:
                try:
                    self._methods[name, method] = self._method(kind, method, value)
                except ModelError as error:
                    faults[qualified] = error
        return faults

    def _method(self, kind: type, name: str, value: Any) -> str:
        head, instance = "method", True
        if isinstance(value, staticmethod | classmethod):
            head, instance, value = "static", False, value.__func__
        elif isinstance(value, functools.cached_property):
            return f'static {{ $.cached(this, "{name}", {self._getter(kind, value.func)}); }}'
        elif isinstance(value, property):
            head, value = "get", value.fget
        if not isinstance(value, FunctionType) or _is_generated(kind, value):
            if name in dict(_fields(kind) or ()) or name in _SPECIAL or callable(value):
                return ""
            return f"static {{ this.prototype.{name} = {self.value(value)}; }}"
        node, meanings = _tree(value), _Names(self, value, kind)
        if head == "static" and isinstance(vars(kind)[name], classmethod):
            text = Transpiler(meanings, _qualified(value)).function(node, name, head="static")
            return text.replace("{", "{const cls = this;", 1) if "cls" in text else text
        return Transpiler(meanings, _qualified(value)).function(
            node, name, head=head, instance=instance
        )

    def _getter(self, kind: type, function: Any) -> str:
        transpiler = Transpiler(_Names(self, function, kind), _qualified(function))
        return transpiler.function(_tree(function), "", instance=True)

    def _class(self, name: str, kind: type) -> str:
        bases = [self._names[id(base)] for base in kind.__bases__ if id(base) in self._names]
        bases += ["$.Config"] if Config in kind.__bases__ else []
        if issubclass(kind, Exception) and not bases:
            bases = ["Error"]
        methods = [text for (own, _), text in self._methods.items() if own == name]
        fields = _fields(kind)
        made = ""
        if fields is not None:
            parameters = ", ".join(self._field(each) for each in fields)
            stored = "".join(f"this.{each} = {each}; " for each, _ in fields)
            after = "this.__post_init__?.();" if hasattr(kind, "__post_init__") else ""
            call = "super();" if bases else ""
            made = f"constructor({parameters}) {{{call} {stored}{after}}}\n"
            listed = literal(",".join(each for each, _ in fields))
            methods.append(
                f"static {{ $.record(this, {listed}, {literal(issubclass(kind, tuple))}); }}"
            )
        elif (name, "__init__") in self._methods:
            call = "super(...given);" if bases else ""
            made = f"constructor(...given) {{{call} this.__init__(...given);}}\n"
        extends = f" extends {bases[0]}" if bases else ""
        return f"class {name}{extends} {{\n{made}{chr(10).join(methods)}\n}}"

    def _field(self, item: tuple[str, Any]) -> str:
        name, default = item
        if default is _REQUIRED:
            return name
        return f"{name} = {default if isinstance(default, _Code) else self.value(default)}"

    # ---- values --------------------------------------------------------------------------------

    def value(self, thing: Any) -> str:
        """The expression of a value.

        Raises:
            ModelError: There is none.
        """
        if isinstance(thing, _PATTERNS):
            return self.pattern(thing)
        if isinstance(thing, logging.Logger):
            return "$.logger"
        if isinstance(thing, enum.Enum):
            return self.value(thing.value)
        if (dataclasses.is_dataclass(thing) or isinstance(thing, Config)) and not inspect.isclass(
            thing
        ):
            given = [getattr(thing, name) for name, _ in _fields(type(thing)) or ()]
            return f"new {self._defined(type(thing))}({', '.join(map(self.value, given))})"
        if isinstance(thing, tuple) and hasattr(thing, "_fields"):
            return f"new {self._defined(type(thing))}({', '.join(map(self.value, thing))})"
        if isinstance(thing, tuple | list):
            return f"[{', '.join(map(self.value, thing))}]"
        if isinstance(thing, Mapping):
            pairs = ", ".join(f"[{self.value(k)}, {self.value(v)}]" for k, v in thing.items())
            return f"$.dict([{pairs}])"
        if isinstance(thing, Set):
            listed = sorted(thing, key=str)
            if listed and all(isinstance(each, str) and len(each) == 1 for each in listed):
                return f"$.set({literal(''.join(listed))})"
            return f"$.set([{', '.join(map(self.value, listed))}])"
        if isinstance(thing, Fraction):
            return f"$.Fraction({thing.numerator}, {thing.denominator})"
        if isinstance(thing, functools.partial):
            parts = (self.reference(thing.func), *map(self.value, thing.args))
            return f"$.partial({', '.join(parts)})"
        if _is_ours(type(thing)):
            own = ", ".join(f"{name}: {self.value(value)}" for name, value in vars(thing).items())
            return f"$.object({self._defined(type(thing))}, {{{own}}})"
        if inspect.isclass(thing) or callable(thing):
            return self.reference(thing) if _is_ours(thing) else _Names(self, None).library(thing)
        return literal(thing)

    def pattern(self, pattern: Any) -> str:
        """The expression of a regular expression; one for bytes, of a file, is one for its text."""
        if isinstance(pattern, re.Pattern) and isinstance(pattern.pattern, bytes):
            pattern = re.compile(pattern.pattern.decode("latin-1"), pattern.flags)
        script = as_javascript(pattern)
        parts = ", ".join(
            literal(part) if isinstance(part, str) else str(self._set(part))
            for part in script.parts
        )
        groups = [own[0] if len(own) == 1 else list(own) for own in script.groups]
        plain = groups == list(range(1, len(groups) + 1)) and not script.names
        names = ", ".join(f"{name}: {number}" for name, number in script.names.items())
        more = ([str(len(groups))] if groups else []) if plain else [str(groups), f"{{{names}}}"]
        return f"$.re({', '.join([f'[{parts}]', *more])})"


class _Code(str):
    """An expression of JavaScript."""


_REQUIRED = object()


@dataclass
class _Names:
    """What the names of a function mean in a bundle."""

    bundle: Bundle
    function: FunctionType | ModuleType | None
    kind: type | None = None

    def _found(self, name: str) -> Any:
        if not isinstance(self.function, FunctionType):
            return getattr(self.function, name, None) or getattr(builtins, name)
        closure = (
            inspect.getclosurevars(self.function).nonlocals if self.function.__closure__ else {}
        )
        if name in closure and name != "__class__":
            return closure[name]
        scope = self.function.__globals__
        if name in scope:
            return scope[name]
        if (imported := _imported_inside(self.function, name)) is not None:
            return imported
        return getattr(builtins, name)

    def name(self, name: str) -> str:
        found = self._found(name)
        if name in _TYPES and getattr(builtins, name, None) is found:
            return f"$.{name}"
        if inspect.ismodule(found):
            raise ModelError(f"no translation for the module {name}")
        if _library_of(found):
            return self.library(found)
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
        if isinstance(found, _PATTERNS) and name == "pattern":
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
            return _parameters(self.kind)
        if isinstance(function, ast.Name):
            try:
                found = self._found(function.id)
            except AttributeError:
                return self._stated(function.id)
            return _parameters(found) if _is_ours(found) else None
        assert isinstance(function, ast.Attribute)
        if isinstance(function.value, ast.Name):
            try:
                found = self._found(function.value.id)
            except AttributeError:
                found = None
            if isinstance(found, ModuleType) and _is_ours(getattr(found, function.attr)):
                return _parameters(getattr(found, function.attr))
        every = {
            tuple(_parameters(value))
            for kind in (*self.bundle.by_hand, *self.bundle.classes.values())
            for value in (inspect.getattr_static(kind, function.attr, None),)
            if isinstance(value, FunctionType | classmethod | staticmethod)
            and _qualified(value) not in self.bundle.omitted
        }
        fitting = [own for own in every if named <= {*own}]
        places = {tuple(own.index(name) for name in sorted(named)) for own in fitting}
        return max(fitting, key=len) if len(places) == 1 else None

    def _stated(self, name: str) -> Sequence[str] | None:
        """The parameters of a function that is given, if its type is a protocol."""
        call = vars(getattr(self.function, "__annotations__", {}).get(name, object)).get("__call__")
        return _parameters(call) if isinstance(call, FunctionType) else None

    def is_class(self, name: str) -> bool:
        found = self._found(name)
        return inspect.isclass(found) and (_is_ours(found) or issubclass(found, Exception))

    def is_method(self, name: str) -> bool:
        if name in _BUILT_IN:
            return True
        kinds = (*self.bundle.classes.values(), *self.bundle.by_hand)
        return any(name in _method_names(kind) for kind in kinds)

    def uses(self, name: str) -> None:
        self.bundle.attributes.add(name)


def _qualified(thing: Any) -> str:
    thing = inspect.unwrap(thing) if callable(thing) else thing
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    return f"{module}.{name}" if module and name else ""


def _is_ours(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).startswith("yakusu.") and callable(thing)


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


def _is_small(thing: object) -> bool:
    if isinstance(thing, str):
        return len(thing) <= 3
    return thing is None or isinstance(thing, bool | int | float)


def _is_generated(kind: type, function: FunctionType) -> bool:
    """Whether a method was made by a decorator of the class, such as dataclass."""
    return function.__code__.co_filename == "<string>" or function.__module__ != kind.__module__


@functools.cache
def _method_names(kind: type) -> frozenset[str]:
    every = (item for base in kind.__mro__ for item in vars(base).items())
    return frozenset(name for name, value in every if isinstance(value, FunctionType))


def _fields(kind: type) -> list[tuple[str, Any]] | None:
    """The fields of a record, with their defaults."""
    if dataclasses.is_dataclass(kind):
        return [(each.name, _default(each)) for each in dataclasses.fields(kind) if each.init]
    if issubclass(kind, Config):
        fields = kind.model_fields().items()
        return [
            (name, _REQUIRED if own.default is REQUIRED else own.default) for name, own in fields
        ]
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        defaults = kind._field_defaults  # type: ignore[attr-defined]
        return [(name, defaults.get(name, _REQUIRED)) for name in kind._fields]
    return None


def _default(item: "dataclasses.Field[Any]") -> Any:
    if item.default is not dataclasses.MISSING:
        return item.default
    if item.default_factory is dataclasses.MISSING:
        return _REQUIRED
    return _Code(f"$.{getattr(item.default_factory, '__name__', '')}()")


def _parameters(thing: Any) -> list[str]:
    """The names of parameters in the order of the translation, without self."""
    if inspect.isclass(thing):
        fields = _fields(thing)
        if fields is not None:
            return [name for name, _ in fields]
        return _parameters(thing.__init__)
    function = (
        thing.__func__ if isinstance(thing, classmethod | staticmethod) else inspect.unwrap(thing)
    )
    names = list(inspect.signature(function).parameters)
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def _bases_first(classes: Mapping[str, type]) -> Iterator[tuple[str, type]]:
    return iter(sorted(classes.items(), key=lambda item: len(item[1].__mro__)))


@functools.cache
def _tree(function: FunctionType) -> ast.FunctionDef:
    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    if not isinstance(node, ast.FunctionDef):
        raise ModelError(f"no translation for {_qualified(function)}: it is not a function")
    return node


def _imported_inside(function: FunctionType, name: str) -> Any:
    """What a function imports under a name, when it is called."""
    module, attribute = _imports(inspect.unwrap(function)).get(name, ("", ""))
    if not module:
        return None
    found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found


@functools.cache
def _imports(function: FunctionType) -> dict[str, tuple[str, str]]:
    """The names that a function imports: the module of each, and its name there."""
    made: dict[str, tuple[str, str]] = {}
    for node in ast.walk(_tree(function)):
        if isinstance(node, ast.Import):
            made |= {each.asname or each.name: (each.name, "") for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            made |= {each.asname or each.name: (node.module, each.name) for each in node.names}
    return made
