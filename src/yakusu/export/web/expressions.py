"""Expressions of Python -> expressions of JavaScript.

What an operation of Python means depends on its values; where JavaScript means something else, the
operation is a function of the object `$` (`runtime.js`). What names mean is the bundle's to say.
"""

import ast
from collections.abc import Iterator, Sequence, Set
from string import ascii_lowercase
from typing import Protocol

from yakusu.errors import ModelError
from yakusu.export.web.syntax import (
    all_arguments,
    is_condition,
    is_plain_number,
    is_plain_value,
    is_type_subscript,
    literal,
    names_in,
    unpacked_argument,
)

# Parameters of built-in functions and methods, for calls that name them
_PARAMETERS = {
    "sorted": ("", "key", "reverse"),
    "sort": ("key", "reverse"),
    "sum": ("", "start"),
    "enumerate": ("", "start"),
    "accumulate": ("", "func", "initial"),
    "next": ("", "default"),
    "bisect_left": ("", "", "lo", "hi", "key"),
    "bisect_right": ("", "", "lo", "hi", "key"),
    "split": ("sep", "maxsplit"),
    "rsplit": ("sep", "maxsplit"),
    "splitlines": ("keepends",),
    "groupby": ("", "key"),
    "product": ("", "repeat"),
    "nlargest": ("", "", "key"),
    "sub": ("", "", "count", "", "pos"),
    "lru_cache": ("maxsize",),
    "zip_longest": ("", "", "fillvalue"),
    "model_copy": ("update",),
    "encode": ("encoding", "errors"),
    "decode": ("encoding", "errors"),
    "escape": ("", "quote"),
    "dumps": ("", "ensure_ascii"),
}
_DROPPED = frozenset(("strict", "maxsize", "timeout"))  # keywords that only check or limit
_EXTREMES = frozenset(("min", "max"))
_BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Mod: "mod",
    ast.BitOr: "or",
    ast.BitAnd: "and",
    ast.FloorDiv: "floordiv",
}
_NATIVE = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitXor: "^",
    ast.BitOr: "|",
    ast.BitAnd: "&",
}
_ORDER = {ast.Lt: ("<", "lt"), ast.LtE: ("<=", "le"), ast.Gt: (">", "gt"), ast.GtE: (">=", "ge")}
# Methods that texts or arrays have in `runtime.js`; those of other values are called directly.
OF_TEXTS_AND_ARRAYS = frozenset(
    (
        *("append", "capitalize", "casefold", "clear", "copy", "count", "decode", "encode"),
        *("endswith", "extend", "find", "index", "insert", "isalnum", "isalpha", "isascii"),
        *("isdecimal", "isdigit", "islower", "isnumeric", "isprintable", "ispunctuation"),
        *("isspace", "isupper", "join", "lower", "lstrip", "partition", "pop", "popleft"),
        *("remove", "removeprefix", "removesuffix", "replace", "rfind", "rstrip", "sort"),
        *("split", "splitlines", "startswith", "strip", "title", "translate", "upper"),
        "__getitem__",
    )
)
_OF_PATTERNS = frozenset(("findall", "finditer", "fullmatch", "match", "search", "split", "sub"))
# What local names are called, which makes scripts shorter; global names are longer.
_SHORT = [
    *ascii_lowercase,
    *(a + b for a in ascii_lowercase for b in ascii_lowercase if a + b not in ("do", "if", "in")),
]


class Meanings(Protocol):
    """What the names of a function mean."""

    def name(self, name: str) -> str:
        """The JavaScript expression for a global or built-in name."""

    def attribute(self, base: str, name: str) -> str | None:
        """The expression for an attribute of a module or built-in type; None: it is a value."""

    def pattern(self, library: str, pattern: ast.expr) -> str:
        """The expression of a regular expression that is written in a call."""

    def parameters(self, function: ast.expr, named: Set[str]) -> Sequence[str] | None:
        """The parameters of what is called with some names, without self; None: unknown."""

    def is_class(self, name: str) -> bool:
        """Whether a global name is a class of the bundle."""

    def is_method(self, name: str) -> bool:
        """Whether values have a method of that name, so that reading it binds it."""

    def uses(self, name: str) -> None:
        """An attribute of that name is read."""


class Expressions:
    """Translates the expressions of one module.

    Args:
        meanings: What names mean.
        where: What is translated, for messages.
    """

    def __init__(self, meanings: Meanings, where: str) -> None:
        self._meanings, self._where = meanings, where
        self._locals: list[set[str]] = []  # names of the functions around a place
        self._short: dict[str, str] = {}  # what they are called

    def _local(self, name: str) -> str:
        """What a local name is called."""
        return name if name == "cls" else self._short.setdefault(name, _SHORT[len(self._short)])

    def _refuse(self, node: ast.AST) -> ModelError:
        line = getattr(node, "lineno", 0)
        return ModelError(f"{self._where}: no translation for {ast.unparse(node)!r} (line {line})")

    def value(self, node: ast.expr) -> str:
        """The expression for a value."""
        method = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if method is None:
            raise self._refuse(node)
        return str(method(node))

    def test(self, node: ast.expr) -> str:
        """The expression for a condition, whose value is true or false in JavaScript, too."""
        if isinstance(node, ast.BoolOp):
            operator = " && " if isinstance(node.op, ast.And) else " || "
            return f"({operator.join(map(self.test, node.values))})"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"!{self.test(node.operand)}"
        if is_condition(node):
            return self.value(node)
        return f"$.bool({self.value(node)})"

    def _of_constant(self, node: ast.Constant) -> str:
        return literal(node.value)

    def _of_name(self, node: ast.Name) -> str:
        if any(node.id in names for names in self._locals):
            return self._local(node.id)
        if node.id in _EXTREMES:  # as a function of several arguments
            return f"((...all) => $.{node.id}(all))"
        return self._meanings.name(node.id)

    def _of_namedexpr(self, node: ast.NamedExpr) -> str:
        return f"({self._local(node.target.id)} = {self.value(node.value)})"

    def _of_tuple(self, node: ast.Tuple | ast.List) -> str:
        return f"[{', '.join(map(self.value, node.elts))}]"

    _of_list = _of_tuple

    def _of_starred(self, node: ast.Starred) -> str:
        return f"...{self.value(node.value)}"

    def _of_set(self, node: ast.Set) -> str:
        return f"$.set([{', '.join(map(self.value, node.elts))}])"

    def _of_dict(self, node: ast.Dict) -> str:
        pairs = (
            f"...{self.value(value)}.items()"
            if key is None
            else f"[{self.value(key)}, {self.value(value)}]"
            for key, value in zip(node.keys, node.values, strict=True)
        )
        return f"$.dict([{', '.join(pairs)}])"

    def _of_joinedstr(self, node: ast.JoinedStr) -> str:
        parts = (
            literal(part.value)[1:-1].replace("`", "\\`").replace("${", "\\${").replace('\\"', '"')
            if isinstance(part, ast.Constant)
            else f"${{{self._formatted(part)}}}"
            for part in node.values
        )
        return f"`{''.join(parts)}`"

    def _formatted(self, node: ast.expr) -> str:
        assert isinstance(node, ast.FormattedValue)
        value = self.value(node.value)
        if node.conversion == ord("r"):
            return f"$.repr({value})"
        if node.format_spec:
            return f"$.format({value}, {self.value(node.format_spec)})"
        return f"$.str({value})"

    def _of_boolop(self, node: ast.BoolOp) -> str:
        if all(map(is_condition, node.values)):
            return self.test(node)
        *others, last = node.values
        made = self.value(last)
        for other in reversed(others):
            name = "both" if isinstance(node.op, ast.And) else "either"
            made = f"$.{name}({self.value(other)}, () => {made})"
        return made

    def _of_unaryop(self, node: ast.UnaryOp) -> str:
        if isinstance(node.op, ast.Not):
            return f"!{self.test(node.operand)}"
        sign = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(node.op)]
        return f"({sign}{self.value(node.operand)})"

    def _of_binop(self, node: ast.BinOp) -> str:
        native = is_plain_value(node.left) or is_plain_value(node.right)
        if isinstance(node.op, ast.Mult):  # "ab" * 2
            native = is_plain_number(node.left) and is_plain_number(node.right)
        return self._operation(
            type(node.op), self.value(node.left), self.value(node.right), native=native
        )

    def _operation(self, kind: type[ast.operator], left: str, right: str, *, native: bool) -> str:
        if kind in _NATIVE and (native or kind not in _BINARY):
            return f"({left} {_NATIVE[kind]} {right})"
        return f"$.{_BINARY[kind]}({left}, {right})"

    def _of_compare(self, node: ast.Compare) -> str:
        if len(node.ops) == 1:
            return self._compared(node.ops[0], node.left, node.comparators[0])
        sides = [node.left, *node.comparators]
        each = (self._compared(op, *sides[i : i + 2]) for i, op in enumerate(node.ops))
        return f"({' && '.join(each)})"  # what stands in the middle has no effects

    def _compared(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> str:
        one, two = self.value(left), self.value(right)
        if isinstance(op, ast.In | ast.NotIn):
            return f"{'!' if isinstance(op, ast.NotIn) else ''}$.has({two}, {one})"
        if type(op) in _ORDER:
            sign, name = _ORDER[type(op)]
            native = is_plain_number(left) or is_plain_number(right)
            return f"({one} {sign} {two})" if native else f"$.{name}({one}, {two})"
        negated = isinstance(op, ast.IsNot | ast.NotEq)
        if isinstance(op, ast.Is | ast.IsNot):
            loose = isinstance(right, ast.Constant) and right.value is None
            return f"({one} {'!' if negated else '='}={'' if loose else '='} {two})"
        if is_plain_value(left) or is_plain_value(right):
            return f"({one} {'!' if negated else '='}== {two})"
        return f"{'!' if negated else ''}$.same({one}, {two})"

    def _of_ifexp(self, node: ast.IfExp) -> str:
        return f"({self.test(node.test)} ? {self.value(node.body)} : {self.value(node.orelse)})"

    def _of_lambda(self, node: ast.Lambda) -> str:
        self._locals.append({arg.arg for arg in all_arguments(node.args)})
        made = f"(({', '.join(self._parameters(node.args, 0))}) => ({self.value(node.body)}))"
        self._locals.pop()
        return made

    def _parameters(self, args: ast.arguments, skip: int) -> Iterator[str]:
        given = [*args.posonlyargs, *args.args]
        n_required = len(given) - len(args.defaults)
        for number, arg in enumerate(given):
            default = args.defaults[number - n_required] if number >= n_required else None
            if number >= skip:
                yield self._parameter(arg, default)
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            if not args.vararg:
                yield self._parameter(arg, default)
        if args.vararg:
            yield f"...{self._local(args.vararg.arg)}"

    def _parameter(self, arg: ast.arg, default: ast.expr | None) -> str:
        name = self._local(arg.arg)
        return name if default is None else f"{name} = {self.value(default)}"

    def _of_yield(self, node: ast.Yield) -> str:
        return f"(yield {self.value(node.value) if node.value else 'null'})"

    def _of_yieldfrom(self, node: ast.YieldFrom) -> str:
        return f"(yield* {self.value(node.value)})"

    def _of_subscript(self, node: ast.Subscript) -> str:
        if is_type_subscript(node):
            return self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            bounds = (node.slice.lower, node.slice.upper, node.slice.step)
            parts = [self.value(bound) if bound else "null" for bound in bounds]
            while parts[-1] == "null" and len(parts) > 1:
                parts.pop()
            return f"$.cut({self.value(node.value)}, {', '.join(parts)})"
        return f"$.at({self.value(node.value)}, {self._index(node.slice)})"

    def _index(self, node: ast.expr) -> str:
        """The place of a subscript that is assigned to or removed; a slice is a pair."""
        if not isinstance(node, ast.Slice):
            return self.value(node)
        ends = (self.value(end) if end else "null" for end in (node.lower, node.upper))
        return f"[{', '.join(ends)}]"

    def _of_attribute(self, node: ast.Attribute) -> str:
        if isinstance(node.value, ast.Name) and not any(node.value.id in n for n in self._locals):
            found = self._meanings.attribute(node.value.id, node.attr)
            if found is not None:
                return found
        self._meanings.uses(node.attr)
        if self._meanings.is_method(node.attr):
            return f'$.bound({self.value(node.value)}, "{node.attr}")'
        return f"{self.value(node.value)}.{node.attr}"

    # ---- calls ---------------------------------------------------------------------------------

    def _of_call(self, node: ast.Call) -> str:
        function = node.func
        if isinstance(function, ast.Attribute):
            return self._method_call(function, node)
        if isinstance(function, ast.Name) and function.id == "cast":
            return self.value(node.args[1])
        if isinstance(function, ast.Name) and function.id == "isinstance":
            return self._instance_test(node)
        if isinstance(function, ast.Name) and function.id in _EXTREMES:
            return self._extreme(function.id, node)
        if isinstance(function, ast.Name) and function.id == "replace" and node.keywords:
            return self._replaced(node)
        if isinstance(function, ast.Name) and function.id == "partial" and node.keywords:
            return self._partial(node)
        new = "new " if self._makes(function) else ""
        return f"{new}{self.value(function)}({self._arguments(node)})"

    def _makes(self, function: ast.expr) -> bool:
        """Whether a call makes an object of a class."""
        if not isinstance(function, ast.Name):
            return False
        known = any(function.id in names for names in self._locals)
        return function.id == "cls" or (not known and self._meanings.is_class(function.id))

    def _method_call(self, function: ast.Attribute, node: ast.Call) -> str:
        base = function.value
        if (
            isinstance(base, ast.Call)
            and isinstance(base.func, ast.Name)
            and base.func.id == "super"
        ):
            return f"super.{function.attr}({self._arguments(node)})"
        if isinstance(base, ast.Name) and not any(base.id in names for names in self._locals):
            if base.id in ("re", "regex") and function.attr in _OF_PATTERNS:
                expression = self._meanings.pattern(base.id, node.args[0])
                others = ast.Call(function, node.args[1:], node.keywords)
                return f"{expression}.{function.attr}({self._arguments(others)})"
            found = self._meanings.attribute(base.id, function.attr)
            if found is not None:
                return f"{found}({self._arguments(node)})"
        if function.attr == "_replace":
            return self._replaced(ast.Call(function, [base], node.keywords))
        self._meanings.uses(function.attr)
        arguments = self._arguments(node)
        if function.attr in OF_TEXTS_AND_ARRAYS:
            more = f", {arguments}" if arguments else ""
            return f'$.call({self.value(base)}, "{function.attr}"{more})'
        return f"{self.value(base)}.{function.attr}({arguments})"

    def _arguments(self, node: ast.Call) -> str:
        """The arguments in the order of the parameters."""
        given = [part for arg in node.args for part in unpacked_argument(arg)]
        made = list(map(self.value, given))
        named = {k.arg or "": k.value for k in node.keywords if k.arg not in _DROPPED}
        if not named:
            return ", ".join(made)
        name = str(getattr(node.func, "attr", "") or getattr(node.func, "id", ""))
        parameters = self._meanings.parameters(node.func, named.keys()) or _PARAMETERS.get(name)
        if parameters is None or not set(named) <= set(parameters):
            raise self._refuse(node)
        if any(isinstance(arg, ast.Starred) for arg in given):  # of a length that is not known yet
            places = (f"{parameters.index(name)}: {self.value(own)}" for name, own in named.items())
            return f"...Object.assign([{', '.join(made)}], {{{', '.join(places)}}})"
        for parameter in parameters[len(made) :]:
            if not named:
                break
            value = named.pop(parameter, None)
            made.append("undefined" if value is None else self.value(value))
        return ", ".join(made)

    def _extreme(self, name: str, node: ast.Call) -> str:
        """A call of min or max, of several arguments or of one iterable."""
        named = {keyword.arg: self.value(keyword.value) for keyword in node.keywords}
        values = list(map(self.value, node.args))
        single = len(values) == 1 and not isinstance(node.args[0], ast.Starred)
        of = values[0] if single else f"[{', '.join(values)}]"
        more = [named.get("key", "null"), *([named["default"]] if "default" in named else [])]
        return f"$.{name}({of}{', ' + ', '.join(more) if named else ''})"

    def _replaced(self, node: ast.Call) -> str:
        """A call of dataclasses.replace, or of the method of a named tuple."""
        pairs = ", ".join(f"{k.arg}: {self.value(k.value)}" for k in node.keywords)
        return f"$.replace({self.value(node.args[0])}, {{{pairs}}})"

    def _partial(self, node: ast.Call) -> str:
        """A call of functools.partial with named arguments, at their places."""
        names = {keyword.arg or "" for keyword in node.keywords}
        parameters = list(self._meanings.parameters(node.args[0], names) or ())
        if not names <= set(parameters):
            raise self._refuse(node)
        named = (f"{parameters.index(k.arg or '')}: {self.value(k.value)}" for k in node.keywords)
        given = ", ".join(map(self.value, node.args[1:]))
        return f"$.filled({self.value(node.args[0])}, [{given}], {{{', '.join(named)}}})"

    def _instance_test(self, node: ast.Call) -> str:
        value, kinds = node.args
        names = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
        tests = (f"$.isinstance({self.value(value)}, {self.value(name)})" for name in names)
        return f"({' || '.join(tests)})"

    # ---- comprehensions ------------------------------------------------------------------------

    def _of_listcomp(self, node: ast.ListComp) -> str:
        return self._comprehension("list", node.elt, node.generators)

    def _of_setcomp(self, node: ast.SetComp) -> str:
        return f"$.set({self._comprehension('list', node.elt, node.generators)})"

    def _of_generatorexp(self, node: ast.GeneratorExp) -> str:
        return self._comprehension("lazy", node.elt, node.generators)

    def _of_dictcomp(self, node: ast.DictComp) -> str:
        pair = ast.Tuple([node.key, node.value], ast.Load())
        return f"$.dict({self._comprehension('list', pair, node.generators)})"

    def _target(self, target: ast.expr) -> str:
        if isinstance(target, ast.Tuple | ast.List):
            return f"[{', '.join(map(self._target, target.elts))}]"
        if isinstance(target, ast.Starred):
            return f"...{self._target(target.value)}"
        if isinstance(target, ast.Name):
            return self._local(target.id)
        if isinstance(target, ast.Attribute):
            return f"{self.value(target.value)}.{target.attr}"
        raise self._refuse(target)

    def _comprehension(
        self, kind: str, element: ast.expr, generators: Sequence[ast.comprehension]
    ) -> str:
        first = self.value(generators[0].iter)
        names = {name for own in generators for name in names_in(own.target)}
        self._locals.append(names)
        made = self._nested(kind, element, generators, first)
        self._locals.pop()
        return made

    def _nested(
        self, kind: str, element: ast.expr, generators: Sequence[ast.comprehension], first: str
    ) -> str:
        own, *others = generators
        target = self._target(own.target)
        if others:
            inner = self._nested(kind, element, others, self.value(others[0].iter))
            kind, made = f"flat_{kind}", inner
        else:
            made = self.value(element)
        tests = f", ({target}) => {' && '.join(map(self.test, own.ifs))}" if own.ifs else ""
        made = f"({made})" if made.startswith("{") else made
        return f"$.{kind}({first}, ({target}) => {made}{tests})"
