"""The functions, classes and constants of Python that a script needs, in JavaScript.

A bundle begins with a few functions and follows what they read: other functions, classes, and
constants, which are written as the values that they have. Of a class it takes the methods that
something reads.
"""

import ast
import dataclasses
import enum
import functools
import inspect
import logging
import re
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from types import FunctionType, MemberDescriptorType
from typing import Any

from yakusu.config import Config
from yakusu.errors import ModelError
from yakusu.export.web.characters import case_changes, character_sets, zeros
from yakusu.export.web.inspected import (
    NO_DEFAULT,
    ScriptCode,
    identity,
    is_generated,
    is_own_code,
    parameter_names,
    qualified_name,
    record_fields,
    syntax_tree,
)
from yakusu.export.web.javascript import Transpiler
from yakusu.export.web.names import PATTERN_TYPES, Names
from yakusu.export.web.patterns import Ranges, as_javascript
from yakusu.export.web.sets import compact_sets
from yakusu.export.web.syntax import literal

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
    _names: dict[Hashable, str] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)
    _kept: list[object] = field(default_factory=list)  # so that no id is used twice
    _definitions: dict[str, str] = field(default_factory=dict)
    classes: dict[str, type] = field(default_factory=dict)
    _methods: dict[tuple[str, str], str] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)
    _waiting: dict[str, Any] = field(default_factory=dict)  # functions
    _sets: dict[Ranges, int] = field(default_factory=dict)
    _constants_by_value: dict[str, str] = field(default_factory=dict)
    _constants: dict[Hashable, str] = field(default_factory=dict)

    def reference(self, thing: Any, name: str = "", module: str = "") -> str:
        """The JavaScript name of a function or class, or the expression of a value.

        Args:
            thing: What is used.
            name: The name of a constant, and
            module: the module that it is a constant of.
        """
        qualified = qualified_name(thing) or f"{module}.{name}"
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
        compiled = sorted(self.compiled, key=lambda p: (p.pattern, p.flags))
        known = ", ".join(f"[{literal(p.pattern)}, {self.pattern(p)}]" for p in compiled)
        size = -1
        while size != (size := len(self.classes)):  # a default of a field may need a class
            self._settle()
            classes = [self._class(name, kind) for name, kind in _bases_first(self.classes)]
        lines = [self._characters(), f"$.known([{known}]);", *classes, *self._definitions.values()]
        tables = literal(compact_sets(self._sets))
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
        own = identity(thing)
        if own in self._names:
            return self._names[own]
        if not is_own_code(thing):
            raise ModelError(f"no translation for {qualified_name(thing) or thing!r}")
        name = self._names[own] = self._new_name(thing.__name__)
        self._kept.append(thing)
        if inspect.isclass(thing):
            self.classes[name] = thing
            for base in thing.__bases__:
                if (
                    is_own_code(base)
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
        if (arguments := self.tabulated.get(qualified_name(function))) is not None:
            rows = (f"[{self.value(own)}, {self.value(thing(*own))}]" for own in arguments)
            return f"const {name} = $.table([{', '.join(rows)}]);"
        node = syntax_tree(function)
        meanings = Names(self, function)
        text = Transpiler(meanings, qualified_name(function)).function(node, name)
        if hasattr(thing, "cache_info"):
            text = f"const {name} = $.cache({text});"
        return text

    def _constant(self, thing: Any, name: str, module: str) -> str:
        """The name of a constant."""
        key = id(thing) if isinstance(thing, dict) else (module, name)  # may have several names
        if key not in self._constants:
            made = self._made(thing, name, module)
            own = self._constants[key] = self._new_name(name)
            self._definitions[f"const {own}"] = f"const {own} = {made};"
        return self._constants[key]

    def _made(self, thing: Any, name: str, module: str) -> str:
        """The value of a constant; that of an object is the expression that makes it."""
        plain = (tuple, Config, *PATTERN_TYPES)
        if (
            not is_own_code(type(thing))
            or dataclasses.is_dataclass(thing)
            or isinstance(thing, plain)
        ):
            return self.value(thing)
        scope = sys.modules[module]
        for node in ast.parse(inspect.getsource(scope)).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
                return Transpiler(Names(self, scope), module).value(node.value)
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
                    where = ModelError(f"{qualified_name(thing)}: {error}")
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
            qualified = f"{qualified_name(kind)}.{method}"
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
            getter = self._accessor(kind, name, value.fget)
            return getter + (self._accessor(kind, name, value.fset) if value.fset else "")
        if not isinstance(value, FunctionType) or is_generated(kind, value):
            if name in dict(record_fields(kind) or ()) or name in _SPECIAL or callable(value):
                return ""
            return f"static {{ this.prototype.{name} = {self.value(value)}; }}"
        node, meanings = syntax_tree(value), Names(self, value, kind)
        if head == "static" and isinstance(vars(kind)[name], classmethod):
            text = Transpiler(meanings, qualified_name(value)).function(node, name, head="static")
            return text.replace("{", "{const cls = this;", 1) if "cls" in text else text
        return Transpiler(meanings, qualified_name(value)).function(
            node, name, head=head, instance=instance
        )

    def _accessor(self, kind: type, name: str, function: Any) -> str:
        head = "set" if len(inspect.signature(function).parameters) > 1 else "get"
        transpiler = Transpiler(Names(self, function, kind), qualified_name(function))
        return transpiler.function(syntax_tree(function), name, head=head, instance=True)

    def _getter(self, kind: type, function: Any) -> str:
        transpiler = Transpiler(Names(self, function, kind), qualified_name(function))
        return transpiler.function(syntax_tree(function), "", instance=True)

    def _class(self, name: str, kind: type) -> str:
        known = (self._names.get(identity(base)) for base in kind.__bases__)
        bases = [name for name in known if name]
        bases += ["$.Config"] if Config in kind.__bases__ else []
        if issubclass(kind, Exception) and not bases:
            bases = ["Error"]
        methods = [text for (own, _), text in self._methods.items() if own == name]
        fields = record_fields(kind)
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
        elif (name, "__init__") in self._methods and not self._is_initialised(kind):
            call = "super(...given);" if bases else ""
            made = f"constructor(...given) {{{call} this.__init__(...given);}}\n"
        extends = f" extends {bases[0]}" if bases else ""
        return f"class {name}{extends} {{\n{made}{chr(10).join(methods)}\n}}"

    def _is_initialised(self, kind: type) -> bool:
        """Whether the constructor of a base calls the method of the class."""
        bases = (self._names.get(identity(base)) for base in kind.__mro__[1:])
        return any((base, "__init__") in self._methods for base in bases)

    def _field(self, item: tuple[str, Any]) -> str:
        name, default = item
        if default is NO_DEFAULT:
            return name
        return f"{name} = {default if isinstance(default, ScriptCode) else self.value(default)}"

    # ---- values --------------------------------------------------------------------------------

    def value(self, thing: Any) -> str:
        """The expression of a value.

        Raises:
            ModelError: There is none.
        """
        if isinstance(thing, PATTERN_TYPES):
            return self.pattern(thing)
        if isinstance(thing, logging.Logger):
            return "$.logger"
        if isinstance(thing, enum.Enum):
            return self.value(thing.value)
        if (dataclasses.is_dataclass(thing) or isinstance(thing, Config)) and not inspect.isclass(
            thing
        ):
            given = [getattr(thing, name) for name, _ in record_fields(type(thing)) or ()]
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
            return self._partial(thing)
        if is_own_code(type(thing)):
            own = ", ".join(f"{name}: {self.value(value)}" for name, value in vars(thing).items())
            return f"$.object({self._defined(type(thing))}, {{{own}}})"
        if inspect.isclass(thing) or callable(thing):
            return self.reference(thing) if is_own_code(thing) else Names(self, None).library(thing)
        return literal(thing)

    def _partial(self, thing: "functools.partial[Any]") -> str:
        parts = [self.reference(thing.func), *map(self.value, thing.args)]
        if not thing.keywords:
            return f"$.partial({', '.join(parts)})"
        names = parameter_names(thing.func)
        named = (f"{names.index(k)}: {self.value(v)}" for k, v in thing.keywords.items())
        return f"$.filled({parts[0]}, [{', '.join(parts[1:])}], {{{', '.join(named)}}})"

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


def _is_small(thing: object) -> bool:
    if isinstance(thing, str):
        return len(thing) <= 3
    return thing is None or isinstance(thing, bool | int | float)


def _bases_first(classes: Mapping[str, type]) -> Iterator[tuple[str, type]]:
    return iter(sorted(classes.items(), key=lambda item: len(item[1].__mro__)))
